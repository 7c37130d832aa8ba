/**
 * The tree of a file's entries, without their content: each entry's parent and items.
 *
 * Memory: an id and 16 bytes an entry, so files much larger than memory can be read in one pass.
 */
import type { Range } from './line-format.ts'

export class EntryTree {
  readonly #ids = new Map<string, number>()
  readonly #parents = new Column()
  readonly #marks = new Column()
  readonly #first = new Column()
  readonly #counts = new Column()
  #size = 0

  /** How many entries there are. */
  get size(): number {
    return this.#size
  }

  /**
   * Add an entry that follows `parent`, an earlier index or -1. Of two entries with one id, `find` returns the later.
   *
   * @param mark a number that the format stores with the entry
   */
  add(id: string | undefined, parent: number, mark = 0): number {
    const index = this.#size++
    this.#parents.set(index, parent)
    this.#marks.set(index, mark)
    if (id !== undefined) this.#ids.set(id, index)
    return index
  }

  find(id: string): number | undefined {
    return this.#ids.get(id)
  }

  /** -1 for none. */
  parent(index: number): number {
    return this.#parents.get(index)
  }

  mark(index: number): number {
    return this.#marks.get(index)
  }

  /** Set the items of an entry. An item may belong to several entries. */
  hold(index: number, first: number, count = 1): void {
    this.#first.set(index, first)
    this.#counts.set(index, count)
  }

  /** The first item of the entries from `index` on; 0 if there is none. */
  firstItemFrom(index: number): number {
    for (let at = Math.max(0, index); at < this.#size; at++) if (this.#counts.get(at) > 0) return this.#first.get(at)
    return 0
  }

  /** The path from the root to a leaf, as an array with 1 at each entry on it. */
  path(leaf: number): Uint8Array {
    const on = new Uint8Array(this.#size)
    // A parent is always an earlier entry, so this terminates.
    for (let at = leaf; at >= 0; at = this.parent(at)) on[at] = 1
    return on
  }

  /**
   * The items that belong to no kept entry, as ranges.
   *
   * @param also called for each entry that is not kept, after all kept ones: whether to keep it
   *   too. `isKept` tests whether another entry is kept
   */
  dropped(
    kept: Uint8Array,
    each: (count: number) => void,
    also: (index: number, isKept: (index: number) => boolean) => boolean = () => false,
  ): readonly Range[] {
    let end = 0
    for (let at = 0; at < this.#size; at++)
      if (this.#counts.get(at) > 0) end = Math.max(end, this.#first.get(at) + this.#counts.get(at))
    const states = new Uint8Array(end)
    const setState = (index: number, state: number): void => {
      for (let item = this.#first.get(index), left = this.#counts.get(index); left > 0; item++, left--)
        states[item] = Math.max(states[item] as number, state)
    }
    for (let at = 0; at < this.#size; at++) setState(at, kept[at] === 1 ? keptState : droppedState)
    const isKept = (index: number): boolean =>
      this.#counts.get(index) > 0 && states[this.#first.get(index)] === keptState
    for (let at = 0; at < this.#size; at++) if (kept[at] === 0 && also(at, isKept)) setState(at, keptState)

    const ranges: [number, number][] = []
    let count = 0
    for (let item = 0; item < end; item++) {
      if (states[item] !== droppedState) continue
      count += 1
      const before = ranges.at(-1)
      if (before?.[1] === item) before[1] = item + 1
      else ranges.push([item, item + 1])
    }
    if (count > 0) each(count)
    return ranges
  }
}

const droppedState = 1
const keptState = 2

/** A growable column of integers, initially 0. */
class Column {
  #numbers = new Int32Array(64)

  get(index: number): number {
    return this.#numbers[index] ?? 0
  }

  set(index: number, value: number): void {
    if (index >= this.#numbers.length) {
      const larger = new Int32Array(this.#numbers.length * 2)
      larger.set(this.#numbers)
      this.#numbers = larger
    }
    this.#numbers[index] = value
  }
}
