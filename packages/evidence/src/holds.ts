/** Holds: a session on hold can't be erased or removed until it is released. Each hold is a row of the ledger. */
import type { Task } from 'indelible'
import * as E from '#fp-ts/Either'
import { pipe } from '#fp-ts/function'
import { checkStore } from 'indelible/internal/session'
import { emptyRange } from 'indelible/internal/proof'
import { optionsOf, isLeft, left, right } from 'indelible/internal/json'
import { describeSession } from 'indelible/session'
import type { Head, Store, StoreFaultOf } from 'indelible/store'
import {
  appendToLedger,
  encryptionOf,
  headOf,
  holdsWithRowCounts,
  ledgerContent,
  sameHead,
  type LedgerContent,
  reasonNames,
  type ActionReason,
  type Hold,
} from 'indelible/internal/store'
import { fail, need } from 'indelible/internal/task'
import { evidenceSteps, type AnyEvidenceFault, evidenceTask } from './fault.ts'

/**
 * Put a session on hold: until `releaseSession`, erasing its messages (even those it shares with other
 * sessions), removing it or destroying its key is the fault `LogHeld`. If the session is already on
 * hold, nothing is written. A session that the ledger lists as removed but that exists, because it was
 * restored or its removal did not complete, can be held too; the ledger then records that it exists.
 *
 * Cost    one append to the ledger, which is created if missing
 * Errors  `NoSuchLog`, also if it was removed in the meantime; `NoKey` if its key was destroyed; `NotALedger`
 *
 * @param reason the reason and the person, recorded in the ledger
 */
export const holdSession = (store: Store, id: string, reason: ActionReason = {}): Task<AnyEvidenceFault, Head> => {
  checkStore('holdSession', store)
  const because = optionsOf('holdSession', reason, reasonNames)
  return evidenceSteps(async function* () {
    const { head } = yield* need(describeSession(store, id))
    const [log, identities] = await Promise.all([(store.encryption?.bare ?? store).info(id)(), store.identities(id)()])
    const keys = encryptionOf(yield* need(log))?.keys ?? []
    const logs = yield* need(identities)
    const appended = yield* need(
      appendToLedger(store, async ({ held, sessions, destroyed }: LedgerContent) => {
        const key = keys.find((name) => destroyed.has(name))
        if (key !== undefined)
          return left<StoreFaultOf<'NoKey'>>({
            _tag: 'NoKey',
            id,
            key,
            reason: 'the ledger records that its key was destroyed',
          })
        const entry = sessions.get(id)
        const isBack = entry?.removed === true && sameHead(entry.head, head)
        return right({ rows: held.has(id) ? [] : [{ type: 'held', id, head, logs, ...because }], more: { isBack } })
      }),
    )
    const there = await store.info(id)() // removed before the row was written: nothing to hold
    if (!isLeft(there) && appended.isBack) {
      const row = { type: 'head', id, head } as const
      return (yield* need(appendToLedger(store, async () => right({ rows: [row], more: {} })))).head
    }
    if (!isLeft(there) || there.left._tag !== 'NoSuchLog') return appended.head
    yield* need(releaseSession(store, id, because))
    return yield* fail(there.left)
  }, 'holdSession')
}

/**
 * Release a session from its hold. If it is not held, nothing is written.
 *
 * Cost    one append to the ledger
 * Errors  `NoSuchLog` if it is neither held nor existing; `NotALedger`
 *
 * @param reason the reason and the person, recorded in the ledger
 */
export const releaseSession = (store: Store, id: string, reason: ActionReason = {}): Task<AnyEvidenceFault, Head> => {
  checkStore('releaseSession', store)
  const because = optionsOf('releaseSession', reason, reasonNames)
  return evidenceTask(async () => {
    const info = await describeSession(store, id)()
    const appended = await appendToLedger(store, async ({ held, sessions }: LedgerContent) => {
      if (!held.has(id)) return isLeft(info) ? info : right({ rows: [], more: {} })
      // A session that can't be read any more can still be released.
      const head = isLeft(info) ? (sessions.get(id)?.head ?? headOf(emptyRange, store.hash)) : info.right.head
      return right({ rows: [{ type: 'released', id, head, ...because }], more: {} })
    })
    return pipe(
      appended,
      E.map((row) => row.head),
    )
  }, 'releaseSession')
}

/** A hold, and the number of messages it protects. */
export interface MessageHold {
  /** The hold on the session, or on another one that shares its first messages. */
  readonly hold: Hold
  /** The number of messages, from the first, that can't be erased. */
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
export const listHolds = (store: Store, id: string): Task<AnyEvidenceFault, readonly MessageHold[]> => {
  checkStore('listHolds', store)
  return evidenceSteps(async function* () {
    const { held } = yield* need(ledgerContent(store))
    const bare = store.encryption?.bare ?? store // no key is needed for these
    const { head, entries } = yield* need(bare.info(id))
    if (held.size === 0) return Object.freeze([])
    const shares = yield* need(store.sharing(id))
    const found: MessageHold[] = []
    for (const { hold, rows } of holdsWithRowCounts(held, { id, rows: head.size }, shares)) {
      const [next] = rows < head.size ? yield* need(bare.read(id, { from: rows, to: rows + 1 })) : []
      const messages = next === undefined ? entries : next.kind === 'entry' ? next.index : rows - next.index
      found.push(Object.freeze({ hold, messages }))
    }
    return Object.freeze(found)
  }, 'listHolds')
}
