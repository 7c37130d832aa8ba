/** The laws of encoding: for any value, at any limits, it gives bounded JSON that encoding leaves as it is. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { createHistory } from 'indelible'
import { encodeValue } from '@indelible/records'
import { rounds } from '../../../test/rounds.ts'
import { Outputs } from '../../../test/outputs.ts'
import type { EncodeLimits } from '../src/encode.ts'

const anything = fc.anything({
  maxDepth: 5,
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withObjectString: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
  withUnicodeString: false, // half characters too
})
const long = fc.oneof(
  anything,
  fc.array(anything, { minLength: 20, maxLength: 60 }),
  fc.string({ unit: 'binary', minLength: 30, maxLength: 900 }),
)
const limits: fc.Arbitrary<EncodeLimits> = fc.record(
  {
    depth: fc.integer({ min: 1, max: 6 }),
    string: fc.integer({ min: 32, max: 120 }),
    size: fc.integer({ min: 256, max: 1200 }),
  },
  { requiredKeys: [] },
)

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0
const stringsOf = (value: unknown): readonly string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? [...(Array.isArray(value) ? [] : Object.keys(value)), ...Object.values(value).flatMap(stringsOf)]
      : []

it('encoding is total, JSON-stable, idempotent and within its limits', () => {
  const outputs = new Outputs()
  fc.assert(
    fc.property(long, limits, (value, limits) => {
      const once = encodeValue(value, { limits })
      outputs.add(once)
      expect(JSON.parse(JSON.stringify(once.value))).toEqual(once.value)
      expect(
        createHistory<unknown>({ from: [once.value] })
          .view()
          .at(0),
      ).toEqual(once.value)
      expect(encodeValue(once.value, { limits })).toEqual({ value: once.value, cut: false })
      expect(depthOf(once.value)).toBeLessThanOrEqual(limits.depth ?? 16)
      for (const text of stringsOf(once.value)) {
        expect(text.length).toBeLessThanOrEqual(limits.string ?? 10_000)
        expect(text.isWellFormed()).toBe(true)
      }
      const escapes = stringsOf(once.value).reduce(
        (sum, text) => sum + JSON.stringify(text).length - text.length - 2,
        0,
      )
      expect(JSON.stringify(once.value).length - escapes).toBeLessThanOrEqual(limits.size ?? 100_000)
    }),
    { numRuns: rounds(120, 2000) },
  )
  outputs.expectToBe('a7c8efaccad661b2')
})

it('encoding leaves JSON unchanged if it fits', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'grapheme' }), (value) => {
      const json = JSON.parse(JSON.stringify(value)) as unknown
      expect(encodeValue(json)).toEqual({ value: json, cut: false })
    }),
  )
})

it('no secret passes a redactor that refuses its text', () => {
  fc.assert(
    fc.property(anything, fc.constantFrom('s3cr3t', 'token-9'), (value, secret) => {
      const redact = (value: unknown): unknown => (typeof value === 'string' && value.includes(secret) ? '***' : value)
      const hidden = [
        value,
        {
          deep: new Map([['k', [secret, new Set([`x${secret}`])]]]),
          error: new Error(secret, { cause: secret }),
          json: { toJSON: () => ({ secret }) },
        },
      ]
      expect(JSON.stringify(encodeValue(hidden, { redact }).value)).not.toContain(secret)
    }),
  )
})
