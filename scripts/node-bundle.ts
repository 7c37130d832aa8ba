/**
 * Bundle the library for Node, in `dist/node`: the same entries in few files, with what they use of Immer and fp-ts. A file
 * takes Node up to a millisecond of processor time, the root entry has two hundred, and fp-ts's CommonJS forty more.
 * Bundlers for browsers get the files of `dist` one by one: they leave out what a program does not use file by file.
 */
import { join, relative } from 'node:path'
import { build, defaultServerConditions, type Plugin } from 'vite'
import { entriesOf, packages } from './packages.ts'
import { root } from './run.ts'

const entries = packages.slice(0, 1).flatMap((library) => entriesOf(library, true))
const conditions = ['@indelible/source', ...defaultServerConditions]

/** The files that the root entry loads at once: they become one. */
const start = new Set<string>()
const findStart: Plugin = {
  name: 'find-start',
  buildEnd() {
    const add = (id: string): void => {
      if (start.has(id)) return
      start.add(id)
      for (const imported of this.getModuleInfo(id)?.importedIds ?? []) add(imported)
    }
    add(join(root, 'src/index.ts'))
  },
}

/** The first code of each file: on an older Node, one sentence says which one is needed. */
const versionCheck = `
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 16) || major === 23)
  throw new Error(\`indelible needs Node 22.16 or later, but not 23; this is \${process.versions.node}\`)
`

/**
 * SQLite when a file runs, and not while Node resolves its imports: there an older Node would fail first, with an error that
 * doesn't name the cause.
 */
const sqliteAtRun: Plugin = {
  name: 'sqlite-at-run',
  enforce: 'pre',
  resolveId: { filter: { id: /^node:sqlite$/ }, handler: () => '\0node-sqlite' },
  load: {
    filter: { id: /^\0node-sqlite$/ },
    handler: () =>
      `${versionCheck}\nexport const { DatabaseSync, StatementSync, backup, constants } = process.getBuiltinModule('node:sqlite')`,
  },
}

await build({
  configFile: false,
  root,
  logLevel: 'warn',
  plugins: [sqliteAtRun, findStart],
  resolve: { conditions, alias: [{ find: /^#fp-ts\/(.+)$/, replacement: 'fp-ts/es6/$1.js' }] },
  ssr: { resolve: { conditions }, noExternal: ['fp-ts', 'immer'] },
  build: {
    ssr: true,
    target: 'es2023',
    sourcemap: true,
    outDir: 'dist/node',
    copyPublicDir: false,
    rolldownOptions: {
      input: Object.fromEntries(
        entries.map(({ source }) => [relative(join(root, 'src'), source).replace(/\.ts$/, ''), source]),
      ),
      preserveEntrySignatures: 'allow-extension',
      output: {
        entryFileNames: '[name].js',
        chunkFileNames: 'chunks/[name].js',
        sourcemapExcludeSources: true,
        // In braces: its names are no names of the file.
        intro: `{${versionCheck}}`,
        comments: false,
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [{ name: 'library', test: (id) => start.has(id) && !id.endsWith('src/index.ts') }],
        },
      },
    },
  },
})
