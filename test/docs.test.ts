import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { describe, expect, it } from 'vitest'
import { extractDocs } from '../scripts/extract-docs.ts'
import { apiPage, apiPath, namesOf } from '../scripts/api.ts'
import { entries, packages } from '../scripts/packages.ts'
import { root } from '../scripts/run.ts'

describe('the examples do what they say', () => {
  it.each(extractDocs().map((path) => [basename(path), path]))('%s', async (_name, path) => {
    await import(/* @vite-ignore */ path as string)
  })
})

it('every page of docs that README names exists, and README names every page', () => {
  const named = [...readFileSync(`${root}README.md`, 'utf8').matchAll(/\]\(docs\/([\w/-]+\.md)\)/g)].map(
    (match) => match[1],
  )
  expect([...new Set(named)].toSorted()).toEqual(
    readdirSync(`${root}docs`, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => name.replaceAll('\\', '/'))
      .toSorted(),
  )
})

it('SECURITY.md names a test that exists for each promise', () => {
  const text = readFileSync(`${root}SECURITY.md`, 'utf8')
  const promises = text
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| (?:promise|promised|wall) /.test(line))
  const links = promises.map((line) =>
    [...line.matchAll(/\]\(((?:test|scripts|packages)\/[^)]+\.ts)\)/g)].map(([, path]) => path),
  )
  expect(promises.filter((_, index) => links[index]?.length === 0)).toEqual([])
  expect(links.flat().filter((path) => !existsSync(`${root}${path}`))).toEqual([])
  expect(promises.length).toBeGreaterThan(25)
})

describe('the list of entries in docs/packages.md', () => {
  const rows = [
    ...readFileSync(`${root}docs/packages.md`, 'utf8').matchAll(/^\| `(@?indelible[\w/-]*)` \| (.+) \|$/gm),
  ].map(([, name = '', about = '']) => ({ name, about }))
  it('has the entries of every package, in their order', () => {
    expect(rows.map(({ name }) => name)).toEqual(entries.map(({ name }) => name))
  })
  it.each(rows)('$name exports the names that it lists', ({ name, about }) => {
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

describe('the public surface', () => {
  const names = entries.map((entry) => Object.assign({ name: entry.name }, namesOf(entry)))
  it('is what API.md says; `npm run api` writes it', () => {
    expect(readFileSync(apiPath, 'utf8')).toBe(apiPage())
  })
  it('has every value in a page of the documentation', () => {
    const pages = ['README.md', 'CONTRIBUTING.md', ...readdirSync(`${root}docs`, { recursive: true, encoding: 'utf8' })]
      .filter((name) => name.endsWith('.md') && name !== 'packages.md')
      .map((name) => readFileSync(existsSync(`${root}${name}`) ? `${root}${name}` : `${root}docs/${name}`, 'utf8'))
    const code = pages.flatMap((page) => page.match(/```[^]*?```|`[^`\n]+`/g) ?? []).join('\n')
    const words = new Set(code.match(/[A-Za-z_$][\w$]*/g))
    expect(
      names.flatMap(({ name, values }) =>
        values.filter((value) => !words.has(value)).map((value) => `${name} ${value}`),
      ),
    ).toEqual([])
  })
  it('stays small: 300 values, and of the library 24 entries and 12 kits', () => {
    const library = Object.keys(packages[0]?.manifest.exports ?? {})
    expect(names.reduce((sum, { values }) => sum + values.length, 0)).toBeLessThanOrEqual(300)
    expect(entries.filter(({ name }) => name.startsWith('indelible')).length).toBeLessThanOrEqual(24)
    expect(library.filter((name) => name.endsWith('/kit')).length).toBeLessThanOrEqual(12)
  })
})
