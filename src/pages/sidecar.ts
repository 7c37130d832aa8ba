/**
 * The sidecar: the page kind of every entry of a record, one byte each, beside the messages and never inside them.
 */
import { collect, indexAt, iterate, keptAt, seclude, sliceBounds, type Gaps, type Read } from '../sequence/index.ts'
import { codeOf, pageKinds, type PageKind } from './kind.ts'

declare class PagesBrand {
  readonly #pages: never
}

/** The page kinds of a view: as many as the view has entries, always. Branded: only a sidecar gives one. */
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

/** An append-only column of page kinds. */
export interface Sidecar {
  /**
   * Append a kind. Cost: amortised O(1).
   *
   * @param kind the page kind
   * @throws TypeError if the kind is unknown; the sidecar is unchanged
   */
  readonly append: (kind: PageKind) => void
  /**
   * A range of the kinds. Cost: O(1).
   *
   * @param start the first index; a negative one counts from the end. Default: 0
   * @param end the index after the last one; a negative one counts from the end. Default: `len`
   * @returns the kinds
   */
  readonly view: (start?: number, end?: number) => Pages
  /**
   * The kinds that remain between gaps. Cost: O(1).
   *
   * @param gaps the ranges to leave out; undefined for none
   * @param start the first index among the remaining kinds
   * @param end the index after the last one
   * @returns the kinds
   */
  readonly kept: (gaps: Gaps | undefined, start: number, end: number) => Pages
  /** The number of kinds in the column. */
  readonly len: number
}

/**
 * An empty column of page kinds. Cost: one byte an entry (the buffer doubles, so at most two).
 *
 * @returns the sidecar
 */
export const createSidecar = (): Sidecar => {
  // Its length is kept beside it: to ask would call a getter, which somebody may have patched to get at the bytes.
  let bytes: Uint8Array = new Bytes(16)
  let capacity = 16
  let len = 0
  const read = (index: number): PageKind => pageKinds[bytes[index] as number] as PageKind

  const append = (kind: PageKind): void => {
    const code = codeOf(kind)
    if (len === capacity) {
      capacity *= 2
      const larger = new Bytes(capacity)
      for (let index = 0; index < len; index++) larger[index] = bytes[index] as number
      bytes = larger
    }
    bytes[len] = code
    len += 1
  }

  return freeze({
    append,
    view: (from?: number, to?: number) => {
      const { start, end } = sliceBounds(len, from, to)
      return new PageSpan(read, start, end) as unknown as Pages
    },
    kept: (gaps: Gaps | undefined, start: number, end: number) =>
      new PageSpan(gaps === undefined ? read : (rank) => read(keptAt(gaps, rank)), start, end) as unknown as Pages,
    get len() {
      return len
    },
  })
}

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
const Bytes = Uint8Array

seclude(PageSpan.prototype)
