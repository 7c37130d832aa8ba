/** Tests in a real browser: `npm run pages`. */
import { fileURLToPath } from 'node:url'
import { defineConfig, type UserConfig } from 'vitest/config'

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

const config: UserConfig = defineConfig({
  root: path('..'),
  resolve: {
    alias: [
      { find: /^indelible$/, replacement: path('../src/index.ts') },
      { find: /^indelible\/(.+)$/, replacement: path('../src/$1/index.ts') },
    ],
  },
  test: {
    include: ['test/page/**/*.pages.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    fileParallelism: false, // figures are measured
    retry: process.env['INDELIBLE_RETRY'] === 'no' ? 0 : 1,
  },
})
export default config
