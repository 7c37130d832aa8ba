/**
 * Spans: fixed ranges of values over a storage that only grows at its end. Views, page kinds and the messages of a
 * derived context are spans. This class has their common parts: reading, iteration, and JavaScript behavior.
 */
import { inspectKey, consoleTextOf } from './console.ts'
import { sealClass } from './sealed-class.ts'
import type { Sequence } from './sequence.ts'

/** Adjacent values of the storage. */
export interface Piece<T> {
  /** The list that has them. */
  readonly values: readonly T[]
  readonly index: number
  /** Their number, which may exceed the span. */
  readonly count: number
}

/** The operations of a class of spans. A rank is a position in the storage minus the values left out before it. */
export interface SpanKind<Self, T> {
  readonly name: string
  /** The value at a rank. */
  readonly read: (span: Self, rank: number) => T
  /** The adjacent values from a rank. */
  readonly piece: (span: Self, rank: number) => Piece<T>
}

/**
 * The values from one rank up to, not including, another.
 *
 * Methods are prototype getters that return a function bound to the span, created on first use. So
 * `const { at } = span` and `list.map(span.at)` work, and a span only has the functions that are used.
 */
export class Span<T> implements Sequence<T> {
  /** Its functions accept instances of the class that created this span. */
  readonly #kind: SpanKind<never, T>
  readonly #from: number
  readonly #to: number
  #at: ((position: number) => T | undefined) | undefined
  #toArray: (() => readonly T[]) | undefined

  constructor(kind: SpanKind<never, T>, from: number, to: number) {
    this.#kind = kind
    this.#from = from
    this.#to = to
  }

  get length(): number {
    return this.#to - this.#from
  }

  get at(): (position: number) => T | undefined {
    return (this.#at ??= (position) => {
      const rank = indexAt(position, this.#from, this.#to)
      return rank === -1 ? undefined : this.#kind.read(this as never, rank)
    })
  }

  get toArray(): () => readonly T[] {
    return (this.#toArray ??= () => {
      const to = this.#to
      const values: T[] = []
      for (let rank = this.#from; rank < to; rank = this.#from + values.length) {
        const piece = this.#kind.piece(this as never, rank)
        const last = piece.index + Math.min(piece.count, to - rank)
        for (let index = piece.index; index < last; index++) values.push(piece.values[index] as T)
      }
      return Object.freeze(values)
    })
  }

  get toJSON(): () => readonly T[] {
    return this.toArray
  }

  /** Not a generator, which would take twice the time. */
  [Symbol.iterator](): IterableIterator<T> {
    const to = this.#to
    let rank = this.#from
    let piece: Piece<T> = { values: [], index: 0, count: 0 }
    let index = 0
    let last = 0
    const iterator: IterableIterator<T> = {
      next: () => {
        if (index === last) {
          if (rank === to) return { done: true, value: undefined }
          piece = this.#kind.piece(this as never, rank)
          index = piece.index
          last = index + Math.min(piece.count, to - rank)
          rank += last - index
        }
        return { done: false, value: piece.values[index++] as T }
      },
      [Symbol.iterator]: () => iterator,
    }
    return iterator
  }

  /** `View(5)`. Not `toString`, because fast-deep-equal would compare by it. */
  [Symbol.toPrimitive](): string {
    return `${this.#kind.name}(${this.length})`
  }
}

/** The rank at an index of a span. A negative index counts from the end. -1 outside the span, and for a fraction. */
export const indexAt = (position: number, start: number, end: number): number => {
  const wanted = +position // converted once: an object may convert to another number each time
  const index = wanted < 0 ? end + wanted : start + wanted
  return index >= start && index < end && index >>> 0 === index ? index : -1
}

/** The bounds of `slice(from, to)` over `length` values, by the rules of `Array.prototype.slice`. */
export const sliceBounds = (length: number, from: number | undefined, to: number | undefined): Bounds => {
  const start = clampIndex(from, length, 0)
  const end = clampIndex(to, length, length)
  return { start, end: end < start ? start : end }
}

export interface Bounds {
  /** The first index. */
  readonly start: number
  /** The index after the last one. */
  readonly end: number
}

/** The value at an index of any sequence that has one. */
export const itemAt = <T>(values: Sequence<T>, index: number): T => values.at(index) as T

const clampIndex = (index: number | undefined, length: number, otherwise: number): number => {
  if (index === undefined) return otherwise
  const wanted = +index
  const fraction = wanted % 1 // NaN for infinity
  const whole = fraction === fraction ? wanted - fraction : wanted
  const position = whole < 0 ? length + whole : whole
  if (!(position > 0)) return 0
  return position >= length ? length : position
}

Object.defineProperty(Span.prototype, inspectKey, {
  value(this: Span<unknown>, depth: number, options: object, inspect: unknown) {
    return consoleTextOf(`${this}`, this, depth, options, inspect)
  },
})
sealClass(Span)
