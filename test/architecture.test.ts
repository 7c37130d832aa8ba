/** The source layout: folders and packages import in one direction, through their entries, and the library needs no Node. */
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { suites } from '../scripts/attacks.ts'
import { entriesOf, packages } from '../scripts/packages.ts'
import { root } from '../scripts/run.ts'

/** What each folder of the library may import from: its own files, and these. */
const mayImport: { readonly [folder: string]: readonly string[] } = {
  either: [],
  sequence: [],
  words: [],
  ranking: ['sequence', 'words'],
  json: ['either'],
  task: ['either', 'json'],
  proof: ['json'],
  message: ['either', 'json', 'sequence', 'task', 'proof'],
  codecs: ['either', 'json', 'sequence', 'task', 'proof', 'message'],
  pages: ['json', 'sequence'],
  notes: ['either', 'json', 'sequence', 'task', 'proof', 'pages'],
  redact: ['either', 'json', 'proof', 'message', 'notes'],
  history: ['either', 'json', 'sequence', 'task', 'pages'], // generic in its message type
  store: ['either', 'json', 'sequence', 'task', 'proof'],
  entry: ['either', 'json', 'words', 'task', 'proof', 'message', 'pages', 'history', 'store'],
  session: [
    'either',
    'json',
    'sequence',
    'task',
    'proof',
    'message',
    'pages',
    'notes',
    'redact',
    'history',
    'store',
    'entry',
  ],
  search: ['either', 'json', 'words', 'task', 'proof', 'message', 'notes', 'history', 'store', 'entry', 'session'],
  prices: ['json', 'words', 'notes'],
  context: ['either', 'json', 'sequence', 'words', 'task', 'proof', 'message', 'pages', 'notes', 'prices', 'ranking'], // of history only the view types, below
  usage: ['either', 'json', 'words', 'task', 'proof', 'notes', 'store', 'session', 'prices'],
  run: [
    ...['either', 'json', 'sequence', 'task', 'proof', 'message', 'codecs', 'pages', 'notes', 'redact', 'history'],
    ...['store', 'session', 'prices', 'context', 'thread'],
  ],
  thread: ['either', 'json', 'sequence', 'task', 'message', 'codecs'],
  '.': [
    'either',
    'json',
    'task',
    'proof',
    'message',
    'codecs',
    'pages',
    'notes',
    'history',
    'store',
    'entry',
    'session',
    'thread',
  ],
}

/**
 * What each folder inside of another may import from, for every folder of `src` and of the packages that has folders. Files
 * beside them come below some of them and above others, in no circle; their faults and main types are for all.
 */
