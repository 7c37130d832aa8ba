/* oxlint-disable no-sparse-arrays, unicorn/no-new-array -- sparse arrays are what is tested */
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { createHistory } from 'indelible'
import { formatPath, ownSnapshot, snapshot } from '../../src/json/index.ts'

const nested = (levels: number, wrap: (inner: unknown) => unknown): unknown => {
  let value: unknown = 'core'
  for (let level = 0; level < levels; level++) value = wrap(value)
  return value
}

const cyclic = (): unknown => {
  const value: { list: unknown[] } = { list: [{}] }
  value.list[0] = { again: value.list }
  return value
}

const withGetter = Object.defineProperty([1], 0, { get: () => 1, enumerable: true })
class Mine {
  role = 'user'
}

describe('recording non-JSON throws a TypeError that names the path', () => {
  it.each<readonly [string, unknown, string]>([
    ['a function', { f: () => 1 }, 'f is a function'],
    ['a function in an array', { a: [0, () => 1] }, 'a[1] is a function'],
    ['a method', { toJSON() {} }, 'toJSON is a function'],
    ['a symbol', { a: { b: Symbol('s') } }, 'a.b is a symbol'],
    ['a symbol as a key', { a: { [Symbol('s')]: 1 } }, 'a has a symbol as a key'],
    ['undefined in an array in an object', { a: [{ b: 1 }, undefined] }, 'a[1] is undefined'],
    ['undefined in an array', [undefined], '[0] is undefined'],
    ['undefined itself', undefined, 'the value is undefined'],
    ['a bigint', { n: 1n }, 'n is a bigint'],
    ['NaN', { n: NaN }, 'n is NaN'],
    ['infinity', { n: [Infinity] }, 'n[0] is Infinity'],
    ['minus infinity', -Infinity, 'the value is -Infinity'],
    ['a class instance', { m: new Mine() }, 'm is an instance of Mine'],
    ['a Map', { m: new Map() }, 'm is an instance of Map'],
    ['a Set', { m: new Set() }, 'm is an instance of Set'],
    ['a Date', { 'a b': new Date(0) }, '["a b"] is an instance of Date'],
    ['a byte array', { m: new Uint8Array(2) }, 'm is an instance of Uint8Array'],
    ['a Buffer', { m: Buffer.from('x') }, 'm is an instance of Buffer'],
    ['an ArrayBuffer', { m: new ArrayBuffer(2) }, 'm is an instance of ArrayBuffer'],
    ['an Error', { m: new Error('x') }, 'm is an instance of Error'],
    ['a promise', { m: Promise.resolve() }, 'm is an instance of Promise'],
    ['a boxed string', { m: Object('x') }, 'm is an instance of String'],
    ['a subclass of Array', { m: new (class List extends Array {})() }, 'm is an instance of List'],
    ['an heir of an object', { m: Object.create({ a: 1 }) }, 'm is an object with a prototype of its own'],
    ['a cycle', cyclic(), 'list[0] contains itself'],
    ['a sparse array', { a: [1, , 3] }, 'a[1] is missing (the array is sparse)'],
    ['an empty slot at the end', { a: new Array(1) }, 'a[0] is missing (the array is sparse)'],
    [
      'an accessor',
      {
        get a() {
          return 1
        },
      },
      'a is an accessor',
    ],
    ['a setter', { set a(_: number) {} }, 'a is an accessor'],
    ['an accessor in an array', { withGetter }, 'withGetter[0] is an accessor'],
    [
      'a hidden property',
      Object.defineProperty({}, 'a', { value: 1 }),
      'the value has a property that is not enumerable',
    ],
    [
      'an array with other properties',
      Object.assign([1], { extra: 1 }),
      'the value is an array with properties that are not elements',
    ],
    [
      'an array with a symbol',
      Object.assign([1], { [Symbol('s')]: 1 }),
      'the value is an array with properties that are not elements',
    ],
    [
      'a class whose name is no text',
      {
        m: new (class {
          static readonly name: unknown = Symbol('s')
        })(),
      },
      'm is an object with a prototype of its own',
    ],
    ['a lone surrogate', { s: 'a\ud83d' }, 's is a string with a lone surrogate'],
    ['a lone surrogate in a key', { a: { '\udc00': 1 } }, 'a["\\udc00"] is a key with a lone surrogate'],
    ['1,001 nested arrays', nested(1001, (inner) => [inner]), 'is nested deeper than 1000 levels'],
    ['1,001 nested objects', nested(1001, (inner) => ({ inner })), 'is nested deeper than 1000 levels'],
    ['1,000,000 nested arrays', nested(1_000_000, (inner) => [inner]), 'is nested deeper than 1000 levels'],
    ['1,000,000 nested objects', nested(1_000_000, (inner) => ({ inner })), 'is nested deeper than 1000 levels'],
  ])('%s', (_name, value, message) => {
    const history = createHistory<unknown>({ from: ['before'] })
    const view = history.view()
    expect(() => history.append(value)).toThrow(TypeError)
    expect(() => history.append(value)).toThrow(`${message}; only plain JSON data can be recorded`)
    expect(history.len).toBe(1)
    expect(history.view().toArray()).toEqual(['before'])
    expect(history.view().pages.length).toBe(1)
    expect(history.view()).toBe(view)
  })

  it('a cycle through the value itself', () => {
    const value: { self?: unknown } = {}
    value.self = value
    expect(() => snapshot(value)).toThrow('the value contains itself')
  })
  it('shortens a path with long keys in its middle', () => {
    expect(() => snapshot(nested(900, (inner) => (inner === 'core' ? [() => 1] : [inner])))).toThrow(
      '[0][0][0][0][0][0]…[0][0][0][0][0] is a function',
    )
  })
  it.each([11, 12, 13, 14])('shows a path of %i steps completely up to 12', (steps) => {
    const path = formatPath(Array.from({ length: steps }, (_, index) => index))
    expect(path).toBe(
      steps <= 12
        ? Array.from({ length: steps }, (_, index) => `[${index}]`).join('')
        : `[0][1][2][3][4][5]…${[5, 4, 3, 2, 1].map((one) => `[${steps - one}]`).join('')}`,
    )
  })
  it('passes an error thrown by a trap through and records nothing', () => {
    const history = createHistory<unknown>()
    const hostile = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new RangeError('mine')
        },
      },
    )
    expect(() => history.append({ hostile })).toThrow('mine')
    expect(history.len).toBe(0)
  })
})

