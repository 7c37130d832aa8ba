/** How long the content of messages is: of a value, and of its JSON text. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { contentLength, contentLengthOfText } from '../../src/history/content-length.ts'
import type { Json } from '../../src/json/index.ts'
import { changedBy } from '../pollution.ts'
import { rounds } from '../rounds.ts'

it.each<[Json, number]>([
  [{}, 2],
  [[], 2],
  [[1, -0, 1e21], 11],
  ['a\n"\\\u0001é', 8],
  [{ a: 'b', c: [null, true] }, 25],
  [{ meta: { a: 1 } }, 2],
  [{ meta: [1, '}'], a: 1 }, 7],
  [{ a: 1, meta: 'x\\' }, 7],
  [{ a: 1, meta: null, b: { meta: { meta: '"' } } }, 14],
  [{ 'x"meta': 1, a: '"meta":' }, 26],
])('the content of %j has %i characters, with one for each that is escaped, and none of `meta`', (value, length) => {
  expect(contentLength(value)).toBe(length)
  expect(contentLengthOfText(JSON.stringify(value))).toBe(length)
})

const withoutMeta = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(withoutMeta)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value).flatMap(([key, field]) => (key === 'meta' ? [] : [[key, withoutMeta(field)]])),
        )
      : value

it('counts base64 at most as an image', () => {
  const withData = (length: number): number => contentLength({ data: 'A'.repeat(length) })
  expect([withData(0), withData(6000), withData(6001), withData(6_000_000)]).toEqual([11, 6011, 6011, 6011])
  expect(contentLength({ text: 'A'.repeat(6001) })).toBe(6012)
})

it('is the same of a value, of its text, and of the value without `meta`', () => {
  const key = fc.oneof(fc.constantFrom('meta', '"meta', 'meta"', '"meta":', '\\'), fc.string())
  const { json } = fc.letrec<{ json: unknown }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.constantFrom('\\', '"', '}', ',"meta":{'),
        fc.double(),
        fc.constant(null),
      ),
      fc.array(tie('json'), { maxLength: 3 }),
      fc.dictionary(key, tie('json'), { maxKeys: 3 }),
    ),
  }))
  fc.assert(
    fc.property(json, (made) => {
      const text = JSON.stringify(made)
      const value = JSON.parse(text) as Json
      expect(contentLengthOfText(text)).toBe(contentLength(value))
      expect(contentLength(value)).toBe(contentLength(withoutMeta(value) as Json))
    }),
    { numRuns: rounds(400, 8000) },
  )
})

it('reads no property of a prototype', () => {
  expect(changedBy(['a', 'meta'], () => contentLength({ b: [1, { c: 'd' }] }))).toEqual([])
})
