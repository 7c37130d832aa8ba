/**
 * What an application's bundle grows by: minified by esbuild, gzipped, Node's own modules and optional peers left out.
 * Parts that a program loads later, with `import()`, are counted apart. The built package is measured, so run `npm run build` in the project first.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { entries, packages } from '../scripts/packages.ts'

const root = join(import.meta.dirname, '..')
const peers = packages.flatMap(({ manifest }) => Object.keys(manifest.peerDependencies ?? {}))

/** The first program of docs/packages.md: what a first session takes. */
const first = /^```ts\n(.*?)^```$/ms.exec(readFileSync(join(root, 'docs/packages.md'), 'utf8'))?.[1] ?? ''

const programs: readonly (readonly [name: string, code: string, limit?: number])[] = [
  ['`indelible/history`: all of it', `export * from 'indelible/history'`, 12],
  ['the first program of docs/packages.md: a session on SQLite, and a codec', first],
  [
    'a first session, in memory: `createSession`, `memoryStore`, `user`',
    `import { createSession, memoryStore, user } from 'indelible'\nconst session = await createSession(memoryStore())\nawait session.append(user('hello'))\nconsole.log(session.view().length)`,
    26,
  ],
  [
    '`createHistory`, `settle`, `user`',
    `import { createHistory, settle, user } from 'indelible'\nconst history = createHistory()\nhistory.append(user('hello'))\nconsole.log(settle(history.view()))`,
    10,
  ],
  ['`indelible`: all of it', `export * from 'indelible'`],
  ...entries
    .filter(({ name }) => !['indelible', 'indelible/history'].includes(name))
    .map(({ name }) => [`\`${name}\`: all of it`, `export * from '${name}'`] as const),
]

type Inputs = Readonly<Record<string, { readonly bytesInOutput: number }>>

/** The part of each package and folder, in bytes of the minified bundle. */
const parts = (inputs: Inputs): string => {
  const sums = new Map<string, number>()
  for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
    const part =
      /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? /^dist\/([\w-]+)/.exec(path)?.[1] ?? 'the program'
    sums.set(part, (sums.get(part) ?? 0) + bytesInOutput)
  }
  return [...sums]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 8)
    .map(([part, bytes]) => `${part} ${kB(bytes)}`)
    .join(', ')
}

const kB = (bytes: number): string => (bytes / 1000).toFixed(1)

const bundle = async (contents: string) => {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    absWorkingDir: root,
    tsconfigRaw: {}, // the project's own has paths to src
    bundle: true,
    splitting: true,
    outdir: 'sizes', // nothing is written
    minify: true,
    format: 'esm',
    target: 'es2022',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['import'],
    external: ['node:*', ...peers.filter((name) => name !== 'indelible')],
    write: false,
    metafile: true,
  })
  const sizeOf = (path: string) => {
    const contents =
      outputFiles.find((file: { readonly path: string }) => file.path === join(root, path))?.contents ??
      new Uint8Array()
    return { minified: contents.length, gzipped: gzipSync(contents, { level: 9 }).length }
  }
  const { outputs } = metafile
  const entry = Object.keys(outputs).find(
    (path) => outputs[path]?.entryPoint !== undefined && path.endsWith('stdin.js'),
  )
  const atOnce = new Set<string>()
  const reach = (path: string): void => {
    if (atOnce.has(path) || outputs[path] === undefined) return
    atOnce.add(path)
    for (const { path: next, kind } of outputs[path].imports) if (kind === 'import-statement') reach(next)
  }
  reach(entry ?? '')
  const sum = (paths: readonly string[], which: 'minified' | 'gzipped'): number =>
    paths.reduce((total, path) => total + sizeOf(path)[which], 0)
  const later = Object.keys(outputs).filter((path) => !atOnce.has(path))
  return {
    minified: sum([...atOnce], 'minified'),
    gzipped: sum([...atOnce], 'gzipped'),
    later: sum(later, 'gzipped'),
    inputs: Object.assign({}, ...[...atOnce].map((path) => outputs[path]?.inputs)) as Inputs,
  }
}

console.log(
  '| | minified, kB | gzipped, kB | expected | loaded later, gzipped, kB | the largest parts, minified, kB |\n|---|---:|---:|---:|---:|---|',
)
for (const [name, contents, limit] of programs) {
  const { minified, gzipped, later, inputs } = await bundle(contents)
  const judged = limit === undefined ? '' : `${limit}: ${gzipped <= limit * 1000 ? 'met' : 'not met'}`
  const rest = later === 0 ? '' : kB(later)
  console.log(`| ${[name, kB(minified), kB(gzipped), judged, rest, parts(inputs)].join(' | ')} |`)
}