const inside: { readonly [place: string]: { readonly [folder: string]: readonly string[] } } = {
  'src/store': {
    port: [], // what a store is, and what its driver must do
    rules: ['port'], // what holds for every store, checked once
    memory: ['port', 'rules'],
    sqlite: ['port', 'rules'],
    blocks: ['port', 'rules'],
  },
  'src/session': {
    record: [], // rows as they are read: messages, notes, metadata
    writing: ['record'],
    erasing: ['record'],
    opening: ['record', 'writing', 'erasing'],
    proofs: ['record', 'erasing', 'opening'],
    moving: ['record', 'erasing', 'opening'], // import, export, copy
  },
  'src/context': {
    counting: [], // tokens and budgets
    showing: ['counting'], // texts: cut messages, markers, excerpts
    recall: ['counting', 'showing'],
    deriving: ['counting', 'showing', 'recall'],
    summarizing: ['counting', 'showing', 'deriving'],
    'gpt-tokenizer': [],
  },
  'src/codecs': { 'openai-chat': [], 'openai-responses': [], anthropic: [], gemini: [] },
  'src/run': {
    model: [], // a model as the loop sees it, and what its adapters share
    openai: ['model'],
    anthropic: ['model'],
    gemini: ['model'],
    tools: ['model'],
    loop: ['model', 'tools'], // steps: the model's answer, its calls, the delta
    recording: ['model'], // handlers that record a run, and the lease of its session
    turns: ['model', 'tools', 'loop', 'recording'], // runs on a session: which one is next, and where it starts
  },
  'packages/codecs/src': { 'ai-sdk': [], langchain: [], 'openai-agents': [] },
  'packages/recorder/src': {
    apis: [], // which requests of each provider carry a conversation
    guard: [], // who may ask a server on this machine
    messages: [], // which messages and tools count as the same
    answers: ['apis'], // bodies and streams of answers
    requests: ['apis', 'messages', 'answers'], // bodies of requests, and the form in which they are recorded
    conversations: ['apis', 'messages', 'requests'], // the session that a call belongs to, and its receipt
    proxy: ['apis', 'guard', 'messages', 'answers', 'requests', 'conversations'],
    replay: ['apis', 'guard', 'messages', 'answers', 'requests', 'conversations'],
  },
  'packages/transcripts/src': {
    text: [], // bytes, lines and JSON texts of a file
    format: ['text'], // what a format is, and what readers of formats share
    programs: ['text', 'format'], // the formats of programs, a file or a few for each
    reading: ['text', 'format', 'programs'], // from a file to a transcript
    storing: ['format', 'programs'], // from a transcript to a session or an export, with its calls
    sqlite: ['format', 'programs', 'reading'],
    native: [], // session files, written for their programs
  },
  'packages/workflows/src': {
    refs: [], // histories of references
    managed: [], // what of a history a model is sent
    activities: ['refs', 'managed'],
  },
  'packages/cli/src': {
    terminal: [], // what people see
    sources: ['terminal'], // what commands are given: files, sessions, stores
    record: ['sources', 'terminal'],
    rerun: ['sources', 'terminal', 'record'],
    change: ['sources', 'terminal'],
    files: ['sources', 'terminal'],
    compare: ['sources', 'terminal'], // policies of contexts, measured on recordings
    model: ['sources', 'terminal', 'compare'],
    prove: ['sources', 'terminal'],
    install: ['sources', 'terminal'], // changes of other programs' settings
    keep: ['sources', 'terminal', 'install'],
    mcp: ['sources', 'terminal', 'install'],
    maintenance: ['sources', 'terminal', 'record', 'prove', 'keep'],
    look: ['sources', 'terminal', 'change', 'keep'],
    agents: ['sources', 'terminal'],
  },
  'packages/view/src': {
    texts: [], // what is known of a session, as words
    calls: ['texts'], // model calls, and what each was sent
    server: ['texts', 'calls'],
  },
  'packages/view/page/src': {
    data: [], // where the page reads, the record of a session, and what is worked out from it
    elements: ['data'], // what all views consist of: buttons, fields, long lists
    message: ['data', 'elements'], // a message and its parts
    proof: ['data', 'elements'],
    session: ['data', 'elements', 'message', 'proof'], // the head of a session's views, and its timeline
    context: ['data', 'elements', 'message', 'session'], // what the model saw
    forks: ['data', 'elements', 'message', 'session'],
    trace: ['data', 'elements', 'session'],
    list: ['data', 'elements'], // all sessions
    spend: ['data', 'elements'],
  },
}

/** Files beside folders whose types all of these may name: they hold types and sentences, and only name types of the folders. */
const mainTypes: ReadonlySet<string> = new Set(['fault.ts', 'src/session/session.ts'])

/** What else of this repository each package imports, beside the library. */
const packagesOf: { readonly [name: string]: readonly string[] } = {
  'ai-sdk': ['codecs'],
  'claude-agent': ['transcripts'],
  cli: ['codecs', 'encryption', 'evidence', 'postgres', 'recorder', 'transcripts', 'view'],
  codecs: [],
  encryption: [],
  evidence: [],
  langgraph: ['codecs'],
  'openai-agents': ['codecs'],
  postgres: [],
  recorder: [],
  records: [],
  testing: [],
  transcripts: ['codecs'],
  view: ['encryption', 'evidence', 'recorder', 'transcripts'], // encryption: only its page, which is a bundle
  workflows: [],
}

