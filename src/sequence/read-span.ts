/** Spans whose values a function reads: sequences of a fixed length over a private buffer that may grow. */
import { defineGetter, getterFrom, sealClass } from './sealed-class.ts'
import type { Sequence } from './sequence.ts'
import { Span, type SpanKind } from './span.ts'

/** A readonly run of values that compares, clones and prints as its `items`. */
export interface ReadonlySpan<T> extends Sequence<T> {
  /** The values as an array, built on first access. Enumerable and frozen. */
  readonly items: readonly T[]
  /** A new frozen array of the values. */
  readonly toArray: () => readonly T[]
  /** Used by `JSON.stringify`: the same as `toArray()`. */
  readonly toJSON: () => readonly T[]
}

export const spanOf = <T>(length: number, read: (index: number) => T): ReadonlySpan<T> => new ReadSpan(read, length)

class ReadSpan<T> extends Span<T> {
  readonly #read: (index: number) => T
  #items: readonly T[] | undefined

  static readonly #kind: SpanKind<ReadSpan<unknown>, unknown> = {
    name: 'Span',
    read: (span, index) => span.#read(index),
    piece: (span, index) => ({ values: [span.#read(index)], index: 0, count: 1 }),
  }

  constructor(read: (index: number) => T, length: number) {
    super(ReadSpan.#kind as SpanKind<never, T>, 0, length)
    this.#read = read
    defineGetter(this, 'items', items)
    Object.freeze(this)
  }

  get items(): readonly T[] {
    return (this.#items ??= this.toArray())
  }
}
const items = getterFrom(ReadSpan, 'items')
sealClass(ReadSpan)
