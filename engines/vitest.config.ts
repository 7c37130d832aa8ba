import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    setupFiles: ['../test/setup.ts'],
    fileParallelism: false,
    retry: 1, // real servers, and processes that are killed
  },
})
