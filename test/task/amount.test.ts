/** The numbers that options give. */
import { expect, it } from 'vitest'
import { amount } from '../../src/task/kit.ts'

const wanted = { unit: 'bytes', least: 1, most: 10, whole: true } as const

it.each([1, 7, 10])('%j is such a number', (value) => {
  expect(amount('size', value, wanted)).toBe(value)
})

it.each([
  [0, '0'],
  [11, '11'],
  [1.5, '1.5'],
  [NaN, 'NaN'],
  ['7', '"7"'],
  [null, 'null'],
  [{}, 'an object'],
])('%j is refused, with what was found and what is expected', (value, found) => {
  expect(() => amount('size', value, wanted)).toThrow(
    new TypeError(`size is ${found}; expected a whole number of bytes, at least 1 and at most 10`),
  )
})