/** What may be imported from outside by a folder of its own subpath, that nothing else reaches. */
const drivers: { readonly [folder: string]: readonly string[] } = {
  'src/store/sqlite': [
    'node:sqlite',
    'node:fs',
    'node:fs/promises',
    'node:worker_threads',
    'node:path',
    'node:url',
    'node:crypto',
    'node:zlib',
  ],
  'src/context/gpt-tokenizer': ['gpt-tokenizer/encoding/cl100k_base', 'gpt-tokenizer/encoding/o200k_base'],
  'src/run/anthropic': ['@anthropic-ai/sdk', '@anthropic-ai/sdk/resources/messages'],
  'src/run/gemini': ['@google/genai'],
  'src/run/openai': ['openai', 'openai/resources/chat/completions', 'openai/resources/responses/responses'],
  'packages/testing/src': ['node:child_process'], // only where a place names how other processes open it
  'packages/transcripts/src/sqlite': ['node:sqlite', '@msgpack/msgpack'],
  'packages/postgres/src': ['pg', 'node:async_hooks', 'node:crypto', 'node:net'],
  'packages/ai-sdk/src': ['ai'],
  'packages/langgraph/src': ['@langchain/langgraph-checkpoint', '@langchain/core/runnables'],
  'packages/openai-agents/src': ['@openai/agents-core'],
  'packages/recorder/src/proxy': [
    ...['node:crypto', 'node:fs', 'node:http', 'node:https', 'node:net', 'node:os', 'node:path', 'node:stream'],
    ...['node:util', 'node:zlib'],
    'node:sqlite', // for its lock
  ],
  'packages/recorder/src/replay': [
    ...['node:fs', 'node:path', 'node:url', 'eventsource-parser'], // for its file
    ...['node:crypto', 'node:http', 'node:net', 'node:os', 'node:stream', 'node:stream/promises'], // for its server
  ],
}

const driverOf = (file: string): string | undefined =>
  Object.keys(drivers).find((folder) => dirname(file).replaceAll('\\', '/') === folder)

/** Names that `context` may import from `history`: what reads, never what appends. */
const readingNames: ReadonlySet<string> = new Set(['View', 'Position'])
/** The same of what measures. */
const measuringNames: ReadonlySet<string> = new Set(['contentLengths', 'chunkLength', 'mostCounted', 'MeasuredRun'])

interface Import {
  readonly from: string
  readonly to: string
  readonly names: readonly string[]
  readonly types: boolean
}

const namesIn = (folder: string): readonly string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(folder, name))

/** The folders of all sources. */
const sources = [
  'src',
  ...Object.keys(packagesOf).map((name) => join('packages', name, 'src')),
  join('packages', 'view', 'page', 'src'),
]
const files = sources.flatMap(namesIn)

