/** The rules that every store follows, on what a driver found: conflicts, repeated operations, forks, and shared rows. */
import { describe, expect, it } from 'vitest'
import { emptyRange, portableSha256 as hash } from '../../src/proof/internal.ts'
import type { CheckedRow } from '../../src/store/port/plan.ts'
import { encryptionKey } from '../../src/store/port/encrypted.ts'
import { grow, headOf } from '../../src/store/port/tree.ts'
import { Damaged } from '../../src/store/port/damage-error.ts'
import { LayeredMap } from '../../src/store/rules/layered-map.ts'
import { matches, positionsOf } from '../../src/store/rules/lookup.ts'
import { metaIn, rowIn, wholeIn } from '../../src/store/rules/read-columns.ts'
import { retry } from '../../src/store/rules/retry.ts'
import {
  changedFault,
  conflict,
  decodePlace,
  divergedFault,
  entriesBefore,
  forkFault,
  growLog,
  hasKey,
  isPlanFor,
  logInfo,
  maxMissed,
  missedRange,
  olderSize,
  placeOf,
  referencedBlocks,
  removalIncompleteFault,
  repeatedAppend,
  sameHead,
  sharedRows,
  staleHeadFault,
  storedRow,
} from '../../src/store/rules/rules.ts'
import { left, right } from '../../src/json/index.ts'

const head = (size: number, root = 'ab'.repeat(32)) => ({ size, root })
const rowOf = (kind: 'entry' | 'note', number: number, more: Partial<CheckedRow> = {}): CheckedRow => ({
  ...{ kind, body: `${number}`, at: number, salt: undefined, erased: undefined, blocks: [] },
  ...{ leaf: hash(Uint8Array.of(number)), ...more },
})
const basis = { head: headOf(emptyRange, hash), entries: 0, tokens: 0, peaks: [] }

it('a place is one number and back', () => {
  for (const [kind, index, number] of [
    ['entry', 0, 0],
    ['note', 0, 1],
    ['entry', 5, 10],
    ['note', 2 ** 51, 2 ** 52 + 1],
  ] as const) {
    expect(placeOf({ kind, index })).toBe(number)
    expect(decodePlace(number)).toEqual({ kind, index })
  }
})

it('a stored row has all of its fields, frozen', () => {
  const row = storedRow(3, { kind: 'note', index: 1 }, 'x', 5, undefined, 'ab')
  expect(row).toStrictEqual({ position: 3, kind: 'note', index: 1, body: 'x', at: 5, salt: undefined, erased: 'ab', stored: undefined }) // oxfmt-ignore
  expect(Object.isFrozen(row)).toBe(true)
})

it('heads are equal by size and root', () => {
  expect(sameHead(head(1), head(1))).toBe(true)
  expect(sameHead(head(1), head(2))).toBe(false)
  expect(sameHead(head(1), head(1, 'cd'))).toBe(false)
})

