/**
 * The handle: the only way to add to a record. A holder of a `History` can append to it and read
 * it. No other operation exists, at compile time or at run time.
 */
import type { Immutable } from '../json/index.ts'
import type { PageKind } from '../pages/index.ts'
import type { Position, View } from './view.ts'

declare class HistoryBrand {
  readonly #history: never
}

/** An append-only history of messages of type `M`: any plain JSON data. Branded: only this library makes one. */
export interface History<M> extends HistoryBrand {
  /**
   * Append one message and return its position.
   *
   * The message is copied and frozen, so changing yours later does not change the record.
   *
   * Cost    amortised O(1), independent of `len` (bench: append)
   * Source  codetether-agent `session/history.rs`
   *
   * @param message the message: plain JSON data
   * @param page the page kind of the message, for memory management. Default: the history's `classify` decides
   * @returns the position of the message, from 0
   * @throws TypeError naming the path, if the message is not plain JSON data or the page kind is
   * unknown; the history is unchanged
   * @example
   * const history = createHistory<Message>()
   * history.append(user('hello')) // => 0
   */
  readonly append: (message: M | Immutable<M>, page?: PageKind) => Position
  /** All messages so far, as a value that never changes. Cost: O(1). */
  readonly view: () => View<M>
  /** The number of messages. */
  readonly len: number
}

/**
 * Returns the page kind of a message appended without one.
 *
 * @param message the frozen copy of the message
 */
export type Classify<M> = (message: Immutable<M>) => PageKind
