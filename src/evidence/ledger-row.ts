/** What a ledger's rows say, and what all of them come to. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, isObject, left, parseJson, right } from '../json/index.ts'
import type { Head, Row, StoredRow } from '../store/index.ts'
import type { EvidenceFault } from './fault.ts'

/** The id of a scope's ledger. */
export const ledgerId = 'indelible.ledger'

/** What a row of a ledger says. Its time is that of the row. */
export type LedgerRow =
  /** A session had this head. */
  | { readonly type: 'head'; readonly id: string; readonly head: Head }
  /** A session with this head was removed, or is being removed. */
  | {
      readonly type: 'removed'
      readonly id: string
      readonly head: Head
      readonly reason?: string
      readonly by?: string
    }

/** A row of a ledger as it is stored: a note whose body is JSON. */
export const ledgerRow = (said: LedgerRow, at: number): Row => {
  const { type, id, head } = said
  const more = said.type === 'removed' ? { reason: said.reason, by: said.by } : {} // JSON leaves out what is undefined
  return { kind: 'note', body: JSON.stringify({ type, id, size: head.size, root: head.root, ...more }), at }
}

/** Read a row of a ledger. Undefined: a kind of row that a newer version wrote. Errors: `NotALedger`. */
export const readLedgerRow = ({
  position,
  body,
}: Pick<StoredRow, 'position' | 'body'>): Either<EvidenceFault, LedgerRow | undefined> => {
  const bad = (reason: string): Either<EvidenceFault, never> =>
    left({ _tag: 'NotALedger', id: ledgerId, reason: `its row ${position} ${reason}` })
  const parsed = parseJson(body)
  if (isLeft(parsed) || !isObject(parsed.right)) return bad('is not a JSON object')
  const { type, id, size, root, reason, by } = parsed.right
  if (typeof type !== 'string') return bad('has no type')
  if (type !== 'head' && type !== 'removed') return right(undefined)
  if (typeof id !== 'string' || !isCount(size) || typeof root !== 'string' || !/^[0-9a-f]{64}$/.test(root))
    return bad('names no session and head')
  const head = Object.freeze({ size, root })
  return right(
    Object.freeze(
      type === 'head'
        ? { type, id, head }
        : {
            type,
            id,
            head,
            ...(typeof reason === 'string' && { reason }),
            ...(typeof by === 'string' && { by }),
          },
    ),
  )
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** The last that a ledger says of a session. */
export interface LedgerEntry {
  /** The id of the session. */
  readonly id: string
  /** Where in the ledger it stands. */
  readonly row: number
  /** When it was written: milliseconds since 1970, by the writer's clock. */
  readonly at: number | undefined
  /** The head of the session then. */
  readonly head: Head
  /** Whether it says that the session was removed. */
  readonly removed: boolean
  /** Why it was removed, if that was said. */
  readonly reason?: string
  /** Who removed it, if that was said. */
  readonly by?: string
}
