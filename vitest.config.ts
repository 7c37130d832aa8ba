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
    testTimeout: 60_000,
    maxWorkers: '100%', // many tests wait for processes of their own
  },
})