describe('a grown log', () => {
  const rows = [rowOf('entry', 1), rowOf('note', 2), rowOf('entry', 3)]

  it('has each row at its position, by its kind and node, and the new head', () => {
    const first = growLog(basis, { rows, plan: undefined }, hash)
    expect(first.rows.map(({ position, kind, index }) => [position, kind, index])).toEqual([
      [0, 'entry', 0],
      [1, 'note', 0],
      [2, 'entry', 1],
    ])
    const { range, nodes } = grow(emptyRange, rows.map(({ leaf }) => leaf), hash) // oxfmt-ignore
    expect(first).toMatchObject({ head: headOf(range, hash), entries: 2, appended: 3, peaks: range.peaks })
    expect(first.rows.map(({ node }) => node)).toEqual(nodes)
    expect(first.answer).toEqual({ from: 0, head: first.head })
    expect(Object.isFrozen(first.answer)).toBe(true)
    const more = [rowOf('note', 4), rowOf('entry', 5)]
    const second = growLog(first, { rows: more, plan: undefined }, hash)
    expect(second.rows.map(({ position, kind, index }) => [position, kind, index])).toEqual([
      [3, 'note', 1],
      [4, 'entry', 2],
    ])
    const atOnce = growLog(basis, { rows: [...rows, ...more], plan: undefined }, hash)
    expect([second.head, second.entries, second.peaks]).toEqual([atOnce.head, 3, atOnce.peaks])
    expect(second.answer).toEqual({ from: 3, head: second.head })
    expect(growLog(first, { rows: [], plan: undefined }, hash)).toMatchObject({ head: first.head, appended: undefined })
  })

  it('is that of a plan only if the plan continues its head and peaks', () => {
    const log = growLog(basis, { rows, plan: undefined }, hash)
    const plan = { expected: log.head, before: { size: 3, peaks: log.peaks } } as never
    expect(isPlanFor(plan, log)).toBe(true)
    expect(isPlanFor(undefined, log)).toBe(false)
    const copies = log.peaks.map((peak) => peak.slice())
    expect(isPlanFor(plan, { ...log, peaks: copies })).toBe(true)
    copies[0]?.fill(0)
    expect(isPlanFor(plan, { ...log, peaks: copies })).toBe(false)
    expect(isPlanFor(plan, { ...log, peaks: log.peaks.slice(1) })).toBe(false)
    expect(isPlanFor(plan, { ...log, head: head(3) })).toBe(false)
  })
})

describe('an append that expects another head', () => {
  const log = growLog(basis, { rows: [1, 2, 3].map((number) => rowOf('entry', number)), plan: undefined }, hash)
  const rangeAt = (size: number) => grow(emptyRange, [1, 2, 3].slice(0, size).map((number) => hash(Uint8Array.of(number))), hash).range // oxfmt-ignore
  const asked: unknown[] = []
  const read = (range: unknown) => (asked.push(range), [])
  const fault = (expected: { size: number; root: string }) =>
    staleHeadFault('s', expected, log.head, hash, rangeAt, read)

  it('is a conflict if the log had that head, with the rows since; otherwise another record', () => {
    const two = headOf(rangeAt(2), hash)
    expect(fault(two)).toEqual({ _tag: 'Conflict', id: 's', expected: two, actual: log.head, missed: [] })
    expect(asked).toEqual([{ from: 2, to: 3 }])
    for (const other of [head(2), head(3), head(4), head(-1), head(1.5)])
      expect(fault(other)).toEqual(divergedFault('s', other, log.head))
    expect(asked).toHaveLength(1)
    expect(divergedFault('s', two, log.head)).toEqual({ _tag: 'Diverged', id: 's', expected: two, actual: log.head })
  })

  it('missed at most so many rows', () => {
    expect(maxMissed).toBe(1000)
    expect(missedRange(head(5), head(1005))).toEqual({ from: 5, to: 1005 })
    expect(missedRange(head(5), head(1006))).toEqual({ from: 5, to: 1005 })
    expect(missedRange(head(5), head(6))).toEqual({ from: 5, to: 6 })
    expect([0, 4, 5, 6, -1, 0.5].map((size) => olderSize(head(size), head(5)))).toEqual([0, 4, ...Array(4).fill(undefined)]) // oxfmt-ignore
  })

  it('has a frozen list of them', () => {
    const { missed } = conflict('s', head(1), head(2), []) as never as { missed: unknown }
    expect(Object.isFrozen(missed)).toBe(true)
  })
})

it('a log is unchanged while it has the same head, or does not exist', () => {
  const none = headOf(emptyRange, hash)
  const change = (before: object | undefined, now: object | undefined) =>
    changedFault({ id: 's', head: before as never }, now as never, hash)
  expect([change(undefined, undefined), change(head(1), head(1))]).toEqual([undefined, undefined])
  expect(change(head(1), head(2))).toEqual(conflict('s', head(1), head(2), []))
  expect(change(undefined, head(1))).toEqual(conflict('s', none, head(1), []))
  expect(change(head(1), undefined)).toEqual(conflict('s', head(1), none, []))
})

