/**
 * Heights of the items of a long list, and their sums: a Fenwick tree. A list of 100,000 items is asked and told in a few
 * steps, whatever item changes.
 *
 * Source  Fenwick, "A new data structure for cumulative frequency tables", 1994
 */
export class Heights {
  readonly #heights: Float64Array
  readonly #sums: Float64Array
  readonly #top: number

  constructor(count: number, heightOf: (index: number) => number) {
    this.#heights = new Float64Array(count)
    this.#sums = new Float64Array(count + 1)
    for (let index = 0; index < count; index++) {
      const height = heightOf(index)
      this.#heights[index] = height
      this.#sums[index + 1] = height
    }
    for (let node = 1; node <= count; node++) {
      const parent = node + (node & -node)
      if (parent <= count) this.#sums[parent] = (this.#sums[parent] as number) + (this.#sums[node] as number)
    }
    this.#top = count === 0 ? 0 : 2 ** Math.floor(Math.log2(count))
  }

  get count(): number {
    return this.#heights.length
  }

  /** How high an item is. */
  of(index: number): number {
    return this.#heights[index] ?? 0
  }

  /** Tell the height of an item. Gives the difference. */
  set(index: number, height: number): number {
    const change = height - this.of(index)
    if (change === 0 || index >= this.count) return 0
    this.#heights[index] = height
    for (let node = index + 1; node <= this.count; node += node & -node)
      this.#sums[node] = (this.#sums[node] as number) + change
    return change
  }

  /** Where an item begins; of the count, where all end. */
  startOf(index: number): number {
    let sum = 0
    for (let node = Math.min(index, this.count); node > 0; node -= node & -node) sum += this.#sums[node] as number
    return sum
  }

  /** The item that a place is in; the last one for all places behind it. */
  at(offset: number): number {
    let index = 0
    let rest = offset
    for (let step = this.#top; step >= 1; step /= 2) {
      const next = index + step
      if (next > this.count || (this.#sums[next] as number) > rest) continue
      index = next
      rest -= this.#sums[next] as number
    }
    return Math.max(0, Math.min(index, this.count - 1))
  }
}
