/** The page kinds of a view, stored alongside the messages, never inside them. */
import { describe, isArray, isObject, ownField, ownItems } from '../json/index.ts'
import { defineGetter, getterFrom, sealClass, Span, type SpanKind } from '../sequence/index.ts'
import { codeOf, kindOfCode, pageKinds, type PageKind } from './kind.ts'

declare class PagesBrand {
  readonly #pages: never
}

/** The page kinds of a view, always one per entry. Branded: only a view creates them. */
export interface Pages extends PagesBrand, Iterable<PageKind> {
  /** The kinds as an array, built on first access. Enumerable and frozen. */
  readonly kinds: readonly PageKind[]
  /** The number of entries. */
  readonly length: number
  /**
   * The kind at an index.
   *
   * @param position the index, from 0; a negative one counts from the end
   * @returns the kind; undefined if out of range
   */
  readonly at: (position: number) => PageKind | undefined
  /** The number of entries of a kind. Cost: reads O(length) bytes. */
  readonly count: (kind: PageKind) => number
  /** A new frozen array of the kinds. Save it with the messages, and pass it to `restoreHistory`. */
  readonly toArray: () => readonly PageKind[]
  /** Used by `JSON.stringify`: the same as `toArray()`. */
  readonly toJSON: () => readonly PageKind[]
  /** The kinds in order, for `for … of` and spreads. */
  readonly [Symbol.iterator]: () => Iterator<PageKind>
}

/** The page kinds of messages in order (`undefined`: classified), or those of a view. */
export type PageKinds = readonly (PageKind | undefined)[] | Pages

/** The kinds as a list. A clone of a view's kinds has them in `kinds`. */
export const listKinds = (pages: PageKinds): readonly (PageKind | undefined)[] => {
  const kinds: unknown = isArray(pages) ? pages : isObject(pages) ? ownField(pages as Pages, 'kinds') : undefined
  if (isArray(kinds)) return [...ownItems(kinds as readonly (PageKind | undefined)[])]
  throw new TypeError(`\`pages\` is ${describe(pages)}; expected a list of page kinds, or the pages of a view`)
}

/** Provides the kinds of a view as codes. A rank is a position in the record, not counting what the view leaves out. */
export interface KindSource<View> {
  readonly codeAt: (view: View, rank: number) => number
  /** The codes starting at a rank, as characters; at least one. */
  readonly codesFrom: (view: View, rank: number) => string
}

/** The page kinds of a view in a range of ranks, up to, not including, `to`. */
export const pagesOf = <View>(source: KindSource<View>, view: View, from: number, to: number): Pages =>
  new PageSpan(source as KindSource<unknown>, view, from, to) as unknown as Pages

/** The indexes of some kinds in a view's pages, in order. Cost: reads O(length) bytes. */
export const indexesOf = (pages: Pages, isWanted: (kind: PageKind) => boolean): readonly number[] =>
  PageSpan.indexesOf(pages as unknown as PageSpan, isWanted)

class PageSpan extends Span<PageKind> {
  readonly #source: KindSource<unknown>
  readonly #view: unknown
  readonly #from: number
  readonly #to: number
  #kinds: readonly PageKind[] | undefined
  #toArray: (() => readonly PageKind[]) | undefined
  #count: ((kind: PageKind) => number) | undefined

  static readonly #kind: SpanKind<PageSpan, PageKind> = {
    name: 'Pages',
    read: (span, rank) => kindOfCode(span.#source.codeAt(span.#view, rank)),
    piece: (span, rank) => {
      const values = kindsOf(span.#source.codesFrom(span.#view, rank))
      return { values, index: 0, count: values.length }
    },
  }

  constructor(source: KindSource<unknown>, view: unknown, from: number, to: number) {
    super(PageSpan.#kind, from, to)
    this.#source = source
    this.#view = view
    this.#from = from
    this.#to = to
    defineGetter(this, 'kinds', kinds)
    Object.freeze(this)
  }

  get kinds(): readonly PageKind[] {
    return (this.#kinds ??= this.toArray())
  }

  /** Like any span's, but without a list per piece. */
  override get toArray(): () => readonly PageKind[] {
    return (this.#toArray ??= () => {
      const values: PageKind[] = []
      for (const codes of this.#codes())
        for (let index = 0; index < codes.length; index++) values.push(kindOfCode(codes.charCodeAt(index)))
      return Object.freeze(values)
    })
  }

  get count(): (kind: PageKind) => number {
    return (this.#count ??= (kind) => {
      const wanted = codeOf(kind)
      let found = 0
      for (const codes of this.#codes())
        for (let index = 0; index < codes.length; index++) if (codes.charCodeAt(index) === wanted) found += 1
      return found
    })
  }

  static indexesOf(span: PageSpan, isWanted: (kind: PageKind) => boolean): readonly number[] {
    const wanted = pageKinds.map(isWanted)
    const found: number[] = []
    let from = 0
    for (const codes of span.#codes()) {
      for (let index = 0; index < codes.length; index++) if (wanted[codes.charCodeAt(index)]) found.push(from + index)
      from += codes.length
    }
    return found
  }

  /** The codes, in pieces. */
  *#codes(): Generator<string> {
    for (let rank = this.#from; rank < this.#to;) {
      const codes = this.#source.codesFrom(this.#view, rank).slice(0, this.#to - rank)
      rank += codes.length
      yield codes
    }
  }
}
const kinds = getterFrom(PageSpan, 'kinds')
sealClass(PageSpan)

const kindsOf = (codes: string): PageKind[] => Array.from(codes, (code) => kindOfCode(code.charCodeAt(0)))
