/** Holds: a session that is held may not be erased or removed until it is released. Each is a row of the ledger. */
import { emptyRange } from 'indelible/proof/kit'
import { mapRight, isLeft, left, right } from 'indelible/json/kit'
import { describeSession } from 'indelible/session'
import type { Because, Head, Hold, Store, StoreFaultOf } from 'indelible/store'
import {
  appendToLedger,
  encryptionOf,
  headOf,
  holdsOnRows,
  ledgerContent,
  sameHead,
  type LedgerContent,
} from 'indelible/store/kit'
import { fail, need } from 'indelible/task/kit'
import { evidenceSteps, evidenceTask, type EvidenceTask } from './fault.ts'

/**
 * Hold a session: from here on, erasing its messages, removing it or destroying its key is the fault `LogHeld`, also of messages that it shares
 * with others, until `releaseSession`. A session that is held already stays so, and nothing is written. One that the ledger
 * calls removed although it is there, because it was restored or its removal was not completed, is held too, and the ledger
 * says that it is there.
 *
 * Cost    one append to the ledger, which is made if there is none
 * Errors  `NoSuchLog`, also if it was removed meanwhile; `NoKey` if its key was destroyed; `NotALedger`
 *
 * @param reason the reason and the person, for the ledger
 * @returns the head of the ledger
 */
export const holdSession = (store: Store, id: string, reason: Because = {}): EvidenceTask<Head> =>
  evidenceSteps(async function* () {
    const because = { ...reason }
    const { head } = yield* need(describeSession(store, id))
    const [log, identities] = await Promise.all([(store.encryption?.bare ?? store).info(id)(), store.identities(id)()])
    const keys = encryptionOf(yield* need(log))?.keys ?? []
    const logs = yield* need(identities)
    const said = yield* need(
      appendToLedger(store, async ({ held, sessions, destroyed }: LedgerContent) => {
        const key = keys.find((name) => destroyed.has(name))
        if (key !== undefined)
          return left<StoreFaultOf<'NoKey'>>({
            _tag: 'NoKey',
            id,
            key,
            reason: 'the ledger says that its key was destroyed',
          })
        const entry = sessions.get(id)
        const isBack = entry?.removed === true && sameHead(entry.head, head)
        return right({ rows: held.has(id) ? [] : [{ type: 'held', id, head, logs, ...because }], more: { isBack } })
      }),
    )
    const there = await store.info(id)() // removed before the row was written: then nothing is held
    if (!isLeft(there) && said.isBack) {
      const row = { type: 'head', id, head } as const
      return (yield* need(appendToLedger(store, async () => right({ rows: [row], more: {} })))).head
    }
    if (!isLeft(there) || there.left._tag !== 'NoSuchLog') return said.head
    yield* need(releaseSession(store, id, because))
    return yield* fail(there.left)
  }, 'holdSession')

/**
 * End the hold of a session. Nothing is written if it is not held.
 *
 * Cost    one append to the ledger
 * Errors  `NoSuchLog` if it is not held and not there; `NotALedger`
 *
 * @param reason the reason and the person, for the ledger
 * @returns the head of the ledger
 */
export const releaseSession = (store: Store, id: string, reason: Because = {}): EvidenceTask<Head> =>
  evidenceTask(async () => {
    const because = { ...reason }
    const info = await describeSession(store, id)()
    const said = await appendToLedger(store, async ({ held, sessions }: LedgerContent) => {
      if (!held.has(id)) return isLeft(info) ? info : right({ rows: [], more: {} })
      // One that can't be read any more can be released, too.
      const head = isLeft(info) ? (sessions.get(id)?.head ?? headOf(emptyRange, store.hash)) : info.right.head
      return right({ rows: [{ type: 'released', id, head, ...because }], more: {} })
    })
    return mapRight(said, (row) => row.head)
  }, 'releaseSession')

/** A hold, and how many of the first messages of a session it keeps. */
export interface MessageHold {
  /** The hold: of the session itself, or of another that shares its first messages. */
  readonly hold: Hold
  /** How many of the session's messages, from the first, may not be erased. */
  readonly messages: number
}

/**
 * The holds that keep messages of a session from being erased.
 *
 * Cost    O(new rows of the ledger + sessions that share messages with it)
 * Errors  `NoSuchLog`, `NotALedger`, `CannotErase`
 *
 * @returns the holds; none if every message may be erased
 */
export const holdsOn = (store: Store, id: string): EvidenceTask<readonly MessageHold[]> =>
  evidenceSteps(async function* () {
    const { held } = yield* need(ledgerContent(store))
    if (held.size === 0) return Object.freeze([])
    const { head, entries } = yield* need(store.info(id))
    const shares = yield* need(store.sharing(id))
    const found: MessageHold[] = []
    for (const { hold, rows } of holdsOnRows(held, { id, rows: head.size }, shares)) {
      const bare = store.encryption?.bare ?? store // whether it is a message needs no key
      const [next] = rows < head.size ? yield* need(bare.read(id, { from: rows, to: rows + 1 })) : []
      const messages = next === undefined ? entries : next.kind === 'entry' ? next.index : rows - next.index
      found.push(Object.freeze({ hold, messages }))
    }
    return Object.freeze(found)
  }, 'holdsOn')
