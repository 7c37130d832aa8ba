/** Rows as a driver receives them: copied, checked and hashed. */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, ownField, right } from '../../json/index.ts'
import { hashRow, type BlockId, type Hash, type HashedRow } from '../../proof/internal.ts'
import { latest, momentOf } from './clock.ts'
import type { StoreFaultOf } from '../fault.ts'
import { invalidBlockId } from './id.ts'
import type { Row } from './row.ts'

/** A row to store, with its leaf. */
export type CheckedRow = HashedRow<BlockId>

/** A store's hash function and clock. */
export interface RowContext {
  /** SHA-256. */
  readonly hash: Hash
  /**
   * The clock.
   *
   * @returns milliseconds since 1970
   */
  readonly now: () => number
}

/** Frozen copies with their leaves, or the problem of the first invalid row. */
export const checkRows = (
  given: readonly Row[],
  { hash, now }: RowContext,
): Either<StoreFaultOf<'InvalidRow' | 'InvalidId'>, readonly CheckedRow[]> => {
  const rows: CheckedRow[] = []
  let moment: number | undefined
  for (const row of given) {
    const { kind, body } = row
    const at = ownField(row, 'at') ?? (moment ??= momentOf(now))
    const [blocks, salt, erased] = [ownField(row, 'blocks') ?? [], ownField(row, 'salt'), ownField(row, 'erased')]
    const reason = rowFault(kind, body, at, salt) ?? erasedRowFault(erased, salt, blocks)
    if (reason !== undefined) return left({ _tag: 'InvalidRow', index: rows.length, reason })
    const ids = Object.freeze([...blocks])
    const badBlock = invalidBlockId(ids)
    if (badBlock !== undefined) return left(badBlock)
    rows.push(hashRow({ kind, body, at, salt, erased }, ids, hash))
  }
  return right(Object.freeze(rows))
}

const rowFault = (kind: unknown, body: unknown, at: unknown, salt: unknown): string | undefined => {
  if (kind !== 'entry' && kind !== 'note') return 'is neither an entry nor a note'
  if (typeof body !== 'string') return 'has a body that is not a string'
  if (!body.isWellFormed()) return 'has a lone surrogate'
  if (!isMoment(at)) return 'has an `at` that is not a time in whole milliseconds since 1970'
  if (salt !== undefined && !isSalt(salt)) return 'has a `salt` that is not 32 lowercase hexadecimal digits'
  return undefined
}

const erasedRowFault = (erased: unknown, salt: unknown, blocks: readonly unknown[]): string | undefined => {
  if (erased === undefined) return undefined
  if (!isLeaf(erased)) return 'has an `erased` that is not 64 lowercase hexadecimal digits'
  return salt === undefined && blocks.length === 0 ? undefined : 'was erased, and has a salt or blocks'
}

/** Whether a value is a leaf: 64 lowercase hexadecimal digits. */
export const isLeaf = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)

/**
 * Whether a value is a time: whole milliseconds since 1970, in the range of `Date`.
 *
 * @returns true for a time
 */
export const isMoment = (value: unknown): value is number =>
  Number.isInteger(value) && Math.abs(value as number) <= latest

/**
 * Whether a value is a salt: 16 bytes as 32 lowercase hexadecimal digits.
 *
 * @returns true for a salt
 */
export const isSalt = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{32}$/.test(value)
