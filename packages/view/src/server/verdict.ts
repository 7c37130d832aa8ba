/** Whether a session is what was appended: one verification, in the same words, for the command and the page. */
import type { Either } from 'fp-ts/lib/Either.js'
import { faultMessage, type CallbackThrew } from 'indelible'
import { isLeft, left, present, right } from 'indelible/internal/json'
import type { BlockId } from 'indelible/internal/proof'
import {
  describeSession,
  readSession,
  verifySession,
  type SessionFault,
  type SessionInfo,
  type VerifiedSession,
} from 'indelible/session'
import type { Store, StoreFault } from 'indelible/store'
import { FaultError } from 'indelible/internal/task'
import { placeText } from '../texts/about.ts'
import type { Overview, Verdict } from '../protocol.ts'
import type { VerifyOptions } from 'indelible/internal/session'

export type VerdictFault = SessionFault | StoreFault | CallbackThrew

/** Verify a session. One whose key is missing is verified as it is stored, and `unread`. */
export const verifyStored = async (
  store: Store,
  id: string,
  options: VerifyOptions,
): Promise<Either<VerdictFault, VerifiedSession & { readonly unread: boolean }>> => {
  const read = await verifySession(store, id, options)()
  const bare = isLeft(read) && read.left._tag === 'NoKey' ? store.encryption?.bare : undefined
  const verified = bare === undefined ? read : await verifySession(bare, id, options)()
  if (isLeft(verified)) return left(verified.left)
  const unread = verified.right.encrypted === true && (bare !== undefined || store.encryption === undefined)
  return right({ ...verified.right, unread })
}

/** The first damaged row of a session: as a clause, and its message if it is one. Undefined for a fault that is no damage. */
export const damageOf = async (store: Store, fault: VerdictFault): Promise<Verdict['damaged']> => {
  if (fault._tag !== 'DamagedLog') return undefined
  const { id, position: row, reason } = fault
  const read = await readSession(store, id)()
  const damaged = isLeft(read) ? undefined : read.right.damaged.find((damage) => damage.row === row)
  if (damaged !== undefined) return { row, reason, ...present({ position: damaged.position }) }
  // The row is as it was appended, but not the file that its message has, say.
  const found = await store.read(id, { from: row, to: row + 1 })()
  const [only] = isLeft(found) ? [] : found.right
  return { row, reason, ...(only?.kind === 'entry' && { position: only.index }) }
}

/** `damaged at row 7 (message 5): block … is missing`. */
export const damageText = (damage: NonNullable<Verdict['damaged']>): string =>
  `damaged at ${placeText(damage)}: ${damage.reason}`

/** Blocks of calls that are not there; undefined if all are. */
export const missingText = (missing: readonly BlockId[]): string | undefined =>
  missing.length === 0
    ? undefined
    : `its record is good, but ${missing.length} ${missing.length === 1 ? 'block that its receipts reference is' : 'blocks that its receipts reference are'} missing, the first ${missing[0]}: the requests of those calls can't be shown; copy the session again from a store that has them`

/** Verifies sessions for the page, and remembers what was found. */
export class Verdicts {
  readonly #store: Store
  readonly #known = new Map<string, { readonly created: number; readonly found: Pick<Overview, 'found'> }>()

  constructor(store: Store) {
    this.#store = store
  }

  /** The verdict on a session, as `indelible verify` gives it. Throws a fault that is no damage. */
  async verify(id: string, gone: AbortSignal): Promise<Verdict> {
    const info = await describeSession(this.#store, id)
    const progress = (): void => gone.throwIfAborted() // nobody waits any more
    const verified = await verifyStored(this.#store, id, { progress })
    const damaged = isLeft(verified) ? await damageOf(this.#store, verified.left) : undefined
    if (isLeft(verified) && damaged === undefined) throw new FaultError(verified.left, faultMessage(verified.left))
    const missing = isLeft(verified) ? [] : verified.right.missing
    const problem = damaged === undefined ? missingText(missing) : damageText(damaged)
    const found = present({ damaged, problem })
    this.#known.set(id, { created: info.created, found: problem === undefined ? {} : { found } })
    return { missing, ...found }
  }

  /** What was found in a session that was verified before. */
  foundIn({ id, created }: Pick<SessionInfo, 'id' | 'created'>): Pick<Overview, 'found'> {
    const known = this.#known.get(id)
    return known?.created === created ? known.found : {}
  }
}
