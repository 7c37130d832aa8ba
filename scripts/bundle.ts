/** Bundle programs: each a file that Node runs, with the sources of this repository and small libraries in it. */
import { join } from 'node:path'
import { build, defaultServerConditions, type Plugin, type Rolldown } from 'vite'
import { root } from './run.ts'

export interface BundleOptions {
  /** The programs by name, each with the path of its source from the root. */
  readonly programs: { readonly [name: string]: string }
  /** The folder that gets them, empty before. */
  readonly folder: string
  readonly plugins?: Plugin[]
  /** Modules that get a chunk together. */
  readonly groups?: Rolldown.CodeSplittingGroup[]
  /** More packages that are in the bundle. */
  readonly packages?: readonly RegExp[]
  /** The file in `folder` that gets the licenses of what is in the bundle. */
  readonly licenses?: string
}

const conditions = ['@indelible/source', ...defaultServerConditions]

/** fp-ts as modules: of its CommonJS files, a bundle has everything. */
const fpTsModules = [
  { find: /^#fp-ts\/(.+)$/, replacement: 'fp-ts/es6/$1.js' },
  { find: /^fp-ts\/lib\/(.+)$/, replacement: 'fp-ts/es6/$1' },
]

/** Bundle programs, and return the chunks, some of which they share. Throws an Error if one would run another. */
export const bundle = async ({
  programs,
  folder,
  plugins = [],
  groups = [],
  packages = [],
  licenses,
}: BundleOptions): Promise<readonly Rolldown.OutputChunk[]> => {
  const built = await build({
    configFile: false,
    root,
    logLevel: 'warn',
    plugins,
    resolve: { conditions, alias: fpTsModules },
    ssr: {
      resolve: { conditions },
      noExternal: [/^(@msgpack|@noble|diff|eventsource-parser|fp-ts|immer|minisearch|stemmer)(\/|$)/, ...packages],
    },
    build: {
      ssr: true,
      target: 'esnext',
      outDir: folder,
      emptyOutDir: true,
      copyPublicDir: false,
      license: licenses !== undefined && { fileName: licenses },
      rolldownOptions: {
        input: Object.fromEntries(Object.entries(programs).map(([name, path]) => [name, join(root, path)])),
        output: { entryFileNames: '[name].js', chunkFileNames: '[name].js', codeSplitting: { groups } },
      },
    },
  })
  // What programs share may be put into one of them, which the others would then run.
  const chunks = 'output' in built ? built.output.filter((chunk) => chunk.type === 'chunk') : []
  const started = new Set(chunks.flatMap((chunk) => (chunk.isEntry ? [chunk.fileName] : [])))
  const imported = chunks
    .flatMap((chunk) => chunk.imports.concat(chunk.dynamicImports))
    .filter((name) => started.has(name))
  if (started.size < Object.keys(programs).length || imported.length > 0)
    throw new Error(`bundled programs that others would run: ${imported.join(', ')}; start them from their sources`)
  return chunks
}
