/** What can be read of a record: positions in it, and views of it. */
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
 * A prefix or range of a history, or what `without` leaves of one, as a value: its content never changes, whatever is appended later. Constant in size,
 * deeply readonly. Branded: only a history gives one.
 */
export interface View<M> extends ViewBrand, Sequence<Immutable<M>> {
  /** How many messages the view has. It never changes. */
  readonly length: number
  /** The message at a position; a negative one counts from the end; `undefined` outside. Cost: O(log ranges). */
  readonly at: (position: number) => Immutable<M> | undefined
  /** The range from `start` up to, not including, `end`; bounds as in `Array.prototype.slice`. Cost: O(1), shares storage. */
  readonly slice: (start?: number, end?: number) => View<M>
  /**
   * Where the message at an index stands in its history: the same number, unless the view begins later or leaves some
   * out. At `length` it is where the view ends: of a view of everything, where the next message will stand.
   * Cost: O(log ranges).
   */
  readonly positionAt: (index: number) => Position | undefined
  /**
   * How many of its messages stand before a position of the history. `slice(before(from), before(to))` are those from
   * one position up to another. Cost: O(log ranges).
   */
  readonly before: (position: number) => number
  /** The page kind of every message: same length as the view, always. */
  readonly pages: Pages
  /** A fresh frozen array of the messages. Cost: O(length); the messages themselves are shared. */
  readonly toArray: () => readonly Immutable<M>[]
  /** What `JSON.stringify` writes: the messages, as `toArray()`. Page kinds are saved from `pages`. */
  readonly toJSON: () => readonly Immutable<M>[]
}
