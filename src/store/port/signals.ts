/** Signals that a log may have changed, by log. A signal has no content; listeners read the log to see what is new. */

/** Called when a log may have changed. One call may cover several changes, or none. */
export type Wake = () => void

export class Signals {
  readonly #wakes = new Map<string, Set<Wake>>()

  /** Call `wake` at each signal for `key`, until the returned function is called. */
  add(key: string, wake: Wake): () => void {
    const own: Wake = () => wake() // a wrapper, because the same function may be added twice
    const wakes = this.#wakes.get(key) ?? new Set()
    this.#wakes.set(key, wakes)
    wakes.add(own)
    return () => {
      wakes.delete(own)
      if (wakes.size === 0 && this.#wakes.get(key) === wakes) this.#wakes.delete(key)
    }
  }

  /** Signal one key; without a key, all. */
  send(key?: string): void {
    for (const wakes of key === undefined ? [...this.#wakes.values()] : [this.#wakes.get(key) ?? []])
      for (const wake of [...wakes])
        try {
          wake()
        } catch {
          // a failing listener must not break the append that it is notified of
        }
  }

  get empty(): boolean {
    return this.#wakes.size === 0
  }
}

/** The key of a log in a scope. Neither name contains a NUL. */
export const signalKey = (scope: string, id: string): string => `${scope}\0${id}`
