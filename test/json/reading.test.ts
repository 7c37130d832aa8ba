/** What reads, copies and compares values of other programs, held against plain JavaScript. */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import {
  aList,
  aString,
  admit,
  anObject,
  arrayAt,
  base64OfText,
  describe as describeValue,
  endOfString,
  fieldsBeside,
  formatPath,
  hasOnly,
  isObject,
  joinBytes,
  jsonEqual,
  jsonIn,
  objectAt,
  present,
  readEach,
  readIn,
  stringAt,
  textOfBase64,
  Unexpected,
  type Json,
} from '../../src/json/index.ts'
import { plainOf, revivePlain } from '../../src/json/plain.ts'

const thrown = (work: () => unknown): unknown => {
  try {
    work()
  } catch (error) {
    return error
  }
  throw new Error('it went well')
}

describe('an unexpected value', () => {
  it('is reported with its path, what was expected and what was found', () => {
    const bad = { content: [{ text: 'a' }, { text: 5 }] }
    const read = (): unknown =>
      readIn(bad, 'content', (list) => readEach(aList(list), (part) => readIn(anObject(part), 'text', aString)))
    const error = thrown(read) as Unexpected
    expect(error).toBeInstanceOf(Unexpected)
    expect([error.path, error.expected, error.found]).toEqual([['content', 1, 'text'], 'a string', '5'])
    expect(error.within('a', 0).path).toEqual(['a', 0, 'content', 1, 'text'])
    bad.content = [{ text: 'a' }, { text: 'b' }] as never
    expect(read()).toEqual(['a', 'b'])
    expect(readEach(['x', 'y'], (item, index) => `${String(item)}${index}`)).toEqual(['x0', 'y1'])
    expect(readIn({}, 'toString', (value) => value)).toBeUndefined()
    const other = new Error('another one')
    const fail = (): never => {
      throw other
    }
    expect([thrown(() => readEach([1], fail)), thrown(() => readIn({}, 'a', fail))]).toEqual([other, other])
    for (const [check, expected, good, wrong] of [
      [objectAt, 'an object', [{}, { a: 1 }], [undefined, null, [], 'a', 1]],
      [arrayAt, 'an array', [[], [1]], [undefined, null, {}, 'a', 1]],
      [stringAt, 'a string', ['', 'a'], [undefined, null, {}, [], 1]],
    ] as const) {
      for (const value of good) expect(check(value, ['p'])).toBe(value)
      for (const value of wrong)
        expect(thrown(() => check(value, ['p']))).toMatchObject({ path: ['p'], expected, found: describeValue(value) })
    }
    for (const check of [aString, anObject, aList]) expect(thrown(() => check(undefined))).toMatchObject({ path: [] })
    expect([{}, [], null, 'a', undefined].map(isObject)).toEqual([true, false, false, false, false])
  })

  it.each([
    [undefined, 'nothing'],
    [null, 'null'],
    [[], 'an empty array'],
    [[1], 'an array'],
    [{}, 'an empty object'],
    [{ a: 1 }, 'an object with "a"'],
    [{ a: 1, b: 2, c: 3, d: 4 }, 'an object with "a", "b", "c", "d"'],
    [{ a: 1, b: 2, c: 3, d: 4, e: 5 }, 'an object with "a", "b", "c", "d", …'],
    ['a"b', '"a\\"b"'],
    [NaN, 'NaN'],
    [-1.5, '-1.5'],
    [10n, '10n'],
    [true, 'true'],
    [Symbol('s'), 'symbol'],
    ['x'.repeat(38), `"${'x'.repeat(38)}"`],
    ['x'.repeat(39), `"${'x'.repeat(39)}… (41 characters)`],
  ])('value %# is described in few words', (value, text) => expect(describeValue(value)).toBe(text))
})

