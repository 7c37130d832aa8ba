/** New histories: empty, from a view, or from messages. */
import { isArray, NotJson, optionsOf, ownItems, type Recordable } from '../json/index.ts'
import { classify as classifyMessage } from '../pages/index.ts'
import type { Classify, History } from './history.ts'
import { append, continueFrom, emptyLog, handleOf, type Log } from './log.ts'
import { partOf } from './read.ts'
import { lenOf } from './state.ts'
import type { View } from './view.ts'

/** How a history starts, and how it classifies messages. */
export interface HistoryOptions<M> {
  /** The first messages. A view keeps its page kinds; other messages are classified. Default: none. */
  readonly from?: View<M> | Iterable<M>
  /** Returns the page kind of a message appended without one. Default: `classify` of `indelible/pages`. */
  readonly classify?: Classify<M>
}

/**
 * Create a history: empty, or starting with the messages of `from`.
 *
 * Cost    O(length of `from`); the entries of a view are shared, not copied
 *
 * @param options the first messages, and how to classify. Default: an empty history
 * @returns the handle: the only way to append to this history
 * @throws TypeError naming the position and the path, if a message of `from` is not plain JSON data
 * @example
 * const history = createHistory<Message>()
 * history.append(user('hello')) // => 0
 */
export const createHistory = <M extends Recordable<M>>(options: HistoryOptions<M> = {}): History<M> => {
  const { from = [], classify = classifyMessage } = optionsOf('createHistory', options, { from: true, classify: true })
  if (typeof from === 'string') throw new TypeError('createHistory: `from` is a string; expected a view or messages')
  const log = emptyLog<M>(classify)
  const part = partOf<M>(from)
  if (part !== undefined) continueFrom(log, part)
  else for (const message of (isArray(from) ? ownItems(from) : from) as Iterable<M>) appendOrThrow(log, message)
  return handleOf(log)
}

const appendOrThrow = <M>(log: Log<M>, message: M): void => {
  try {
    append(log, message)
  } catch (error) {
    throw error instanceof NotJson ? new NotJson([lenOf(log.content), ...error.path], error.reason) : error
  }
}
