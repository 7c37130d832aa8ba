/** New histories: empty, from a view, or from messages. */
import { NotJson } from '../json/index.ts'
import { classify as classifyMessage, type PageKind } from '../pages/index.ts'
import type { Classify, History } from './history.ts'
import { append, emptyLog, handleOf, rangeOf, record, type Log } from './log.ts'
import type { View } from './view.ts'

export interface HistoryOptions<M> {
  /** What the history starts with. A view brings its page kinds along; other messages are classified. */
  readonly from?: View<M> | Iterable<M>
  /** The page kind of a message that is appended without one. Default: `classify` of `indelible/pages`. */
  readonly classify?: Classify<M>
}

/**
 * A new history, empty or starting with the messages of `from`.
 *
 * Cost    O(length of `from`); the entries of a view are shared, not copied
 * Throws  TypeError naming position and path, if something in `from` can't be recorded
 * @example
 * const history = createHistory<Message>()
 * history.append(user('hello')) // => 0
 */
export const createHistory = <M>(options: HistoryOptions<M> = {}): History<M> => {
  const { from, classify = classifyMessage } = options
  const log = emptyLog<M>(classify)
  if (from !== undefined) fill(log, from)
  return handleOf(log)
}

const fill = <M>(log: Log<M>, from: View<M> | Iterable<M>): void => {
  const range = rangeOf<M>(from)
  if (range !== undefined) {
    // Read entry by entry from the log itself: what it holds is frozen and classified already.
    const pages = range.log.pages.view()
    for (let index = range.start; index < range.end; index++)
      record(log, range.log.read(index), pages.at(index) as PageKind)
    return
  }
  let position = 0
  for (const message of from as Iterable<M>) {
    try {
      append(log, message)
    } catch (error) {
      throw error instanceof NotJson ? new NotJson([position, ...error.path], error.reason) : error
    }
    position += 1
  }
}
