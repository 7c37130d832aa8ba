/** What a session writes on each row that it appends: when, and in an erasable session a salt. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../json/index.ts'
import type { Row, Store, StoreFaultOf, TimedRow } from '../store/index.ts'

declare const crypto: { readonly getRandomValues: (bytes: Uint8Array) => Uint8Array }

/** The time by the store's clock, in milliseconds since 1970. */
export const momentOf = ({ now }: Pick<Store, 'now'>): Either<StoreFaultOf<'Io'>, number> => {
  try {
    return right(now())
  } catch (cause) {
    return left({ _tag: 'Io', operation: 'read the clock', cause })
  }
}

/** Rows with a time, and in an erasable session with a salt each. */
export const stamp = (
  rows: readonly Row[],
  store: Pick<Store, 'now'>,
  erasable: boolean,
): Either<StoreFaultOf<'Io'>, readonly TimedRow[]> => {
  if (rows.length === 0) return right([])
  const at = momentOf(store)
  return isLeft(at) ? at : right(rows.map((row) => ({ ...row, at: at.right, ...(erasable && { salt: newSalt() }) })))
}

const newSalt = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
