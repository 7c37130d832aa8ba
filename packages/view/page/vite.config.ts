/** The page as three files of fixed names: the server gives them, and an exported file carries them. */
import { fileURLToPath } from 'node:url'
import { defaultClientConditions, defineConfig, type UserConfig } from 'vite'

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

const config: UserConfig = defineConfig({
  root: path('.'),
  base: './',
  logLevel: 'warn',
  resolve: {
    conditions: ['@indelible/source', ...defaultClientConditions],
  },
  build: {
    outDir: path('../dist/page'),
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: false,
    cssCodeSplit: false,
    chunkSizeWarningLimit: 2000,
    rolldownOptions: {
      output: { entryFileNames: 'page.js', assetFileNames: 'page[extname]', codeSplitting: false },
    },
  },
})
export default config
