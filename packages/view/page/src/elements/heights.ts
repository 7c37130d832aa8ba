import { firstWhere } from '../first-where.ts'

/** Heights of the items of a long list, and where each begins: the sums behind a changed item are counted when asked for. */
export class Heights {
  readonly #heights: Float64Array
  readonly #starts: Float64Array
  /** Up to which item `#starts` is right. */
  #counted = 0

  constructor(count: number, heightOf: (index: number) => number) {
    this.#heights = Float64Array.from({ length: count }, (_, index) => heightOf(index))
    this.#starts = new Float64Array(count + 1)
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
    if (index >= this.count) return 0
    const change = height - this.of(index)
    this.#heights[index] = height
    if (change !== 0) this.#counted = Math.min(this.#counted, index)
    return change
  }

  /** Where an item begins; of the count, where all end. */
  startOf(index: number): number {
    const last = Math.min(index, this.count)
    for (; this.#counted < last; this.#counted++)
      this.#starts[this.#counted + 1] = (this.#starts[this.#counted] as number) + this.of(this.#counted)
    return this.#starts[last] as number
  }

  /** The item that a place is in; the last one for all places behind it. */
  at(offset: number): number {
    const next = firstWhere(this.count, (index) => this.startOf(index + 1) > offset)
    return Math.max(0, Math.min(next, this.count - 1))
  }
}
