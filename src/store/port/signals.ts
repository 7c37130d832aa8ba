/** Signals that a log may have changed: who wants them, by log. A signal says nothing else; what is new is read. */

/** Called when a log may have changed. Several changes may be one call, and a call may come for nothing. */
export type Wake = () => void

export class Signals {
  readonly #wakes = new Map<string, Set<Wake>>()

  /** Call `wake` at each signal for `key`, until the returned function is called. */
  add(key: string, wake: Wake): () => void {
    const own: Wake = () => wake() // the same function may be added twice
    const wakes = this.#wakes.get(key) ?? new Set()
    this.#wakes.set(key, wakes)
    wakes.add(own)
    return () => {
      wakes.delete(own)
      if (wakes.size === 0 && this.#wakes.get(key) === wakes) this.#wakes.delete(key)
    }
  }

  /** Signal for one key; without one, for all. */
  send(key?: string): void {
    for (const wakes of key === undefined ? [...this.#wakes.values()] : [this.#wakes.get(key) ?? []])
      for (const wake of [...wakes])
        try {
          wake()
        } catch {
          // a listener that fails must not break the append that it is told of
        }
  }

  get empty(): boolean {
    return this.#wakes.size === 0
  }
}

/** A log among all scopes. Neither name has a NUL. */
export const signalKey = (scope: string, id: string): string => `${scope}\0${id}`
