/** Checks logs and rows read from a database, because a disk error may have changed anything in them. */
import { bytesToHex } from '@noble/hashes/utils.js'
import { isObject, jsonIn, type JsonObject } from '../../json/index.ts'
import { isMoment } from '../port/plan.ts'
import { Damaged } from '../port/damage-error.ts'
import type { StoredRow } from '../port/row.ts'
import { decodePlace, storedRow } from './rules.ts'

/** A row from its columns. Throws Damaged. */
export const rowIn = (
  position: number,
  place: unknown,
  body: unknown,
  at: unknown,
  salt: unknown,
  erased: unknown,
): StoredRow => {
  if (
    typeof place !== 'number' ||
    typeof body !== 'string' ||
    !isMoment(at) ||
    !hasLength(16, salt) ||
    !hasLength(32, erased)
  )
    throw new Damaged(position, 'its row can not be read')
  return storedRow(position, decodePlace(place), body, at, digitsOf(salt), digitsOf(erased))
}

/** Whether a column has this many bytes, or null. */
const hasLength = (length: number, bytes: unknown): bytes is Uint8Array | null =>
  bytes === null || (bytes instanceof Uint8Array && bytes.length === length)

const digitsOf = (bytes: Uint8Array | null): string | undefined => (bytes === null ? undefined : bytesToHex(bytes))

/** The metadata of a log, from its text. Throws Damaged. */
export const metaIn = (text: unknown): JsonObject => {
  const meta = typeof text === 'string' ? jsonIn(text) : undefined
  if (isObject(meta)) return meta
  throw new Damaged(0, 'its metadata can not be read')
}

/** A whole number from a column read as digits or bigint, because it may be too large for a number. Throws Damaged. */
export const wholeIn = (value: unknown, name: string, least = 0, most: number = Number.MAX_SAFE_INTEGER): number => {
  const number = typeof value === 'bigint' || typeof value === 'string' ? Number(value) : Number.NaN
  if (!(number >= least && number <= most)) throw new Damaged(0, `its ${name} can not be read`)
  return number
}
