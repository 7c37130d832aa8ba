/**
 * Spans: fixed ranges of values over a storage that only grows at its end. Views, page kinds and the messages of a
 * derived context are spans. This class has their common parts: reading, iteration, and JavaScript behavior.
 *
 * It calls no methods of built-in prototypes on the storage, so patched code can't get hold of it.
 */
import { inspectKey, consoleTextOf } from './console.ts'
import { seclude } from './seclude.ts'
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
      const values: T[] = setPrototypeOf([], null) // runs no setter of Array.prototype
      let length = 0
      for (let rank = this.#from; rank < to; rank = this.#from + length) {
        const piece = this.#kind.piece(this as never, rank)
        const stored = piece.values
        const last = piece.index + minOf(piece.count, to - rank)
        for (let index = piece.index; index < last; index++) values[length++] = stored[index] as T
      }
      return freeze(setPrototypeOf(values, arrayPrototype))
    })
  }

  get toJSON(): () => readonly T[] {
    return this.toArray
  }

  [Symbol.iterator](): IterableIterator<T> {
    const to = this.#to
    let rank = this.#from
    let stored!: readonly T[] // set before it is read
    let index = 0
    let last = 0
    const advance = (): boolean => {
      if (rank >= to) return false
      const piece = this.#kind.piece(this as never, rank)
      const count = minOf(piece.count, to - rank)
      stored = piece.values
      index = piece.index
      last = index + count
      rank += count
      return true
    }
    const iterator: IterableIterator<T> = {
      next: () =>
        index < last || advance() ? { done: false, value: stored[index++] as T } : { done: true, value: undefined },
      [iteratorKey]: () => iterator,
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

/** An object instead of a pair: destructuring a pair calls the array iterator, which may be patched. */
export interface Bounds {
  /** The first index. */
  readonly start: number
  /** The index after the last one. */
  readonly end: number
}

/** The value at an index of any sequence. Arrays are read by index, because their `at` may be patched. */
export const itemAt = <T>(values: Sequence<T>, index: number): T =>
  (isArray(values) ? (values as readonly T[])[index] : values.at(index)) as T

const { defineProperty, freeze, setPrototypeOf } = Object
const arrayPrototype = Array.prototype
const { isArray } = Array
const iteratorKey: typeof Symbol.iterator = Symbol.iterator

const minOf = (one: number, other: number): number => (one < other ? one : other)

const clampIndex = (given: number | undefined, length: number, otherwise: number): number => {
  if (given === undefined) return otherwise
  const wanted = +given
  const fraction = wanted % 1 // NaN for infinity
  const whole = fraction === fraction ? wanted - fraction : wanted
  const position = whole < 0 ? length + whole : whole
  if (!(position > 0)) return 0
  return position >= length ? length : position
}

defineProperty(Span.prototype, inspectKey, {
  value(this: Span<unknown>, depth: number, options: object, inspect: unknown) {
    return consoleTextOf(`${this}`, this, depth, options, inspect)
  },
})
seclude(Span.prototype)
/** The prototype that classes of spans extend. */
export const spanPrototype: object = Span.prototype
