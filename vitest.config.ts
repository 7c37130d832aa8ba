import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const src = (path: string): string => fileURLToPath(new URL(`src/${path}`, import.meta.url))
const test = (path: string): string => fileURLToPath(new URL(`test/${path}`, import.meta.url))

/** Tests of commands and servers, which share a folder, a thread or a database with a file, and the one that patches built-ins. */
const apart = [
  'test/cli/*.test.ts',
  'test/**/{command,copy,check,redact,patched}.test.ts',
  'test/**/{*postgres*,together,soak}.test.ts',
]

export default defineConfig({
  resolve: {
    alias: [
      { find: /^indelible$/, replacement: src('index.ts') },
      { find: /^indelible\/(.+)$/, replacement: src('$1/index.ts') },
    ],
  },
  test: {
    projects: [
      // Loading the library and fast-check anew for each file would take a third of the processor's time.
      {
        extends: true,
        test: {
          name: 'together',
          isolate: false,
          include: ['test/**/*.test.ts'],
          exclude: apart,
          typecheck: { enabled: true, include: ['test/**/*.test-d.ts'], tsconfig: 'tsconfig.json' },
        },
      },
      { extends: true, test: { name: 'apart', include: apart } },
      // With fewer than 128 messages no chunk of a record is ever full: here two fill one, and two of them a group.
      {
        extends: true,
        resolve: { alias: [{ find: './chunk-size.ts', replacement: test('history/small-chunks.ts') }] },
        test: { name: 'small chunks', include: ['test/history/*.test.ts'], env: { INDELIBLE_SMALL_CHUNKS: 'yes' } },
      },
    ],
    setupFiles: ['test/setup.ts'],
    testTimeout: 60_000,
    // Processes, servers and file systems of a loaded machine. A property draws the same seed again, so this hides none of
    // its counterexamples; `npm test` names each test that passed only at its second try.
    retry: process.env['INDELIBLE_RETRY'] === 'no' ? 0 : 1,
    maxWorkers: availableParallelism() + 1, // many tests wait for processes of their own
  },
})
