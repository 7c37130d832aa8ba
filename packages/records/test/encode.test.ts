import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { encodeValue } from '@indelible/records'
import type { Redact } from '../src/encode.ts'

const encoded = (value: unknown): unknown => encodeValue(value).value

class Point {
  x = 1
  y = 2
}
class Empty {}

describe('JSON values are encoded unchanged', () => {
  it.each([
    [null],
    [true],
    [0],
    [-1.5e-7],
    [1e21],
    [''],
    ['ünï🙂'],
    [[]],
    [{}],
    [[1, [2, { a: [null] }]]],
    [{ a: { b: 'c' } }],
  ])('%j', (value) => {
    expect(encodeValue(value)).toStrictEqual({ value, cut: false })
  })
})

describe('values outside JSON are encoded', () => {
  it.each<readonly [string, unknown, unknown]>([
    ['undefined', undefined, null],
    ['undefined in an object', { a: undefined, b: 1 }, { b: 1 }],
    ['undefined in an array', [undefined, 1], [null, 1]],
    ['a hole', [1, , 2], [1, null, 2]], // oxlint-disable-line no-sparse-arrays
    ['NaN', [NaN], ['NaN']],
    ['infinities', [Infinity, -Infinity], ['Infinity', '-Infinity']],
    ['bigint', 2n ** 70n, '1180591620717411303424n'],
    ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['no date', new Date(NaN), 'Invalid Date'],
    [
      'a map',
      new Map<unknown, unknown>([
        ['a', 1],
        [{ b: 2 }, new Set([3])],
      ]),
      [
        ['a', 1],
        [{ b: 2 }, [3]],
      ],
    ],
    ['bytes', new Uint8Array([1, 2, 255]), '[Uint8Array(3): 0102ff]'],
    ['many bytes', new Uint8Array(40).buffer, `[ArrayBuffer(40): ${'00'.repeat(32)}…]`],
    ['a buffer', Buffer.from('hi'), '[Buffer(2): 6869]'],
    ['a view', new DataView(new ArrayBuffer(2)), '[DataView(2): 0000]'],
    ['an instance', new Point(), { x: 1, y: 2 }],
    ['an instance without fields', new Empty(), '[Empty]'],
    ['a promise', Promise.resolve(1), '[Promise]'],
    ['a weak map', new WeakMap(), '[WeakMap]'],
    ['a regular expression', /a\/b/gi, '/a\\/b/gi'],
    ['a function', function named() {}, '[function named]'],
    ['an arrow', [() => 1], ['[function]']],
    ['a class', Point, '[function Point]'],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
    ['boxed values', [new String('a'), new Number(NaN), Object(1n)], ['a', 'NaN', '1n']], // oxlint-disable-line no-new-wrappers
    ['a URL', new URL('https://example.com/a?b'), 'https://example.com/a?b'],
    [
      'an error',
      new TypeError('no', { cause: new Error('why') }),
      { name: 'TypeError', message: 'no', cause: { name: 'Error', message: 'why' } },
    ],
    [
      'an error with fields',
      Object.assign(new Error('no'), { code: 'E1' }),
      { name: 'Error', message: 'no', code: 'E1' },
    ],
    [
      'several errors',
      new AggregateError([new Error('a')], 'both'),
      { name: 'AggregateError', message: 'both', errors: [{ name: 'Error', message: 'a' }] },
    ],
    ['no prototype', Object.assign(Object.create(null) as object, { a: 1 }), { a: 1 }],
    ['symbol keys', { [Symbol('k')]: 1, a: 2 }, { a: 2 }],
    ['lone surrogates', { 'k\ud800': 'v\udc00' }, { 'k\ufffd': 'v\ufffd' }],
    ['keys that become one', { 'k\ud800': 1, 'k\ud801': 2 }, { 'k\ufffd': 1, 'k\ufffd~2': 2 }],
  ])('%s', (_name, value, expected) => expect(encoded(value)).toStrictEqual(expected))

  it('also from another realm, where generated code may run', () => {
    const foreign = runInNewContext(
      '({ map: new Map([[1, new Set([2])]]), when: new Date(0), re: /a/, bytes: new Uint8Array([1]), error: new TypeError("no"), empty: {}, list: [], boxed: new String("a"), buffer: new ArrayBuffer(1) })',
    ) as unknown
    expect(JSON.parse(JSON.stringify(encoded(foreign)))).toEqual({
      map: [[1, [2]]],
      when: '1970-01-01T00:00:00.000Z',
      re: '/a/',
      bytes: '[Uint8Array(1): 01]',
      error: { name: 'TypeError', message: 'no' },
      empty: {},
      list: [],
      boxed: 'a',
      buffer: '[ArrayBuffer(1): 00]',
    })
  })
  it('for an error with an inherited message', () => {
    expect(encoded(new DOMException('gone', 'AbortError'))).toEqual({ name: 'AbortError', message: 'gone' })
  })
  it('-0 becomes 0', () => expect(Object.is(encoded(-0), 0)).toBe(true))
  it('a __proto__ key stays a key', () => {
    const value = encoded(JSON.parse('{"__proto__": {"admin": true}}')) as object
    expect(JSON.stringify(value)).toBe('{"__proto__":{"admin":true}}')
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
  })
  it('as frozen data that shares nothing', () => {
    const given = { list: [{ a: 1 }] }
    const value = encoded(given) as typeof given
    expect([value, value.list, value.list[0]].every(Object.isFrozen)).toBe(true)
    expect(Object.isFrozen(given.list)).toBe(false)
  })
})

