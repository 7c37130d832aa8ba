/**
 * The tree of a file's entries, without their content: each entry's parent and items.
 *
 * Memory: an id and 28 bytes an entry, so files much larger than memory can be read in one pass.
 */
import { digestPair } from '../text/digest.ts'
import type { Range } from './line-format.ts'

/** What the tree keeps of an entry. */
interface TreeEntry {
  readonly id: string | undefined
  /** The index of an earlier entry; -1 for none. */
  readonly parent: number
  /** Its line in the file. */
  readonly line: number
  /** Whether it is a message of the conversation, and not information beside it. */
  readonly isMessage: boolean
  /** A number that the format stores with the entry. Default: 0. */
  readonly mark?: number
  /** Its content, to compare a later version of the entry with. Default: none. */
  readonly content?: string
}

export class EntryTree {
  readonly #ids = new Map<string, number>()
  readonly #parents = new Column()
  /** The format's number times two, plus one for a message. */
  readonly #marks = new Column()
  readonly #lines = new Column()
  readonly #digests = [new Column(), new Column()] as const
  readonly #first = new Column()
  readonly #counts = new Column()
  /** The entries for earlier versions, each with the entry of the latest version. */
  readonly #earlier = new Map<number, number>()
  #size = 0

  /** How many entries there are. */
  get size(): number {
    return this.#size
  }

  /** Add an entry. Of two entries with one id, `find` returns the later. */
  add({ id, parent, line, isMessage, mark = 0, content = '' }: TreeEntry): number {
    const index = this.#size++
    this.#parents.set(index, parent)
    this.#marks.set(index, mark * 2 + (isMessage ? 1 : 0))
    this.#lines.set(index, line)
    this.#digest(index, content)
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
    return this.#marks.get(index) >> 1
  }

  isMessage(index: number): boolean {
    return this.#marks.get(index) % 2 === 1
  }

  /** Set the items of an entry. An item may belong to several entries. */
  hold(index: number, first: number, count = 1): void {
    this.#first.set(index, first)
    this.#counts.set(index, count)
  }

  /** Whether an entry's line is repeated with this content. If not, `content` is that of its later version. */
  isRepeated(index: number, content: string): boolean {
    const before = this.#digests.map((column) => column.get(index))
    this.#digest(index, content)
    return this.#digests.every((column, at) => column.get(index) === before[at])
  }

  /**
   * Set the items of entries that share them. If they are a later version of other items, these stay.
   */
  holdLater(indexes: readonly number[], first: number, count: number): void {
    const [index] = indexes
    const before = index === undefined ? undefined : this.items(index)
    if (index !== undefined && before !== undefined) {
      const earlier = this.#size++
      this.#parents.set(earlier, this.parent(index))
      this.#marks.set(earlier, this.#marks.get(index) & ~1)
      this.#lines.set(earlier, this.#lines.get(index))
      this.hold(earlier, before[0], before[1] - before[0])
      this.#earlier.set(earlier, index)
    }
    for (const each of indexes) this.hold(each, first, count)
  }

  /** The items of an entry; undefined if it has none. */
  items(index: number): Range | undefined {
    const count = this.#counts.get(index)
    const first = this.#first.get(index)
    return count === 0 ? undefined : [first, first + count]
  }

  /** The first item of the entries from `index` on; 0 if there is none. */
  firstItemFrom(index: number): number {
    for (let at = Math.max(0, index); at < this.#size; at++) if (this.#counts.get(at) > 0) return this.#first.get(at)
    return 0
  }

  /**
   * The last entry of a conversation: the last message in the file among those that pass, or the last of the entries that
   * follow it. -1 for none.
   */
  leaf(isOne: (index: number) => boolean): number {
    let last = -1
    for (let at = 0; at < this.#size; at++)
      if (!this.#earlier.has(at) && isOne(at) && this.#isLater(at, last)) last = at
    if (last === -1) return -1
    const follows = new Uint8Array(this.#size)
    follows[last] = 1
    let leaf = last
    // Entries are in an order in which each is after its parent.
    for (let at = last + 1; at < this.#size; at++) {
      const parent = this.parent(at)
      if (parent < 0 || follows[parent] !== 1 || this.#earlier.has(at)) continue
      follows[at] = 1
      if (parent === leaf || this.#isLater(at, leaf)) leaf = at
    }
    return leaf
  }

  /** Whether an entry is a better end of the conversation than another: messages first, then the later line. */
  #isLater(index: number, than: number): boolean {
    if (than === -1) return true
    const [own, other] = [this.isMessage(index), this.isMessage(than)]
    return own === other ? this.#lines.get(index) >= this.#lines.get(than) : own
  }

  /** The path from the root to a leaf, as an array with 1 at each entry on it. */
  path(leaf: number): Uint8Array {
    const on = new Uint8Array(this.#size)
    // A parent is always an earlier entry, so this terminates.
    for (let at = leaf; at >= 0; at = this.parent(at)) on[at] = 1
    return on
  }

  /**
   * The items that belong to no kept entry, as ranges. Earlier versions of kept entries are kept, and information beside a
   * kept entry.
   *
   * @param also called for each entry that is not kept, after all kept ones: whether to keep it
   *   too. `isKept` tests whether another entry has items that are kept
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
    const isOn = kept.slice()
    const setState = (index: number, state: number): void => {
      for (let item = this.#first.get(index), left = this.#counts.get(index); left > 0; item++, left--)
        states[item] = Math.max(states[item] as number, state)
    }
    for (let at = 0; at < this.#size; at++) setState(at, kept[at] === 1 ? keptState : droppedState)
    const hasKept = (index: number): boolean =>
      this.#counts.get(index) > 0 && states[this.#first.get(index)] === keptState
    const isKept = (index: number): boolean => isOn[index] === 1 || hasKept(index)
    for (let at = 0; at < this.#size; at++) {
      if (isOn[at] === 1) continue
      const latest = this.#earlier.get(at)
      if (latest !== undefined ? !isKept(latest) : !(this.#isBeside(at, isKept) || also(at, hasKept))) continue
      isOn[at] = 1
      setState(at, keptState)
    }

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

  /** Whether an entry is information beside a kept one. */
  #isBeside(index: number, isKept: (index: number) => boolean): boolean {
    const parent = this.parent(index)
    return !this.isMessage(index) && parent >= 0 && isKept(parent)
  }

  #digest(index: number, content: string): void {
    const [a, b] = digestPair(content)
    this.#digests[0].set(index, a)
    this.#digests[1].set(index, b)
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
