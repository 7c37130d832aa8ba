/** The suites that need packages of over 50 MB. They run with `npm run adapters`. */
import { fileURLToPath } from 'node:url'
import { defaultServerConditions } from 'vite'
import { defineConfig, type ViteUserConfig } from 'vitest/config'

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

const conditions = ['@indelible/source', ...defaultServerConditions]

const config: ViteUserConfig = defineConfig({
  root: at('.'),
  resolve: {
    conditions,
    alias: [
      // One copy of LangGraph's classes: that of the suites.
      {
        find: /^@langchain\/langgraph-checkpoint$/,
        replacement: at('node_modules/@langchain/langgraph-checkpoint/dist/index.js'),
      },
    ],
  },
  ssr: { resolve: { conditions } },
  test: { include: ['test/**/*.test.ts'], testTimeout: 600_000, globals: true }, // LangGraph's suite takes globals
})

// oxlint-disable-next-line import/no-default-export -- vitest takes the default
export default config
