/** Positions and views: the read side of a record. */
import type { Immutable } from '../json/index.ts'
import type { Sequence } from '../sequence/index.ts'
import type { Pages } from '../pages/internal.ts'

declare const position: unique symbol

/** Zero-based index of an entry in its history. Branded: appends and views return them. */
export type Position = number & { readonly [position]: true }

declare class ViewBrand {
  readonly #view: never
}

/**
 * A prefix or range of a history, possibly with gaps made by `omitRanges`. It is a deeply readonly value
 * of constant size: later appends never change its content. Branded: only a history makes one.
 */
export interface View<M> extends ViewBrand, Sequence<Immutable<M>> {
  /**
   * The messages as an array, built on first read and frozen. It is enumerable, as is `pages`, so two views are
   * deeply equal if their messages and page kinds are, and `{ ...view }` and `structuredClone(view)` have both.
   */
  readonly messages: readonly Immutable<M>[]
  /** The number of messages. It never changes. */
  readonly length: number
  /**
   * The message at an index. Cost: O(log ranges).
   *
   * @param position the index in the view, from 0; a negative one counts from the end
   * @returns the message; undefined outside the view
   */
  readonly at: (position: number) => Immutable<M> | undefined
  /**
   * A part of the view. Cost: O(1), because it shares storage.
   *
   * @param start the first index; a negative one counts from the end. Default: 0
   * @param end the index after the last one; a negative one counts from the end. Default: `length`
   */
  readonly slice: (start?: number, end?: number) => View<M>
  /**
   * The history position of the message at an index. It equals the index, unless the view starts
   * later or leaves messages out. At `length` it is the end of the view; for a view of all
   * messages, that is the position of the next message. Cost: O(log ranges).
   *
   * @param index an index in the view, from 0 to `length`
   * @returns the position; undefined for any other index
   */
  readonly positionAt: (index: number) => Position | undefined
  /**
   * The number of messages in the view before a position of the history. `slice(before(from), before(to))`
   * returns the messages from one position up to another. Cost: O(log ranges).
   *
   * @param position a position of the history
   */
  readonly before: (position: number) => number
  /** The page kind of each message. It always has the same length as the view. Enumerable. */
  readonly pages: Pages
  /** A new frozen array of the messages. Cost: O(length); the messages themselves are shared. */
  readonly toArray: () => readonly Immutable<M>[]
  /**
   * The value for `JSON.stringify`: the messages, as `toArray()` returns them. It has no page kinds; save `pages` too.
   */
  readonly toJSON: () => readonly Immutable<M>[]
}
