/** What a program for browsers loads at once, bundled from the sources: which folders it reaches, and how many bytes. */
import { join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build, defaultClientConditions, type Plugin } from 'vite'
import { expect, it } from 'vitest'
import { root } from '../scripts/run.ts'

interface Program {
  readonly name: string
  /** It imports from the root entry. */
  readonly code: string
  readonly reaches: readonly string[]
  /** The most bytes, minified and gzipped. A smaller program gets a smaller number here. */
  readonly most: number
}

const programs: readonly Program[] = [
  {
    name: 'a history',
    code: `import { createHistory, settle, user } from 'root'
const history = createHistory()
history.append(user('hello'))
console.log(settle(history.view()))`,
    reaches: ['either', 'fp-ts', 'history', 'immer', 'json', 'message', 'pages', 'sequence'],
    most: 11_400,
  },
  {
    name: 'a session in memory',
    code: `import { createSession, memoryStore, user } from 'root'
const session = await createSession(memoryStore())
await session.append(user('hello'))
console.log(session.view().length)`,
    reaches: [
      ...[
        '@noble/hashes',
        'either',
        'entry',
        'fp-ts',
        'history',
        'immer',
        'json',
        'message',
        'notes',
        'pages',
        'proof',
        'redact',
        'sequence',
      ],
      ...['session', 'session/opening', 'session/record', 'session/writing'],
      ...['stemmer', 'store', 'store/memory', 'store/port', 'store/rules', 'task', 'words'],
    ],
    most: 68_300,
  },
]

/** A folder of the library, or a package. */
const placeOf = (id: string): string =>
  /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1] ?? relative(join(root, 'src'), join(id, '..'))

it.each(programs)('$name imports only these folders and has not grown', async ({ code, reaches, most }) => {
  const program: Plugin = {
    name: 'program',
    resolveId: (id) => (id === 'program' ? '\0program' : id === 'root' ? join(root, 'src/index.ts') : undefined),
    load: (id) => (id === '\0program' ? code : undefined),
  }
  const built = await build({
    configFile: false,
    root,
    logLevel: 'silent',
    plugins: [program],
    resolve: { conditions: ['@indelible/source', ...defaultClientConditions] },
    build: {
      write: false,
      target: 'es2022',
      modulePreload: false,
      rolldownOptions: { input: 'program' },
    },
  })
  const chunks = [built].flat().flatMap((one) => ('output' in one ? one.output : []))
  const atOnce = chunks.filter((chunk) => chunk.type === 'chunk').filter(({ isEntry }) => isEntry)
  const modules = atOnce.flatMap((chunk) => Object.entries(chunk.modules))
  const reached = modules.flatMap(([id, { renderedLength }]) =>
    renderedLength === 0 || id.startsWith('\0') ? [] : [placeOf(id)],
  )
  expect(atOnce.flatMap(({ imports }) => imports)).toEqual([]) // what is loaded at once is one file
  expect([...new Set(reached)].toSorted()).toEqual(reaches.toSorted())
  const size = atOnce.reduce((sum, { code }) => sum + gzipSync(code, { level: 9 }).length, 0)
  expect(size).toBeLessThanOrEqual(most)
  expect(size).toBeGreaterThan(most * 0.95)
})
