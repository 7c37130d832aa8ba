/**
 * Between the loop and whoever reads its events: a queue with a bound. A reader that is slow holds the loop up; where
 * nobody reads, what may be missed is left out beyond the bound and what may not be is kept.
 */
export class Channel<T> implements AsyncIterable<T> {
  readonly #bound: number
  readonly #left: () => void
  readonly #queue: T[] = []
  #reader: ((result: IteratorResult<T>) => void) | undefined
  #writer: (() => void) | undefined
  #read = false
  #taken = false
  #closed = false

  /** @param left called when a reader goes away before the end */
  constructor(bound: number, left: () => void) {
    this.#bound = bound
    this.#left = left
  }

  /** Hand over a value. Resolves when there is room for the next one. False: it was left out. */
  async push(value: T, mayBeMissed: boolean): Promise<boolean> {
    if (this.#closed) return false
    if (this.#reader !== undefined) {
      const reader = this.#reader
      this.#reader = undefined
      reader({ done: false, value })
      return true
    }
    if (this.#queue.length >= this.#bound && !this.#read && mayBeMissed) return false
    this.#queue.push(value)
    if (this.#queue.length > this.#bound && this.#read) await new Promise<void>((resolve) => (this.#writer = resolve))
    return true
  }

  /** Let the writer continue without a reader, because the run is to end. */
  release(): void {
    this.#read = false
    this.#writer?.()
  }

  close(): void {
    this.#closed = true
    this.#reader?.({ done: true, value: undefined })
    this.#reader = undefined
  }

  /** Throws Error, the second time: each event goes to one reader. */
  [Symbol.asyncIterator](): AsyncIterator<T> {
    if (this.#taken)
      throw new Error(
        'the events of a run are read once: somebody reads them already; await result() for what it came to',
      )
    this.#taken = true
    this.#read = true
    return {
      next: () => {
        const value = this.#queue.shift()
        if (this.#queue.length <= this.#bound) this.#writer?.()
        if (value !== undefined) return Promise.resolve({ done: false, value })
        if (this.#closed) return Promise.resolve({ done: true, value: undefined })
        return new Promise((resolve) => (this.#reader = resolve))
      },
      return: () => {
        this.release()
        if (!this.#closed) this.#left()
        return Promise.resolve({ done: true, value: undefined })
      },
    }
  }
}
