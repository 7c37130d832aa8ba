/**
 * Bundle the library for Node, in `dist/node`: the same entries in few files, with what they use of Immer, fp-ts,
 * @noble/hashes and stemmer. A file takes Node up to a millisecond of processor time, the root entry has two hundred, and fp-ts's CommonJS forty more.
 * Bundlers for browsers get the files of `dist` one by one: they leave out what a program does not use file by file.
 */
import { join, relative } from 'node:path'
import { build, defaultServerConditions, type Plugin, type Rolldown } from 'vite'
import { functionDeclarations } from './bundle-plugins.ts'
import { entriesOf, packages } from './packages.ts'
import { root } from './run.ts'

const entries = packages.slice(0, 1).flatMap((library) => entriesOf(library, true))
const conditions = ['@indelible/source', ...defaultServerConditions]

/** The first code of each file: on an older Node, one sentence says which one is needed. */
const versionCheck = `
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 16) || major === 23)
  throw new Error(\`indelible needs Node 22.16 or later, but not 23; this is \${process.versions.node}\`)
`

/**
 * Node's modules when a file runs, and not by its imports: Node reads every property of an imported module, which loads
 * its streams and more (3 ms), and an older Node without `node:sqlite` would fail with an error that doesn't name the cause.
 */
const builtInsAtRun: Plugin = {
  name: 'built-ins-at-run',
  renderChunk: (code) => ({
    code: code
      .replace(/^import \* as (\w+) from ("node:[^"]+");$/gm, 'const $1 = process.getBuiltinModule($2);')
      .replace(
        /^import (\{.*\}) from ("node:[^"]+");$/gm,
        (_, names: string, from: string) =>
          `const ${names.replaceAll(' as ', ': ')} = process.getBuiltinModule(${from});`,
      ),
    map: null, // each line stays where it was
  }),
}

/** Text in ASCII: Node keeps it in half the memory, and reads it faster. */
const asciiOnly: Plugin = {
  name: 'ascii-only',
  generateBundle: (_, files) => {
    for (const file of Object.values(files))
      if (file.type === 'chunk')
        file.code = file.code.replace(
          /[^\0-\x7f]/g, // by UTF-16 unit, so that a pair becomes two escapes
          (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
        )
  },
}

/** The modules that become one file: what the root entry uses, what these import in turn, and what SQLite needs of others. */
const library = new Set<string>()

const bundle = async (
  write: boolean,
  input: Readonly<Record<string, string>>,
): Promise<readonly Rolldown.OutputChunk[]> => {
  const built = await build({
    configFile: false,
    root,
    logLevel: 'warn',
    plugins: write ? [builtInsAtRun, functionDeclarations, asciiOnly] : [],
    resolve: { conditions, alias: [{ find: /^#fp-ts\/(.+)$/, replacement: 'fp-ts/es6/$1.js' }] },
    ssr: { resolve: { conditions }, noExternal: ['@noble/hashes', 'fp-ts', 'immer', 'stemmer'] },
    build: {
      ssr: true,
      target: 'es2023',
      sourcemap: true,
      outDir: 'dist/node',
      copyPublicDir: false,
      write,
      rolldownOptions: {
        input,
        preserveEntrySignatures: 'allow-extension',
        checks: { pluginTimings: false }, // a file's syntax tree takes its time
        output: {
          entryFileNames: '[name].js',
          chunkFileNames: 'chunks/[name].js',
          sourcemapExcludeSources: true,
          // In braces: its names are no names of the file.
          intro: `{${versionCheck}}`,
          comments: false,
          codeSplitting: {
            includeDependenciesRecursively: false,
            groups: [
              { name: 'library', test: (id) => library.has(id) && !id.endsWith('src/index.ts') },
              // What the check, which is loaded when it is called, shares with the entry: else the entry would export it.
              {
                name: 'sqlite',
                test: /store[/\\]sqlite[/\\](?!index|check|erase)/,
              },
              { name: 'prices', test: /prices[/\\]model-prices/ }, // else the entry of packages would export more
            ],
          },
        },
      },
    },
  })
  return 'output' in built ? built.output.filter((chunk) => chunk.type === 'chunk') : []
}

const addModules = ({ modules }: Rolldown.OutputChunk): void => {
  for (const [id, { renderedLength }] of Object.entries(modules)) if (renderedLength > 0) library.add(id)
}

// Alone, without what only other entries use: Node reads and compiles all of a file.
for (const chunk of await bundle(false, { index: join(root, 'src/index.ts') })) if (chunk.isEntry) addModules(chunk)
const input = Object.fromEntries(
  entries.map(({ source }) => [relative(join(root, 'src'), source).replace(/\.ts$/, ''), source]),
)
for (let size = 0; size < library.size;) {
  size = library.size
  const chunks = await bundle(false, input)
  // What SQLite shares with other entries is in that file too: each further file takes longer than its text.
  const imported = new Set(
    chunks.flatMap(({ name, imports }) => (name === 'library' || name === 'sqlite' ? imports : [])),
  )
  for (const chunk of chunks) if (imported.has(chunk.fileName)) addModules(chunk)
}
await bundle(true, input)
