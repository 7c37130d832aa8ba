/** What counts as the same JSON, and which of the earlier lists a list continues. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { GrowingLists, isSameJson } from '../src/requests/growing-lists.ts'

const leaves = [
  'null',
  'true',
  'false',
  '0',
  '1',
  '-1',
  '1.5',
  '""',
  '"0"',
  '"1"',
  '"null"',
  '"a"',
  '"\\u0061"',
  '"\\ud800"',
]
const inner = [
  '[]',
  '{}',
  '[1]',
  '[1,2]',
  '[2,1]',
  '{"0":1}',
  '{"0":1,"1":2}',
  '{"0":1,"1":2,"length":2}',
  '{"length":0}',
]
const keyed = ['a', 'b', '__proto__', 'constructor', 'toString'].flatMap((key) =>
  ['1', 'null', '{}', '{"a":1}', '{"b":1}', '[1]'].map((value) => `{"${key}":${value}}`),
)
const ordered = ['{"a":1,"b":2}', '{"b":2,"a":1}', '{"a":1,"b":null}', '{"a":1,"a":2}', '{"a":2}', '{"a":2,"b":1}']
const texts = [...leaves, ...inner, ...keyed, ...ordered, ...[...inner, ...ordered].map((text) => `[${text},0]`)]

it('two values are the same if their texts are', () => {
  for (const text of texts)
    for (const other of texts) {
      const [first, second] = [JSON.parse(text) as unknown, JSON.parse(other) as unknown]
      expect([text, other, isSameJson(first, second)]).toEqual([
        text,
        other,
        JSON.stringify(first) === JSON.stringify(second),
      ])
    }
})

it('any two values are the same if their texts are', () => {
  const value = fc.jsonValue({ maxDepth: 3 })
  fc.assert(
    fc.property(value, value, (a, b) => {
      const [first, second] = [JSON.stringify(a), JSON.stringify(b)]
      expect(isSameJson(JSON.parse(first), JSON.parse(second))).toBe(first === second)
      expect(isSameJson(JSON.parse(first), JSON.parse(first))).toBe(true)
    }),
  )
})

it('a list continues the one that shares the most, and replaces it only if it has all of it', () => {
  const lists = new GrowingLists<{ readonly list: readonly unknown[] }>()
  const add = (list: readonly unknown[]): readonly [earlier: readonly unknown[] | undefined, len: number] => {
    const grown = lists.find(list)
    expect(grown.list).toEqual(list)
    lists.add(grown, grown)
    return [grown.earlier?.list, grown.len]
  }
  expect(add([1, 2, 3])).toEqual([undefined, 0])
  expect(add([1, 4])).toEqual([[1, 2, 3], 1])
  expect(add([1, 2, 5])).toEqual([[1, 2, 3], 2])
  expect(add([1, 4, 6])).toEqual([[1, 4], 2])
  expect(add([1, 2, 3, 7])).toEqual([[1, 2, 3], 3])
  expect(add([1, 2, 5, 8])).toEqual([[1, 2, 5], 3])
  expect(add([9])).toEqual([undefined, 0])
  expect(add([1, 4, 6])).toEqual([[1, 4, 6], 3])
})
