/**
 * The package as a user gets it: packed, installed into an empty folder, every export imported in plain Node and
 * type-checked in both module resolutions, the command run.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { namesOf } from './api.ts'
import { entries, entriesOf, packages } from './packages.ts'
import { output, root } from './run.ts'

interface Packed {
  readonly name: string
  readonly filename: string
  readonly size: number
  readonly files: readonly { readonly path: string }[]
}

/** The first TypeScript that docs/packages.md names. */
const oldestTypeScript = '5.4.5'

const fail = (reason: string): never => {
  throw new Error(`smoke test: ${reason}`)
}

/** The first Node of a range like `>=22.13`, installed beside the consumer; undefined where there is no network to get it by. */
const oldestNode = (range: string): string | undefined => {
  const version = `${/\d+\.\d+/.exec(range)?.[0]}.0`
  const place = join(folder, 'oldest')
  mkdirSync(place)
  writeFileSync(
    join(place, 'package.json'),
    JSON.stringify({ private: true, dependencies: { node: version }, allowScripts: { node: true } }),
  )
  try {
    output('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund'], place)
  } catch {
    return undefined
  }
  const node = join(place, 'node_modules/.bin/node')
  return output(node, ['--version']).trim() === `v${version}`
    ? node
    : fail(`${version} was asked for, and another Node came`)
}

