/**
 * The handle: the only way into a record. Whoever holds a `History` may append to it and read it; there is no other
 * operation, at compile time or at run time.
 */
import type { Immutable } from '../json/index.ts'
import type { PageKind } from '../pages/index.ts'
import type { Position, View } from './view.ts'

declare class HistoryBrand {
  readonly #history: never
}

/** An append-only history of messages of type `M`: any type of plain JSON data. Branded: `createHistory` makes one. */
export interface History<M> extends HistoryBrand {
  /**
   * Append one message and return its position.
   *
   * The message is copied and frozen: changing yours later changes nothing here. `page` tags what the entry is for
   * memory management; without it the history's `classify` decides.
   *
   * Cost    amortised O(1), independent of `len` (bench: append)
   * Throws  TypeError naming the path, if the message is not plain JSON data or the page kind is not one; the history
   *         is unchanged
   * Source  codetether-agent `session/history.rs`
   * @example
   * const history = createHistory<Message>()
   * history.append(user('hello')) // => 0
   */
  readonly append: (message: M | Immutable<M>, page?: PageKind) => Position
  /** Everything recorded so far, as a value that never changes. Cost: O(1). */
  readonly view: () => View<M>
  /** How many messages are recorded. */
  readonly len: number
}

/** Decides the page kind of a message that is appended without one. It sees the frozen copy. */
export type Classify<M> = (message: Immutable<M>) => PageKind
