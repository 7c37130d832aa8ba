/** Spans: sequences of a fixed length over a private buffer that may grow behind them. Constant in size, frozen. */
import { collect, indexAt, iterate, seclude, type Read, type Sequence } from '../sequence/index.ts'

/** A sequence that can be written as JSON. */
export interface Span<T> extends Sequence<T> {
  /**
   * A new frozen array of the values.
   *
   * @returns the array
   */
  readonly toArray: () => readonly T[]
  /**
   * The value that `JSON.stringify` writes: the same as `toArray()`.
   *
   * @returns the array
   */
  readonly toJSON: () => readonly T[]
}

export const spanOf = <T>(length: number, read: Read<T>): Span<T> => new ReadSpan(read, length)

class ReadSpan<T> {
  readonly #read: Read<T>
  readonly #length: number

  constructor(read: Read<T>, length: number) {
    this.#read = read
    this.#length = length
    Object.freeze(this)
  }

  get length(): number {
    return this.#length
  }

  at(position: number): T | undefined {
    const index = indexAt(position, 0, this.#length)
    return index === -1 ? undefined : this.#read(index)
  }

  toArray(): readonly T[] {
    return collect(this.#read, 0, this.#length)
  }

  toJSON(): readonly T[] {
    return this.toArray()
  }

  [Symbol.iterator](): IterableIterator<T> {
    return iterate(this.#read, 0, this.#length)
  }

  /** How Node's console shows it. */
  [Symbol.for('nodejs.util.inspect.custom')](): unknown {
    return this.toArray()
  }
}

seclude(ReadSpan.prototype)
