/** The words of figures, changes and requests: each at the values where they change. */
import { describe, expect, it } from 'vitest'
import type { UsageCall } from 'indelible/usage'
import { activityOf, claudeAgentText, placeText, spendingOf, titleOf } from '../src/texts/about.ts'
import { changedParts } from '../src/calls/changed-parts.ts'
import {
  atLeast,
  compactNumber,
  costText,
  countText,
  dollarsText,
  groupedNumber,
  oneLine,
  sentence,
  share,
  spanText,
  tokensText,
  visibleText,
} from '../src/texts/format-text.ts'
import { Keys } from '../src/server/keys.ts'
import { linesOf, longest } from '../src/texts/line-changes.ts'

describe('figures', () => {
  it.each([
    [0, 0, '0 %'],
    [0, 10, '0 %'],
    [1, 0, '0 %'],
    [1, 1000, '1 %'],
    [14, 1000, '1 %'],
    [15, 1000, '2 %'],
    [999, 1000, '99 %'],
    [1000, 1000, '100 %'],
    [2000, 1000, '200 %'],
  ])('%i of %i is %s', (part, whole, text) => expect(share(part, whole)).toBe(text))
  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1000, '1.0 s'],
    [9940, '9.9 s'],
    [10_000, '10 s'],
    [59_999, '60 s'],
    [60_000, '1 min'],
    [89_999, '1 min'],
    [90_000, '2 min'],
    [119 * 60_000, '119 min'],
    [120 * 60_000, '2 hours'],
    [1000 * 3_600_000, '1,000 hours'],
  ])('%i ms are %s', (milliseconds, text) => expect(spanText(milliseconds)).toBe(text))
  it.each([
    [0, '$0.00'],
    [0.00009, 'less than $0.0001'],
    [0.0001, '$0.00010'],
    [0.00999, '$0.010'],
    [0.01, '$0.010'],
    [0.2654, '$0.265'],
    [0.9994, '$0.999'],
    [1, '$1.00'],
    [12.345, '$12.35'],
  ])('%d is %s', (dollars, text) => expect(dollarsText(dollars)).toBe(text))
  it('say what is not known', () => {
    expect(costText(undefined)).toEqual([])
    expect(costText(undefined, 1)).toEqual(['price unknown'])
    expect([costText(1), costText(1, 1), costText(1, 0, true)]).toEqual([
      ['$1.00'],
      ['at least $1.00'],
      ['at least $1.00'],
    ])
    expect([atLeast(true), atLeast(false)]).toEqual(['at least ', ''])
  })
  it('have their words in the singular for one', () => {
    expect([0, 1, 2, 1234].map((count) => countText(count, 'call'))).toEqual(['0 calls', '1 call', '2 calls', '1,234 calls']) // oxfmt-ignore
    expect([countText(1, 'is', 'are'), countText(2, 'is', 'are')]).toEqual(['1 is', '2 are'])
    expect([0, 1, 46_240].map(tokensText)).toEqual(['0 tokens', '1 token', '46.2K tokens'])
    expect([groupedNumber(1_234_567.4), compactNumber(1_234_567)]).toEqual(['1,234,567', '1.2M'])
  })
})

describe('texts', () => {
  it('have a shape wherever they could move or hide another', () => {
    expect(visibleText('plain\ttext\nof lines')).toBe('plain\ttext\nof lines')
    expect(visibleText('\u001b[31mred\u001b[0m \u001b]0;title\u0007a\r\nb\rc\u0007')).toBe('red a\nb␍c␇')
    expect(visibleText('\u007f\u0085\u200b\u202e\ufeff')).toBe('␡⟨U+0085⟩⟨U+200B⟩⟨U+202E⟩⟨U+FEFF⟩')
  })
  it('are one line of at most so many characters', () => {
    expect(oneLine(' a\n\n b ')).toBe('a b')
    expect([oneLine('abcd', 4), oneLine('abcde', 4), oneLine('x'.repeat(201))]).toEqual(['abcd', 'abc…', `${'x'.repeat(199)}…`]) // oxfmt-ignore
    expect(oneLine(`${' '.repeat(8)}abc`, 4)).toBe('')
  })
  it('are sentences', () => {
    expect([' it broke ', 'Why?', 'so…', 'done.', 'no!', ''].map(sentence)).toEqual(['It broke.', 'Why?', 'So…', 'Done.', 'No!', '.']) // oxfmt-ignore
  })
})