it('a log has the key that its metadata lists last, or none', () => {
  const meta = { [encryptionKey]: { keys: ['a', 'b'], from: [0, 1], meta: '' } }
  for (const given of [meta, JSON.stringify(meta)]) {
    expect([undefined, 'b', 'a', null].map((key) => hasKey(given, key))).toEqual([true, true, false, false])
  }
  for (const given of [{}, '{}']) expect([undefined, 'b', null].map((key) => hasKey(given, key))).toEqual([true, false, true]) // oxfmt-ignore
})

it('a repeated operation has the answer of the first one if its rows have the same kinds and texts', () => {
  const past = { operation: 'o', from: 2, head: head(4) }
  const rows = [rowOf('entry', 1), rowOf('note', 2)]
  const stored = rows.map(({ kind, body }) => ({ kind, body, erased: undefined as string | undefined }))
  const repeated = repeatedAppend('s', past, rows, stored)
  expect(repeated).toEqual(right({ from: 2, head: head(4) }))
  expect(repeatedAppend('s', past, [rowOf('entry', 1, { at: 9, salt: 'x' }), rowOf('note', 2)], stored)).toEqual(
    repeated,
  )
  const mismatch = left({ _tag: 'OperationMismatch', id: 's', ...past })
  const [checkedRow, two] = rows as [CheckedRow, CheckedRow]
  for (const given of [
    [checkedRow],
    [two, checkedRow],
    [checkedRow, two, two],
    [checkedRow, { ...two, body: 'x' }],
    [checkedRow, { ...two, kind: 'entry' as const }],
    [],
  ])
    // oxfmt-ignore
    expect(repeatedAppend('s', past, given, stored)).toEqual(mismatch)
  // The text of an erased row is not known any more, its kind is.
  const erased = [stored[0], { ...stored[1], body: 'stub', erased: 'ab' }] as never
  expect(repeatedAppend('s', past, [checkedRow, { ...two, body: 'x' }], erased)).toEqual(repeated)
  expect(repeatedAppend('s', past, [checkedRow, { ...two, kind: 'entry' }], erased)).toEqual(mismatch)
})

it('the blocks that a store must have are those that rows name and do not bring', () => {
  const [a, b, c] = ['a', 'b', 'c'] as never[] as [never, never, never]
  const rows = [rowOf('entry', 1, { blocks: [a, b] }), rowOf('entry', 2, { blocks: [b, c] })]
  expect(referencedBlocks({ rows, blocks: [] })).toEqual([a, b, c])
  expect(referencedBlocks({ rows, blocks: [{ id: b, bytes: new Uint8Array() }] })).toEqual([a, c])
})

it('a fork starts at a row of its log, or at its end', () => {
  for (const at of [0, 1, 3]) expect(forkFault('s', at, 3)).toBeUndefined()
  for (const at of [-1, 4, 1.5, NaN]) expect(forkFault('s', at, 3)).toEqual({ _tag: 'BeyondEnd', id: 's', at, size: 3 })
})

it('the entries before a position follow from the last row', () => {
  expect(entriesBefore(0, undefined)).toBe(0)
  expect(entriesBefore(5, { kind: 'entry', index: 3 })).toBe(4)
  expect(entriesBefore(5, { kind: 'note', index: 3 })).toBe(1)
})

it('a log without rows of its own was appended to when it was created', () => {
  const log = { id: 's', created: 5, head: head(0), entries: 0, tokens: 0, version: 0, meta: {} }
  expect(logInfo({ ...log, appended: undefined } as never)).toEqual({ ...log, appended: 5 })
  expect(logInfo({ ...log, appended: 0 } as never)).toEqual({ ...log, appended: 0 })
  expect(Object.isFrozen(logInfo({ ...log, appended: 7 } as never))).toBe(true)
})

