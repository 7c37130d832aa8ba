/**
 * A span: a fixed range over storage that only ever grows at its end. It is what makes a view constant in size and
 * constant in content: it holds two numbers and a function that reads one entry.
 *
 * Everything here is plain arithmetic and own properties. No method of a built-in prototype is called on the storage,
 * so code that patches one cannot get hold of it.
 */
import type { Sequence } from './sequence.ts'

export interface Span<T> extends Sequence<T> {
  /** A fresh frozen array of the values. */
  readonly toArray: () => readonly T[]
  readonly [Symbol.iterator]: () => IterableIterator<T>
}

/** The values that `read` gives for `start` up to, not including, `end`. */
export const spanOf = <T>(read: (index: number) => T, start: number, end: number): Span<T> => ({
  length: end - start,
  at: (position) => {
    const index = position < 0 ? end + position : start + position
    return index >= start && index < end ? read(index) : undefined
  },
  toArray: () => {
    const values: T[] = []
    for (let index = start; index < end; index++) values[index - start] = read(index)
    return freeze(values)
  },
  [Symbol.iterator]: () => {
    let index = start
    const iterator: IterableIterator<T> = {
      next: () =>
        index < end ? { done: false, value: read(index++) } : { done: true, value: undefined },
      [Symbol.iterator]: () => iterator,
    }
    return iterator
  },
})

/** The bounds of `slice(from, to)` over `length` values, by the rules of `Array.prototype.slice`. */
export const sliceBounds = (length: number, from: number | undefined, to: number | undefined): readonly [number, number] => {
  const start = bound(from, length, 0)
  const end = bound(to, length, length)
  return [start, end < start ? start : end]
}

const { freeze } = Object

const bound = (given: number | undefined, length: number, otherwise: number): number => {
  if (given === undefined) return otherwise
  const fraction = given % 1 // NaN for an infinity
  const whole = fraction === fraction ? given - fraction : given
  const position = whole < 0 ? length + whole : whole
  if (!(position > 0)) return 0
  return position >= length ? length : position
}
