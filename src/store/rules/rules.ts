/**
 * The rules that every store follows, in one place: how an append changes a log, what a conflict
 * is, when an operation repeats an earlier one, where a fork starts. They read nothing: a driver
 * passes what it found, and gets the consequence.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right, type JsonObject } from '../../json/index.ts'
import { emptyRange, equalBytes, type BlockId, type CompactRange, type Hash } from '../../proof/internal.ts'
import type { CheckedRow, Plan } from '../port/plan.ts'
import type { CheckedAppend, UnchangedLog } from '../port/driver.ts'
import { ownKeyIn, ownKeyOf } from '../port/encrypted.ts'
import { storeFaultText, type StoreFault } from '../fault.ts'
import type { AppendedRows, LogInfo } from '../port/store.ts'
import type { Head, RowKind, StoredRow } from '../port/row.ts'
import { tokensIn } from '../port/row-tokens.ts'
import { grow, headOf } from '../port/tree.ts'

/** The maximum number of rows in a `Conflict`. */
export const maxMissed = 1000

/** A row's kind, and its index among the rows of that kind. */
export interface KindIndex {
  /** Whether the row is an entry or a note. */
  readonly kind: RowKind
  /** Its index among the rows of its kind, from 0. */
  readonly index: number
}

/** A place as one number: the index, doubled, and 1 more for a note. */
export const placeOf = ({ kind, index }: KindIndex): number => index * 2 + (kind === 'note' ? 1 : 0)

export const decodePlace = (place: number): KindIndex => ({
  kind: place % 2 === 1 ? 'note' : 'entry',
  index: Math.floor(place / 2),
})

/** A row as the store returns it. All fields are set, so that none is read from a prototype. */
export const storedRow = (
  position: number,
  { kind, index }: KindIndex,
  body: string,
  at: number,
  salt: string | undefined,
  erased?: string,
): StoredRow => Object.freeze({ position, kind, index, body, at, salt, erased, stored: undefined })

/**
 * Whether two heads are equal.
 *
 * @param a a head
 * @param b another head
 * @returns true if size and root are equal
 */
export const sameHead = (a: Head, b: Head): boolean => a.size === b.size && a.root === b.root

/** The state before an append. */
export interface LogBasis {
  readonly head: Head
  readonly entries: number
  readonly tokens: number
  /** The peaks of the log's tree. */
  readonly peaks: readonly Uint8Array[]
}

/** A log after an append. */
export interface GrownLog extends LogBasis {
  readonly range: CompactRange
  readonly rows: readonly GrownRow[]
  readonly answer: AppendedRows
  /** The `at` of the last row; undefined if there is none. */
  readonly appended: number | undefined
}

/** A row, with the data stored beside it. */
export interface GrownRow extends KindIndex {
  readonly row: CheckedRow
  readonly position: number
  readonly node: Uint8Array
}

/** The log after an append that continues its head. A plan for this head saves hashing again. */
export const growLog = (log: LogBasis, { rows, plan }: Pick<CheckedAppend, 'rows' | 'plan'>, hash: Hash): GrownLog => {
  const { size } = log.head
  const isPlanned = isPlanFor(plan, log)
  const { range, nodes } = isPlanned
    ? plan.grown
    : grow(
        { size, peaks: log.peaks },
        rows.map((row) => row.leaf),
        hash,
      )
  const head = isPlanned ? plan.head : headOf(range, hash)
  let { entries, tokens } = log
  const grown: GrownRow[] = []
  for (const row of rows) {
    const position = size + grown.length
    const index = row.kind === 'entry' ? entries++ : position - entries
    if (row.kind === 'note') tokens += tokensIn(row)
    grown.push({ row, position, kind: row.kind, index, node: nodes[grown.length] as Uint8Array }) // there is a node for each leaf
  }
  return {
    head,
    entries,
    tokens,
    peaks: range.peaks,
    range,
    rows: grown,
    answer: Object.freeze({ from: size, head }),
    appended: rows.at(-1)?.at,
  }
}

/** Whether a plan continues a log with this head and these peaks. */
export const isPlanFor = (plan: Plan | undefined, { head, peaks }: Pick<LogBasis, 'head' | 'peaks'>): plan is Plan =>
  plan !== undefined && sameHead(plan.expected, head) && samePeaks(plan.before.peaks, peaks)

const samePeaks = (a: readonly Uint8Array[], b: readonly Uint8Array[]): boolean =>
  a.length === b.length && a.every((peak, index) => peak === b[index] || equalBytes(peak, b[index] as Uint8Array))

/** The size of the expected head, if the log may have had it before; otherwise undefined. */
export const olderSize = (expected: Head, actual: Head): number | undefined => {
  const { size } = expected
  return Number.isInteger(size) && size >= 0 && size < actual.size ? size : undefined
}

/** Whether the expected head is an earlier head of the log, whose tree at that size is `older`. */
export const isStaleHead = (expected: Head, older: CompactRange | undefined, hash: Hash): boolean =>
  older !== undefined && headOf(older, hash).root === expected.root

/** The positions of a conflict's rows. */
export const missedRange = (expected: Head, actual: Head): { readonly from: number; readonly to: number } => ({
  from: expected.size,
  to: Math.min(actual.size, expected.size + maxMissed),
})