it('toJSON is given the key of its value, as JSON.stringify does', () => {
  const keyed = { toJSON: (key: unknown) => `<${String(key)}>` }
  const value = { a: [keyed, { b: keyed }], c: keyed }
  expect(encodeValue(value)).toStrictEqual({ value: JSON.parse(JSON.stringify(value)), cut: false })
  expect(encoded(keyed)).toBe('<>')
})

describe('cycles and shared values', () => {
  it("mark a cycle with the ancestor's path", () => {
    const value: { args: unknown[]; self?: unknown } = { args: [{}] }
    value.self = value
    ;(value.args[0] as { up: unknown }).up = value.args
    expect(encoded(value)).toStrictEqual({ args: [{ up: '[circular: args]' }], self: '[circular: the value itself]' })
    expect(encodeValue(value, { path: ['args', 0] }).value).toMatchObject({ self: '[circular: args[0]]' })
  })
  it('are encoded in each place', () => {
    const shared = { a: 1 }
    expect(encoded([shared, shared, { shared }])).toStrictEqual([{ a: 1 }, { a: 1 }, { shared: { a: 1 } }])
  })
  it('stop at the size limit if sharing would multiply', () => {
    let value: unknown = 'x'
    for (let level = 0; level < 100; level++) value = [value, value]
    expect(JSON.stringify(encodeValue(value, { limits: { depth: 500 } })).length).toBeLessThan(150_000)
  })
  it('are found through maps and toJSON', () => {
    const map = new Map<string, unknown>()
    map.set('me', map)
    expect(encoded({ map })).toStrictEqual({ map: [['me', '[circular: map]']] })
    const back: { toJSON: () => unknown } = { toJSON: () => ({ back }) }
    expect(encoded(back)).toStrictEqual({ back: '[circular: the value itself]' })
  })
})

