/** Bundle what the tests start as processes and threads: see test/programs.ts. */
import { basename, join } from 'node:path'
import { build } from 'vite'
import { bundles, programs } from '../test/programs.ts'
import { root } from './run.ts'

await build({
  configFile: false,
  root,
  logLevel: 'warn',
  ssr: { noExternal: [/^(@msgpack|@noble|eventsource-parser|fp-ts|immer|minisearch|stemmer)(\/|$)/] },
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
