/** Reads a part of a long session. */
import { checkStore } from './store-of.ts'
import { describe, present } from '../../json/index.ts'
import { createHistory, type View } from '../../history/index.ts'
import type { Message } from '../../message/index.ts'
import { NamedBlocks, takeMessage } from '../../entry/internal.ts'
import type { LogFault, Store } from '../../store/index.ts'
import { sessionSteps } from '../fault.ts'
import { fail, need, type Task } from '../../task/index.ts'
import { blocksOf, decodeRows } from './loaded-record.ts'

/** A range of messages. */
export interface MessageRange {
  /** The position of the first message of the range. */
  readonly from: number
  /** The messages of the range. */
  readonly view: View<Message>
  /** The time of each append, in milliseconds since 1970. */
  readonly times: readonly number[]
}

/**
 * Read the messages from `from` up to, not including, `to`, by the rules of `Array.prototype.slice`.
 *
 * Cost    O(messages read + log length)
 *
 * @param store the store that has the session
 * @param id the id of the session
 * @param from the first position; a negative one counts from the end. Default: 0
 * @param to the position after the last one; a negative one counts from the end. Default: the end
 * @returns the messages, and the position of the first one
 * @example
 * const { view } = await readRange(store, 'notes', -50) // the last fifty
 */
export const readRange = (store: Store, id: string, from?: number, to?: number): Task<LogFault, MessageRange> => {
  checkStore('readRange', store)
  checkBound('from', from)
  checkBound('to', to)
  return sessionSteps(async function* () {
    const rows = yield* need(store.read(id, { only: 'entry', ...present({ from, to }) }))
    const decoded = yield* need(decodeRows(id, rows))
    const blocks = yield* need(blocksOf(store, id, decoded))
    const history = createHistory<Message>()
    const texts = new NamedBlocks()
    for (const row of decoded) {
      const reason = row.kind === 'entry' ? takeMessage(history, row.entry, blocks, undefined, texts) : undefined
      if (reason !== undefined) return yield* fail({ _tag: 'DamagedLog', id, position: row.position, reason })
    }
    const times = Object.freeze(rows.map(({ at }) => at))
    return Object.freeze({ from: rows[0]?.index ?? 0, view: history.view(), times })
  }, 'readRange')
}

const checkBound = (name: string, bound: unknown): void => {
  if (bound !== undefined && (typeof bound !== 'number' || Number.isNaN(bound)))
    throw new TypeError(
      `readRange: ${name} is ${describe(bound)}; expected a position, or a negative number to count from the end`,
    )
}