describe('plain JSON data is recorded unchanged', () => {
  it.each<readonly [string, unknown]>([
    ['null', null],
    ['text', 'ünï\u0000code 🙂 \u2028'],
    ['an empty array', []],
    ['an empty object', {}],
    ['numbers', [0, -1.5, 1e308, 5e-324, Number.MAX_SAFE_INTEGER]],
    ['1,000 nested arrays', nested(1000, (inner) => [inner])],
    ['1,000 nested objects', nested(1000, (inner) => ({ inner }))],
    ['odd keys', { '': 1, constructor: 2, toString: 3, hasOwnProperty: 4, '0': 5, 'a.b': 6, length: 7 }],
  ])('%s', (_name, value) => {
    const copy = snapshot(value)
    expect(copy).toEqual(value)
    expect(JSON.stringify(copy)).toBe(JSON.stringify(value))
    expect(Object.isFrozen(copy)).toBe(true)
  })
  it('an own __proto__ key stays data', () => {
    const value = JSON.parse('{"__proto__": {"polluted": true}, "a": {"__proto__": null}}') as object
    const copy = snapshot(value)
    expect(JSON.stringify(copy)).toBe(JSON.stringify(value))
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
    expect((copy as { polluted?: unknown }).polluted).toBeUndefined()
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })
  it('a shared reference is not a cycle and is recorded in each place', () => {
    const shared = { n: 1 }
    expect(snapshot({ a: shared, b: [shared, shared] })).toEqual({ a: { n: 1 }, b: [{ n: 1 }, { n: 1 }] })
  })
  it('forty levels of sharing do not become 2^40 copies', () => {
    const value = nested(40, (inner) => ({ left: inner, right: inner })) as { left: unknown; right: unknown }
    const copy = snapshot(value)
    let at: unknown = copy
    for (let level = 0; level < 40; level++) at = (at as { right: unknown }).right
    expect(at).toBe('core')
  })
  it('sharing does not exceed the depth limit', () => {
    const many = Array.from({ length: 10_001 }, () => ({}))
    const inner = nested(400, (value) => [value])
    const wrap = (value: unknown, levels: number): unknown => (levels === 0 ? value : [wrap(value, levels - 1)])
    const outer = wrap(inner, 500)
    expect(snapshot([many, inner, outer])).toEqual([many, inner, outer])
    expect(() => snapshot([many, inner, outer, wrap(outer, 500)])).toThrow('is nested deeper than 1000 levels')
    // What stands beside something deep is not deep.
    const flat = [1]
    expect(snapshot([wrap([], 800), flat, wrap(flat, 900)])).toEqual([wrap([], 800), flat, wrap(flat, 900)])
    expect(() => snapshot([flat, wrap(flat, 1000)])).toThrow('is nested deeper than 1000 levels')
    // What follows something deep does not make it less deep.
    const both = [wrap([], 600), []]
    expect(() => snapshot([many, both, wrap(both, 500)])).toThrow('is nested deeper than 1000 levels')
  })
  it('objects without a prototype, of another realm, and frozen ones', () => {
    const bare = Object.assign(Object.create(null) as object, { a: 1 })
    const foreign = runInNewContext('({ list: [1, { a: 2 }] })') as unknown
    const frozen = Object.freeze({ inner: [1] })
    const copy = snapshot({ bare, foreign, frozen })
    expect(copy).toEqual({ bare: { a: 1 }, foreign: { list: [1, { a: 2 }] }, frozen: { inner: [1] } })
    expect(Object.isFrozen(copy.frozen.inner)).toBe(true)
  })
  it('an undefined property is omitted, as in JSON', () => {
    const given = { a: 1, b: undefined, c: [{ d: undefined }], ['__proto__']: undefined }
    const copy = snapshot(given)
    expect(JSON.stringify(copy)).toBe(JSON.stringify(given))
    expect(copy).toStrictEqual({ a: 1, c: [{}] })
    expect(Object.keys(given)).toEqual(['a', 'b', 'c', '__proto__'])
  })
  it('-0 is recorded as 0, as in JSON text', () => {
    expect(Object.is(snapshot({ n: -0 }).n, 0)).toBe(true)
  })
  it('decoded data is returned as it is, and nested parts are copied for another place', () => {
    const once = ownSnapshot({ a: { b: [1] } })
    expect([snapshot(once), ownSnapshot(once)].every((again) => again === once)).toBe(true)
    expect(snapshot(once.a)).toEqual(once.a)
    expect(snapshot(once.a)).not.toBe(once.a)
  })
  it('the input is neither frozen nor changed', () => {
    const value = { a: [{ b: 1 }] }
    snapshot(value)
    expect([Object.isFrozen(value), Object.isFrozen(value.a), Object.isFrozen(value.a[0])]).toEqual([
      false,
      false,
      false,
    ])
  })
})
