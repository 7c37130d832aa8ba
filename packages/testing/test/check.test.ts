/** The checks of the contract suites: a wrong answer must fail, and its message must say how. */
import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import type { StoreFault } from 'indelible/store'
import { mustCome, faultOf, mustBeFrozen, mustHold, mustEqual, valueOrThrow, changeEverything } from '../src/check.ts'

const bytes = (...values: readonly number[]): Uint8Array => new Uint8Array(values)

/** Values no two of which are the same. */
const different: readonly unknown[] = [
  ...[null, true, false, 0, 1, NaN, '', '1', 'a', [], [0], [0, 1], [1, 0], [undefined], [null], [[]]],
  ...[{}, { a: 1 }, { a: 2 }, { b: 1 }, { a: 1, b: 1 }, { a: null }, { a: {} }, { a: [] }, { 0: 0 }],
  ...[bytes(), bytes(0), bytes(0, 1), bytes(1, 0)],
]

describe('mustEqual', () => {
  it('accepts only a copy as equal', () => {
    for (const [index, one] of different.entries())
      for (const [other, value] of different.map((each) => structuredClone(each)).entries()) {
        const check = (): void => mustEqual(one, value, 'it')
        if (index === other) check()
        else expect(check, `${index} and ${other}`).toThrow(/^it is .*, expected/)
      }
  })
  it('treats undefined fields as absent', () => {
    mustEqual({ a: 1, b: undefined }, { a: 1 })
    mustEqual({ a: 1 }, { a: 1, b: undefined })
    expect(() => mustEqual({ a: undefined }, { a: null })).toThrow('the answer is {}, expected {"a":null}')
  })
  it('shows at most 500 characters of the found value', () => {
    expect(() => mustEqual(undefined, bytes(1, 2))).toThrow('the answer is undefined, expected "2 bytes"')
    expect(() => mustEqual('x'.repeat(498), 0)).toThrow(/^the answer is "x{498}", expected 0$/)
    expect(() => mustEqual('x'.repeat(499), 0)).toThrow(/^the answer is "x{499}…, expected 0$/)
  })
})

describe('checks of a result', () => {
  const fault: StoreFault = { _tag: 'NoSuchLog', id: 'a' }
  const failed = async () => left(fault)
  const well = async () => right(Object.freeze({ a: 1 }))
  it('require a value or a fault of one type', async () => {
    expect(await valueOrThrow(well)).toEqual({ a: 1 })
    expect(await faultOf('NoSuchLog', failed)).toBe(fault)
    await expect(valueOrThrow(failed)).rejects.toMatchObject({
      message: expect.stringMatching(/^NoSuchLog: /),
      cause: fault,
    })
    await expect(faultOf('NoSuchLog', well)).rejects.toThrow('expected NoSuchLog, but it succeeded: {"a":1}')
    await expect(faultOf('Conflict', failed)).rejects.toMatchObject({
      message: expect.stringMatching(/^expected Conflict, found NoSuchLog: /),
      cause: fault,
    })
  })
  it('require plain objects and lists to be frozen, at any depth', async () => {
    await expect(valueOrThrow(async () => right({ a: 1 }))).rejects.toThrow('the answer is not frozen: {"a":1}')
    for (const value of [bytes(1), new Map(), 'a', null, undefined]) expect(mustBeFrozen(value)).toBe(value)
    expect(() => mustBeFrozen(Object.freeze({ a: Object.freeze([[1]]) }))).toThrow('the answer.a.0 is not frozen: [1]')
  })
  it('require a promise to resolve', async () => {
    expect(await mustCome(Promise.resolve(1))).toBe(1)
    await expect(mustCome(Promise.reject(new Error('mine')))).rejects.toThrow('mine')
  })
  it('name a failed condition', () => {
    mustHold(true, 'all is well')
    expect(() => mustHold(false, 'all is well')).toThrow('expected that all is well')
  })
})

it('changeEverything leaves nothing of an argument except frozen and non-plain data', () => {
  const kept = Object.freeze({ a: 1 })
  const map = new Map([['a', 1]])
  const given = {
    ...{ text: 'a', number: 1, yes: true, none: null, list: ['a', [2]], bytes: bytes(1, 2), run: () => 'a' },
    ...{ bare: Object.assign(Object.create(null) as object, { a: 1 }), kept, map },
  }
  changeEverything(given)
  expect({ ...given, run: given.run(), bare: { ...given.bare } }).toEqual({
    ...{ text: 'wrecked', number: 2, yes: false, none: null, list: ['wrecked', [3, 'wrecked'], 'wrecked'] },
    ...{ bytes: bytes(255, 255), run: 'wrecked', bare: { a: 2, wrecked: 'wrecked' }, kept: { a: 1 }, map },
    wrecked: 'wrecked',
  })
  for (const value of [null, undefined, 1, 'a']) changeEverything(value)
  expect([...map]).toEqual([['a', 1]])
})
