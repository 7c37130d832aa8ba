/**
 * Slices of long operations: after 256 rows, or 1 MiB of their texts, other work gets a turn of the event loop. So a
 * lease can be renewed and a request answered while a million rows are read.
 */
import type { SignalLike } from '../../task/index.ts'
import type { StoreFaultOf } from '../fault.ts'

/** The most rows between two turns of the event loop, and the number of rows in one read. */
export const sliceRows = 256
/** The most bytes, or characters, of rows between two turns. */
export const sliceBytes: number = 1 << 20

/** The fault of an operation whose signal was aborted; undefined: it goes on. */
export const cancelled = (signal: SignalLike | undefined): StoreFaultOf<'Cancelled'> | undefined =>
  signal?.aborted === true ? { _tag: 'Cancelled', cause: signal.reason } : undefined

export class Slices {
  #rows = 0
  #bytes = 0

  /** Count a row of this many bytes or characters. Resolves when the operation may go on; undefined: immediately. */
  next(bytes = 0): Promise<void> | undefined {
    this.#rows += 1
    this.#bytes += bytes
    if (this.#rows < sliceRows && this.#bytes < sliceBytes) return undefined
    this.#rows = 0
    this.#bytes = 0
    return nextTurn()
  }
}

/** Runs work that yields the bytes of each row that it has done. */
export const inSlices = async <T>(work: Generator<number, T>): Promise<T> => {
  const slices = new Slices()
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
    const turn = slices.next(step.value)
    if (turn !== undefined) await turn
  }
}

/** Like `inSlices`, in one turn. */
export const atOnce = <T>(work: Generator<number, T>): T => {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}

/** The next turn of the event loop. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => (typeof setImmediate === 'function' ? setImmediate(resolve) : setTimeout(resolve, 0)))

// Every runtime has a timer. They are declared here, so that the code depends on no runtime's types.
declare const setImmediate: ((callback: () => void) => unknown) | undefined
declare const setTimeout: (callback: () => void, milliseconds: number) => unknown
