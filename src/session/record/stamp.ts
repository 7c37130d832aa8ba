/** Adds a time to each appended row, and a salt in an erasable session. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, ownField, right } from '../../json/index.ts'
import type { Row, Store, StoreFaultOf } from '../../store/index.ts'
import type { TimedRow } from '../../store/internal.ts'

declare const crypto: { readonly getRandomValues: (bytes: Uint8Array) => Uint8Array }

/** The time by the store's clock, in milliseconds since 1970. */
export const momentOf = ({ now }: Pick<Store, 'now'>): Either<StoreFaultOf<'Io'>, number> => {
  try {
    return right(now())
  } catch (cause) {
    return left({ _tag: 'Io', operation: 'read the clock', cause })
  }
}

/** Rows with a time, and in an erasable session with a salt. All fields are set. */
export const stamp = (
  rows: readonly Row[],
  store: Pick<Store, 'now'>,
  erasable: boolean,
): Either<StoreFaultOf<'Io'>, readonly TimedRow[]> => {
  if (rows.length === 0) return right([])
  const moment = momentOf(store)
  if (isLeft(moment)) return moment
  const at = moment.right
  return right(
    rows.map((row) => {
      const { kind, body } = row
      const salt = erasable ? newSalt() : undefined
      return { kind, body, blocks: ownField(row, 'blocks') ?? noBlocks, at, salt, erased: undefined }
    }),
  )
}

const noBlocks: readonly never[] = Object.freeze([])

const newSalt = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
