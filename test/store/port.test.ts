/** What a store checks before a driver has it: rows, ids, cursors and filters; and what rows say of tokens. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hashRow, portableSha256 as hash, emptyRange } from '../../src/proof/internal.ts'
import { left, right } from '../../src/json/index.ts'
import { momentOf } from '../../src/store/port/clock.ts'
import { copyArgument } from '../../src/store/port/copy-argument.ts'
import { fewTexts, finderOf } from '../../src/store/port/find-texts.ts'
import { formatFault } from '../../src/store/port/format.ts'
import { compareIds, invalidBlockId, invalidId } from '../../src/store/port/id.ts'
import { checkAppend, checkRows, isMoment, isPlanned, isSalt, planAppend } from '../../src/store/port/plan.ts'
import type { Append } from '../../src/store/port/store.ts'
import { rowCursor, rowCursorIn } from '../../src/store/port/row-cursor.ts'
import { countIn, tokensIn } from '../../src/store/port/row-tokens.ts'
import { headOf } from '../../src/store/port/tree.ts'
import { checkQuery, cursorText } from '../../src/store/rules/check-query.ts'
import { codeOf, faultOf, isDamage } from '../../src/store/sqlite/fault.ts'
import { fits, sumOf } from '../../src/store/sqlite/sum.ts'
import { orThrow } from 'indelible'
import { rounds } from '../rounds.ts'

const context = { hash, now: () => 7 }
const leaf = 'ab'.repeat(32)

describe('a row to store', () => {
  const entry = { kind: 'entry', body: 'x' } as const
  it.each<readonly [object, string]>([
    [{ ...entry, kind: 'message' }, 'is neither an entry nor a note'],
    [{ ...entry, body: 5 }, 'has a body that is not a string'],
    [{ ...entry, body: '\ud800' }, 'has a lone surrogate'],
    ...[0.5, NaN, 8.64e15 + 1, '5'].map((at): readonly [object, string] => [
      { ...entry, at },
      'has an `at` that is not a time in whole milliseconds since 1970',
    ]),
    ...['', 'ab'.repeat(15), 'AB'.repeat(16), 5, null].map((salt): readonly [object, string] => [
      { ...entry, salt },
      'has a `salt` that is not 32 lowercase hexadecimal digits',
    ]),
    ...['', leaf.slice(2), leaf.toUpperCase(), 5, null].map((erased): readonly [object, string] => [
      { ...entry, erased },
      'has an `erased` that is not 64 lowercase hexadecimal digits',
    ]),
    [{ ...entry, erased: leaf, salt: 'ab'.repeat(16) }, 'was erased, and has a salt or blocks'],
    [{ ...entry, erased: leaf, blocks: [leaf] }, 'was erased, and has a salt or blocks'],
  ])('%j is refused with its index', (row, reason) => {
    expect(checkRows([entry, row as never], context)).toEqual(left({ _tag: 'InvalidRow', index: 1, reason }))
  })

  it('is copied with its leaf and frozen; its time is that of the clock, asked once for all', () => {
    let asked = 0
    const blocks = [leaf]
    const rows = [entry, { kind: 'note', body: 'y', at: -5, salt: 'cd'.repeat(16) }, { ...entry, blocks }, { ...entry, erased: leaf }] // oxfmt-ignore
    const checked = orThrow(checkRows(rows as never, { hash, now: () => ((asked += 1), 7) }))
    blocks.push('another')
    const none = { salt: undefined, erased: undefined }
    expect(checked).toEqual([
      hashRow({ ...entry, at: 7, ...none }, [], hash),
      hashRow({ kind: 'note', body: 'y', at: -5, salt: 'cd'.repeat(16), erased: undefined }, [], hash),
      hashRow({ ...entry, at: 7, ...none }, [leaf] as never, hash),
      hashRow({ ...entry, at: 7, salt: undefined, erased: leaf }, [], hash),
    ])
    expect(asked).toBe(1)
    for (const one of [checked, ...checked, checked[2]?.blocks]) expect(Object.isFrozen(one)).toBe(true)
  })

  it('names blocks by valid ids', () => {
    const reason = 'it is not 64 lowercase hexadecimal digits'
    const fault = { _tag: 'InvalidId', what: 'block', reason }
    expect(checkRows([{ ...entry, blocks: ['x'] } as never], context)).toEqual(left(fault))
    expect([invalidBlockId([]), invalidBlockId([leaf]), invalidBlockId([leaf, 5])]).toEqual([
      undefined,
      undefined,
      fault,
    ])
  })

  it('has a time within the range of dates, and a salt of 16 bytes', () => {
    expect([0, -8.64e15, 8.64e15, 8.64e15 + 1, 0.5, '0', null].map(isMoment)).toEqual([true, true, true, ...Array(4).fill(false)]) // oxfmt-ignore
    expect(['ab'.repeat(16), 'ab'.repeat(17), 'xy'.repeat(16), 5].map(isSalt)).toEqual([true, false, false, false])
  })
})

describe('an append to a store', () => {
  const expected = headOf(emptyRange, hash)
  const rows = [{ kind: 'entry', body: 'x' }] as const

  it('is copied, with nothing that it was not given', () => {
    const checked = orThrow(checkAppend({ expected: { ...expected, more: 1 } as never, rows }, context))
    expect(checked).toEqual({
      ...{ expected, rows: orThrow(checkRows(rows, context)), blocks: [], operation: undefined, plan: undefined },
      ...{ terms: undefined, lease: undefined, respectLease: false, ownKey: undefined },
    })
    const given = { lease: { number: 3, more: 1 } as never, respectLease: true, ownKey: null }
    expect(orThrow(checkAppend({ expected, rows, operation: 'o', ...given }, context))).toMatchObject({
      ...{ operation: 'o', lease: { number: 3 }, respectLease: true, ownKey: null },
    })
    expect(orThrow(checkAppend({ expected, rows, respectLease: 1 as never }, context))).toMatchObject({ respectLease: false }) // oxfmt-ignore
    expect(checkAppend({ expected, rows, operation: '' }, context)).toMatchObject({ left: { _tag: 'InvalidId', what: 'operation' } }) // oxfmt-ignore
  })

  it('brings each block once, and none that no row names', () => {
    const bytes = new Uint8Array([1])
    const id = Buffer.from(hash(bytes)).toString('hex') as never
    const named = [{ ...rows[0], blocks: [id] }]
    const { blocks } = orThrow(checkAppend({ expected, rows: named, blocks: [bytes, bytes] }, context))
    expect(blocks).toEqual([{ id, bytes }])
    bytes.fill(0)
    expect(blocks[0]?.bytes).toEqual(new Uint8Array([1]))
    expect(checkAppend({ expected, rows, blocks: [new Uint8Array([1])] }, context)).toEqual(left({ _tag: 'UnusedBlock', ids: [id] })) // oxfmt-ignore
  })

  it('is recognized by the rows of its plan, with the same hash only', () => {
    const plan = orThrow(planAppend(emptyRange, expected, rows, context))
    expect(plan.head).toEqual(headOf(plan.grown.range, hash))
    for (const one of [plan, plan.head]) expect(Object.isFrozen(one)).toBe(true)
    expect([isPlanned(plan.rows), isPlanned([...plan.rows]), isPlanned(rows)]).toEqual([true, false, false])
    const planIn = (rows: Append['rows'], of = hash) =>
      orThrow(checkAppend({ expected, rows }, { ...context, hash: of })).plan
    expect(planIn(plan.rows)).toBe(plan)
    expect([planIn(plan.rows, (bytes) => hash(bytes)), planIn(rows)]).toEqual([undefined, undefined])
    expect(planAppend(emptyRange, expected, [{ kind: 'x' } as never], context)).toMatchObject({
      left: { _tag: 'InvalidRow' },
    })
  })
})

it.each<readonly [unknown, string | undefined]>([
  ['a', undefined],
  ['x'.repeat(255), undefined],
  ['é'.repeat(127), undefined],
  ['\u{1f600}'.repeat(63), undefined],
  ['', 'it is empty'],
  ['x'.repeat(256), 'it is longer than 255 bytes'],
  ['é'.repeat(128), 'it is longer than 255 bytes'],
  ['\u0800'.repeat(86), 'it is longer than 255 bytes'],
  ['\u{1f600}'.repeat(64), 'it is longer than 255 bytes'],
  ['\ud800', '"\\ud800" has a lone surrogate'],
  ['ab\u0085', '"ab\u0085" has a control character at 2'],
  [null, 'it is null, not a string'],
  [5, 'it is number, not a string'],
])('the id %j is valid, or says why not', (id, reason) => {
  expect(invalidId('log', id)).toEqual(reason === undefined ? undefined : { _tag: 'InvalidId', what: 'log', reason })
})

it('ids are compared by their code points', () => {
  const ids = ['', 'a', 'ab', 'b', '\uffff', '\u{10000}', '\u{10000}a']
  for (const [at, one] of ids.entries())
    for (const [than, other] of ids.entries()) expect(Math.sign(compareIds(one, other))).toBe(Math.sign(at - than))
})

describe('a query of a list', () => {
  it('has its defaults, and a copy of its filter', () => {
    expect(checkQuery({})).toEqual(right({ limit: 100, after: undefined, where: {}, by: 'created' }))
    const where = { a: 1, b: { c: null, d: 'x', e: true } }
    const checked = orThrow(checkQuery({ where, limit: 5, by: 'tokens' }))
    expect(checked).toEqual({ limit: 5, after: undefined, where, by: 'tokens' })
    expect([Object.isFrozen(checked.where), Object.isFrozen(checked.where['b'])]).toEqual([true, true])
  })

  it.each([
    ['created', { value: undefined, key: 12 }],
    ['appended', { value: -5, key: 12 }],
    ['entries', { value: 7, key: 12 }],
    ['tokens', { value: 9, key: 12 }],
    ['id', { value: 'an id', key: 0 }],
  ] as const)('by %s continues after the cursor of its page, and of no other order', (by, cursor) => {
    const after = cursorText(cursor, by)
    expect(orThrow(checkQuery({ by, after })).after).toEqual(cursor)
    const orders = ['created', 'appended', 'entries', 'tokens'] as const
    for (const other of orders)
      if (other !== by)
        expect(checkQuery({ by: other, after })).toEqual(
          left({ _tag: 'InvalidId', what: 'cursor', reason: 'it is not the `next` of a page of this order' }),
        )
    expect(checkQuery({ by: 'id', after: '' })).toMatchObject({ left: { what: 'cursor' } })
  })

  it('has a filter of scalars and objects, to 100 levels', () => {
    const reason = 'is neither a scalar nor an object, so nothing can match it'
    for (const [where, path] of [
      [{ a: [1] }, ['a']],
      [{ a: { b: undefined } }, ['a', 'b']],
      [{ a: { b: () => 1 } }, ['a', 'b']],
    ] as const)
      expect(checkQuery({ where: where as never })).toEqual(left({ _tag: 'InvalidMeta', path, reason }))
    const deep = (levels: number): object => (levels === 0 ? { a: 1 } : { a: deep(levels - 1) })
    expect(checkQuery({ where: deep(101) as never })._tag).toBe('Right')
    expect(checkQuery({ where: deep(102) as never })).toMatchObject({ left: { _tag: 'InvalidMeta' } })
  })
})

it('a search continues after the row of its cursor', () => {
  const at = { segment: 12, position: 34 }
  expect(rowCursor(at)).toBe('12.34')
  expect([rowCursorIn(undefined), rowCursorIn('12.34')]).toEqual([right(undefined), right(at)])
  const reason = 'it is not the `next` of a page of this search'
  for (const text of ['', '12', '12.', '.34', '12.34.5', '-1.2', '1234567890123456.1', '1.12345678901'])
    expect(rowCursorIn(text)).toEqual(left({ _tag: 'InvalidId', what: 'cursor', reason }))
})

it('the tokens of a row are those of a receipt', () => {
  const tokens = (usage: unknown, more: object = {}) =>
    tokensIn({ kind: 'note', body: JSON.stringify({ type: 'receipt', usage }), ...more } as never)
  expect(tokens({ input: 3, output: 4 })).toBe(7)
  expect(tokens({ input: 0, output: 0 })).toBe(0)
  expect(tokens({ input: 1e10, output: 1e10 })).toBe(2e10)
  for (const usage of [
    undefined,
    null,
    5,
    { input: 3 },
    { output: 3 },
    { input: -1, output: 3 },
    { input: 3, output: 0.5 },
    { input: 1e10 + 1, output: 3 },
    { input: 3, output: 1e10 + 1 },
  ])
    // oxfmt-ignore
    expect([usage, tokens(usage)]).toEqual([usage, 0])
  expect(tokens({ input: 3, output: 4 }, { kind: 'entry' })).toBe(0)
  expect(tokens({ input: 3, output: 4 }, { erased: leaf })).toBe(0)
  for (const body of [
    '"receipt"',
    '{"receipt"',
    '{"type":"pin","x":"receipt","usage":{"input":1,"output":1}}',
    '["receipt"]',
  ])
    expect([body, tokensIn({ kind: 'note', body } as never)]).toEqual([body, 0])
  expect([5, '5', 0, -1, 0.5, 'x', null, 2 ** 53].map(countIn)).toEqual([5, 5, 0, 0, 0, 0, 0, 0])
})

it('a text is found among many at once as one by one', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '😀'), maxLength: 30 })
  fc.assert(
    fc.property(fc.array(text, { maxLength: fewTexts + 4 }), fc.array(text, { maxLength: 5 }), (texts, pieces) => {
      const whole = pieces.join('')
      expect(finderOf(texts)(whole)).toBe(texts.some((text) => whole.includes(text)))
    }),
    { numRuns: rounds(2000, 50_000) },
  )
  // Exactly as long as the hash is wide, and one longer or shorter, at both ends and inside.
  for (const length of [11, 12, 13, 40])
    for (const before of ['', 'z', 'zz'])
      for (const after of ['', 'z']) {
        const one = 'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz'.slice(0, length)
        const others = ['0', '1', '2', '3', '4'].map((digit) => digit.repeat(20))
        const find = finderOf([...others, one])
        expect([length, find(before + one + after), find(before + one.slice(1) + after)]).toEqual([length, true, false])
        expect(find(before + one.slice(0, -1) + after)).toBe(false)
        // Two texts with the same beginning.
        expect(finderOf([...others, `${one}!`, `${one}?`])(`${before}${one}?${after}`)).toBe(true)
      }
})

it('a sum of columns changes with each of them, their order, kinds and borders', () => {
  const columns = ['a', 5, 7n, null, new Uint8Array([1, 2]), 'é'.repeat(2000)] as const
  const sum = sumOf(...columns)
  expect([sum, fits(sum, ...columns), fits(BigInt(sum), ...columns), fits(String(sum), ...columns), fits(null)]).toEqual([sum, true, true, false, false]) // oxfmt-ignore
  for (const other of [
    columns.toReversed(),
    columns.slice(1),
    columns.with(0, 'b'),
    columns.with(1, '5'),
    columns.with(3, ''),
    columns.with(4, new Uint8Array([1, 3])),
    columns.with(4, new Uint8Array([1, 2, 0])),
    columns.with(5, 'é'.repeat(1999)),
  ])
    expect(fits(sum, ...other)).toBe(false)
  expect(sumOf('ab', 'c')).not.toBe(sumOf('a', 'bc'))
  expect(sumOf(new Uint8Array([1]), new Uint8Array([2]))).not.toBe(sumOf(new Uint8Array([1, 2])))
  const large = new Uint8Array(5000).fill(3)
  expect([sumOf(large), sumOf(large.with(4999, 4))].length).toBe(
    new Set([sumOf(large), sumOf(large.with(4999, 4))]).size,
  )
})

describe('an error of SQLite', () => {
  const error = (more: object): Error => Object.assign(new Error('no'), more)
  it.each<readonly [object, object]>([
    ...[{ errcode: 13 }, { errcode: 13 | (1 << 8) }, { errcode: 10 | (19 << 8) }, { code: 'ENOSPC' }, { code: 'EDQUOT' }].map((more) => [more, { _tag: 'Full', path: 'a.db' }] as const), // oxfmt-ignore
    ...[{ errcode: 8 }, { errcode: 8 | (4 << 8) }, { code: 'EACCES' }, { code: 'EPERM' }, { code: 'EROFS' }].map((more) => [more, { _tag: 'ReadOnly', path: 'a.db' }] as const), // oxfmt-ignore
    [{ errcode: 26 }, { _tag: 'NotAStore', path: 'a.db', found: 'a file that is not a SQLite database' }],
    [{ errcode: 14 }, { _tag: 'Io', operation: 'open a.db' }],
    ...[{ errcode: 10 }, { errcode: 11 }, { errcode: '13' }, { code: 'EIO' }, {}].map((more) => [more, { _tag: 'Io', operation: 'append' }] as const), // oxfmt-ignore
  ])('%j is a fault of its own', (more, expected) => {
    const cause = error(more)
    const fault = faultOf(cause, 'a.db', 'append')
    expect(fault).toEqual(fault._tag === 'Io' ? { ...expected, cause } : expected)
  })

  it('is damage if a page or a number can not be read', () => {
    const all = [{ errcode: 11 }, { errcode: 11 | (1 << 8) }, { code: 'ERR_OUT_OF_RANGE' }, { errcode: 10 }, { code: 'EIO' }, {}] // oxfmt-ignore
    expect(all.map((more) => isDamage(error(more)))).toEqual([true, true, true, false, false, false])
    expect([null, undefined, 'x'].map(isDamage)).toEqual([false, false, false])
    expect([{ errcode: 5 | (2 << 8) }, { errcode: '5' }, null].map(codeOf)).toEqual([5, undefined, undefined])
  })
})

it('a store of another format is newer or older, by its number and fingerprint', () => {
  const formats = ['a', 'b'].map((fingerprint) => ({ sql: '', fingerprint }))
  const of = (number: number, fingerprint?: string) => formatFault('a.db', { number, fingerprint }, formats)
  expect([of(1, 'a'), of(2, 'b')]).toEqual([undefined, undefined])
  expect(of(3, 'c')).toEqual({ _tag: 'NewerStore', path: 'a.db', found: 3, supported: 2 })
  expect(of(2, 'a')).toEqual({ _tag: 'OlderStore', path: 'a.db', found: 2, fingerprint: 'a' })
  expect(of(1)).toStrictEqual({ _tag: 'OlderStore', path: 'a.db', found: 1 })
  expect(of(0, 'a')).toEqual({ _tag: 'OlderStore', path: 'a.db', found: 0, fingerprint: 'a' })
})

it('a clock gives whole milliseconds within the range of dates', () => {
  for (const moment of [0, -8.64e15, 8.64e15]) expect(momentOf(() => moment)).toBe(moment)
  for (const moment of [0.5, NaN, 8.64e15 + 1, -8.64e15 - 1])
    expect(() => momentOf(() => moment)).toThrow(
      new RangeError(`now() returned ${moment}; expected whole milliseconds since 1970, at most 8640000000000000`),
    )
})

it('an argument is copied in all of its lists, plain objects and bytes', () => {
  class Own {
    list = [1]
  }
  const own = new Own()
  const work = (): number => 1
  const given = {
    a: [{ b: 1 }],
    c: { d: new Uint8Array([1]) },
    own,
    work,
    e: Object.assign(Object.create(null), { f: [1] }),
  }
  const copy = copyArgument(given)
  expect(copy).toEqual(given)
  expect([copy === given, copy.a === given.a, copy.a[0] === given.a[0], copy.c.d === given.c.d, copy.e === given.e, copy.e.f === given.e.f]).toEqual(Array(6).fill(false)) // oxfmt-ignore
  expect([copy.own, copy.work]).toEqual([own, work])
  expect(copy.own).toBe(own)
  const { rows } = orThrow(planAppend(emptyRange, headOf(emptyRange, hash), [{ kind: 'note', body: 'x' }], context))
  expect(copyArgument({ rows }).rows).toBe(rows)
  expect(copyArgument({ rows: [...rows] }).rows).not.toBe(rows)
})
