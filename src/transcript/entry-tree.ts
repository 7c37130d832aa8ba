/**
 * The tree of a file's entries, without their content: who follows whom, and which item each entry is in.
 *
 * Memory: an id and 8 bytes an entry, so that files much larger than the memory can be read in one pass.
 */
import type { Range } from './line-format.ts'

export class EntryTree {
  readonly #ids = new Map<string, number>()
  #parents = new Int32Array(64)
  #items = new Int32Array(64)
  #size = 0

  /** How many entries there are. */
  get size(): number {
    return this.#size
  }

  /** Add an entry that follows `parent`, an earlier one, or none (-1). Of two with the same id, the later is found. */
  add(id: string | undefined, parent: number): number {
    const index = this.#size++
    if (index === this.#parents.length) {
      this.#parents = doubled(this.#parents)
      this.#items = doubled(this.#items)
    }
    this.#parents[index] = parent
    this.#items[index] = -1
    if (id !== undefined) this.#ids.set(id, index)
    return index
  }

  find(id: string): number | undefined {
    return this.#ids.get(id)
  }

  parent(index: number): number {
    return this.#parents[index] ?? -1
  }

  /** Say which item an entry is in. */
  hold(index: number, item: number): void {
    this.#items[index] = item
  }

  /** The item that an entry is in; -1 for none. */
  item(index: number): number {
    return this.#items[index] ?? -1
  }

  /** The first item of an entry at or after one. */
  firstItemFrom(index: number): number {
    for (let at = Math.max(0, index); at < this.#size; at++) if (this.item(at) >= 0) return this.item(at)
    return 0
  }

  /** Which entries are on the path from the root to a leaf: 1 for each that is. */
  path(leaf: number | undefined): Uint8Array {
    const on = new Uint8Array(this.#size)
    // A parent is always an earlier entry, so this ends.
    for (let at = leaf ?? -1; at >= 0; at = this.parent(at)) on[at] = 1
    return on
  }

  /** The items of entries that are not kept, as ranges. An item of several entries is kept if one of them is. */
  dropped(kept: Uint8Array, each: (count: number) => void): readonly Range[] {
    let last = -1
    for (let at = 0; at < this.#size; at++) last = Math.max(last, this.item(at))
    const keptItems = new Uint8Array(last + 1)
    const known = new Uint8Array(last + 1)
    for (let at = 0; at < this.#size; at++) {
      const item = this.item(at)
      if (item < 0) continue
      known[item] = 1
      if (kept[at] === 1) keptItems[item] = 1
    }
    const ranges: [number, number][] = []
    let count = 0
    for (let item = 0; item <= last; item++) {
      if (known[item] === 0 || keptItems[item] === 1) continue
      count += 1
      const before = ranges.at(-1)
      if (before?.[1] === item) before[1] = item + 1
      else ranges.push([item, item + 1])
    }
    if (count > 0) each(count)
    return ranges
  }
}

const doubled = (numbers: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> => {
  const larger = new Int32Array(numbers.length * 2)
  larger.set(numbers)
  return larger
}
