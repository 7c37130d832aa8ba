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
import { evidenceTask, type EvidenceTask } from './fault.ts'

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
  evidenceTask(async () => {
    const because = { ...reason }
    const info = await describeSession(store, id)()
    if (isLeft(info)) return info
    const { head } = info.right
    const [log, identities] = await Promise.all([(store.encryption?.bare ?? store).info(id)(), store.identities(id)()])
    if (isLeft(log)) return log
    if (isLeft(identities)) return identities
    const logs = identities.right
    const keys = encryptionOf(log.right)?.keys ?? []
    const said = await appendToLedger(store, async ({ held, sessions, destroyed }: LedgerContent) => {
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
    })
    if (isLeft(said)) return said
    const there = await store.info(id)() // removed before the row was written: then nothing is held
    if (!isLeft(there) && said.right.isBack) {
      const back = await appendToLedger(store, async () => right({ rows: [{ type: 'head', id, head }], more: {} }))
      return mapRight(back, (row) => row.head)
    }
    if (!isLeft(there) || there.left._tag !== 'NoSuchLog') return right(said.right.head)
    const released = await releaseSession(store, id, because)()
    return isLeft(released) ? released : there
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
  evidenceTask(async () => {
    const content = await ledgerContent(store)
    if (isLeft(content)) return content
    const { held } = content.right
    if (held.size === 0) return right([])
    const info = await store.info(id)()
    if (isLeft(info)) return info
    const { head, entries } = info.right
    const shares = await store.sharing(id)()
    if (isLeft(shares)) return shares
    const found: MessageHold[] = []
    for (const { hold, rows } of holdsOnRows(held, { id, rows: head.size }, shares.right)) {
      const bare = store.encryption?.bare ?? store // whether it is a message needs no key
      const last = rows < head.size ? await bare.read(id, { from: rows, to: rows + 1 })() : right([])
      if (isLeft(last)) return last
      const [next] = last.right
      const messages = next === undefined ? entries : next.kind === 'entry' ? next.index : rows - next.index
      found.push(Object.freeze({ hold, messages }))
    }
    return right(Object.freeze(found))
  }, 'holdsOn')
