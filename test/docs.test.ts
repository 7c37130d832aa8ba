import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { parseSync } from 'vite'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { extractDocs } from '../scripts/extract-docs.ts'
import { apiPage, apiPath, namesOf } from '../scripts/api.ts'
import { entries, packages } from '../scripts/packages.ts'
import { root } from '../scripts/run.ts'
import { docsProvider, type DocsProvider } from './docs-provider.ts'

const examples = extractDocs()

describe('documentation examples run as documented', () => {
  let provider: DocsProvider
  beforeAll(async () => {
    provider = await docsProvider()
    for (const [name, value] of Object.entries(provider.variables)) vi.stubEnv(name, value)
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    await provider.close()
  })
  it.each(examples.map((path) => [basename(path), path]))('%s', async (_name, path) => {
    await import(/* @vite-ignore */ path as string)
  })
})

/** The pages below a folder that a page links to. */
const linksOf = (page: string): readonly string[] => [
  ...new Set(
    [...readFileSync(`${root}${page}`, 'utf8').matchAll(/\]\(((?:[\w-]+\/)*[\w-]+\.md)(?:#[^)]*)?\)/g)].map(
      ([, to = '']) => to,
    ),
  ),
]

it('docs/index.md lists exactly the pages of docs', () => {
  expect([...linksOf('docs/index.md')].toSorted()).toEqual(
    readdirSync(`${root}docs`, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md') && name !== 'index.md')
      .map((name) => name.replaceAll('\\', '/'))
      .toSorted(),
  )
})

it('README links to existing pages, including the page list and each quickstart', () => {
  const links = linksOf('README.md')
  expect(links.filter((path) => !existsSync(`${root}${path}`))).toEqual([])
  const wanted = ['docs/index.md', ...readdirSync(`${root}docs/start`).map((name) => `docs/start/${name}`)]
  expect(wanted.filter((path) => !links.includes(path))).toEqual([])
})

it("packages' READMEs link to nothing outside their package, which an installed one lacks", () => {
  const names = readdirSync(`${root}packages`).map((name) => `packages/${name}/README.md`)
  expect(names.filter((name) => readFileSync(`${root}${name}`, 'utf8').includes('](..'))).toEqual([])
})

it('README has at most 900 words, including code', () => {
  expect(readFileSync(`${root}README.md`, 'utf8').split(/\s+/).length).toBeLessThanOrEqual(900)
})

it('every figure in README and docs/compare.md is in bench/RESULTS.md', () => {
  const results = readFileSync(`${root}bench/RESULTS.md`, 'utf8')
  const figuresIn = (page: string): readonly string[] =>
    page.match(/\d[\d,.]*\d(?= (?:µs|%|bytes))|(?<=\| )\d[\d,]*\.\d+(?= \|)/g) ?? []
  const readme = readFileSync(`${root}README.md`, 'utf8')
  const measured = figuresIn(readme + readFileSync(`${root}docs/compare.md`, 'utf8'))
  expect(measured.filter((figure) => !results.includes(figure))).toEqual([])
  expect(measured.length).toBeGreaterThan(20)
  // What README says in one line of one thing is one row of the results.
  const rows = results.split('\n').map((row) => new Set(row.match(/\d[\d,.]*\d/g)))
  const isRow = (figures: readonly string[]): boolean => rows.some((row) => figures.every((figure) => row.has(figure)))
  expect(
    readme
      .split('\n')
      .map(figuresIn)
      .filter((figures) => !isRow(figures)),
  ).toEqual([])
})

it('docs/design.md cites existing files, tests and test titles, at least one of each per clause', () => {
  const clauses = [...readFileSync(`${root}docs/design.md`, 'utf8').matchAll(/^\| ([A-Z`].+) \| (.+) \| (.+) \|$/gm)]
  const named = clauses.map(([, clause = '', kept = '', shown = '']) => ({
    clause,
    files: [...kept.matchAll(/\]\(\.\.\/([^)]+)\)/g)].map(([, path = '']) => path),
    tests: [...shown.matchAll(/\]\(\.\.\/([^)]+)\)(?:: "([^"]+)")?/g)].map(([, path = '', title]) => ({ path, title })),
  }))
  expect(named.filter(({ files, tests }) => files.length === 0 || tests.length === 0)).toEqual([])
  expect(named.flatMap(({ files }) => files).filter((path) => !existsSync(`${root}${path}`))).toEqual([])
  expect(
    named
      .flatMap(({ tests }) => tests)
      .filter(
        ({ path, title = '' }) =>
          !/\/test\/|^test\//.test(path) || !readFileSync(`${root}${path}`, 'utf8').includes(title),
      ),
  ).toEqual([])
  expect(named.length).toBeGreaterThan(24)
})

it('SECURITY.md cites an existing test for each promise', () => {
  const text = readFileSync(`${root}SECURITY.md`, 'utf8')
  const promises = text
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| (?:promise|promised|guarantee) /.test(line))
  const links = promises.map((line) =>
    [...line.matchAll(/\]\(((?:test|scripts|packages)\/[^)]+\.ts)\)/g)].map(([, path]) => path),
  )
  expect(promises.filter((_, index) => links[index]?.length === 0)).toEqual([])
  expect(links.flat().filter((path) => !existsSync(`${root}${path}`))).toEqual([])
  expect(promises.length).toBeGreaterThan(25)
})

describe('the entry list in docs/packages.md', () => {
  const rows = [
    ...readFileSync(`${root}docs/packages.md`, 'utf8').matchAll(/^\| `(@?indelible[\w/-]*)` \| (.+) \|$/gm),
  ].map(([, name = '', about = '']) => ({ name, about }))
  it('lists the entries of every package in order', () => {
    expect(rows.map(({ name }) => name)).toEqual(entries.map(({ name }) => name))
  })
  it.each(rows)('$name exports exactly the listed names', ({ name, about }) => {
    const source = entries.find((entry) => entry.name === name)?.source ?? ''
    const exported = new Set(
      [...readFileSync(source, 'utf8').matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap(([, names = '']) =>
        names.split(',').map((name) => name.replace(/^\s*type\s+/, '').trim()),
      ),
    )
    const named = [...about.matchAll(/`(\w+)`/g)].flatMap(([, name = '']) => (methods.has(name) ? [] : [name]))
    expect(named.filter((name) => !exported.has(name))).toEqual([])
  })
})

/** Methods of a codec, and packages that an entry needs. */
const methods = new Set(['SessionStore', 'Session', 'decode', 'encode', 'pg', 'openai', 'ai'])

/** The exported values that no example can use, each with the reason. */
const withoutExample = {
  postgresStore: 'needs a PostgreSQL server: the tests of packages/postgres start one',
  storeIdentity: 'needs a PostgreSQL server: packages/cli/test/spools.test.ts starts one',
  witnessLedger: 'needs the server of a witness: packages/evidence/test/ledger.test.ts starts one',
}

/** The names that a module imports from this repository's entries and then uses, outside strings and comments. */
const usedNames = (path: string): readonly string[] => {
  const { program, module } = parseSync(path, readFileSync(path, 'utf8'))
  const imported = new Map(
    module.staticImports
      .filter(({ moduleRequest }) => /^@?indelible\b/.test(moduleRequest.value))
      .flatMap((from) => from.entries.map(({ localName, importName }) => [localName.value, importName.name] as const)),
  )
  const used = new Set<string>()
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { type, name, computed } = node as Readonly<Record<string, unknown>>
    if (type === 'ImportDeclaration') return
    const value = type === 'Identifier' ? imported.get(String(name)) : undefined
    if (value !== undefined && value !== null) used.add(value)
    for (const [field, inner] of Object.entries(node))
      if (computed !== false || (field !== 'property' && field !== 'key')) visit(inner) // `a.b` and `{ b: a }` use `a` alone
  }
  visit(program.body)
  return [...used]
}

describe('the public API', () => {
  const names = entries.map((entry) => Object.assign({ name: entry.name }, namesOf(entry)))
  it('matches API.md (run `npm run api` to update)', () => {
    expect(readFileSync(apiPath, 'utf8')).toBe(apiPage())
  })
  it('is documented: an executed example uses every exported value', () => {
    const used = new Set(examples.flatMap(usedNames))
    const unused = names.flatMap(({ values }) => values).filter((value) => !used.has(value))
    expect(unused.toSorted()).toEqual(Object.keys(withoutExample))
  })
  it('has at most 24 entries in the library, and one place for what its packages share', () => {
    const library = Object.keys(packages[0]?.manifest.exports ?? {})
    expect(entries.filter(({ name }) => name.startsWith('indelible')).length).toBeLessThanOrEqual(24)
    expect(library.filter((name) => name.includes('internal'))).toEqual([
      './internal/json',
      './internal/task',
      './internal/*',
    ])
  })
})