describe('fields of an object', () => {
  it('beside the known ones are kept, and none is of a prototype', () => {
    expect(fieldsBeside({ a: 1, b: 2, ['__proto__']: 3 }, ['a'])).toEqual(JSON.parse('{"b":2,"__proto__":3}'))
    expect(fieldsBeside({ a: 1, b: 2 }, ['b', 'a'])).toBeUndefined()
    expect([hasOnly({ a: 1 }, ['a', 'b']), hasOnly({ a: 1, c: 1 }, ['a', 'b']), hasOnly({}, [])]).toEqual([
      ...[true, false, true],
    ])
    expect(present({ a: undefined, b: null, c: 0 })).toEqual({ b: null, c: 0 })
    expect(Object.keys(present({ a: undefined }))).toEqual([])
  })
})

it('property: values are equal as JSON if their texts with sorted keys are', () => {
  const sorted = (value: Json): string =>
    JSON.stringify(value, (_, each: unknown) =>
      isObject(each) ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1))) : each,
    )
  const small = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom<Json>(null, true, false, 0, 1, '', 'a', '0'),
      fc.array(tie('value'), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom('a', 'b', '0', '__proto__'), tie('value'), { maxKeys: 2 }),
    ),
  })).value
  fc.assert(
    fc.property(small, small, (json, other) => {
      const [a, b] = [JSON.parse(JSON.stringify(json)) as Json, JSON.parse(JSON.stringify(other)) as Json]
      expect(jsonEqual(a, b)).toBe(sorted(a) === sorted(b))
      expect(jsonEqual(a, structuredClone(a))).toBe(true)
    }),
  )
  expect([jsonEqual([], {}), jsonEqual({}, []), jsonEqual([1], [1, 2]), jsonEqual({ a: 1 }, { b: 1 })]).toEqual([
    ...[false, false, false, false],
  ])
})

it('property: a string in JSON text ends at its first quote that no backslash escapes', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('"', '\\', 'a', '\n') }), (text) => {
      const json = JSON.stringify(text)
      expect(endOfString(`x${json}"`, 2)).toBe(json.length)
      expect(endOfString(json.slice(0, -1), 1)).toBeUndefined()
    }),
  )
})

it('bytes, base64 and JSON of other programs are read or undefined', () => {
  expect(joinBytes([new Uint8Array([1, 2]), new Uint8Array(), new Uint8Array([3])])).toEqual(new Uint8Array([1, 2, 3]))
  expect(joinBytes([])).toEqual(new Uint8Array())
  for (const text of ['', 'ä 🙂', 'a'.repeat(9000)]) {
    expect(base64OfText(text)).toBe(Buffer.from(text).toString('base64'))
    expect(textOfBase64(base64OfText(text))).toBe(text)
  }
  for (const data of ['*', '/w==', 'a']) expect(textOfBase64(data)).toBeUndefined()
  expect([jsonIn('{"a":1}'), jsonIn('{'), jsonIn('')]).toEqual([{ a: 1 }, undefined, undefined])
})

it.each([
  [[], '', 'it'],
  [['a', 0, 'b c', '1', 'ä$_'], 'a[0]["b c"]["1"].ä$_', 'it.a[0]["b c"]["1"].ä$_'],
  [[0, 'a'], '[0].a', 'it[0].a'],
])('the path %j is %s', (path, text, withRoot) => {
  expect([formatPath(path), formatPath(path, 'it')]).toEqual([text, withRoot])
})

