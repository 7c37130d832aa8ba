/**
 * The sidecar: the page kind of every entry of a record, one byte each, beside the messages and never inside them.
 */
import { collect, indexAt, iterate, seclude, sliceBounds, type Read } from '../sequence/index.ts'
import { pageKinds, type PageKind } from './kind.ts'

declare class PagesBrand {
  readonly #pages: never
}

/** The page kinds of a view: as many as the view has entries, always. Branded: only a sidecar gives one. */
export interface Pages extends PagesBrand, Iterable<PageKind> {
  readonly length: number
  /** The kind at a position; a negative one counts from the end; `undefined` outside. */
  readonly at: (position: number) => PageKind | undefined
  /** How many entries are of a kind. Cost: O(length) bytes read. */
  readonly count: (kind: PageKind) => number
  /** A fresh frozen array, fit to be saved beside the messages and given to `restoreHistory`. */
  readonly toArray: () => readonly PageKind[]
  /** What `JSON.stringify` writes: the same as `toArray()`. */
  readonly toJSON: () => readonly PageKind[]
}

/** An append-only column of page kinds. */
export interface Sidecar {
  /** Cost: amortised O(1). Throws TypeError on an unknown kind; the sidecar is unchanged. */
  readonly append: (kind: PageKind) => void
  /** The kinds from `start` up to, not including, `end`; bounds as in `Array.prototype.slice`. Cost: O(1). */
  readonly view: (start?: number, end?: number) => Pages
  readonly len: number
}

/** Cost  one byte an entry (the buffer doubles, so at most two). */
export const createSidecar = (): Sidecar => {
  let bytes: Uint8Array = new Bytes(16)
  let len = 0
  const read = (index: number): PageKind => pageKinds[bytes[index] as number] as PageKind

  const append = (kind: PageKind): void => {
    const code = codeOf(kind)
    if (len === bytes.length) {
      const larger = new Bytes(len * 2)
      for (let index = 0; index < len; index++) larger[index] = bytes[index] as number
      bytes = larger
    }
    bytes[len] = code
    len += 1
  }

  return freeze({
    append,
    view: (from?: number, to?: number) => {
      const [start, end] = sliceBounds(len, from, to)
      return new PageSpan(read, start, end) as unknown as Pages // the one place where pages are made
    },
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

const codes: { readonly [kind: string]: number } = Object.freeze(
  Object.assign(Object.create(null) as object, Object.fromEntries(pageKinds.map((kind, code) => [kind, code]))),
)

const codeOf = (kind: PageKind): number => {
  const code = typeof kind === 'string' ? codes[kind] : undefined
  if (code !== undefined) return code
  throw new TypeError(`${describe(kind)} is not a page kind; expected one of ${pageKinds.join(', ')}`)
}

const describe = (value: unknown): string => (typeof value === 'string' ? JSON.stringify(value) : `a ${typeof value}`)