describe('encoding limits', () => {
  it('200,000 levels do not overflow the stack', () => {
    let array: unknown = []
    let record: unknown = {}
    for (let level = 0; level < 200_000; level++) {
      array = [array]
      record = { a: record }
    }
    for (const depth of [1, 16, 500, 1e9]) {
      const value = encodeValue([array, record], { limits: { depth } })
      expect(value.cut).toBe(true)
      expect(() => JSON.stringify(value)).not.toThrow()
    }
  })
  it('limit the depth', () => {
    expect(encodeValue([[[1]]], { limits: { depth: 2 } })).toStrictEqual({ value: [['[Array]']], cut: true })
    expect(encodeValue({ a: { b: new Point(), c: {} } }, { limits: { depth: 2 } }).value).toStrictEqual({
      a: { b: '[Point]', c: '[Object]' },
    })
    const long = Object.defineProperty(class {}, 'name', { value: 'C'.repeat(101) })
    expect(encodeValue([new long()], { limits: { depth: 1 } }).value).toEqual([`[${'C'.repeat(100)}]`])
    expect(encodeValue({ a: 1 }, { limits: { depth: 1 } })).toStrictEqual({ value: { a: 1 }, cut: false })
    const throwing = new Proxy([], { get: () => { throw new Error('no') } }) // oxfmt-ignore
    expect(encodeValue([throwing, [1]], { limits: { depth: 2 } })).toMatchObject({ value: [{}, [1]], cut: false })
  })
  it('limit strings and keys', () => {
    const value = encodeValue('a'.repeat(1000), { limits: { string: 100 } })
    expect(value).toStrictEqual({ value: `${'a'.repeat(87)}… (913 more)`, cut: true })
    const keys = Object.keys(
      encodeValue({ ['k'.repeat(1000)]: 1, [`${'k'.repeat(1000)}2`]: 2 }, { limits: { string: 100 } }).value as object,
    )
    expect(keys.map((key) => key.length <= 100)).toEqual([true, true])
  })
  it('never split a character', () => {
    for (const extra of ['', 'a'])
      expect(encodeValue(extra + '🙂'.repeat(500), { limits: { string: 100 } }).value).toMatch(
        /^a?(?:🙂)+… \(\d+ more\)$/u,
      )
  })
  it('limit the size: keep the first items and count the missing ones', () => {
    for (const size of [256, 300, 1000, 5000]) {
      for (const value of [
        Array.from({ length: 10_000 }, (_, index) => index),
        Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`key${index}`, index])),
        Array.from({ length: 100 }, () => ({ text: 'x'.repeat(100), deep: [[{ a: 'y'.repeat(50) }]] })),
        { a: 'x'.repeat(9000), b: 1 },
        'x'.repeat(9000),
        [[[['x'.repeat(9000)]]], 'after'],
      ]) {
        const { value: kept, cut } = encodeValue(value, { limits: { size } })
        const text = JSON.stringify(kept)
        expect(cut).toBe(true)
        expect(text.length).toBeLessThanOrEqual(size)
        expect(text.length).toBeGreaterThan(size / 2)
        expect(text).toMatch(/… \(\d+ more\)|… \d+ more|"…":"\d+ more"/)
      }
    }
  })
  it('limit the size: keep a value that fits exactly', () => {
    const value = { a: ['x'.repeat(300), 'y'.repeat(40)] }
    const size = 2 + 5 + 2 + 303 + 43 - 1
    expect(encodeValue(value, { limits: { size } }).value).not.toEqual(value)
    expect(encodeValue(value, { limits: { size: size + 1 } })).toEqual({ value, cut: false })
  })
  it('read no further than the size limit', () => {
    let looked = 0
    const endless = new Proxy([], { get: (_, key) => (key === 'length' ? 2 ** 32 - 1 : (looked += 1)) })
    expect(encodeValue(endless).cut).toBe(true)
    expect(looked).toBeLessThan(100_000)
  })
  it('are 16 levels, 10,000 characters of a text and 100,000 in all by default', () => {
    const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)])
    expect(encodeValue(nested(16))).toStrictEqual({ value: nested(16), cut: false })
    expect(JSON.stringify(encodeValue(nested(17)).value)).toBe(`${'['.repeat(16)}"[Array]"${']'.repeat(16)}`)
    const most = 'x'.repeat(10_000)
    expect(encodeValue(most)).toStrictEqual({ value: most, cut: false })
    expect(encodeValue(`${most}x`)).toStrictEqual({ value: `${'x'.repeat(9986)}… (15 more)`, cut: true })
    const list = (last: number): readonly string[] =>
      [...Array(10).fill('x'.repeat(9990)), 'y'.repeat(last)] as string[]
    const room = 100_000 - 2 - 10 * 9993 - 3
    expect(encodeValue(list(room))).toStrictEqual({ value: list(room), cut: false })
    expect(encodeValue(list(room + 1)).cut).toBe(true)
  })
  it.each([
    ['depth', 0, 1],
    ['depth', 501, 500],
    ['depth', 2.9, 2],
    ['string', 31, 32],
    ['string', 40.9, 40],
    ['size', 255, 256],
    ['size', 300.9, 300],
  ] as const)('a %s of %d counts as %d', (name, given, counts) => {
    let deep: unknown = 1
    for (let level = 0; level < 502; level++) deep = [deep]
    const value = name === 'depth' ? deep : 'x'.repeat(1000)
    const limits = { depth: 500, string: 1000 }
    const withLimit = (limit: number): unknown => encodeValue(value, { limits: { ...limits, [name]: limit } })
    expect(withLimit(given)).toStrictEqual(withLimit(counts))
    expect(withLimit(counts)).not.toStrictEqual(withLimit(name === 'depth' ? counts - 1 || 2 : counts + 1))
  })
  it('have no other names', () => {
    expect(() => encodeValue(1, { limits: { deep: 1 } as never })).toThrow(/^encodeValue: limits has no option "deep"/)
    expect(() => encodeValue(1, { limit: {} } as never)).toThrow(/^encodeValue has no option "limit"/)
  })
  it('correct odd limits', () => {
    expect(encodeValue('a'.repeat(50), { limits: { string: -1, depth: NaN, size: 0 } }).value).toHaveLength(32)
  })
})

