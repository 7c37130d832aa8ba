/** Deltas: the messages that one step appends and the length it expects. Applying a delta twice changes nothing. */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from '../either/index.ts'
import { type Immutable, type Json, jsonEqual, NotJson, optionsOf, ownFields, ownItems } from '../json/index.ts'
import type { PageKind } from '../pages/index.ts'
import { codeOf } from '../pages/internal.ts'
import { countWhile } from '../sequence/index.ts'
import type { DeltaFault, HistoryFaultOf } from './fault.ts'
import type { History } from './history.ts'
import { copyFor, kindOf, logOf, record, type Applied } from './log.ts'
import { lenOf, messageAt } from './state.ts'

/** The messages of one step. */
export interface HistoryDelta<M> {
  /** The id of the step. The handle remembers it: the same messages under another id are a mismatch. */
  readonly id: string
  /** The length of the history that these messages continue. */
  readonly expectedLen: number
  /** The messages, in order. */
  readonly append: readonly (M | Immutable<M>)[]
}

/** How to apply a delta. */
interface DeltaOptions {
  /**
   * True if the history was restored and does not know its delta ids. Equal messages at the delta's
   * positions then count as a duplicate. Default: false.
   */
  readonly resume?: boolean
}

/**
 * Append the messages of a delta: all of them, or none and a fault.
 *
 * Returns `applied` if the history has exactly the expected length, and `duplicate` if this handle already applied
 * the delta with equal messages (as JSON). A duplicate changes nothing. A gap, a different message at one of the
 * positions, a position filled by something else, or an unrecordable message is a fault that names the position.
 *
 * A handle remembers the ids of the deltas it applied. Messages from `append`, from a view or from `restoreHistory`
 * have no id: equal messages there are a duplicate with `resume`, and a `DeltaMismatch` without it.
 *
 * Cost    O(delta + log of the number of deltas), independent of `len`; each delta takes a few dozen bytes
 *
 * @param history the history to append to
 * @param delta the messages of one step, and the length that they continue
 * @param options whether the history was restored. Default: it was not
 * @returns `applied` or `duplicate`; or `DeltaGap`, `DeltaMismatch`, `NotADelta`, `UnrecordableMessage`,
 * `CallbackThrew`
 * @throws TypeError if this library did not make `history`
 * @example
 * const step = { id: 's1', expectedLen: 0, append: [user('hello')] }
 * applyDelta(history, step) // right('applied')
 * applyDelta(history, step) // right('duplicate')
 */
export const applyDelta = <M>(
  history: History<M>,
  delta: HistoryDelta<M>,
  options: DeltaOptions = {},
): Either<DeltaFault, 'applied' | 'duplicate'> => {
  const resume = optionsOf('applyDelta', options, { resume: true }).resume === true
  const log = logOf(history)
  if (log === undefined) throw new TypeError('applyDelta needs a history from createHistory or restoreHistory')
  if (typeof delta !== 'object' || delta === null) return left({ _tag: 'NotADelta', path: [], expected: 'an object' })
  const { id, expectedLen, append } = ownFields(delta) // read once, so that the checked values are the used values
  const problem = deltaShapeFault(id, expectedLen, append)
  if (problem !== undefined) return left(problem)

  const messages: Immutable<M>[] = []
  const kinds: PageKind[] = []
  for (const item of ownItems(append)) {
    let callback = 'append' // what calls the caller's code: reading the message, `check`, `classify`
    try {
      const message = copyFor(log, item as M)
      callback = 'check'
      log.check?.(message)
      callback = 'classify'
      const kind = kindOf(log, message)
      codeOf(kind) // throws on an unknown page kind before anything is recorded
      messages.push(message)
      kinds.push(kind)
    } catch (error) {
      const position = expectedLen + messages.length
      if (error instanceof NotJson)
        return left({ _tag: 'UnrecordableMessage', position, path: error.path, reason: error.reason })
      if (log.link === undefined) return left({ _tag: 'CallbackThrew', callback, cause: error })
      if (!(error instanceof TypeError)) throw error // the linked record takes no more
      return left({ _tag: 'UnrecordableMessage', position, path: [], reason: error.message })
    }
  }

  const len = lenOf(log.content)
  if (expectedLen > len) return left({ _tag: 'DeltaGap', position: len, expectedLen })
  if (expectedLen === len) {
    const passOn = messages.map((message, index) => log.link?.prepare(message, kinds[index] as PageKind))
    messages.forEach((message, index) => record(log, message, kinds[index] as PageKind))
    for (const pass of passOn) pass?.()
    if (messages.length > 0) log.deltas.push({ id, start: len, end: len + messages.length })
    return right('applied')
  }
  let unknown: number | undefined // the first position that no delta of this handle filled
  for (const [index, message] of messages.entries()) {
    const position = expectedLen + index
    const same = position < len && jsonEqual(messageAt(log.content, position) as Json, message as Json)
    if (!same) return left({ _tag: 'DeltaMismatch', position, len })
    const owner = deltaAt(log.deltas, position)
    if (owner === undefined) unknown ??= position
    if (owner !== undefined && owner.id !== id)
      return left({ _tag: 'DeltaMismatch', position, len, appliedBy: owner.id })
  }
  if (unknown === undefined || resume) return right('duplicate')
  return left({ _tag: 'DeltaMismatch', position: unknown, len, equal: true })
}

/** Finds the delta that filled a position by binary search; the deltas are in order. */
const deltaAt = (deltas: readonly Applied[], position: number): Applied | undefined => {
  const found = deltas[countWhile(deltas.length, (index) => (deltas[index] as Applied).end <= position)]
  return found !== undefined && position >= found.start ? found : undefined
}

const deltaShapeFault = (
  id: unknown,
  expectedLen: number,
  append: unknown,
): HistoryFaultOf<'NotADelta'> | undefined => {
  if (typeof id !== 'string') return { _tag: 'NotADelta', path: ['id'], expected: 'a string' }
  if (!Number.isSafeInteger(expectedLen) || expectedLen < 0)
    return { _tag: 'NotADelta', path: ['expectedLen'], expected: 'a whole number of at least 0' }
  if (!Array.isArray(append)) return { _tag: 'NotADelta', path: ['append'], expected: 'an array of messages' }
  return undefined
}
