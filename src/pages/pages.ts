/** The page kinds of a view: beside the messages and never inside them. */
import { collect, indexAt, iterate, seclude, type Read } from '../sequence/index.ts'
import { codeOf, kindOfCode, type PageKind } from './kind.ts'

declare class PagesBrand {
  readonly #pages: never
}

/** The page kinds of a view: as many as the view has entries, always. Branded: only a view gives one. */
export interface Pages extends PagesBrand, Iterable<PageKind> {
  /** The number of entries. */
  readonly length: number
  /**
   * The kind at an index.
   *
   * @param position the index, from 0; a negative one counts from the end
   * @returns the kind; undefined outside
   */
  readonly at: (position: number) => PageKind | undefined
  /**
   * The number of entries of a kind. Cost: O(length) bytes read.
   *
   * @param kind a page kind
   * @returns the number
   */
  readonly count: (kind: PageKind) => number
  /**
   * A new frozen array of the kinds. Save it beside the messages, and give it to `restoreHistory`.
   *
   * @returns the array
   */
  readonly toArray: () => readonly PageKind[]
  /**
   * The value that `JSON.stringify` writes: the same as `toArray()`.
   *
   * @returns the array
   */
  readonly toJSON: () => readonly PageKind[]
}

/** The page kinds whose codes a function reads at indexes from `start` up to, not including, `end`. */
export const pagesOf = (codeAt: Read<number>, start: number, end: number): Pages =>
  new PageSpan((index) => kindOfCode(codeAt(index)), start, end) as unknown as Pages

class PageSpan {
  readonly #read: Read<PageKind>
  readonly #start: number
  readonly #end: number

  constructor(read: Read<PageKind>, start: number, end: number) {
    this.#read = read
    this.#start = start
    this.#end = end
    freeze(this)
  }

  get length(): number {
    return this.#end - this.#start
  }

  at(position: number): PageKind | undefined {
    const index = indexAt(position, this.#start, this.#end)
    return index === -1 ? undefined : this.#read(index)
  }

  count(kind: PageKind): number {
    codeOf(kind)
    let found = 0
    for (let index = this.#start; index < this.#end; index++) if (this.#read(index) === kind) found += 1
    return found
  }

  toArray(): readonly PageKind[] {
    return collect(this.#read, this.#start, this.#end)
  }

  toJSON(): readonly PageKind[] {
    return this.toArray()
  }

  [Symbol.iterator](): IterableIterator<PageKind> {
    return iterate(this.#read, this.#start, this.#end)
  }

  /** How Node's console shows it. */
  [Symbol.for('nodejs.util.inspect.custom')](): unknown {
    return this.toArray()
  }
}

const { freeze } = Object

seclude(PageSpan.prototype)
