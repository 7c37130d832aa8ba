/**
 * What an application's bundle grows by: minified by esbuild, gzipped, Node's own modules and optional peers left out.
 * The built package is measured, so run `npm run build` in the project first.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build, type Plugin, type PluginBuild } from 'esbuild'

const root = join(import.meta.dirname, '..')
const { exports, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, unknown>>
  readonly peerDependencies: Readonly<Record<string, string>>
}

/** The first code of README: what a first session takes. */
const first = /^```ts\n(.*?)^```$/ms.exec(readFileSync(join(root, 'README.md'), 'utf8'))?.[1] ?? ''

const programs: readonly (readonly [name: string, code: string, limit?: number])[] = [
  ['`indelible/history`: all of it', `export * from 'indelible/history'`, 12],
  ["README's first code: a session on SQLite, and a codec", first],
  [
    'a first session, in memory: `createSession`, `memoryStore`, `user`',
    `import { createSession, memoryStore, user } from 'indelible'\nconst session = await createSession(memoryStore())\nawait session.append(user('hello'))\nconsole.log(session.view().length)`,
    26,
  ],
  [
    '`createHistory`, `settle`, `user`',
    `import { createHistory, settle, user } from 'indelible'\nconst history = createHistory()\nhistory.append(user('hello'))\nconsole.log(settle(history.view()))`,
  ],
  ['`indelible`: all of it', `export * from 'indelible'`],
  ...Object.keys(exports)
    .filter((entry) => !['.', './history', './package.json'].includes(entry))
    .map(
      (entry) =>
        [
          `\`${entry.replace('.', 'indelible')}\`: all of it`,
          `export * from '${entry.replace('.', 'indelible')}'`,
        ] as const,
    ),
]

/** The part of each package and folder, in bytes of the minified bundle. */
const parts = (inputs: Readonly<Record<string, { readonly bytesInOutput: number }>>): string => {
  const sums = new Map<string, number>()
  for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
    const part =
      /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? /^dist\/([\w-]+)/.exec(path)?.[1] ?? 'the program'
    sums.set(part, (sums.get(part) ?? 0) + bytesInOutput)
  }
  return [...sums]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, 8)
    .map(([part, bytes]) => `${part} ${kB(bytes)}`)
    .join(', ')
}

const kB = (bytes: number): string => (bytes / 1000).toFixed(1)

const bundle = async (contents: string, plugins: readonly Plugin[]) => {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    absWorkingDir: root,
    tsconfigRaw: {}, // the project's own has paths to src
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['import'],
    external: ['node:*', ...Object.keys(peerDependencies)],
    plugins: [...plugins],
    write: false,
    metafile: true,
  })
  const bytes = outputFiles[0]?.contents ?? new Uint8Array()
  const inputs =
    Object.values<{ readonly inputs: Readonly<Record<string, { readonly bytesInOutput: number }>> }>(
      metafile.outputs,
    )[0]?.inputs ?? {}
  return { minified: bytes.length, gzipped: gzipSync(bytes, { level: 9 }).length, inputs }
}

/** The five functions of fp-ts that the library calls: what its bundle would be if it had them of its own. */
const ownEither: Plugin = {
  name: 'own Either',
  setup: (build: PluginBuild) => {
    build.onResolve({ filter: /^fp-ts\/lib\/(Either|function)\.js$/ }, () => ({ path: 'either', namespace: 'own' }))
    build.onLoad({ filter: /.*/, namespace: 'own' }, () => ({
      contents: `export const left = (left) => ({ _tag: 'Left', left })
        export const right = (right) => ({ _tag: 'Right', right })
        export const isLeft = (either) => either._tag === 'Left'
        export const isRight = (either) => either._tag === 'Right'
        export const getOrElse = (otherwise) => (either) => (isLeft(either) ? otherwise(either.left) : either.right)
        export const absurd = () => { throw new Error('absurd') }`,
    }))
  },
}

console.log(
  '| | minified, kB | gzipped, kB | expected | gzipped without fp-ts | the largest parts, minified, kB |\n|---|---:|---:|---:|---:|---|',
)
for (const [name, contents, limit] of programs) {
  const { minified, gzipped, inputs } = await bundle(contents, [])
  const own = await bundle(contents, [ownEither])
  const judged = limit === undefined ? '' : `${limit}: ${gzipped <= limit * 1000 ? 'met' : 'not met'}`
  console.log(`| ${[name, kB(minified), kB(gzipped), judged, kB(own.gzipped), parts(inputs)].join(' | ')} |`)
}
