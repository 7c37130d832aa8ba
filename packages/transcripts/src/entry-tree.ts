/**
 * The tree of a file's entries, without their content: who follows whom, and which items came of each entry.
 *
 * Memory: an id and 16 bytes an entry, so that files much larger than the memory can be read in one pass.
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
   * Add an entry that follows `parent`, an earlier one, or none (-1). Of two with the same id, the later is found.
   *
   * @param mark a number that the format remembers of the entry
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

  /** Say which items came of an entry. An item may come of several. */
  hold(index: number, first: number, count = 1): void {
    this.#first.set(index, first)
    this.#counts.set(index, count)
  }

  /** The first item of the entries at or after one; 0 if there is no item. */
  firstItemFrom(index: number): number {
    for (let at = Math.max(0, index); at < this.#size; at++) if (this.#counts.get(at) > 0) return this.#first.get(at)
    return 0
  }

  /** The path from the root to a leaf: an array of 1 for each entry that is on it. */
  path(leaf: number): Uint8Array {
    const on = new Uint8Array(this.#size)
    // A parent is always an earlier entry, so this ends.
    for (let at = leaf; at >= 0; at = this.parent(at)) on[at] = 1
    return on
  }

  /**
   * The items that come of no kept entry, as ranges.
   *
   * @param also called for each entry that is not kept, once all that are have been looked at: whether it is kept with
   *        one of them, which `keeps` tells
   */
  dropped(
    kept: Uint8Array,
    each: (count: number) => void,
    also: (index: number, keeps: (index: number) => boolean) => boolean = () => false,
  ): readonly Range[] {
    let end = 0
    for (let at = 0; at < this.#size; at++)
      if (this.#counts.get(at) > 0) end = Math.max(end, this.#first.get(at) + this.#counts.get(at))
    const states = new Uint8Array(end)
    const say = (index: number, state: number): void => {
      for (let item = this.#first.get(index), left = this.#counts.get(index); left > 0; item++, left--)
        states[item] = Math.max(states[item] as number, state)
    }
    for (let at = 0; at < this.#size; at++) say(at, kept[at] === 1 ? keptState : droppedState)
    const keeps = (index: number): boolean =>
      this.#counts.get(index) > 0 && states[this.#first.get(index)] === keptState
    for (let at = 0; at < this.#size; at++) if (kept[at] === 0 && also(at, keeps)) say(at, keptState)

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

/** A column of whole numbers that grows; 0 where none was set. */
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
