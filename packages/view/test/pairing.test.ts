/** How the messages of two sessions are paired. */
import { expect, it } from 'vitest'
import * as fc from 'fast-check'
import { pairsOf, type Compared } from '../page/src/forks/pairing.ts'

const messages = (...texts: readonly string[]): readonly Compared[] =>
  texts.map((text, position) => {
    const [role = '', words = ''] = text.split(': ')
    return { position, role, text: words, isErased: words.startsWith('erased') }
  })
const shown = (own: readonly Compared[], other: readonly Compared[]): readonly string[] =>
  pairsOf(own, other).map(({ a, b, isSame }) => `${a ?? '–'}${isSame ? '=' : '|'}${b ?? '–'}`)

it('an erased message stands beside that of the other session, and the rest stays aligned', () => {
  const own = messages('user: one', 'user: erased', 'assistant: The year 2024 is a leap year', 'user: four')
  const other = messages('user: one', 'user: two', 'assistant: The year 2028 is a leap year', 'user: four')
  expect(shown(own, other)).toEqual(['0=0', '1|1', '2|2', '3=3'])
})
it('an erased message that the other session lacks stands alone', () => {
  const own = messages('user: erased', 'user: the first of many questions', 'assistant: yes')
  const other = messages('user: the last of many questions', 'assistant: yes')
  expect(shown(own, other)).toEqual(['0|–', '1|0', '2=1'])
})
it('messages stand beside those that they are most like, and never beside those of another role', () => {
  const own = messages('user: a', 'assistant: I look at the calendar', 'user: b')
  const other = messages('assistant: Hello there', 'assistant: I look at the clock', 'user: c')
  expect(shown(own, other)).toEqual(['0|–', '–|0', '1|1', '2|2'])
})
it('each message stands in one row, in its order', () => {
  const side = fc.array(fc.constantFrom('user: a', 'user: b b', 'assistant: a b', 'tool: x', 'user: erased'), {
    maxLength: 12,
  })
  fc.assert(
    fc.property(side, side, (left, right) => {
      const [own, other] = [messages(...left), messages(...right)]
      const pairs = pairsOf(own, other)
      expect(pairs.flatMap(({ a }) => a ?? [])).toEqual(own.map(({ position }) => position))
      expect(pairs.flatMap(({ b }) => b ?? [])).toEqual(other.map(({ position }) => position))
      for (const { a, b, isSame } of pairs) if (isSame) expect(own[a ?? -1]?.text).toBe(other[b ?? -1]?.text)
    }),
  )
})
