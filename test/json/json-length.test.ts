import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { jsonLength, jsonLengthOfText, type Json } from '../../src/json/index.ts'
import { rounds } from '../rounds.ts'

it.each<[Json, number]>([
  [{}, 2],
  [[], 2],
  [[1, -0, 1e21], 11],
  ['a\n"\\\u0001é', 8],
  [{ a: 'b', c: [null, true] }, 25],
])('the JSON of %j has %i characters, with one for each that is escaped', (value, length) => {
  expect(jsonLength(value)).toBe(length)
})

it('is the same of a value and of its text', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      expect(jsonLengthOfText(JSON.stringify(value))).toBe(jsonLength(value as Json))
    }),
    { numRuns: rounds(200, 4000) },
  )
})
