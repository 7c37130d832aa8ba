/** The house: folders import in one direction, through each other's index, and the library needs no Node. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../scripts/run.ts'

const src = join(root, 'src')

/** What each folder may import from: its own files, and these. */
const mayImport: { readonly [folder: string]: readonly string[] } = {
  json: [],
  sequence: [],
  message: ['json', 'sequence'],
  digest: [],
  pages: ['json', 'sequence', 'message'],
  notes: ['json', 'sequence', 'digest', 'pages'],
  transcript: ['json', 'sequence', 'digest', 'message', 'pages', 'notes'],
  history: ['json', 'sequence', 'message', 'pages'],
  proof: ['digest'],
  store: ['json', 'sequence', 'message', 'digest', 'proof'],
  refs: ['json', 'sequence', 'message', 'digest', 'pages', 'history', 'store'],
  session: ['json', 'sequence', 'message', 'digest', 'pages', 'notes', 'transcript', 'history', 'proof', 'store', 'refs'],
  testing: ['json', 'sequence', 'message', 'digest', 'proof', 'store', 'run'],
  context: ['json', 'sequence', 'message', 'digest', 'pages', 'notes'], // of history only the view types, below
  thread: ['json', 'sequence', 'message'],
  records: ['json', 'sequence', 'history', 'store'],
  run: ['json', 'sequence', 'message', 'digest', 'pages', 'notes', 'history', 'store', 'session', 'context'],
  activities: ['json', 'sequence', 'message', 'digest', 'pages', 'notes', 'history', 'store', 'refs', 'context', 'run'],
  cli: ['json', 'sequence', 'message', 'pages', 'notes', 'transcript', 'history', 'context', 'records', 'store', 'session', 'run', '.'],
  '.': ['message', 'pages', 'notes', 'transcript', 'history', 'proof', 'store', 'refs', 'session'],
}

/** What may be imported from outside by a folder of its own subpath, that nothing else reaches. */
const drivers: { readonly [folder: string]: readonly string[] } = {
  testing: ['node:child_process'], // only where a place names how other processes open it
  'store/sqlite': ['node:sqlite', 'node:fs', 'node:path', 'node:crypto'],
  'store/postgres': ['pg', 'node:crypto'],
  'run/ai-sdk': ['ai'],
  'run/anthropic': ['@anthropic-ai/sdk', '@anthropic-ai/sdk/resources/messages'],
  'run/openai': ['openai', 'openai/resources/chat/completions', 'openai/resources/responses/responses'],
}

const driverOf = (file: string): string | undefined => Object.keys(drivers).find((folder) => dirname(file).replaceAll('\\', '/') === folder)

/** Packages that only `records` may import: nothing that the root reaches imports `records`. */
const parser: ReadonlySet<string> = new Set(['acorn', '@sveltejs/acorn-typescript'])

/** Names that `context` may import from `history`: what reads, never what appends. */
const readingNames: ReadonlySet<string> = new Set(['View', 'Position'])

interface Import {
  readonly from: string
  readonly to: string
  readonly names: readonly string[]
  readonly types: boolean
}

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))

const imports: readonly Import[] = files.flatMap((from) => {
  const code = readFileSync(join(src, from), 'utf8').replaceAll(/\/\*.*?\*\/|^\s*\/\/.*$/gms, '')
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

const isLocal = (specifier: string): boolean => specifier.startsWith('.')
const target = ({ from, to }: Import): string => relative(src, join(src, dirname(from), to))
const folderOf = (file: string): string => dirname(file).split(/[/\\]/)[0] ?? '.'

describe('the house', () => {
  it('has only the folders that its plan names', () => {
    expect([...new Set(files.map(folderOf))].toSorted()).toEqual(Object.keys(mayImport).toSorted())
  })
  it('imports point one way', () => {
    const wrong = imports
      .filter(({ to }) => isLocal(to))
      .filter((found) => {
        const [from, to] = [folderOf(found.from), folderOf(target(found))]
        if (from === 'context' && to === 'history') return !found.types || found.names.some((name) => !readingNames.has(name))
        return from !== to && !mayImport[from]?.includes(to)
      })
    expect(wrong).toEqual([])
  })
  it('folders import each other through their index', () => {
    const wrong = imports
      .filter(({ to }) => isLocal(to))
      .filter((found) => folderOf(found.from) !== folderOf(target(found)) && !target(found).endsWith('index.ts'))
    expect(wrong).toEqual([])
  })
  it('an index holds named re-exports only', () => {
    for (const file of files.filter((name) => name.endsWith('index.ts'))) {
      const rest = readFileSync(join(src, file), 'utf8').replaceAll(/\/\*.*?\*\/|export (?:type )?\{[^}]*\} from '[^']+'/gs, '')
      expect([file, rest.trim()]).toEqual([file, ''])
    }
  })
  it('nothing but the command line and drivers imports Node or a package beside immer, fp-ts and noble hashes; records a parser, recall a search', () => {
    const outside = imports.filter(({ from, to }) => !isLocal(to) && folderOf(from) !== 'cli' && driverOf(from) === undefined && !(folderOf(from) === 'records' && parser.has(to)) && !(from === join('context', 'search.ts') && to === 'minisearch'))
    expect([...new Set(outside.map(({ to }) => to))].toSorted()).toEqual([
      '@noble/hashes/sha2.js',
      '@noble/hashes/utils.js',
      '@standard-schema/spec', // types only
      'fp-ts/lib/Either.js',
      'fp-ts/lib/TaskEither.js',
      'fp-ts/lib/function.js',
      'immer',
    ])
    const cli = imports.filter(({ from, to }) => !isLocal(to) && folderOf(from) === 'cli')
    expect(cli.filter(({ to }) => !to.startsWith('node:') && !to.startsWith('fp-ts/lib/'))).toEqual([])
  })
  it('drivers import what they drive, and nobody imports a driver', () => {
    const wrong = imports.filter((found) => {
      const driver = driverOf(found.from)
      if (!isLocal(found.to)) return driver !== undefined && drivers[driver]?.includes(found.to) === false && !found.to.startsWith('fp-ts/lib/')
      const reached = driverOf(target(found))
      return reached !== undefined && reached !== driver && folderOf(found.from) !== 'cli'
    })
    expect(wrong).toEqual([])
  })
  it('sees imports at all', () => {
    expect(imports.length).toBeGreaterThan(40)
    expect(imports).toContainEqual({ from: join('history', 'create.ts'), to: '../pages/index.ts', names: ['classify', 'classifyMessage', 'PageKind'], types: false })
  })
})

it('the version is the same in the package and at the top of the changelog', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string }
  expect(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')).toMatch(new RegExp(`^## ${version.replaceAll('.', '\\.')}$`, 'm'))
})
