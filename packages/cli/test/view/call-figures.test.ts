/** The sums of a session's calls. */
import { expect, it } from 'vitest'
import { sumsOf, sumsText, type CallFigures } from '../../src/view/call-figures.ts'

const call = (number: number, beside: Partial<CallFigures>): CallFigures =>
  ({ number, isShared: false, isCounted: true, input: 2000, output: 10, ...beside }) as CallFigures

it('a failed call and the call that repeats it have one cache break', () => {
  const broke = 'The tool list changed.'
  const failed = call(2, { broke, failed: 'overloaded' })
  const repeated = call(3, { broke, repeats: 2 })
  expect(sumsOf([call(1, {}), failed, repeated])).toMatchObject({ breaks: 1, failed: 1, calls: 3 })
  expect(sumsOf([call(1, {}), call(2, { failed: 'overloaded' }), repeated]).breaks).toBe(1)
})

it.each<readonly [string, number | undefined, readonly Partial<CallFigures>[]]>([
  ['the most dollars', 2, [{ dollars: 1 }, { dollars: 3 }, { dollars: 2 }]],
  ['the first of equal ones', 1, [{ dollars: 3 }, { dollars: 3 }]],
  [
    'the price, whatever the tokens',
    2,
    [
      { dollars: 1, input: 9000 },
      { dollars: 2, input: 100 },
    ],
  ],
  ['no cost is a price', 2, [{ isCounted: false }, { dollars: 0 }]],
  ['the most input not cached, where no price is known', 2, [{ cached: 1000 }, {}, { cached: 1 }]],
  ['the first with as much, where no price is known', 1, [{ cached: 1000 }, { input: 3000, cached: 2000 }]],
  ['the same where one price is not known', 1, [{ input: 3000 }, { dollars: 9 }]],
  ['no call without input', undefined, [{ input: 0, dollars: 1 }]],
  ['no call of the original of a fork', 2, [{ isShared: true, dollars: 9 }, { dollars: 1 }]],
])('the dearest call has %s', (_, number, calls) => {
  expect(sumsOf(calls.map((each, index) => call(index + 1, each))).dearest?.number).toBe(number)
})

it('sums count own calls, and say what is not known', () => {
  const priced = call(1, { dollars: 1, cached: 500 })
  expect(sumsOf([])).toEqual({ calls: 0, input: 0, output: 0, breaks: undefined, failed: 0, unpriced: 0, isUndercounted: false, uncounted: 0 }) // oxfmt-ignore
  expect(sumsOf([priced, call(2, { dollars: 2 })])).toMatchObject({ input: 4000, cached: 500, output: 20, dollars: 3, unpriced: 0 }) // oxfmt-ignore
  expect(sumsOf([priced, call(2, {})])).toMatchObject({ dollars: 1, unpriced: 1, breaks: undefined })
  expect(sumsOf([priced, call(2, { cached: 0, isShared: true })])).toMatchObject({ calls: 1, input: 2000, breaks: 0 })
  expect(sumsOf([priced, call(2, { isCounted: false, dollars: 5 })])).toMatchObject({
    input: 2000,
    output: 10,
    dollars: 1,
  })
  expect(sumsOf([priced, call(2, { isUndercounted: true })]).isUndercounted).toBe(true)
  const uncounted = { isCounted: false, output: 0 }
  expect(sumsText(sumsOf([priced, call(2, uncounted), call(3, { ...uncounted, failed: 'overloaded' })]))).toBe(
    '3 calls · 2K tokens in · 25 % cached · 10 out · at least $1.00 · 1 failed · 1 without token counts',
  )
})
