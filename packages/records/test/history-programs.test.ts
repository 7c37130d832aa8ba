/** Detection of history use on programs with known answers: the table is `test/fixtures/history-programs.txt`. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { detectHistoryUse } from '@indelible/records'
import { historyPatterns } from '../src/history-use.ts'

interface Program {
  readonly title: string
  readonly expected: readonly string[]
  readonly code: string
}

const programs: readonly Program[] = readFileSync(
  new URL('../../../test/fixtures/history-programs.txt', import.meta.url),
  'utf8',
)
  .split(/^=== /m)
  .slice(1)
  .map((section) => {
    const [title = '', tags = '', ...code] = section.trimEnd().split('\n')
    return { title, expected: tags === 'none' ? [] : [...new Set(['read', ...tags.split(' ')])], code: code.join('\n') }
  })

const tagsOf = (code: string): readonly string[] => {
  const { detected, patterns } = detectHistoryUse(code)
  return detected ? ['read', ...patterns] : []
}

it('sixty sample programs with only existing tags', () => {
  expect(programs.length).toBe(60)
  expect(new Set(programs.map(({ code }) => code)).size).toBe(60)
  const known: ReadonlySet<string> = new Set(['read', ...historyPatterns])
  expect(programs.flatMap(({ expected }) => expected).filter((tag) => !known.has(tag))).toEqual([])
})

it('historyUse finds 79 of 108 tags and invents 2, as documented', () => {
  const expected = programs.flatMap(({ title, expected }) => expected.map((tag) => `${title}: ${tag}`))
  const found = programs.flatMap(({ title, code }) => tagsOf(code).map((tag) => `${title}: ${tag}`))
  expect(found.filter((tag) => !expected.includes(tag))).toEqual(['a list of lists: map', 'a method by name: find'])
  expect(expected.length).toBe(108)
  expect(expected.filter((tag) => found.includes(tag)).length).toBe(79)
})
