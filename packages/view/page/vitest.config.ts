/** Tests in a real browser: `npm run pages`. */
import { fileURLToPath } from 'node:url'
import { defaultServerConditions } from 'vite'
import { defineConfig, type UserConfig } from 'vitest/config'

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

const config: UserConfig = defineConfig({
  root: path('../../..'),
  resolve: {
    conditions: ['@indelible/source', ...defaultServerConditions],
  },
  test: {
    include: ['packages/view/test/page/**/*.pages.ts'],
    env: { NODE_OPTIONS: '--conditions=@indelible/source' }, // for processes that tests start from sources
    testTimeout: 600_000,
    hookTimeout: 600_000,
    fileParallelism: false, // figures are measured
  },
})
export default config
