/** Deltas: the messages one step appends, with the length they expect, so that applying one twice changes nothing. */
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import { jsonEqual, NotJson, snapshot, type Immutable, type Json } from '../json/index.ts'
import { createSidecar, type PageKind } from '../pages/index.ts'
import type { HistoryFault } from './fault.ts'
import type { History } from './history.ts'
import { emptyList, kindOf, logOf, record } from './log.ts'

export interface HistoryDelta<M> {
  readonly id: string
  /** The length of the history that these messages continue. */
  readonly expectedLen: number
  readonly append: readonly (M | Immutable<M>)[]
}

/**
 * Append the messages of a delta: all of them, or none and a fault.
 *
 * `applied` if the history had exactly the expected length. `duplicate` if the same messages (equal as JSON) already
 * stand where they would have gone; nothing changes then. A gap, another message at one of the positions, or a message
 * that can't be recorded is a fault that names the position.
 *
 * Cost    O(delta), independent of `len`
 * Throws  TypeError, if `history` was not made by this library; what the history's own `classify` throws
 * @example
 * const step = { id: 's1', expectedLen: 0, append: [user('hello')] }
 * applyDelta(history, step) // right('applied')
 * applyDelta(history, step) // right('duplicate')
 */
export const applyDelta = <M>(
  history: History<M>,
  delta: HistoryDelta<M>,
): Either<HistoryFault, 'applied' | 'duplicate'> => {
  const log = logOf(history)
  if (log === undefined) throw new TypeError('applyDelta needs a history that was made by createHistory or restoreHistory')
  if (typeof delta !== 'object' || delta === null) return left({ _tag: 'NotADelta', path: [], expected: 'an object' })
  const { id, expectedLen, append } = delta // read once: what is checked is what is used
  const problem = notADelta(id, expectedLen, append)
  if (problem !== undefined) return left(problem)

  const messages = emptyList<Immutable<M>>()
  const pages = createSidecar() // of its own: it refuses what is no page kind before anything is recorded
  for (let index = 0; index < append.length; index++) {
    try {
      const message = snapshot(append[index] as M) as Immutable<M>
      pages.append(kindOf(log, message))
      messages[index] = message
    } catch (error) {
      if (!(error instanceof NotJson)) throw error
      return left({ _tag: 'UnrecordableMessage', position: expectedLen + index, path: error.path, reason: error.reason })
    }
  }

  const len = log.entries.length
  if (expectedLen > len) return left({ _tag: 'DeltaGap', position: len, expectedLen })
  if (expectedLen === len) {
    const kinds = pages.view()
    for (let index = 0; index < messages.length; index++)
      record(log, messages[index] as Immutable<M>, kinds.at(index) as PageKind)
    return right('applied')
  }
  for (let index = 0; index < messages.length; index++) {
    const position = expectedLen + index
    const same = position < len && jsonEqual(log.entries[position] as Json, messages[index] as Json)
    if (!same) return left({ _tag: 'DeltaMismatch', position, len })
  }
  return right('duplicate')
}

const notADelta = (id: unknown, expectedLen: number, append: unknown): HistoryFault | undefined => {
  if (typeof id !== 'string') return { _tag: 'NotADelta', path: ['id'], expected: 'a string' }
  if (!Number.isSafeInteger(expectedLen) || expectedLen < 0)
    return { _tag: 'NotADelta', path: ['expectedLen'], expected: 'a length: a whole number from 0' }
  if (!Array.isArray(append)) return { _tag: 'NotADelta', path: ['append'], expected: 'an array of messages' }
  return undefined
}
