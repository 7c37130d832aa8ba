/**
 * Spans: a fixed range, from `start` up to, not including, `end`, over storage that only grows at its end. Views and
 * page kinds are spans; this is the arithmetic and the iteration that they share.
 *
 * No method of a built-in prototype is called on the storage, so code that patches one cannot get hold of it.
 */

import type { Sequence } from './sequence.ts'

/** Reads the value at an index of the storage. */
export type Read<T> = (index: number) => T

/** The index of a position in a span, a negative one counted from its end; -1 outside, and for a fraction. */
export const indexAt = (position: number, start: number, end: number): number => {
  const wanted = +position // once: what is not a number may answer differently each time
  const index = wanted < 0 ? end + wanted : start + wanted
  return index >= start && index < end && index >>> 0 === index ? index : -1
}

/** The bounds of `slice(from, to)` over `length` values, by the rules of `Array.prototype.slice`. */
export const sliceBounds = (length: number, from: number | undefined, to: number | undefined): Bounds => {
  const start = bound(from, length, 0)
  const end = bound(to, length, length)
  return { start, end: end < start ? start : end }
}

/** An object and not a pair: to take a pair apart calls the array iterator, which somebody may have patched. */
export interface Bounds {
  /** The first index. */
  readonly start: number
  /** The index after the last one. */
  readonly end: number
}

/** A fresh frozen array of a span. Cost: O(length). */
export const collect = <T>(read: Read<T>, start: number, end: number): readonly T[] => {
  const values: T[] = setPrototypeOf([], null) // so that no setter of Array.prototype runs
  for (let index = start; index < end; index++) values[index - start] = read(index)
  return freeze(setPrototypeOf(values, arrayPrototype))
}

/** The value at a place of any sequence: of an array by its index, for its `at` is everybody's. */
export const itemAt = <T>(values: Sequence<T>, index: number): T =>
  (isArray(values) ? (values as readonly T[])[index] : values.at(index)) as T

/** An iterator over a span. */
export const iterate = <T>(read: Read<T>, start: number, end: number): IterableIterator<T> => {
  let index = start
  const iterator: IterableIterator<T> = {
    next: () => (index < end ? { done: false, value: read(index++) } : { done: true, value: undefined }),
    [iteratorKey]: () => iterator,
  }
  return iterator
}

const { freeze, setPrototypeOf } = Object
const arrayPrototype = Array.prototype
const { isArray } = Array
const iteratorKey: typeof Symbol.iterator = Symbol.iterator

const bound = (given: number | undefined, length: number, otherwise: number): number => {
  if (given === undefined) return otherwise
  const wanted = +given
  const fraction = wanted % 1 // NaN for an infinity
  const whole = fraction === fraction ? wanted - fraction : wanted
  const position = whole < 0 ? length + whole : whole
  if (!(position > 0)) return 0
  return position >= length ? length : position
}