/** The fault of an append after another writer's. */
export const conflict = (id: string, expected: Head, actual: Head, missed: readonly StoredRow[]): StoreFault => ({
  _tag: 'Conflict',
  id,
  expected,
  actual,
  missed: Object.freeze(missed),
})

/** The fault if a log has changed since its head was read. */
export const changedFault = (
  { id, head: expected }: UnchangedLog,
  actual: Head | undefined,
  hash: Hash,
): StoreFault | undefined => {
  const none = headOf(emptyRange, hash)
  const isSame = expected === undefined || actual === undefined ? expected === actual : sameHead(expected, actual)
  return isSame ? undefined : conflict(id, expected ?? none, actual ?? none, [])
}

/**
 * Whether a log has the expected key. No two logs have the same key, so this also detects another log with this id.
 *
 * @param meta the metadata of the log, as an object or as stored text
 * @param ownKey the id of the key; null: not encrypted; undefined: any log
 * @returns true if it has that key
 */
export const hasKey = (meta: JsonObject | string, ownKey: string | null | undefined): boolean =>
  ownKey === undefined || ownKey === ((typeof meta === 'string' ? ownKeyIn(meta) : ownKeyOf({ meta })) ?? null)

/** The fault for a log that is a different record. */
export const divergedFault = (id: string, expected: Head, actual: Head): StoreFault => ({
  _tag: 'Diverged',
  id,
  expected,
  actual,
})

/** An operation that was already appended. */
interface PastOperation {
  readonly operation: string
  readonly from: number
  readonly head: Head
}

/**
 * The result of repeating an operation: the first result, if kinds and bodies are equal. `at` and `salt` differ
 * in a retry, and are not compared. The body of an erased row is no longer known, so any is accepted.
 */
export const repeatedAppend = (
  id: string,
  { operation, from, head }: PastOperation,
  rows: readonly CheckedRow[],
  stored: readonly Pick<StoredRow, 'kind' | 'body' | 'erased'>[],
): Either<StoreFault, AppendedRows> =>
  rows.length === stored.length &&
  stored.every(
    ({ kind, body, erased }, index) =>
      rows[index]?.kind === kind && (erased !== undefined || rows[index].body === body),
  )
    ? right(Object.freeze({ from, head: Object.freeze(head) }))
    : left({ _tag: 'OperationMismatch', id, operation, from, head: Object.freeze(head) })

/** The blocks that rows reference but do not bring along, so the store must have them. */
export const referencedBlocks = ({ rows, blocks }: Pick<CheckedAppend, 'rows' | 'blocks'>): readonly BlockId[] => {
  const named = new Set<BlockId>()
  for (const row of rows) for (const block of row.blocks) named.add(block)
  for (const { id } of blocks) named.delete(id)
  return [...named]
}

/** The fault for a fork at an invalid position. */
export const forkFault = (id: string, at: number, size: number): StoreFault | undefined =>
  Number.isInteger(at) && at >= 0 && at <= size ? undefined : { _tag: 'BeyondEnd', id, at, size }

/** The number of entries among the first `at` rows, given the last of them. */
export const entriesBefore = (at: number, last: KindIndex | undefined): number =>
  last === undefined ? 0 : last.kind === 'entry' ? last.index + 1 : at - 1 - last.index

/** The description of a log. `appended` is the time of its last own row, if any. */
export const logInfo = ({
  appended,
  created,
  ...log
}: Omit<LogInfo, 'appended'> & { readonly appended: number | undefined }): LogInfo =>
  Object.freeze({ ...log, created, appended: appended ?? created })

/** The number of first rows that two logs share, given their segments, each with the position after its last row. */
export const sharedRows = <Segment>(
  a: readonly { readonly segment: Segment; readonly to: number }[],
  b: readonly { readonly segment: Segment; readonly to: number }[],
): number => {
  let shared = 0
  for (const [index, { segment, to }] of a.entries()) {
    const theirs = b[index]
    if (theirs === undefined || theirs.segment !== segment) break
    shared = Math.min(to, theirs.to)
    if (to !== theirs.to) break
  }
  return shared
}

/** The fault of a removal whose log is gone but not all of its rows. The next removal deletes the rest. */
export const removalIncompleteFault = (fault: StoreFault): StoreFault => ({
  _tag: 'Io',
  operation: 'delete the rows of a removed log',
  cause: new Error(storeFaultText(fault), { cause: fault }),
  outcome: 'unknown',
})

/**
 * The fault of an append that expects another head.
 *
 * @param rangeAt returns the tree of the first rows
 * @param read reads the rows of a conflict
 */
export const staleHeadFault = (
  id: string,
  expected: Head,
  actual: Head,
  hash: Hash,
  rangeAt: (size: number) => CompactRange,
  read: (range: { readonly from: number; readonly to: number }) => readonly StoredRow[],
): StoreFault => {
  const size = olderSize(expected, actual)
  return isStaleHead(expected, size === undefined ? undefined : rangeAt(size), hash)
    ? conflict(id, expected, actual, read(missedRange(expected, actual)))
    : divergedFault(id, expected, actual)
}