it.each([
  [[], [], 0],
  [[['a', 5]], [['a', 5]], 5],
  [[['a', 5]], [['b', 5]], 0],
  [[['a', 5]], [['a', 3], ['b', 9]], 3], // oxfmt-ignore
  [[['a', 3], ['b', 9]], [['a', 3], ['c', 9]], 3], // oxfmt-ignore
  [[['a', 3], ['b', 7]], [['a', 3], ['b', 9]], 7], // oxfmt-ignore
  [[['a', 3], ['b', 7]], [['a', 3]], 3], // oxfmt-ignore
  [[['a', 3], ['b', 7]], [['a', 4], ['b', 7]], 3], // oxfmt-ignore
] as const)('logs with the segments %j and %j share %d rows', (a, b, rows) => {
  const of = (segments: readonly (readonly [string, number])[]) => segments.map(([segment, to]) => ({ segment, to }))
  expect(sharedRows(of(a), of(b))).toBe(rows)
  expect(sharedRows(of(b), of(a))).toBe(rows)
})

it('rows that a removal left are an unknown end', () => {
  const incomplete = removalIncompleteFault({ _tag: 'Busy', waited: 5 }) as { cause: Error }
  expect(incomplete).toMatchObject({ _tag: 'Io', operation: 'delete the rows of a removed log', outcome: 'unknown' })
  expect([incomplete.cause.message, incomplete.cause.cause]).toEqual([
    'the store was held by another writer for more than 5 ms; nothing was changed: try again',
    { _tag: 'Busy', waited: 5 },
  ])
})

it('work is tried up to 50 times', async () => {
  const seen: boolean[] = []
  expect(await retry(async (isLast) => (seen.push(isLast), isLast ? 'last' : undefined))).toBe('last')
  expect([seen.length, seen.indexOf(true)]).toEqual([50, 49])
  expect(await retry(async () => 'first')).toBe('first')
})

it('metadata matches a filter if it has the same scalars at the same places', () => {
  const meta = { a: 1, b: { c: 'x', d: null }, e: [1], f: true }
  for (const where of [{}, { a: 1 }, { b: { c: 'x' } }, { b: { d: null } }, { b: {} }, { a: 1, f: true }])
    expect([where, matches(meta, where)]).toEqual([where, true])
  const others: readonly object[] = [{ a: 2 }, { a: '1' }, { g: null }, { b: 'x' }, { b: { c: 'y' } }, { b: { g: null } }, { a: {} }, { e: {} }, { e: { 0: 1 } }, { a: 1, f: false }, { constructor: {} }] // oxfmt-ignore
  for (const where of others) expect([where, matches(meta, where as never)]).toEqual([where, false])
})

it('a range over the rows of one kind is that of their positions', () => {
  const kinds = 'eennneneeen'.split('').map((letter) => (letter === 'e' ? 'entry' : 'note'))
  const places = kinds.map((kind, at) => ({ kind, index: kinds.slice(0, at).filter((one) => one === kind).length }))
  const log = { head: head(kinds.length), entries: kinds.filter((kind) => kind === 'entry').length }
  for (const only of ['entry', 'note', undefined] as const) {
    const positions = kinds.flatMap((kind, at) => (only === undefined || kind === only ? [at] : []))
    const bounds = [undefined, -20, -3, -1, 0, 1, 2, 5, 6, 20]
    for (const from of bounds)
      for (const to of bounds) {
        const wanted = positions.slice(from, to)
        const range = { ...(from !== undefined && { from }), ...(to !== undefined && { to }), ...(only && { only }) }
        const { start, end } = positionsOf(log, range, (at) => places[at] as never)
        const found = positions.filter((at) => at >= start && at < end)
        expect([range, found]).toEqual([range, wanted])
        if (only !== undefined && wanted.length > 0)
          expect([start, end]).toEqual([wanted[0], (wanted.at(-1) as number) + 1])
      }
  }
  const asked: number[] = []
  positionsOf(log, { from: 1, to: 3 }, (at) => (asked.push(at), places[at] as never))
  positionsOf(log, { from: 3, to: 3, only: 'note' }, (at) => (asked.push(at), places[at] as never))
  expect(asked).toEqual([])
})

