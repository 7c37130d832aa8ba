import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { describe, expect, it } from 'vitest'
import { extractDocs } from '../scripts/extract-docs.ts'
import { entries } from '../scripts/packages.ts'
import { root } from '../scripts/run.ts'

describe('the examples do what they say', () => {
  it.each(extractDocs().map((path) => [basename(path), path]))('%s', async (_name, path) => {
    await import(/* @vite-ignore */ path as string)
  })
})

it('every page of docs that README names exists, and README names every page', async () => {
  const { readdirSync } = await import('node:fs')
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

it('SECURITY.md names a test that exists for each promise', async () => {
  const { existsSync } = await import('node:fs')
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

describe("README's list of entries", () => {
  const rows = [...readFileSync(`${root}README.md`, 'utf8').matchAll(/^\| `(@?indelible[\w/-]*)` \| (.+) \|$/gm)].map(
    ([, name = '', about = '']) => ({ name, about }),
  )
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
