import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['**/*.test.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
    setupFiles: ['../test/setup.ts'],
    fileParallelism: false,
  },
})
