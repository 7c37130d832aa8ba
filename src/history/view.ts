/** The readable side of a record: positions and views. */
import type { Immutable } from '../json/index.ts'
import type { Pages } from '../pages/index.ts'
import type { Sequence } from '../sequence/index.ts'

declare const position: unique symbol

/** Zero-based index of an entry in its history. Branded: only an append gives one. */
export type Position = number & { readonly [position]: true }

declare class ViewBrand {
  readonly #view: never
}

/**
 * A prefix or range of a history, or what `without` leaves of one. It is a value: its content never changes, whatever
 * is appended later. Its size is constant, and it is deeply readonly. Branded: only a history gives one.
 */
export interface View<M> extends ViewBrand, Sequence<Immutable<M>> {
  /**
   * The messages as an array, made when it is first read. It is frozen, and enumerable beside `pages`: two views are
   * deeply equal if their messages and page kinds are, and `{ ...view }` and `structuredClone(view)` have both.
   */
  readonly messages: readonly Immutable<M>[]
  /** How many messages the view has. It never changes. */
  readonly length: number
  /**
   * The message at an index. Cost: O(log ranges).
   *
   * @param position the index in the view, from 0; a negative one counts from the end
   * @returns the message; undefined outside the view
   */
  readonly at: (position: number) => Immutable<M> | undefined
  /**
   * A part of the view. Cost: O(1); it shares storage.
   *
   * @param start the first index; a negative one counts from the end. Default: 0
   * @param end the index after the last one; a negative one counts from the end. Default: `length`
   * @returns the part, as a view
   */
  readonly slice: (start?: number, end?: number) => View<M>
  /**
   * The position in the history of the message at an index. It equals the index, unless the view begins later or leaves
   * messages out. At `length` it is the end of the view: for a view of everything, the position of the next message.
   * Cost: O(log ranges).
   *
   * @param index an index in the view, from 0 to `length`
   * @returns the position; undefined for any other index
   */
  readonly positionAt: (index: number) => Position | undefined
  /**
   * The number of messages in the view that stand before a position of the history. `slice(before(from), before(to))`
   * has the messages from one position up to another. Cost: O(log ranges).
   *
   * @param position a position of the history
   * @returns the number of messages
   */
  readonly before: (position: number) => number
  /** The page kind of every message: same length as the view, always. Enumerable. */
  readonly pages: Pages
  /**
   * A new frozen array of the messages. Cost: O(length); the messages themselves are shared.
   *
   * @returns the array
   */
  readonly toArray: () => readonly Immutable<M>[]
  /**
   * The value that `JSON.stringify` writes: the messages, as `toArray()`. Save the page kinds from `pages`.
   *
   * @returns the array
   */
  readonly toJSON: () => readonly Immutable<M>[]
}