describe('the changes of a text', () => {
  const lines = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, at) => `${from + at}`)
  const shown = (before: readonly string[], after: readonly string[]): readonly string[] =>
    linesOf(before.join('\n'), after.join('\n')).map(({ sign, text }) => sign + text)
  it('are shown with three equal lines around each', () => {
    const before = lines(0, 20)
    expect(shown(before, before.with(10, 'ten'))).toEqual([
      ...[' 7', ' 8', ' 9', '-10', '+ten', ' 11', ' 12', ' 13'],
      '@⋯',
    ])
    expect(shown(before, before.with(0, 'zero').with(19, 'last'))).toEqual([
      ...['-0', '+zero', ' 1', ' 2', ' 3', '@⋯', ' 16', ' 17', ' 18', '-19', '+last'],
    ])
    expect(shown(before, before.with(3, 'a').with(10, 'b'))).toEqual([
      ...[' 0', ' 1', ' 2', '-3', '+a', ' 4', ' 5', ' 6', ' 7', ' 8', ' 9', '-10', '+b', ' 11', ' 12', ' 13', '@⋯'],
    ])
  })
  it('are not looked for in texts that are too long together', () => {
    const half = 'x'.repeat(longest / 2 - 2)
    expect(linesOf(`${half}\na`, `${half}\nb`).map(({ sign }) => sign)).toEqual([' ', '-', '+'])
    expect(linesOf(`${half}\na`, `${half}\nbc`).map(({ sign }) => sign)).toEqual(['-', '-', '+', '+'])
  })
})

describe('the changed parts of a request', () => {
  const tool = (name: string, description: string) => ({ type: 'function', name, description })
  it('are those that differ, in the order in which providers cache them', () => {
    expect(changedParts(undefined, undefined)).toEqual([])
    expect(changedParts({ system: 'a', parameters: { n: 1 } }, { system: 'a', parameters: { n: 1 } })).toEqual([])
    const list = (...texts: readonly string[]): unknown => texts.map((text) => ({ type: 'text', text }))
    const [text] = changedParts({ system: list('a', 'b') }, { system: { parts: list('a', 'c') } })
    expect(text).toMatchObject({ name: 'system', before: 'a\nb', after: 'a\nc' })
    const [form] = changedParts({ system: 'a' }, { system: [{ text: 'a' }] })
    expect(form).toMatchObject({ before: 'a', after: expect.stringContaining('"text": "a"') as string })
    expect(changedParts({ system: [] }, { system: [5] })).toHaveLength(1)
    const parts = changedParts({ system: 'a', tools: [] }, { system: 'b', parameters: { n: 1 } })
    expect(parts.map((part) => part.type === 'part' && [part.name, part.before, part.after])).toEqual([
      ['tools', '[]', ''],
      ['system', 'a', 'b'],
      ['parameters', '', '{\n  "n": 1\n}'],
    ])
  })
  it('are of tools each that differs, and how many do not', () => {
    const named = (before: readonly object[], after: readonly object[]) =>
      changedParts({ tools: before }, { tools: after }).map((part) => (part.type === 'part' ? part.name : part.count))
    const [a, b, c, other] = [tool('a', 'A'), tool('b', 'B'), tool('tool_c', 'C'), tool('a', 'other')]
    expect(named([a, b], [a, b])).toEqual([])
    expect(named([a, b], [other, b])).toEqual(['tool a', 1])
    expect(named([a], [other])).toEqual(['tool a'])
    expect(named([a, b], [b, a])).toEqual(['order of the tools', 2])
    expect(named([a, b], [a, c])).toEqual(['tool_c', 'tool b', 1])
    expect(named([a, a], [a])).toEqual(['tool a'])
  })
})

