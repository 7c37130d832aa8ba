/** Bundle what the tests start as processes and threads: see test/programs.ts. */
import { basename, join } from 'node:path'
import { build, defaultServerConditions } from 'vite'
import { bundles, programs } from '../test/programs.ts'
import { root } from './run.ts'

const conditions = ['@indelible/source', ...defaultServerConditions]
const built = await build({
  configFile: false,
  root,
  logLevel: 'warn',
  resolve: { conditions },
  ssr: {
    resolve: { conditions },
    noExternal: [/^(@msgpack|@noble|eventsource-parser|fp-ts|immer|minisearch|stemmer)(\/|$)/],
  },
  build: {
    ssr: true,
    target: 'esnext',
    outDir: bundles,
    emptyOutDir: true,
    copyPublicDir: false,
    rolldownOptions: {
      input: Object.fromEntries(programs.map((path) => [basename(path, '.ts'), join(root, path)])),
      output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
    },
  },
})

// What programs share may be put into one of them, which the others would then run.
const chunks = 'output' in built ? built.output.filter((chunk) => chunk.type === 'chunk') : []
const started = new Set(chunks.flatMap((chunk) => (chunk.isEntry ? [chunk.fileName] : [])))
const imported = chunks
  .flatMap((chunk) => chunk.imports.concat(chunk.dynamicImports))
  .filter((name) => started.has(name))
if (started.size < programs.length || imported.length > 0)
  throw new Error(`bundled programs that others would run: ${imported.join(', ')}; start them from their sources`)
