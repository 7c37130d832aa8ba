/** The house: folders import in one direction, through each other's index, and the library needs no Node. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../scripts/run.ts'

const src = join(root, 'src')

/** What each folder may import from: its own files, and these. */
const mayImport: { readonly [folder: string]: readonly string[] } = {
  json: [],
  guard: [],
  sequence: [],
  task: ['json'],
  proof: ['json'],
  message: ['json', 'sequence', 'task', 'proof'],
  codecs: ['json', 'sequence', 'task', 'proof', 'message'],
  pages: ['json', 'sequence'],
  notes: ['json', 'sequence', 'task', 'proof', 'pages'],
  redact: ['json', 'proof', 'message', 'notes'],
  history: ['json', 'sequence', 'task', 'pages'], // generic in its message type
  store: ['json', 'sequence', 'task', 'proof'],
  entry: ['json', 'task', 'proof', 'message', 'pages', 'history', 'store'],
  encryption: ['json', 'task', 'proof', 'message', 'store', 'entry'],
  session: ['json', 'sequence', 'task', 'proof', 'message', 'pages', 'notes', 'redact', 'history', 'store', 'entry'],
  transcript: [
    'json',
    'sequence',
    'task',
    'proof',
    'message',
    'codecs',
    'pages',
    'notes',
    'redact',
    'store',
    'session',
  ],
  search: ['json', 'task', 'proof', 'message', 'notes', 'history', 'store', 'entry', 'session'],
  context: ['json', 'sequence', 'task', 'proof', 'message', 'pages', 'notes'], // of history only the view types, below
  run: [
    'json',
    'sequence',
    'task',
    'proof',
    'message',
    'codecs',
    'pages',
    'notes',
    'redact',
    'history',
    'store',
    'session',
    'context',
  ],
  refs: ['json', 'sequence', 'task', 'proof', 'message', 'codecs', 'pages', 'history', 'store', 'entry'],
  activities: [
    'json',
    'sequence',
    'task',
    'proof',
    'message',
    'pages',
    'notes',
    'history',
    'store',
    'entry',
    'refs',
    'context',
    'run',
  ],
  thread: ['json', 'sequence', 'task', 'message', 'codecs'],
  adapters: [
    'json',
    'sequence',
    'task',
    'proof',
    'message',
    'codecs',
    'pages',
    'notes',
    'transcript',
    'history',
    'store',
    'session',
    'run',
  ],
  records: ['json', 'sequence', 'task', 'history', 'store'],
  evidence: ['json', 'sequence', 'task', 'proof', 'store', 'session'],
  recorder: [
    'json',
    'sequence',
    'guard',
    'task',
    'proof',
    'message',
    'codecs',
    'notes',
    'redact',
    'context',
    'store',
    'session',
  ],
  view: [
    'json',
    'guard',
    'task',
    'proof',
    'message',
    'notes',
    'history',
    'entry',
    'redact',
    'context',
    'store',
    'session',
    'search',
    'evidence',
  ],
  cli: [
    'encryption',
    'guard',
    'redact',
    'json',
    'sequence',
    'proof',
    'message',
    'codecs',
    'pages',
    'notes',
    'transcript',
    'history',
    'context',
    'records',
    'evidence',
    'recorder',
    'store',
    'session',
    'search',
    'run',
    'view',
    '.',
  ],
  testing: ['json', 'sequence', 'task', 'proof', 'message', 'store', 'run'],
  '.': [
    'json',
    'task',
    'proof',
    'message',
    'codecs',
    'pages',
    'notes',
    'transcript',
    'history',
    'store',
    'entry',
    'refs',
    'session',
  ],
}

