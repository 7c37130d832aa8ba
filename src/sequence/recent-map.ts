/** A map of bounded size that keeps the most recently used entries. */
export class RecentMap<K, V> {
  readonly #most: number
  readonly #weigh: (value: V) => number
  readonly #entries = new Map<K, V>()
  #weight = 0

  /**
   * @param most the maximum number of entries, or their maximum weight
   * @param weigh the weight of a value. Default: 1
   */
  constructor(most: number, weigh: (value: V) => number = () => 1) {
    this.#most = most
    this.#weigh = weigh
  }

  get size(): number {
    return this.#entries.size
  }

  /** The total weight of its entries. */
  get weight(): number {
    return this.#weight
  }

  /** The value of a key, which then counts as most recently used. */
  get(key: K): V | undefined {
    const value = this.#entries.get(key)
    if (value !== undefined) {
      this.#entries.delete(key)
      this.#entries.set(key, value)
    }
    return value
  }

  has(key: K): boolean {
    return this.#entries.has(key)
  }

  /** Store a value, unless it exceeds the maximum weight alone. Returns the key of the last entry evicted for it. */
  set(key: K, value: V): K | undefined {
    const weight = this.#weigh(value)
    this.delete(key)
    if (weight > this.#most) return undefined
    this.#entries.set(key, value)
    this.#weight += weight
    if (this.#weight <= this.#most) return undefined
    let gone: K | undefined
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#most) break
      this.delete(oldest)
      gone = oldest
    }
    return gone
  }

  delete(key: K): boolean {
    const value = this.#entries.get(key)
    if (value !== undefined) this.#weight -= this.#weigh(value)
    return this.#entries.delete(key)
  }

  /** The keys, least recently used first. */
  keys(): IterableIterator<K> {
    return this.#entries.keys()
  }
}