it('a token is exchanged once, for a key that opens', () => {
  const keys = new Keys()
  const [token, unused] = [keys.issue(), keys.issue()]
  expect([token.length, token === unused]).toEqual([32, false])
  for (const wrong of [undefined, 5, '', 'x'.repeat(32), `${token}x`]) expect(keys.exchange(wrong)).toBeUndefined()
  const key = keys.exchange(token)
  expect([keys.exchange(token), keys.opens(`Bearer ${key}`)]).toEqual([undefined, true])
  for (const wrong of [
    undefined,
    key,
    `bearer ${key}`,
    `Bearer ${token}`,
    `Bearer ${unused}`,
    `Bearer ${key}x`,
    `Bearer ${key} `,
  ])
    expect(keys.opens(wrong)).toBe(false)
  expect(keys.exchange(unused)).not.toBe(key)
  expect(keys.opens(`Bearer ${key}`)).toBe(true)
})

describe('a session in words', () => {
  it.each([
    [{}, undefined],
    [{ title: 'Mine', from: { title: 'File' } }, 'Mine'],
    [{ from: { title: 'File' } }, 'File'],
    [{ title: ' ', from: { title: 'File' } }, undefined],
    [{ title: 5 }, undefined],
    [{ from: 'no object' }, undefined],
  ])('has of %j the title %s', (metadata, title) => expect(titleOf({ metadata })).toBe(title))
  it('was last active when its file says, until something was appended', () => {
    const imported = { created: 2000, appended: 2000, metadata: { from: { ended: '1970-01-01T00:00:01Z' } } }
    expect(activityOf(imported)).toBe(1000)
    expect(activityOf({ ...imported, appended: 1999 })).toBe(1000)
    expect(activityOf({ ...imported, appended: 2001 })).toBe(2001)
    expect(activityOf({ ...imported, forkedFrom: { id: 'a' } })).toBe(2000)
    for (const ended of ['1970-01-01T00:00:03Z', 'yesterday', 1000])
      expect(activityOf({ ...imported, metadata: { from: { ended } } })).toBe(2000)
  })
  it('names a place by its row, and by its message where it has one', () => {
    expect([placeText({ row: 3 }), placeText({ row: 3, position: 0 })]).toEqual(['row 3', 'row 3 (message 0)'])
  })
  it('names its reader only if the Claude Agent SDK wrote it, and it has no messages', () => {
    const metadata = { 'claude-agent': {} }
    expect(claudeAgentText({ metadata, len: 0 })).toMatch(/^the Claude Agent SDK wrote this session/)
    expect([claudeAgentText({ metadata, len: 1 }), claudeAgentText({ metadata: {}, len: 0 })]).toEqual([undefined, undefined]) // oxfmt-ignore
  })
  it('has the sums of the calls that somebody counted', () => {
    const usage = { input: 10, output: 1 }
    const use = (more: object) => ({ model: 'nobody-knows', calls: 2, usage, ...more }) as unknown as UsageCall
    expect(spendingOf([])).toEqual({ input: 0, output: 0 })
    expect(spendingOf([use({}), use({ calls: 0 }), use({ usage: undefined, isFailed: true })])).toEqual({
      input: 20,
      output: 2,
      unpriced: 3,
    })
    expect(spendingOf([use({ calls: 1 })])).toEqual({ input: 10, output: 1, unpriced: 1 })
    expect(spendingOf([use({ model: 'gpt-5.5', isUndercounted: true })])).toEqual({
      input: 10,
      output: 1,
      undercounted: true,
      dollars: expect.any(Number) as number,
    })
  })
})
