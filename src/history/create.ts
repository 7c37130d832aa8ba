/** New histories: empty, from a view, or from messages. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { NotJson, optionsOf, type Recordable } from '../json/index.ts'
import { classify as classifyMessage } from '../pages/index.ts'
import { checkOf } from './check.ts'
import type { Classify, History } from './history.ts'
import { append, continueFrom, emptyLog, handleOf } from './log.ts'
import { pagedOf, type Paged } from './paged.ts'
import { partOf } from './read.ts'
import { lenOf } from './state.ts'
import type { View } from './view.ts'

/** How a history starts, and how it classifies messages. */
export interface HistoryOptions<M> {
  /** The first messages. A view, and `{ ...view }`, keep the page kinds; other messages are classified. Default: none. */
  readonly from?: View<M> | Paged<M> | Iterable<M>
  /** Returns the page kind of a message appended without one. Default: `classify` of `indelible/pages`. */
  readonly classify?: Classify<M>
  /**
   * A schema that each message must match, also those of `from`: a Standard Schema, as of zod, valibot or arktype, that
   * needs no promise. It only checks: the message is recorded as it was appended. A history that starts from a view of this
   * one has its own. Default: any plain JSON data is recorded.
   */
  readonly check?: StandardSchemaV1<unknown, M>
}

/**
 * Create a history: empty, or starting with the messages of `from`.
 *
 * Cost    O(length of `from`); the entries of a view are shared, not copied
 *
 * @param options the first messages, and how to classify. Default: an empty history
 * @returns the handle: the only way to append to this history
 * @throws TypeError naming the position and the path, if a message of `from` is not plain JSON data, or `check` refuses it
 * @example
 * const history = createHistory<Message>()
 * history.append(user('hello')) // => 0
 */
export const createHistory = <M extends Recordable<M>>(options: HistoryOptions<M> = {}): History<M> => {
  const { from = [], classify = classifyMessage, check } = optionsOf('createHistory', options, optionNames)
  if (typeof from === 'string') throw new TypeError('createHistory: `from` is a string; expected a view or messages')
  const log = emptyLog<M>(classify, check === undefined ? undefined : checkOf('createHistory', check))
  const part = partOf<M>(from)
  if (part !== undefined) {
    if (check !== undefined)
      for (const [position, message] of [...(from as View<M>)].entries())
        withPosition(position, () => log.check?.(message))
    continueFrom(log, part)
  } else {
    const { messages, pages } = pagedOf<M>(from as Paged<M> | Iterable<M>)
    log.isLoading = true
    for (const message of messages) {
      const position = lenOf(log.content)
      withPosition(position, () => append(log, message, pages.at(position)))
    }
    log.isLoading = false
  }
  return handleOf(log)
}

const optionNames = { from: true, classify: true, check: true } as const

/** Run, and let an error about a message name its position. */
const withPosition = (position: number, run: () => unknown): void => {
  try {
    run()
  } catch (error) {
    throw error instanceof NotJson ? error.at(position) : error
  }
}