describe('a value with more than JSON', () => {
  const bytes = new Uint8Array([0, 255])
  const date = new Date(5)
  const whole = {
    ...{ a: undefined, b: bytes, c: date, d: -0, e: NaN, f: -Infinity, g: 12n, h: 'x\ud800y', i: [undefined, 1, null] },
    ...{ j: { k: true, l: 'plain 🙂', m: new Date(NaN) }, n: 0, o: [[], {}] },
  }

  it('is JSON data with tags, and comes back equal', () => {
    const { value, tags } = plainOf(whole)
    expect(value).toEqual({
      ...{
        b: 'AP8=',
        c: '1970-01-01T00:00:00.005Z',
        d: 0,
        e: null,
        f: null,
        g: '12',
        h: 'x\ufffdy',
        i: [null, 1, null],
      },
      ...{ j: { k: true, l: 'plain 🙂', m: null }, n: 0, o: [[], {}] },
    })
    expect(tags).toEqual([
      [['a'], 'undefined'],
      [['b'], 'bytes'],
      [['c'], 'date'],
      [['d'], 'number', '-0'],
      [['e'], 'number', 'NaN'],
      [['f'], 'number', '-Infinity'],
      [['g'], 'bigint'],
      [['h'], 'text', '"x\\ud800y"'],
      [['i', 0], 'undefined'],
      [['j', 'm'], 'date'],
    ])
    expect(revivePlain(JSON.parse(JSON.stringify(value)), tags)).toStrictEqual(whole)
    for (const one of [undefined, 5n, -0, bytes, 'a', null, [NaN]]) {
      const made = plainOf(one)
      expect(revivePlain(JSON.parse(JSON.stringify(made.value)), made.tags)).toStrictEqual(one)
    }
    const shared = { a: 1 }
    expect(plainOf([shared, shared]).value).toEqual([shared, shared])
    class Point {
      x = 1
      #hidden = 2
      get seen(): number {
        return this.#hidden
      }
    }
    expect(plainOf(new Point()).value).toEqual({ x: 1 })
  })

  it('is rebuilt as far as it is still there', () => {
    const tags = [
      [['a', 'b'], 'undefined'],
      [['c'], 'bytes'],
      [['d'], 'bigint'],
      [['e'], 'date'],
      [['f'], 'text'],
      [['g', 'toString', 'x'], 'undefined'],
    ] as const
    expect(revivePlain({ c: '*', d: 5, e: 5, f: 'kept', g: {} }, tags)).toStrictEqual({
      ...{ c: '*', d: 5, e: new Date(NaN), f: 'kept', g: {} },
    })
    expect(revivePlain({ c: 5 }, [[['c'], 'bytes']])).toStrictEqual({ c: 5 })
    expect(revivePlain({ a: 'x' }, [[['a', 'b'], 'undefined']])).toStrictEqual({ a: 'x' })
  })

  it('is refused with its path where it has state that is in no field', () => {
    const cycle: { [key: string]: unknown } = { a: {} }
    ;(cycle['a'] as { [key: string]: unknown })['b'] = cycle
    for (const [value, message] of [
      [{ a: [() => 1] }, 'a[0] is a function, which'],
      [{ a: Symbol('s') }, 'a is a symbol, which'],
      [new Map(), 'the value is a Map, which'],
      [{ a: new Set() }, 'a is a Set, which'],
      [[new Error('x')], '[0] is a Error, which'],
      [/x/, 'the value is a RegExp, which'],
      [new Uint16Array(1), 'the value is a Uint16Array, which'],
      [new ArrayBuffer(1), 'the value is a ArrayBuffer, which'],
      [Promise.resolve(), 'the value is a Promise, which'],
      [cycle, 'a.b contains itself; nothing was stored'],
      [{ a: { '\ud800': 1 } }, 'a has a key with half a surrogate pair'],
    ] as const)
      expect(() => plainOf(value)).toThrow(message)
  })

  it('is admitted from a file with its bad leaves replaced and named', () => {
    const good = { a: ['x', 1, null, { b: true }] }
    expect(admit(good)).toEqual(right({ value: good, replaced: [] }))
    const key = 'is a key with half a surrogate pair: read as U+FFFD'
    expect(admit({ a: ['\udc00', Infinity], b: { '\ud800k': -Infinity }, c: 1 })).toEqual(
      right({
        value: { a: ['\ufffd', null], b: { '\ufffdk': null }, c: 1 },
        replaced: [
          { path: ['a', 0], reason: 'has half a surrogate pair, which is no character: read as U+FFFD' },
          { path: ['a', 1], reason: 'is a number out of range (Infinity): read as null' },
          { path: ['b', '\ufffdk'], reason: key },
          { path: ['b', '\ufffdk'], reason: 'is a number out of range (-Infinity): read as null' },
        ],
      }),
    )
    expect(admit({ a: [5n], b: NaN })).toMatchObject(left({ path: ['a', 0] }))
    expect(admit({ a: new Date(), b: NaN })).toMatchObject(left({ path: ['a'] }))
    const trap = new Proxy({}, { ownKeys: () => thrown(() => 1) as never })
    expect(admit({ a: trap })).toEqual(left({ path: [], reason: 'could not be read' }))
  })
})