describe('encoding hostile values', () => {
  const no = (): never => {
    throw new Error('no')
  }
  const revoked = (): object => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  }
  const endlessly = (): unknown => ({ toJSON: endlessly, deeper: endlessly })
  it.each<readonly [string, unknown, unknown]>([
    [
      'a getter that throws',
      {
        a: 1,
        get b() {
          return no()
        },
      },
      { a: 1, b: '[unreadable: Error: no]' },
    ],
    ['a toJSON that throws', { a: { toJSON: no } }, { a: '[unreadable: Error: no]' }],
    ['a toJSON that gives undefined', { a: { toJSON: () => undefined }, b: 1 }, { b: 1 }],
    [
      'a toJSON that gives itself',
      {
        a: {
          toJSON() {
            return this
          },
          x: 1,
        },
      },
      { a: { toJSON: '[function toJSON]', x: 1 } },
    ],
    ['a toJSON that gives another', { toJSON: () => ({ toJSON: () => 'inner' }) }, { toJSON: '[function toJSON]' }],
    ['a toJSON that is no function', { toJSON: 1 }, { toJSON: 1 }],
    [
      'a revoked proxy',
      [revoked()],
      ["[unreadable: TypeError: Cannot perform 'IsArray' on a proxy that has been revoked]"],
    ],
    ['traps that throw', [new Proxy({}, { ownKeys: no })], ['[unreadable: Error: no]']],
    [
      'a trap that throws what throws',
      [
        new Proxy(
          {},
          {
            getPrototypeOf: () => {
              throw {
                get message() {
                  return no()
                },
                toString: no,
              }
            },
          },
        ),
      ],
      ['[unreadable]'],
    ],
    ['a proxy of a map', [new Proxy(new Map([[1, 2]]), {})], ['[Map]']],
    [
      'what only says that it is a map, a date, bytes',
      ['Map', 'Set', 'Date', 'ArrayBuffer', 'String'].map((tag) =>
        Object.assign(Object.create({ [Symbol.toStringTag]: tag }) as object, { a: 1 }),
      ),
      Array.from({ length: 5 }, () => ({ a: 1 })),
    ],
    ['a prototype of a date', [Object.create(Date.prototype)], [expect.stringMatching(/^\[unreadable: TypeError/)]],
    [
      'a constructor that throws',
      Object.create({
        get constructor() {
          return no()
        },
      }),
      '[unreadable: Error: no]',
    ],
    [
      'a name that is no string',
      [
        Object.defineProperty(() => 1, 'name', { value: 1 }),
        Object.create({ constructor: Object.defineProperty(() => 1, 'name', { value: 7 }) }),
      ],
      ['[function]', '[Object]'],
    ],
    [
      'a getter that overflows the stack',
      {
        get a(): unknown {
          return (this as { a: unknown }).a
        },
      },
      { a: expect.stringMatching(/^\[unreadable: RangeError/) },
    ],
  ])('%s', (_name, value, expected) => expect(encoded(value)).toStrictEqual(expected))
  it('an endless toJSON', () => expect(() => encodeValue(endlessly())).not.toThrow())
  it('any thrown value', () => {
    for (const thrown of [undefined, null, 0, Symbol('s'), revoked(), Object.create(null)])
      expect(
        JSON.stringify(
          encoded({
            get a() {
              throw thrown
            },
          }),
        ),
      ).toMatch(/unreadable/)
  })
  it('a map that grows while it is read', () => {
    const map = new Map<number, unknown>()
    map.set(0, {
      get a() {
        return map.set(map.size, 1).size
      },
    })
    expect(encoded(map)).toStrictEqual([[0, { a: 2 }]])
  })
  it('a nearly exhausted stack', () => {
    const deep = (): unknown => {
      try {
        return deep()
      } catch {
        return encodeValue({ a: [{ b: 1 }] })
      }
    }
    expect(deep).not.toThrow()
  })
})

describe('the redactor of encoded values', () => {
  const byKey: Redact = (value, path) => (path.at(-1) === 'password' ? '***' : value)
  it('sees every value with its path before encoding', () => {
    const seen: string[] = []
    encodeValue(
      { a: [1, new Date(0)], b: new Map([['k', 'v']]) },
      { path: ['kwargs'], redact: (value, path) => (seen.push(path.join('.')), value) },
    )
    expect(seen).toEqual([
      'kwargs',
      'kwargs.a',
      'kwargs.a.0',
      'kwargs.a.1',
      'kwargs.a.1',
      'kwargs.b',
      'kwargs.b.0',
      'kwargs.b.0.0',
      'kwargs.b.0.1',
    ])
  })
  it('can replace values', () => {
    expect(
      encodeValue({ user: { password: 'x', name: 'a' }, list: [{ password: { deep: 1 } }] }, { redact: byKey }).value,
    ).toEqual({
      user: { password: '***', name: 'a' },
      list: [{ password: '***' }],
    })
  })
  it.each<readonly [string, Redact]>([
    [
      'throws',
      () => {
        throw new Error('no')
      },
    ],
    ['returns nothing', () => undefined],
  ])('fails closed when it %s', (_name, redact) =>
    expect(encodeValue({ secret: 1 }, { redact }).value).toBe('[redacted]'),
  )
  it('fails closed at the place where it fails', () => {
    const redact: Redact = (value) => {
      if (value === 'bad') throw new Error('no')
      return value
    }
    expect(encodeValue({ a: 'bad', b: ['good', 'bad'] }, { redact }).value).toEqual({
      a: '[redacted]',
      b: ['good', '[redacted]'],
    })
  })
  it('keeps null and does not get undefined values', () => {
    expect(encodeValue([null, undefined, { a: undefined }], { redact: (value) => value }).value).toEqual([
      null,
      null,
      {},
    ])
    expect(encodeValue('x', { redact: () => null }).value).toBe(null)
  })
  it('sees toJSON results and unboxed values', () => {
    const redact: Redact = (value) => (value === 'secret' ? '***' : value)
    expect(
      encodeValue([{ toJSON: () => 'secret' }, new String('secret'), new Error('secret')], { redact }).value,
    ).toEqual(['***', '***', { name: 'Error', message: '***' }]) // oxlint-disable-line no-new-wrappers
  })
  it('returns values that are encoded and limited as well', () => {
    let deep: unknown = 1
    const redact: Redact = () => (deep = [deep, 10n])
    expect(() => JSON.stringify(encodeValue(1, { redact }))).not.toThrow()
  })
  it('is not bypassed if the value cannot be encoded', () => {
    const hostile = {
      get secret() {
        throw new Error('key=12345')
      },
    }
    expect(JSON.stringify(encodeValue(hostile, { redact: (value) => value }).value)).not.toContain('12345')
  })
})
