import { expect, it } from 'vitest'
import { difference } from '../../src/json/difference.ts'
import type { JsonObject } from '../../src/json/index.ts'

it.each<readonly [JsonObject, JsonObject, JsonObject | undefined, readonly string[]]>([
  [{ a: 1, b: [{ c: 2 }], d: {} }, { d: {}, b: [{ c: 2 }], a: 1 }, undefined, []],
  [{ a: 1, b: 2, c: 3, d: 4 }, { a: 1, b: 0, c: 3 }, { b: 2, d: 4 }, []],
  [{ a: 1 }, { b: 1, a: 1 }, undefined, ['b']],
  [{ a: [1], b: {}, c: 1 }, { a: [2], b: 1, c: {} }, { a: [1], b: {}, c: 1 }, []],
  [{ x: { a: 1, b: { c: 1 } }, y: 1 }, { x: { a: 1, b: { c: 2, e: 1 } }, y: 1 }, { x: { b: { c: 1 } } }, ['x.b.e']],
  [{ skip: 1, a: { skip: 1 } }, { skip: 2, a: {} }, { a: { skip: 1 } }, []],
  [{ a: 1 }, { a: 1, skip: 1, b: { skip: 1 } }, undefined, ['b']],
])('the difference of %j to %j is %j, and it lacks %j', (value, other, expected, missing) => {
  const lacks: string[] = []
  const found = difference(value, other, ['skip'], (path) => lacks.push(path.join('.')))
  expect([found, lacks]).toEqual([expected, missing])
  expect(Object.isFrozen(found)).toBe(true) // undefined, too
  expect(difference(value, other, ['skip'])).toEqual(expected)
})

it('a field that the other object only inherits is different', () => {
  const value = JSON.parse('{"__proto__":{}}') as JsonObject
  expect(JSON.stringify(difference(value, {}))).toBe('{"__proto__":{}}')
})
