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
    testTimeout: 600_000,
    hookTimeout: 600_000,
    fileParallelism: false, // figures are measured
  },
})
export default config