const imports: readonly Import[] = files.flatMap((from) => {
  const code = readFileSync(join(root, from), 'utf8').replaceAll(/\/\*.*?\*\/|^\s*\/\/[^\n]*$/gms, '')
  const statements = [...code.matchAll(/^(?:import|export)\s(type\s)?([^'"`;]*?)\bfrom\s+['"]([^'"]+)['"]/gms)]
  const bare = [...code.matchAll(/(?<!['"])\bimport\s*\(?\s*['"]([^'"]+)['"]/g)]
  return [
    ...statements.map((match) => ({
      from,
      to: match[3] ?? '',
      names: [...(match[2] ?? '').matchAll(/\b(?!type\b|as\b)\w+/g)].map((name) => name[0]),
      types: match[1] !== undefined,
    })),
    ...bare.map((match) => ({ from, to: match[1] ?? '', names: [], types: false })),
  ]
})

/** The files behind the entries of all packages, with those under `internal`. */
const entryFiles = new Map(
  packages.flatMap((one) => entriesOf(one, true).map(({ name, source }) => [name, relative(root, source)])),
)

const isLocal = (specifier: string): boolean => specifier.startsWith('.')
const isOurs = (specifier: string): boolean => /^(?:@indelible\/|indelible(?:\/|$))/.test(specifier)
/** The file that an import leads to; undefined for one of another project's. */
const target = ({ from, to }: Import): string | undefined =>
  isLocal(to) ? join(dirname(from), to) : entryFiles.get(to)
/** The package of a file, and its folder in the library. */
const packageOf = (file: string): string => /^packages[/\\]([^/\\]+)/.exec(file)?.[1] ?? 'indelible'
const folderOfLibrary = (file: string): string => /^src[/\\]([^/\\]+)[/\\]/.exec(file)?.[1] ?? '.'
/** Whether a file is part of what runs only in Node: the command, and the server of the page. */
const isProgram = (file: string): boolean =>
  packageOf(file) === 'cli' ||
  (packageOf(file) === 'view' && /^packages[/\\]view[/\\]src[/\\](?:server[/\\]|index|internal)/.test(file))
const isLibrary = (file: string): boolean => packageOf(file) === 'indelible'

/** The circles of what reaches what. */
const circlesIn = (reached: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] => {
  const done = new Set<string>()
  const circles: string[] = []
  const follow = (one: string, path: readonly string[]): void => {
    const start = path.indexOf(one)
    if (start !== -1) circles.push([...path.slice(start), one].join(' > '))
    if (start !== -1 || done.has(one)) return
    for (const next of reached.get(one) ?? []) follow(next, [...path, one])
    done.add(one)
  }
  for (const key of reached.keys()) follow(key, [])
  return circles
}

describe('source layout', () => {
  it('has only the folders and packages listed in the plan', () => {
    expect([...new Set(files.filter(isLibrary).map(folderOfLibrary))].toSorted()).toEqual(
      Object.keys(mayImport).toSorted(),
    )
    expect(readdirSync(join(root, 'packages')).toSorted()).toEqual(Object.keys(packagesOf))
  })
  it('folders of the library import in one direction and import no package', () => {
    const wrong = imports
      .filter(({ from }) => isLibrary(from))
      .filter((found) => {
        const reached = target(found)
        if (reached === undefined) return isOurs(found.to)
        const [from, to] = [folderOfLibrary(found.from), folderOfLibrary(reached)]
        if (!isLibrary(reached) || !isLocal(found.to)) return true
        if (from === 'context' && to === 'history')
          return found.names.some((name) => !(measuringNames.has(name) || (found.types && readingNames.has(name))))
        if (found.from === join('src', 'fault.ts') && reached.endsWith('fault.ts')) return false // sentences for all
        return from !== to && !mayImport[from]?.includes(to)
      })
    expect(wrong).toEqual([])
  })
  it('packages import only the library and their declared packages, through existing entries', () => {
    const wrong = imports
      .filter(({ from }) => !isLibrary(from))
      .filter((found) => {
        const reached = target(found)
        if (reached === undefined) return isOurs(found.to)
        const [from, to] = [packageOf(found.from), packageOf(reached)]
        if (from === to) return !isLocal(found.to)
        return isLocal(found.to) || (to !== 'indelible' && !packagesOf[from]?.includes(to))
      })
    expect(wrong).toEqual([])
  })
  it.each(Object.entries(inside))('the folders of %s import in one direction', (place, allowed) => {
    const folderOf = (file: string): string => relative(place, file).split(/[/\\]/).slice(0, -1)[0] ?? '.'
    const isInside = (file: string): boolean => !relative(place, file).startsWith('..')
    const found = imports.filter((one) => isInside(one.from) && isLocal(one.to) && isInside(target(one) ?? '..'))
    const wrong = found.filter((one) => {
      const [from, to] = [folderOf(one.from), folderOf(target(one) ?? '')]
      return from !== '.' && to !== '.' && from !== to && !allowed[from]?.includes(to)
    })
    expect(wrong).toEqual([])
    const folders = new Set(files.filter(isInside).map(folderOf))
    expect([...folders].filter((folder) => folder !== '.').toSorted()).toEqual(Object.keys(allowed).toSorted())
  })
  it('every folder that has folders is in order, with the files beside them', () => {
    const places = sources
      .flatMap((place) => readdirSync(join(root, place), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isDirectory())
      .map((entry) => relative(root, entry.parentPath).replaceAll('\\', '/'))
    expect([...new Set(places)].filter((place) => place !== 'src').toSorted()).toEqual(Object.keys(inside).toSorted())
    for (const place of new Set(places)) {
      const unitOf = (file: string): string => relative(place, file).split(/[/\\]/)[0] ?? ''
      const isFree = (file: string): boolean => mainTypes.has(unitOf(file)) || mainTypes.has(file.replaceAll('\\', '/'))
      const reached = new Map<string, Set<string>>()
      for (const one of imports) {
        const to = target(one)
        if (to === undefined || relative(place, one.from).startsWith('..') || relative(place, to).startsWith('..'))
          continue
        const [from, unit] = [unitOf(one.from), unitOf(to)]
        if (from === unit || isFree(to) || /^(?:index|internal)\.ts$/.test(from)) continue
        reached.set(from, (reached.get(from) ?? new Set()).add(unit))
      }
      expect([place, circlesIn(reached)]).toEqual([place, []])
    }
  })
  it('each package.json lists exactly the dependencies that its sources import', () => {
    const named = (specifier: string): string => /^(?:@[^/]+\/)?[^/]+/.exec(specifier.replace(/^#/, ''))?.[0] ?? ''
    for (const { folder, manifest } of packages) {
      const place = `${relative(root, join(folder, 'src'))}/`
      const used = imports.filter(({ from, to }) => from.startsWith(place) && !isLocal(to) && !to.startsWith('node:'))
      const wanted = new Set(used.map(({ to }) => named(to)))
      // What its bundle contains of other packages imports these.
      const peer = manifest.name === '@indelible/cli' ? ['pg'] : []
      const given = [...Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })]
      expect([manifest.name, given.filter((name) => !peer.includes(name)).toSorted()]).toEqual([
        manifest.name,
        [...wanted].toSorted(),
      ])
    }
  })
  it('folders import each other only through index.ts, internal.ts or the sentences in fault.ts', () => {
    const wrong = imports
      .filter(({ from, to }) => isLibrary(from) && isLocal(to))
      .filter((found) => {
        const reached = target(found) ?? ''
        return (
          folderOfLibrary(found.from) !== folderOfLibrary(reached) &&
          !/[/\\](?:index|internal)\.ts$/.test(reached) &&
          !/^src[/\\][^/\\]+[/\\]fault\.ts$/.test(reached)
        )
      })
    expect(wrong).toEqual([])
  })
  it('no import cycles, including type imports', () => {
    const reached = new Map<string, Set<string>>()
    for (const found of imports) {
      const to = target(found)
      if (to !== undefined) reached.set(found.from, (reached.get(found.from) ?? new Set()).add(to))
    }
    expect(circlesIn(reached)).toEqual([])
  })
  it('index.ts and internal.ts contain only named re-exports', () => {
    for (const file of files.filter(
      (name) => /[/\\](?:index|internal)\.ts$|store[/\\]driver\.ts$/.test(name) && !name.includes('port'),
    )) {
      const rest = readFileSync(join(root, file), 'utf8').replaceAll(
        /\/\*.*?\*\/|export (?:type )?\{[^}]*\} from '[^']+'/gs,
        '',
      )
      expect([file, rest.trim()]).toEqual([file, ''])
    }
  })
  it('the library imports no Node module and no package except immer, fp-ts, stemmer and @noble/hashes (ranking also minisearch)', () => {
    const outside = imports.filter(
      ({ from, to }) =>
        isLibrary(from) &&
        !isLocal(to) &&
        driverOf(from) === undefined &&
        !(from === join('src', 'ranking', 'text-index.ts') && to === 'minisearch/SearchableMap'),
    )
    expect([...new Set(outside.map(({ to }) => to))].toSorted()).toEqual([
      '#fp-ts/Either',
      '#fp-ts/TaskEither',
      '#fp-ts/function',
      '@noble/hashes/sha2.js',
      '@noble/hashes/utils.js',
      '@standard-schema/spec', // types only
      'fp-ts/lib/Either.js', // types only, as below
      'fp-ts/lib/TaskEither.js',
      'immer',
      'stemmer',
    ])
  })
  it('only the command, the server of the page and the drivers import Node modules', () => {
    const wrong = imports.filter(
      ({ from, to }) => to.startsWith('node:') && !isProgram(from) && driverOf(from) === undefined,
    )
    expect(wrong).toEqual([])
  })
  it("fp-ts's functions are imported as #fp-ts/…, which leads bundlers to its modules and Node to its CommonJS", () => {
    expect(imports.filter(({ to, types }) => to.startsWith('fp-ts/') && !types)).toEqual([])
    for (const { manifest, folder } of packages) {
      const place = `${relative(root, join(folder, 'src'))}/`
      const used = imports.some(({ from, to }) => from.startsWith(place) && to.startsWith('#fp-ts/'))
      const alias = { '#fp-ts/*': { node: 'fp-ts/lib/*.js', default: 'fp-ts/es6/*.js' } }
      expect([manifest.name, manifest.imports]).toEqual([manifest.name, used ? alias : undefined])
    }
  })
  it('drivers import only their own client library, and nothing imports a driver', () => {
    const wrong = imports.filter((found) => {
      const driver = driverOf(found.from)
      const to = target(found)
      if (to === undefined)
        return (
          driver !== undefined &&
          drivers[driver]?.includes(found.to) === false &&
          !/^(?:fp-ts\/lib|#fp-ts)\//.test(found.to)
        )
      const reached = driverOf(to)
      return reached !== undefined && reached !== driver && !isProgram(found.from)
    })
    expect(wrong).toEqual([])
  })
  it('the import scanner finds imports', () => {
    expect(imports.length).toBeGreaterThan(2_000)
    expect(imports).toContainEqual({
      from: join('src', 'history', 'create.ts'),
      to: '../pages/index.ts',
      names: ['classify', 'classifyMessage'],
      types: false,
    })
    expect(imports).toContainEqual(expect.objectContaining({ to: 'indelible/internal/json' }))
    expect(existsSync(join(root, entryFiles.get('indelible/codecs/anthropic') ?? ''))).toBe(true)
  })
})

it('no file uses URL.pathname as a disk path, because it escapes spaces and letters', () => {
  // Installed packages are left out before they are entered: some link back to this folder.
  const files = globSync('{src,packages,test,scripts,bench,examples,docs}/**/*.{js,cjs,mjs,ts,cts,mts,md}', {
    cwd: root,
    exclude: ['**/node_modules/**'],
  })
  expect(files).toContain(join('test', 'architecture.test.ts'))
  const wrong = files.filter((file) =>
    /import\.meta\.url\s*\)\s*\.pathname/.test(readFileSync(join(root, file), 'utf8')),
  )
  expect(wrong).toEqual([])
})

it('rest options from destructuring are read without a prototype', () => {
  const wrong: string[] = []
  let found = 0
  for (const file of files) {
    const text = readFileSync(join(root, file), 'utf8')
    for (const { 1: rest, index } of text.matchAll(
      /\.\.\.(\w+),?\s*\} = (?:optionsOf\(|(?:options|given|wanted|derive|settings)\b)/g,
    )) {
      found++
      const body = text.slice(index + 1, text.indexOf('\n}', index)).slice(`...${rest}`.length)
      const used = [...body.matchAll(new RegExp(`(.{0,80})\\b${rest}\\b`, 'gs'))]
      for (const { 1: before = '' } of used)
        if (!/ownFields\((?:\{[^}]*\.\.\.)?$/.test(before)) wrong.push(`${file}: ${rest}`)
    }
  }
  expect(found).toBeGreaterThan(8)
  expect(wrong).toEqual([])
})

it('every package, its dependencies on the others, and the changelog have the same version', () => {
  const version = packages[0]?.manifest.version ?? ''
  for (const { manifest } of packages) {
    const asked = Object.entries({ ...manifest.dependencies, ...manifest.peerDependencies }).filter(([name]) =>
      isOurs(name),
    )
    expect([manifest.name, manifest.version, ...asked.map(([, range]) => range)]).toEqual([
      manifest.name,
      version,
      ...asked.map(() => version),
    ])
  }
  expect(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')).toMatch(
    new RegExp(`^## ${version.replaceAll('.', '\\.')}$`, 'm'),
  )
})

it('scripts/attacks.ts lists every attack suite', () => {
  expect(
    Object.values(suites)
      .flat()
      .filter((path) => !existsSync(join(root, path))),
  ).toEqual([])
})

describe('an older Node', () => {
  it('is told which Node is needed: no package imports SQLite before its code runs', () => {
    const files = globSync('packages/*/src/**/*.ts', { cwd: root }).filter((path) => !path.startsWith('packages/cli'))
    const early = files.filter((path) =>
      /^import (?!type )[^;\n]*? from 'node:sqlite'/m.test(readFileSync(join(root, path), 'utf8')),
    )
    expect(early).toEqual([])
  })
})
