/** The sums of a session's calls. */
import { expect, it } from 'vitest'
import { sumsOf, type CallFigures } from '../../src/view/call-figures.ts'

const call = (number: number, beside: Partial<CallFigures>): CallFigures =>
  ({ number, isShared: false, isCounted: true, input: 2000, output: 10, ...beside }) as CallFigures

it('a failed call and the call that repeats it have one cache break', () => {
  const broke = 'The tool list changed.'
  const failed = call(2, { broke, failed: 'overloaded' })
  const repeated = call(3, { broke, repeats: 2 })
  expect(sumsOf([call(1, {}), failed, repeated])).toMatchObject({ breaks: 1, failed: 1, calls: 3 })
  expect(sumsOf([call(1, {}), call(2, { failed: 'overloaded' }), repeated]).breaks).toBe(1)
})
