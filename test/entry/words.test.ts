/** The words of a text and the terms of an index. */
import { expect, it } from 'vitest'
import { addTerms, termOf, wordsIn } from '../../src/entry/words.ts'

/** Each word with its place; `~` for a character of a script without spaces, `+` for one that follows another. */
const shown = (text: string): readonly string[] =>
  [...wordsIn(text)].map(
    ({ text: word, start, end, unspaced, joined }) =>
      `${word} ${start}-${end}${unspaced ? '~' : ''}${joined ? '+' : ''}`,
  )

it.each<readonly [string, readonly string[]]>([
  ['', []],
  [' .,-\n', []],
  ['Hello, World', ['hello 0-5', 'world 7-12']],
  ['a1-b2', ['a1 0-2', 'b2 3-5']],
  ['naïve ÉTÉ', ['naive 0-5', 'ete 6-9']],
  ['e\u0301te', ['ete 0-4']],
  ['Straße', ['straße 0-6']],
  ['ﬁn', ['fin 0-2']],
  ['٣', ['٣ 0-1']],
  ['a 🙂 b', ['a 0-1', '🙂 2-4', 'b 5-6']],
  ['東京', ['東 0-1~', '京 1-2~+']],
  ['東 京', ['東 0-1~', '京 2-3~']],
  ['abc東京def', ['abc 0-3', '東 3-4~', '京 4-5~+', 'def 5-8']],
  ['カ\u3099', ['ガ 0-2~']],
  ['한국어', ['한 0-1~', '국 1-2~+', '어 2-3~+']],
  ['ไทย', ['ไ 0-1~', 'ท 1-2~+', 'ย 2-3~+']],
  ['𠀀𠀁', ['𠀀 0-2~', '𠀁 2-4~+']],
  ['\u0301', []],
])('the words of %j are %j', (text, words) => {
  expect(shown(text)).toEqual(words)
})

it.each<readonly [string, readonly string[]]>([
  ['', []],
  ['Hello, hello WORLD 42', ['hello', 'world', '42']],
  ['snake_case camelCase', ['snake', 'case', 'camelcase', '\ue004camelcas']],
  ['Ünder_score', ['under', 'score']],
  ['東', ['東']],
  ['東京', ['東京', '京']],
  ['東京都 ok', ['東京', '京都', '都', 'ok']],
  ['東京 大阪', ['東京', '京', '大阪', '阪']],
  ['été 東京 café', ['ete', '\ue004et', '東京', '京', 'cafe']],
  ['東 x', ['東', 'x']],
  ['x'.repeat(70), ['x'.repeat(64)]],
  [`ä${'x'.repeat(70)}`, [`a${'x'.repeat(63)}`]],
])('the terms of %j are %j', (text, terms) => {
  const found = new Set<string>(['before'])
  addTerms(found, text)
  expect([...found]).toEqual(['before', ...terms])
})

it('a term has at most 64 units and no half of a pair', () => {
  expect(['', 'a', 'x'.repeat(63), 'x'.repeat(64), 'x'.repeat(65)].map((word) => termOf(word).length)).toEqual([
    0, 1, 63, 64, 64,
  ])
  expect(termOf(`${'x'.repeat(63)}𠀀`)).toBe('x'.repeat(63))
  expect(termOf(`${'x'.repeat(62)}𠀀𠀀`)).toBe(`${'x'.repeat(62)}𠀀`)
})
