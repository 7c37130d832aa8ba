import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const src = (path: string): string => fileURLToPath(new URL(`src/${path}`, import.meta.url))

export default defineConfig({
  resolve: {
    alias: [
      { find: /^indelible$/, replacement: src('index.ts') },
      { find: /^indelible\/(.+)$/, replacement: src('$1/index.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    typecheck: { enabled: true, include: ['test/**/*.test-d.ts'], tsconfig: 'tsconfig.json' },
    setupFiles: ['test/setup.ts'],
    testTimeout: 60_000,
    // Processes, servers and file systems of a loaded machine. A property draws the same seed again, so this hides none of
    // its counterexamples; `npm test` names each test that passed only at its second try.
    retry: process.env['INDELIBLE_RETRY'] === 'no' ? 0 : 1,
    maxWorkers: availableParallelism() + 1, // many tests wait for processes of their own
  },
})