/** What may be imported from outside by a folder of its own subpath, that nothing else reaches. */
const drivers: { readonly [folder: string]: readonly string[] } = {
  testing: ['node:child_process'], // only where a place names how other processes open it
  'transcript/sqlite': ['node:sqlite', '@msgpack/msgpack'],
  'store/sqlite': ['node:sqlite', 'node:fs', 'node:path', 'node:url', 'node:crypto', 'node:zlib'],
  'store/postgres': ['pg', 'node:async_hooks', 'node:crypto', 'node:net'],
  'adapters/ai-sdk': ['ai'],
  'adapters/langgraph': ['@langchain/langgraph-checkpoint', '@langchain/core/runnables'],
  view: ['node:http', 'node:net', 'node:os', 'node:crypto', 'node:fs/promises', '@noble/hashes/utils.js'],
  'recorder/proxy': [
    'node:crypto',
    'node:fs',
    'node:http',
    'node:https',
    'node:net',
    'node:os',
    'node:path',
    'node:sqlite', // for its lock
    'node:stream',
    'node:util',
    'node:zlib',
  ],
  'adapters/openai-agents': ['@openai/agents-core'],
  'run/ai-sdk': ['ai'],
  'context/gpt-tokenizer': ['gpt-tokenizer/encoding/cl100k_base', 'gpt-tokenizer/encoding/o200k_base'],
  'run/anthropic': ['@anthropic-ai/sdk', '@anthropic-ai/sdk/resources/messages'],
  'run/gemini': ['@google/genai'],
  'run/openai': ['openai', 'openai/resources/chat/completions', 'openai/resources/responses/responses'],
}

const driverOf = (file: string): string | undefined =>
  Object.keys(drivers).find((folder) => dirname(file).replaceAll('\\', '/') === folder)

/** Names that `context` may import from `history`: what reads, never what appends. */
const readingNames: ReadonlySet<string> = new Set(['View', 'Position'])

interface Import {
  readonly from: string
  readonly to: string
  readonly names: readonly string[]
  readonly types: boolean
}

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))

