/** Holds: a session that is held may not be erased or removed until it is released. Each is a row of the ledger. */
import { isLeft, left, right } from '../json/index.ts'
import { describeSession } from '../session/index.ts'
import { appendToLedger, type Because, type Head, type LedgerContent, type Store } from '../store/index.ts'
import { evidenceTask, type EvidenceTask } from './fault.ts'

/**
 * Hold a session: from here on, erasing its messages or removing it is the fault `LogHeld`, also of messages that it shares
 * with others, until `releaseSession`. A session that is held already stays so, and nothing is written.
 *
 * Cost    one append to the ledger, which is made if there is none
 * Errors  `NoSuchLog`, also if its removal was begun; `NotALedger`
 *
 * @param store the store with the session
 * @param id the session
 * @param because the reason and the person, for the ledger
 * @returns the head of the ledger
 */
export const holdSession = (store: Store, id: string, because: Because = {}): EvidenceTask<Head> =>
  mark(store, id, 'held', because)

/**
 * End the hold of a session. Nothing is written if it is not held.
 *
 * Cost    one append to the ledger
 * Errors  `NoSuchLog`, `NotALedger`
 *
 * @param store the store with the session
 * @param id the session
 * @param because the reason and the person, for the ledger
 * @returns the head of the ledger
 */
export const releaseSession = (store: Store, id: string, because: Because = {}): EvidenceTask<Head> =>
  mark(store, id, 'released', because)

const mark = (store: Store, id: string, type: 'held' | 'released', because: Because): EvidenceTask<Head> =>
  evidenceTask(
    async () => {
      const info = await describeSession(store, id)()
      if (isLeft(info)) return info
      const { head } = info.right
      const said = await appendToLedger(store, async ({ held, sessions }: LedgerContent) => {
        const entry = sessions.get(id)
        const going = entry?.removed === true && entry.head.root === head.root && entry.head.size === head.size
        if (going) return left({ _tag: 'NoSuchLog' as const, id })
        const is = held.has(id)
        return right({ rows: is === (type === 'held') ? [] : [{ type, id, head, ...because }], more: {} })
      })
      return isLeft(said) ? said : right(said.right.head)
    },
    `${type === 'held' ? 'hold' : 'release'}Session`,
  )