describe('a column of a database', () => {
  const damage = (read: () => unknown): unknown => {
    try {
      return read()
    } catch (error) {
      return error instanceof Damaged ? [error.position, error.reason] : error
    }
  }
  const salt = new Uint8Array(16).fill(1)
  const leaf = new Uint8Array(32).fill(2)

  it('gives a row, or the position of one that can not be read', () => {
    expect(rowIn(3, 5, 'x', 7, null, null)).toEqual(storedRow(3, { kind: 'note', index: 2 }, 'x', 7, undefined))
    expect(rowIn(3, 4, 'x', -7, salt, leaf)).toEqual(
      storedRow(3, { kind: 'entry', index: 2 }, 'x', -7, '01'.repeat(16), '02'.repeat(32)),
    )
    const wrong: readonly (readonly [unknown, unknown, unknown, unknown, unknown])[] = [
      ['5', 'x', 7, null, null],
      [5, null, 7, null, null],
      [5, 'x', 7.5, null, null],
      [5, 'x', 8.64e15 + 1, null, null],
      [5, 'x', 7, salt.slice(1), null],
      [5, 'x', 7, leaf, null],
      [5, 'x', 7, 'salt', null],
      [5, 'x', 7, undefined, null],
      [5, 'x', 7, null, salt],
      [5, 'x', 7, null, undefined],
    ]
    for (const columns of wrong)
      expect([columns, damage(() => rowIn(3, ...columns))]).toEqual([columns, [3, 'its row can not be read']])
  })

  it('gives metadata, which is an object', () => {
    expect(metaIn('{"a":1}')).toEqual({ a: 1 })
    for (const text of ['', '[]', 'null', '5', '{', null, 5, new Uint8Array()])
      expect([text, damage(() => metaIn(text))]).toEqual([text, [0, 'its metadata can not be read']])
  })

  it('gives a whole number within its bounds', () => {
    for (const value of [0n, 5n, '5', BigInt(Number.MAX_SAFE_INTEGER)])
      expect(wholeIn(value, 'size')).toBe(Number(value))
    expect([wholeIn(3n, 'size', 3, 5), wholeIn('5', 'size', 3, 5), wholeIn(-1n, 'time', -1)]).toEqual([3, 5, -1])
    for (const [value, least, most] of [
      [2n, 3, 5],
      [6n, 3, 5],
      [-1n],
      [2n ** 53n],
      ['x'],
      [5],
      [null],
      [undefined],
    ] as const)
      // oxfmt-ignore
      expect([value, damage(() => wholeIn(value, 'size', least, most))]).toEqual([value, [0, 'its size can not be read']])
  })
})

it('a map in layers has the entries of all of them, in the order in which they came', () => {
  let layered: ReadonlyMap<string, number> = new Map()
  const plain = new Map<string, number>()
  for (let round = 0; round < 60; round++) {
    const more = new Map(Array.from({ length: round % 4 }, (_, index) => [`k${(round * 7 + index * 3) % 50}`, round]))
    const before = [...layered]
    const grown = LayeredMap.grown(layered, more)
    expect([...layered]).toEqual(before)
    layered = grown
    for (const [key, value] of more) plain.set(key, value)
    expect([layered.size, [...layered.keys()].length]).toEqual([plain.size, plain.size])
    expect(new Map(layered)).toEqual(plain)
    const seen: unknown[] = []
    layered.forEach((value, key, map) => seen.push([key, value, map === layered]))
    expect(seen).toEqual([...layered].map(([key, value]) => [key, value, true]))
    expect([...layered.values()]).toEqual([...layered.keys()].map((key) => plain.get(key)))
    for (const key of ['k0', 'k7', 'none'])
      expect([layered.has(key), layered.get(key)]).toEqual([plain.has(key), plain.get(key)])
  }
})
