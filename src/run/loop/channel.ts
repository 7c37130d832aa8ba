/**
 * A bounded queue between the loop and the reader of its events. A slow reader makes the loop wait.
 * Without a reader, values beyond the bound are dropped if they may be missed, and kept otherwise.
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

  /** @param left called when a reader stops before the end */
  constructor(bound: number, left: () => void) {
    this.#bound = bound
    this.#left = left
  }

  /** Adds a value. Resolves when there is room for the next one; false if the value was dropped. */
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

  /** Lets the writer continue without a reader, because the run must end. */
  release(): void {
    this.#read = false
    this.#writer?.()
  }

  close(): void {
    this.#closed = true
    this.#reader?.({ done: true, value: undefined })
    this.#reader = undefined
  }

  /** Throws an Error on the second call: there can be only one reader. */
  [Symbol.asyncIterator](): AsyncIterator<T> {
    if (this.#taken)
      throw new Error(
        'the events of a run can be read only once, and another reader has them; await result() for the outcome',
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
