/** A map that keeps what was used last, so that it can't grow with every id there ever was. */
export class Lately<K, V> {
  readonly #most: number
  readonly #entries = new Map<K, V>()

  /** @param most how many entries it keeps */
  constructor(most: number) {
    this.#most = most
  }

  /** How many entries it has. */
  get size(): number {
    return this.#entries.size
  }

  /** A value, which counts as used now. */
  get(key: K): V | undefined {
    const value = this.#entries.get(key)
    if (value !== undefined) this.#put(key, value)
    return value
  }

  /** Keep a value; gives the key of the one that it took the place of. */
  set(key: K, value: V): K | undefined {
    this.#put(key, value)
    if (this.#entries.size <= this.#most) return undefined
    const [oldest] = this.#entries.keys()
    this.#entries.delete(oldest as K)
    return oldest
  }

  delete(key: K): boolean {
    return this.#entries.delete(key)
  }

  /** The one that was used last at the end. */
  keys(): IterableIterator<K> {
    return this.#entries.keys()
  }

  #put(key: K, value: V): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
  }
}
