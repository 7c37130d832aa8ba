/** Texts that are nested deeper than people write are not read as Markdown: `marked` would take all the stack, or minutes. */
import { expect, it } from 'vitest'
import { share } from '../../page/src/format-text.ts'
import { tokensOf } from '../../page/src/message/markdown-tokens.ts'

it('deeply nested quotes, lists or stars are shown as plain text', () => {
  for (const count of [200, 1000, 59_000 / 3])
    for (const output of [
      '>'.repeat(count),
      '> '.repeat(count),
      '- '.repeat(count),
      '1. '.repeat(count),
      '> - '.repeat(count / 2),
      `${'*'.repeat(count)}a${'*'.repeat(count)}`,
      `${'_'.repeat(count)}a${'_'.repeat(count)}`,
    ])
      expect(tokensOf(`${output} text`)).toBeUndefined()
  const stairs = Array.from({ length: 200 }, (_, level) => `${'  '.repeat(level)}- a`).join('\n')
  expect(tokensOf(stairs)).toBeUndefined()
})

it('ordinary text is rendered as Markdown', () => {
  for (const output of [
    '',
    '> > > quoted',
    '- a\n  - b\n    - c\n      1. d',
    '*'.repeat(80),
    `title\n${'-'.repeat(200)}\n\n${'_'.repeat(120)}`,
    '| a | b |\n|---|---|\n| **c** | `d` |',
    '***both***',
  ])
    expect(tokensOf(output)).toBeDefined()
})

it('a share is rounded to the nearest, and is 0 % only of nothing and 100 % only of all', () => {
  expect([0, 1, 478, 472, 998, 1000].map((part) => share(part, 1000))).toEqual([
    '0 %',
    '1 %',
    '48 %',
    '47 %',
    '99 %',
    '100 %',
  ])
  expect(share(0, 0)).toBe('0 %')
})
