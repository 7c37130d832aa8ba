/**
 * A map that grows without copying all of it: a few new entries over many old ones. The older map
 * is unchanged.
 */
export class LayeredMap<V> implements ReadonlyMap<string, V> {
  readonly #below: ReadonlyMap<string, V>
  readonly #above: ReadonlyMap<string, V>
  readonly size: number

  private constructor(below: ReadonlyMap<string, V>, above: ReadonlyMap<string, V>) {
    this.#below = below
    this.#above = above
    let size = below.size
    for (const key of above.keys()) if (!below.has(key)) size += 1
    this.size = size
  }

  /**
   * A map with more entries. Cost: O(new entries + √size), amortized.
   *
   * @param map the map, which is not changed
   * @param more the new entries, which replace those with the same key. The caller must not change them afterwards
   * @returns the map with both
   */
  static grown<V>(map: ReadonlyMap<string, V>, more: ReadonlyMap<string, V>): ReadonlyMap<string, V> {
    if (map.size === 0) return more
    if (more.size === 0) return map
    const [below, between] = map instanceof LayeredMap ? [map.#below, map.#above] : [map, new Map<string, V>()]
    const above = new Map([...between, ...more])
    return above.size ** 2 > below.size ? new Map([...below, ...above]) : new LayeredMap(below, above)
  }

  get(key: string): V | undefined {
    return this.#above.has(key) ? this.#above.get(key) : this.#below.get(key)
  }

  has(key: string): boolean {
    return this.#above.has(key) || this.#below.has(key)
  }

  *entries(): MapIterator<[string, V]> {
    for (const [key, value] of this.#below) yield [key, this.#above.has(key) ? (this.#above.get(key) as V) : value]
    for (const [key, value] of this.#above) if (!this.#below.has(key)) yield [key, value]
  }

  *keys(): MapIterator<string> {
    for (const [key] of this.entries()) yield key
  }

  *values(): MapIterator<V> {
    for (const [, value] of this.entries()) yield value
  }

  forEach(work: (value: V, key: string, map: ReadonlyMap<string, V>) => void): void {
    for (const [key, value] of this.entries()) work(value, key, this)
  }

  [Symbol.iterator](): MapIterator<[string, V]> {
    return this.entries()
  }
}
