/** Values of LangGraph for Python: what is announced and not there allocates nothing, and what is there is read. */
import { encode } from '@msgpack/msgpack'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { readPython } from '../src/sqlite/python.ts'
import { checkItems } from '../src/sqlite/msgpack-items.ts'

const bytesOf = (...numbers: readonly number[]): Uint8Array => Uint8Array.from(numbers)

it('a msgpack list or map that announces more items than bytes is refused before allocation', () => {
  const before = process.memoryUsage().rss
  for (const kind of [0xdd, 0xdf])
    expect(() => readPython(bytesOf(kind, 0x02, 0x00, 0x00, 0x00))).toThrow(
      /^byte 0 announces (\d+) items; \1 are expected, and 0 bytes remain$/,
    )
  expect(process.memoryUsage().rss - before).toBeLessThan(100e6)
})

it('nested msgpack lists cannot claim one byte twice', () => {
  // Each list has as many items as bytes remain; together they have far more.
  const nested = new Uint8Array(3000).fill(0xc0)
  for (let at = 0; at < 1500; at += 3) nested.set([0xdc, (2990 - at) >> 8, (2990 - at) & 0xff], at)
  expect(() => readPython(nested)).toThrow('announces')
  const inExtension = bytesOf(0xc7, 5, 0, 0xdd, 0x7f, 0xff, 0xff, 0xff)
  expect(() => readPython(inExtension)).toThrow('byte 0 announces 2147483647 items')
})

it.each([
  ['8', [0xc7, 5, 0]],
  ['16', [0xc8, 0, 5, 0]],
  ['32', [0xc9, 0, 0, 0, 5, 0]],
])('the payload of a msgpack extension with a %s-bit length is not read as items', (_, header) => {
  const payload = [0xdd, 0x7f, 0xff, 0xff, 0xff]
  expect(() => checkItems(bytesOf(0x92, ...header, ...payload, 0xc0))).not.toThrow()
  expect(() => checkItems(bytesOf(0x92, ...header, ...payload, ...payload))).toThrow('announces')
})

it('any valid msgpack is accepted and read', () => {
  const value = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constant(null),
      fc.boolean(),
      fc.integer(),
      fc.maxSafeInteger(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.string({ maxLength: 300 }),
      fc.uint8Array({ maxLength: 300 }),
      fc.array(tie('value'), { maxLength: 40 }),
      fc.dictionary(fc.string(), tie('value'), { maxKeys: 20 }),
    ),
  })).value
  fc.assert(
    fc.property(value, (value) => {
      checkItems(encode(value))
    }),
  )
  expect(readPython(encode({ a: [1, 'x', new Uint8Array(70_000)], b: 'y'.repeat(70_000) }))).toMatchObject({
    a: [1, 'x', expect.any(String)],
  })
})

it.each([
  [0, ['collections', 'deque', [1]], { python: 'collections.deque', value: [1] }],
  [1, ['uuid', 'UUID', 'a'], { python: 'uuid.UUID', args: 'a' }],
  [2, ['decimal', 'Decimal', ['1.5']], { python: 'decimal.Decimal', args: ['1.5'] }],
  [
    5,
    ['langchain_core.messages.human', 'HumanMessage', { type: 'human', content: 'a' }],
    {
      lc: 1,
      type: 'constructor',
      id: ['langchain_core', 'messages', 'human', 'HumanMessage'],
      kwargs: { type: 'human', content: 'a' },
    },
  ],
  [5, ['mine', 'State', { type: 'human' }], { python: 'mine.State', value: { type: 'human' } }],
  [6, ['<f8', [2], 'C'], { python: 'numpy.ndarray', args: ['<f8', [2], 'C'] }],
  [4, 'text', { python: 'extension 4', value: 'text' }],
  [7, ['a'], { lc: 2, type: 'delta_snapshot', value: ['a'] }],
])('a Python value in extension %i, %j, is read with its type', (type, value, expected) => {
  const payload = encode(value)
  expect(readPython(bytesOf(0xc7, payload.length, type, ...payload))).toEqual(expected)
})

it.each([
  ['bytes 8', [0xc4, 2]],
  ['bytes 16', [0xc5, 0, 2]],
  ['bytes 32', [0xc6, 0, 0, 0, 2]],
  ['text 8', [0xd9, 2]],
  ['text 16', [0xda, 0, 2]],
  ['text 32', [0xdb, 0, 0, 0, 2]],
  ['a short text', [0xa2]],
  ['an integer of 16 bits', [0xcd]],
  ['a signed integer of 16 bits', [0xd1]],
])('the content of %s is not read as items', (_, header) => {
  const content = [0xdc, 0xff]
  expect(() => checkItems(bytesOf(0x94, ...header, ...content, 0xc0, 0xc0, 0xc0))).not.toThrow()
  expect(() => checkItems(bytesOf(0x95, ...header, ...content, 0xc0, 0xc0, 0xc0))).toThrow('announces')
})

it.each([
  ['16 items', [0xdc, 0, 16], 16],
  ['16 items in 32 bits', [0xdd, 0, 0, 0, 16], 16],
  ['15 items', [0x9f], 15],
  ['8 pairs', [0xde, 0, 8], 16],
  ['8 pairs in 32 bits', [0xdf, 0, 0, 0, 8], 16],
  ['7 pairs', [0x87], 14],
])('a header of %s needs as many bytes', (_, header, needed) => {
  const nils = (count: number) => Array.from({ length: count }, () => 0xc0)
  expect(() => checkItems(bytesOf(...header, ...nils(needed)))).not.toThrow()
  expect(() => checkItems(bytesOf(...header, ...nils(needed - 1)))).toThrow(
    `announces ${needed} items; ${needed} are expected, and ${needed - 1} bytes remain`,
  )
})