/** With a space and a letter that URLs escape: a package that takes the path of a URL for a file's fails here. */
const folder = mkdtempSync(join(tmpdir(), 'indelible smöke '))
try {
  const packed = JSON.parse(
    output('npm', [
      ...['pack', '--json', '--ignore-scripts', '--pack-destination', folder],
      ...['--workspaces', '--include-workspace-root'],
    ]),
  ) as readonly Packed[]
  if (packed.length !== packages.length) fail(`${packed.length} of ${packages.length} packages were packed`)
  const tarballs = new Map(packed.map(({ name, filename }) => [name, join(folder, filename)]))
  const tarball = tarballs.get('indelible') ?? fail('npm pack gave no library')

  const built = String.raw`dist/.+\.(?:js|d\.ts)(?:\.map)?|src/.+\.ts|package\.json|README\.md|LICENSE`
  const library = String.raw`|bin/indelible\.js|docs/[a-z-]+(?:/[a-z-]+)?\.md|docs/view\.png|(?:API|CHANGELOG|CONTRIBUTING|SECURITY|bench/RESULTS)\.md|examples/verify/(?:go\.mod|main\.go)`
  const page = String.raw`|dist/page/(?:index\.html|page\.css)`
  const command = String.raw`|dist/bin/LICENSES\.md|dist/indelible\.1|claude-plugin/(?:\.claude-plugin/plugin\.json|hooks/(?:hooks\.json|keep\.sh)|skills/ask-past-sessions/SKILL\.md)`
  for (const { name, files } of packed) {
    const more = { indelible: library, '@indelible/cli': command, '@indelible/view': page }[name] ?? ''
    const wanted = new RegExp(`^(?:${built}${more})$`)
    const unwanted = files.filter(({ path }) => !wanted.test(path)).map(({ path }) => path)
    if (unwanted.length > 0) fail(`${name} holds files that no user needs: ${unwanted.join(', ')}`)
    for (const file of ['README.md', 'LICENSE'])
      if (!files.some(({ path }) => path === file)) fail(`${name} has no ${file}`)
  }

  for (const path of tarballs.values()) output('publint', [path, '--strict'])
  // All entries have the same form, which is checked below, so `attw` looks at two. Later each one is imported and type-checked.
  output('attw', [tarball, '--profile', 'esm-only', '--entrypoints', '.', 'store/sqlite'])

  // The optional peers too, at the versions that the tests use: their entries are imported like all others.
  const manifest = packages[0]?.manifest ?? fail('there is no library')
  const peers = Object.fromEntries(
    packages
      .flatMap((one) => Object.keys(one.manifest.peerDependencies ?? {}))
      .filter((name) => !tarballs.has(name))
      .map((name) => [name, manifest.devDependencies?.[name] ?? fail(`${name} is a peer that no test uses`)]),
  )
  const project = {
    name: 'consumer',
    private: true,
    type: 'module',
    dependencies: {
      ...Object.fromEntries([...tarballs].map(([name, path]) => [name, `file:${path}`])),
      ...peers,
      'typescript-oldest': `npm:typescript@${oldestTypeScript}`,
    },
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(project))
  output('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund'], folder)

  for (const { manifest } of packages)
    for (const [entry, to] of Object.entries(manifest.exports)) {
      if (typeof to === 'string') continue
      const file = to['@indelible/source'].replace(/^\.\/src/, './dist').replace(/\.ts$/, '')
      const form = {
        '@indelible/source': to['@indelible/source'],
        types: `${file}.d.ts`,
        ...(manifest.name === 'indelible' && { node: `${file.replace('./dist', './dist/node')}.js` }),
        default: `${file}.js`,
      }
      if (JSON.stringify(to) !== JSON.stringify(form)) fail(`${manifest.name}, ${entry} leads to ${JSON.stringify(to)}`)
    }
  // The entries under `internal` are no promise, and the packages that use them have to find them.
  const all = packages.flatMap((one) => entriesOf(one, true)).map(({ name }) => name)
  writeFileSync(
    join(folder, 'consumer.ts'),
    [
      ...all.map((entry, index) => `import * as entry${index} from '${entry}'`),
      `import { createHistory, user, type Message, type View } from 'indelible'`,
      `const history = createHistory<Message>()`,
      `history.append(user('hello'))`,
      `const view: View<Message> = history.view()`,
      `// @ts-expect-error a view has no push`,
      `const forbidden = () => view.push(user('again'))`,
      // What a history takes and refuses has to be the same in the oldest TypeScript.
      `class Hidden { private readonly count = 0; seen() { return this.count } }`,
      `interface Tree<T> { value: T; children: Tree<T>[] }`,
      `interface Named { name: string; message: string }`,
      `const taken = () => [createHistory<Tree<Named>>(), createHistory<Named | { type: 'said'; n?: number }>()]`,
      ...['Iterable<string>', 'object', '{}', '{ [Symbol.iterator]: string }', 'Hidden', 'Error', 'Tree<Date>'].flatMap(
        (type, index) => [`// @ts-expect-error ${type}`, `const refused${index} = () => createHistory<${type}>()`],
      ),
      `// @ts-expect-error a view's iterator is readonly`,
      `const replaced = () => { view[Symbol.iterator] = () => [][Symbol.iterator]() }`,
      `const empty = [${all.map((_, index) => `entry${index}`).join(', ')}].filter((entry) => Object.keys(entry).length === 0).length`,
      `if (view.length !== 1 || view.pages.at(0) !== 'conversation' || empty > 0 || typeof forbidden !== 'function') throw new Error('wrong')`,
    ].join('\n'),
  )
  // The root alone asks nothing of the platform's types; some entries name AbortSignal, which Node's and the browser's types both have.
  writeFileSync(
    join(folder, 'root.ts'),
    `import * as root from 'indelible'\nif (root.createHistory().len !== 0) throw new Error('wrong')\n`,
  )
  const bare = [
    '--strict',
    '--target',
    'es2023',
    '--types',
    '',
    '--verbatimModuleSyntax',
    '--exactOptionalPropertyTypes',
  ]
  output(
    'tsc',
    ['root.ts', '--noEmit', '--module', 'nodenext', '--moduleResolution', 'nodenext', ...bare, '--lib', 'es2023'],
    folder,
  )
  // Our own declarations are checked all through, but for the entries that name types of a peer: not every peer's stand the check.
  const peered =
    /^indelible\/run\/|^@indelible\/(?:ai-sdk|claude-agent|langgraph|openai-agents|postgres|recorder\/proxy)$/
  writeFileSync(
    join(folder, 'own.ts'),
    entries
      .filter(({ name }) => !peered.test(name))
      .map(({ name }) => `import '${name}'\n`)
      .join(''),
  )
  const strict = [...bare, '--lib', 'es2023,dom']
  output('tsc', ['own.ts', '--noEmit', '--module', 'nodenext', '--moduleResolution', 'nodenext', ...strict], folder)
  output(
    'tsc',
    ['consumer.ts', '--noEmit', '--module', 'esnext', '--moduleResolution', 'bundler', ...strict, '--skipLibCheck'],
    folder,
  )
  // What a function answers has a name for the declaration files of a program that exports it.
  writeFileSync(
    join(folder, 'declared.ts'),
    entries
      .flatMap((entry, index) =>
        [`import * as entry${index} from '${entry.name}'`].concat(
          namesOf(entry).values.flatMap((value) => [
            `export const ${value}${index} = (result: ResultOf<typeof entry${index}.${value}>) => result`,
            `export const ${value}${index}Awaited = (result: Awaited<ResultOf<typeof entry${index}.${value}>>) => result`,
          ]),
        ),
      )
      .concat('type ResultOf<F> = F extends (...parameters: never) => infer R ? R : F')
      .join('\n'),
  )
  output(
    'tsc',
    [
      ...['declared.ts', '--declaration', '--emitDeclarationOnly', '--outDir', 'declarations', '--rootDir', '.'],
      ...['--module', 'nodenext', '--moduleResolution', 'nodenext', ...strict, '--skipLibCheck'],
    ],
    folder,
  )
  output(
    'tsc',
    ['consumer.ts', '--module', 'nodenext', '--moduleResolution', 'nodenext', ...strict, '--skipLibCheck'],
    folder,
  )
  // The same with the oldest TypeScript that docs/packages.md names, in both resolutions.
  const oldTsc = join(folder, 'node_modules/typescript-oldest/bin/tsc')
  for (const [module, moduleResolution] of [
    ['esnext', 'bundler'],
    ['nodenext', 'nodenext'],
  ] as const) {
    const compilerOptions = {
      noEmit: true,
      strict: true,
      exactOptionalPropertyTypes: true,
      target: 'es2022',
      lib: ['es2022', 'dom'],
      types: [],
      module,
      moduleResolution,
    }
    for (const [file, skipLibCheck] of [
      ['consumer.ts', true],
      ...(module === 'nodenext' ? ([['own.ts', false]] as const) : []), // a declaration is the same in both
    ] as const) {
      const config = `tsconfig.oldest.json`
      writeFileSync(
        join(folder, config),
        JSON.stringify({ compilerOptions: { ...compilerOptions, skipLibCheck }, files: [file] }),
      )
      output(process.execPath, [oldTsc, '-p', config], folder)
    }
  }
  // Go to definition lands in TypeScript: each map names a source that is in the package.
  const map = JSON.parse(readFileSync(join(folder, 'node_modules/indelible/dist/index.d.ts.map'), 'utf8')) as {
    readonly sources: readonly string[]
  }
  if (map.sources.join() !== '../src/index.ts') fail(`the declaration map names ${map.sources.join()}`)
  output(process.execPath, ['consumer.js'], folder)

  // What Node loads: a few files for the root entry, and for all entries of all packages one copy of the library.
  writeFileSync(
    join(folder, 'loaded.js'),
    [
      `import { registerHooks } from 'node:module'`,
      `const loaded = []`,
      `registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })`,
      `await import('indelible')`,
      `const first = loaded.length`,
      `await import('./consumer.js')`,
      `const files = loaded.flatMap((url) => url.split('/node_modules/indelible/dist/')[1] ?? [])`,
      `const others = files.filter((file) => !file.startsWith('node/'))`,
      `console.log(JSON.stringify({ first, others, files: files.length }))`,
    ].join('\n'),
  )
  const loaded = JSON.parse(output(process.execPath, ['loaded.js'], folder)) as {
    readonly first: number
    readonly others: readonly string[]
    readonly files: number
  }
  if (loaded.first > 8) fail(`the root entry makes Node load ${loaded.first} files`)
  if (loaded.others.length > 0 || loaded.files === 0) fail(`Node loads a second copy: ${loaded.others.join(', ')}`)
  // The bundle has the same names as the files one by one.
  const twins = packages
    .slice(0, 1)
    .flatMap((one) =>
      entriesOf(one, true).map(({ name, source }) => [
        name,
        `./node_modules/indelible/${relative(root, source).replace(/^src/, 'dist').replace(/\.ts$/, '.js')}`,
      ]),
    )
  writeFileSync(
    join(folder, 'twins.js'),
    [
      `const names = async (entry) => Object.keys(await import(entry)).join()`,
      `for (const [entry, file] of ${JSON.stringify(twins)})`,
      `  if ((await names(entry)) !== (await names(file))) throw new Error(entry + ' has other names in Node')`,
    ].join('\n'),
  )
  output(process.execPath, ['twins.js'], folder)

  // The suite for stores, on the file, and by the oldest Node that the package names: its SQLite differs most from today's.
  writeFileSync(
    join(folder, 'stores.js'),
    [
      `import { storeContract } from '@indelible/testing'`,
      `import { indexStore } from 'indelible/search'`,
      `import { sqliteStore } from 'indelible/store/sqlite'`,
      `let count = 0`,
      `const place = async () => {`,
      `  const path = 'store-' + process.version + '-' + count++ + '.db'`,
      `  const open = async (scope) => {`,
      `    const opened = await sqliteStore({ path, durability: 'os', ...(scope === undefined ? {} : { scope }) })()`,
      `    if (opened._tag === 'Left') throw new Error(JSON.stringify(opened.left))`,
      `    return opened.right`,
      `  }`,
      `  return { open, lasting: true }`,
      `}`,
      `for (const { run } of storeContract('sqlite', place)) await run()`,
      // Its SQLite has to have FTS5.
      `const { open } = await place()`,
      `const indexed = await indexStore(await open())()`,
      `if (indexed._tag === 'Left') throw new Error(JSON.stringify(indexed.left))`,
      `console.log(process.version)`,
    ].join('\n'),
  )
  const oldest = oldestNode(manifest.engines.node)
  if (oldest === undefined)
    process.stdout.write('left out: the package on the oldest Node (it could not be installed)\n')
  else {
    for (const script of ['consumer.js', 'stores.js']) output(oldest, ['--no-warnings', script], folder)
    // Requests that no well-meant client sends: what Node's parser and its URLs do with them differs by version.
    const odd = join(root, 'packages/recorder/test/proxy/odd-requests.ts')
    output(oldest, ['--no-warnings', '--experimental-strip-types', odd], folder)
  }

  // The first program of docs/packages.md, pasted into an empty project: as TypeScript, then as it stands, twice.
  const first =
    /^```ts\n(.*?)^```$/ms.exec(readFileSync(join(root, 'docs/packages.md'), 'utf8'))?.[1] ??
    fail('docs/packages.md has no code')
  const pasted = join(folder, 'pasted')
  mkdirSync(pasted)
  writeFileSync(join(pasted, 'package.json'), '{ "private": true }')
  output('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', tarball], pasted)
  for (const name of ['first.mts', 'first.mjs']) writeFileSync(join(pasted, name), first)
  output(
    'tsc',
    ['first.mts', '--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2023', '--types', ''],
    pasted,
  )
  for (const run of ['once', 'again']) {
    const printed = output(process.execPath, ['first.mjs'], pasted)
    if (!printed.includes("tool_call_id: 'call_1'")) fail(`the first program, run ${run}, printed\n${printed}`)
  }
  if (oldest !== undefined) output(oldest, ['--no-warnings', 'first.mjs'], pasted)

  const indelible = join(folder, 'node_modules/.bin/indelible')
  const version = output(process.execPath, [indelible, '--version']).trim()
  if (version !== manifest.version) fail(`indelible --version says ${version}`)
  const shown = output(process.execPath, [indelible, 'show', join(root, 'examples/coding-agent.json')])
  if (!shown.includes('open calls: none')) fail(`indelible show printed\n${shown}`)
  // A peer that is not there is named, and nothing is loaded before it is needed.
  rmSync(join(folder, 'node_modules/pg'), { recursive: true })
  const without = spawnSync(process.execPath, [indelible, 'list', '--store', 'postgres://127.0.0.1:1/x'], {
    encoding: 'utf8',
  })
  if (without.status !== 1 || !without.stderr.includes('npm install pg'))
    fail(`without pg, indelible list --store postgres://… ended with ${without.status} and said\n${without.stderr}`)
  // The library alone has no command: it says how to get it.
  rmSync(join(folder, 'node_modules/@indelible'), { recursive: true }) // above it
  const alone = spawnSync(process.execPath, [join(pasted, 'node_modules/.bin/indelible'), 'list'], { encoding: 'utf8' })
  if (alone.status !== 127 || !alone.stderr.includes('@indelible/cli, which is not installed'))
    fail(`without the command, indelible list ended with ${alone.status} and said\n${alone.stderr}`)
  const sizes = packed.map(({ name, size, files }) => `${name} ${Math.round(size / 1024)} kB (${files.length} files)`)
  process.stdout.write(`the packed tarballs work: ${sizes.join(', ')}; ${all.length} entries\n`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
