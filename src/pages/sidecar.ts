/**
 * The sidecar: the page kind of every entry of a record, one byte each, beside the messages and never inside them.
 */
import { sliceBounds, spanOf } from '../sequence/index.ts'
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
  const kindAt = (index: number): PageKind => pageKinds[bytes[index] as number] as PageKind

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

  const view = (from?: number, to?: number): Pages => {
    const [start, end] = sliceBounds(len, from, to)
    const { length, at, toArray, [Symbol.iterator]: iterate } = spanOf(kindAt, start, end)
    const count = (kind: PageKind): number => {
      const code = codeOf(kind)
      let found = 0
      for (let index = start; index < end; index++) if (bytes[index] === code) found += 1
      return found
    }
    const pages = freeze({ length, at, count, toArray, toJSON: toArray, [Symbol.iterator]: iterate })
    // The one cast that gives the brand: these are the only pages there are.
    return pages as unknown as Pages
  }

  return freeze({
    append,
    view,
    get len() {
      return len
    },
  })
}

const { freeze } = Object
const Bytes = Uint8Array

const codeOf = (kind: PageKind): number => {
  for (let code = 0; code < pageKinds.length; code++) if (pageKinds[code] === kind) return code
  throw new TypeError(`${describe(kind)} is not a page kind; expected one of ${pageKinds.join(', ')}`)
}

const describe = (value: unknown): string => (typeof value === 'string' ? JSON.stringify(value) : String(value))
