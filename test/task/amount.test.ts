/** The numbers that options give. */
import { expect, it } from 'vitest'
import { amount, choice } from '../../src/task/index.ts'

const wanted = { unit: 'bytes', least: 1, most: 10, whole: true } as const

it.each([1, 7, 10])('%j is a valid amount', (value) => {
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
])('%j is refused with the found and expected values', (value, found) => {
  expect(() => amount('size', value, wanted)).toThrow(
    new TypeError(`size is ${found}; expected a whole number of bytes, at least 1 and at most 10`),
  )
})

it.each([
  [{}, 'a number of bytes, at least 0, or Infinity for no limit', [0, 0.5, Infinity], [-1, NaN]],
  [
    { whole: true },
    'a whole number of bytes, at least 0, or Infinity for no limit',
    [0, 2, Infinity],
    [0.5, -Infinity],
  ],
  [{ least: 2 }, 'a number of bytes, at least 2, or Infinity for no limit', [2, 2.5, Infinity], [1.9]],
  [{ most: 3 }, 'a number of bytes, at least 0 and at most 3', [0, 3], [3.1, Infinity]],
])('%j: %s', (more, expected, good, bad) => {
  for (const value of good) expect(amount('size', value, { unit: 'bytes', ...more })).toBe(value)
  for (const value of [...bad, 'x'.repeat(41), undefined, true, 1n])
    expect(() => amount('size', value, { unit: 'bytes', ...more })).toThrow(
      `size is ${typeof value === 'string' ? `"${'x'.repeat(40)}"` : value}; expected ${expected}`,
    )
})

it('a choice is one of the words; another value is refused with all of them', () => {
  expect(['disk', 'os'].map((word) => choice('durability', word, ['disk', 'os']))).toEqual(['disk', 'os'])
  for (const [value, found] of [
    ['tape', '"tape"'],
    [undefined, 'nothing'],
    [7, '7'],
  ] as const)
    expect(() => choice('durability', value as string, ['disk', 'os'])).toThrow(
      new TypeError(`durability is ${found}; expected one of disk, os`),
    )
})