const imports: readonly Import[] = files.flatMap((from) => {
  const code = readFileSync(join(src, from), 'utf8').replaceAll(/\/\*.*?\*\/|^\s*\/\/.*$/gms, '')
  const statements = [...code.matchAll(/^(?:import|export)\s(type\s)?([^'"`;]*?)\bfrom\s+['"]([^'"]+)['"]/gms)]
  const bare = [...code.matchAll(/(?<!['"])\bimport\s*\(?\s*['"]([^'"]+)['"]/g)]
  return [
    ...statements.map((match) => ({
      from,
      to: match[3] ?? '',
      names: [...(match[2] ?? '').matchAll(/\b(?!type\b|as\b)\w+/g)].map((name) => name[0]),
      types: match[1] !== undefined,
    })),
    ...bare.map((match) => ({ from, to: match[1] ?? '', names: [], types: false })),
  ]
})

const isLocal = (specifier: string): boolean => specifier.startsWith('.')
const target = ({ from, to }: Import): string => relative(src, join(src, dirname(from), to))
const folderOf = (file: string): string => dirname(file).split(/[/\\]/)[0] ?? '.'

describe('the house', () => {
  it('has only the folders that its plan names', () => {
    expect([...new Set(files.map(folderOf))].toSorted()).toEqual(Object.keys(mayImport).toSorted())
  })
  it('imports point one way', () => {
    const wrong = imports
      .filter(({ to }) => isLocal(to))
      .filter((found) => {
        const [from, to] = [folderOf(found.from), folderOf(target(found))]
        if (from === 'context' && to === 'history')
          return !found.types || found.names.some((name) => !readingNames.has(name))
        if (found.from === 'fault.ts' && target(found).endsWith('/fault.ts')) return false // the root has sentences for all
        return from !== to && !mayImport[from]?.includes(to)
      })
    expect(wrong).toEqual([])
  })
  it('folders import each other through their index, or the sentences in their fault.ts, which are not for users', () => {
    const wrong = imports
      .filter(({ to }) => isLocal(to))
      .filter(
        (found) =>
          folderOf(found.from) !== folderOf(target(found)) &&
          !target(found).endsWith('index.ts') &&
          !/^[^/\\]+[/\\]fault\.ts$/.test(target(found)),
      )
    expect(wrong).toEqual([])
  })
  it('files import each other in no circle, types included', () => {
    const reached = new Map<string, readonly string[]>()
    for (const found of imports.filter(({ to }) => isLocal(to)))
      reached.set(found.from, [...(reached.get(found.from) ?? []), target(found)])
    const done = new Set<string>()
    const circles: string[] = []
    const follow = (file: string, path: readonly string[]): void => {
      const start = path.indexOf(file)
      if (start !== -1) circles.push([...path.slice(start), file].join(' > '))
      if (start !== -1 || done.has(file)) return
      for (const next of reached.get(file) ?? []) follow(next, [...path, file])
      done.add(file)
    }
    for (const file of files) follow(file, [])
    expect(circles).toEqual([])
  })
  it('an index holds named re-exports only', () => {
    for (const file of files.filter((name) => name.endsWith('index.ts'))) {
      const rest = readFileSync(join(src, file), 'utf8').replaceAll(
        /\/\*.*?\*\/|export (?:type )?\{[^}]*\} from '[^']+'/gs,
        '',
      )
      expect([file, rest.trim()]).toEqual([file, ''])
    }
  })
  it('nothing but the command line and drivers imports Node or a package beside immer, fp-ts and noble hashes; recall a search, evidence signatures, recorder streams', () => {
    const outside = imports.filter(
      ({ from, to }) =>
        !isLocal(to) &&
        folderOf(from) !== 'cli' &&
        driverOf(from) === undefined &&
        !(from === join('context', 'recall', 'search.ts') && to === 'minisearch/SearchableMap') &&
        !(from === join('context', 'recall', 'words.ts') && to === 'stemmer') &&
        !(from === join('recorder', 'answer.ts') && to === 'eventsource-parser') &&
        !(from === join('evidence', 'keys.ts') && to === '@noble/curves/ed25519.js') &&
        !(from === join('encryption', 'aes.ts') && ['@noble/ciphers/aes.js', '@noble/hashes/hmac.js'].includes(to)),
    )
    expect([...new Set(outside.map(({ to }) => to))].toSorted()).toEqual([
      '@noble/hashes/sha2.js',
      '@noble/hashes/utils.js',
      '@standard-schema/spec', // types only
      'fp-ts/lib/Either.js',
      'fp-ts/lib/TaskEither.js',
      'immer',
    ])
    const cli = imports.filter(({ from, to }) => !isLocal(to) && folderOf(from) === 'cli')
    expect(cli.filter(({ to }) => !to.startsWith('node:') && !to.startsWith('fp-ts/lib/'))).toEqual([])
  })
  it('fp-ts is imported for its types: a bundler keeps all of its CommonJS for one function', () => {
    expect(imports.filter(({ to, types }) => to.startsWith('fp-ts/') && !types)).toEqual([])
  })
  it('drivers import what they drive, and nobody imports a driver', () => {
    const wrong = imports.filter((found) => {
      const driver = driverOf(found.from)
      if (!isLocal(found.to))
        return (
          driver !== undefined && drivers[driver]?.includes(found.to) === false && !found.to.startsWith('fp-ts/lib/')
        )
      const reached = driverOf(target(found))
      return reached !== undefined && reached !== driver && folderOf(found.from) !== 'cli'
    })
    expect(wrong).toEqual([])
  })
  it('sees imports at all', () => {
    expect(imports.length).toBeGreaterThan(40)
    expect(imports).toContainEqual({
      from: join('history', 'create.ts'),
      to: '../pages/index.ts',
      names: ['classify', 'classifyMessage'],
      types: false,
    })
  })
})

it('no file takes the path of a URL for one of the disk: it escapes spaces and letters', () => {
  const files = ['src', 'test', 'scripts', 'bench', 'examples', 'docs'].flatMap((folder) =>
    readdirSync(join(root, folder), { encoding: 'utf8', recursive: true })
      .filter((file) => /\.(?:[cm]?[jt]s|md)$/.test(file) && !file.includes('node_modules'))
      .map((file) => join(folder, file)),
  )
  expect(files).toContain(join('test', 'architecture.test.ts'))
  const wrong = files.filter((file) =>
    /import\.meta\.url\s*\)\s*\.pathname/.test(readFileSync(join(root, file), 'utf8')),
  )
  expect(wrong).toEqual([])
})

it('the version is the same in the package and at the top of the changelog', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string }
  expect(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')).toMatch(
    new RegExp(`^## ${version.replaceAll('.', '\\.')}$`, 'm'),
  )
})
