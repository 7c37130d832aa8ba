/**
 * Views: the read side of a record. A view is a state, a tail, and a range of positions minus its
 * gaps. No key, symbol or prototype leads from it to the handle, to a later message or to a message that it leaves out.
 */
import type { Immutable } from '../json/index.ts'
import { pagesOf, type KindSource, type Pages } from '../pages/internal.ts'
import {
  defineGetter,
  getterFrom,
  indexAt,
  positionOfRank,
  runLengthAt,
  rankAt,
  sealClass,
  sliceBounds,
  Span,
  addGaps,
  type Gaps,
  type Range,
  type SpanKind,
} from '../sequence/index.ts'
import { codeOfKindAt, codesFrom, messageAt, messagesFrom, type Content } from './state.ts'
import type { Position, View } from './view.ts'

/** Messages of a record: a range of positions, minus its gaps. */
export interface Part<M> {
  /** The storage that has them. */
  readonly content: Content<M>
  /** The positions left out. They may reach beyond the range. */
  readonly gaps: Gaps | undefined
  readonly start: number
  /** The position after the last one. */
  readonly end: number
}

export const viewOf = <M>(content: Content<M>, gaps: Gaps | undefined, start: number, end: number): View<M> =>
  new RecordView(content, gaps, start, end) as unknown as View<M> // the only place that makes a view

/** The part of a record that a view shows; undefined if this library did not make the view. */
export const partOf = <M>(view: unknown): Part<M> | undefined => RecordView.part(view) as Part<M> | undefined

/**
 * Returns a view that leaves out some positions of its history. The given view is unchanged, and
 * the new view holds no reference that a caller could follow to the messages it leaves out.
 *
 * Cost    O(n log n) in the ranges, independent of the length
 *
 * @param view the view to start from
 * @param ranges positions of the history to leave out, in any order. They may overlap and reach beyond the view
 * @returns the view without them
 * @throws TypeError if a range has invalid positions, or this library did not make the view
 * @example
 * omitRanges(history.view(), [{ from: 3, to: 5 }]) // all but the messages 3 and 4
 */
export const omitRanges = <M>(view: View<M>, ranges: readonly Range[]): View<M> => {
  const part = partOf<M>(view)
  if (part === undefined) throw new TypeError('omitRanges needs a view from a history of this library')
  return viewOf(part.content, addGaps(part.gaps, ranges), part.start, part.end)
}

class RecordView<M> extends Span<Immutable<M>> {
  readonly #content: Content<M>
  readonly #gaps: Gaps | undefined
  readonly #start: number
  readonly #end: number
  #messages: readonly Immutable<M>[] | undefined
  #pages: Pages | undefined
  #slice: View<M>['slice'] | undefined
  #positionAt: View<M>['positionAt'] | undefined
  #before: View<M>['before'] | undefined

  static readonly #kind: SpanKind<RecordView<unknown>, unknown> = {
    name: 'View',
    read: (view, rank) => messageAt(view.#content, positionOfRank(view.#gaps, rank)),
    piece: (view, rank) => messagesFrom(view.#content, positionOfRank(view.#gaps, rank), runLengthAt(view.#gaps, rank)),
  }

  static readonly #kinds: KindSource<RecordView<unknown>> = {
    codeAt: (view, rank) => codeOfKindAt(view.#content, positionOfRank(view.#gaps, rank)),
    codesFrom: (view, rank) =>
      codesFrom(view.#content, positionOfRank(view.#gaps, rank), runLengthAt(view.#gaps, rank)),
  }

  constructor(content: Content<M>, gaps: Gaps | undefined, start: number, end: number) {
    super(RecordView.#kind as SpanKind<never, Immutable<M>>, rankAt(gaps, start), rankAt(gaps, end))
    this.#content = content
    this.#gaps = gaps
    this.#start = start
    this.#end = end
    defineGetter(this, 'messages', messages)
    defineGetter(this, 'pages', pages)
    Object.freeze(this)
  }

  static part(value: unknown): Part<unknown> | undefined {
    if (typeof value !== 'object' || value === null || !(#content in value)) return undefined
    const view = value as RecordView<unknown>
    return { content: view.#content, gaps: view.#gaps, start: view.#start, end: view.#end }
  }

  get messages(): readonly Immutable<M>[] {
    return (this.#messages ??= this.toArray())
  }

  get pages(): Pages {
    return (this.#pages ??= pagesOf(RecordView.#kinds, this, this.#from, this.#from + this.length))
  }

  get slice(): View<M>['slice'] {
    return (this.#slice ??= (from, to) => {
      const { start, end } = sliceBounds(this.length, from, to)
      return viewOf(this.#content, this.#gaps, this.#boundAt(start), this.#boundAt(end))
    })
  }

  get positionAt(): View<M>['positionAt'] {
    return (this.#positionAt ??= (index) => {
      const { length } = this
      const wanted = +index // converted once: an object may convert to another number each time
      if (wanted === length) return this.#end as Position
      const rank = indexAt(wanted, this.#from, this.#from + length)
      return rank === -1 ? undefined : (positionOfRank(this.#gaps, rank) as Position)
    })
  }

  get before(): View<M>['before'] {
    return (this.#before ??= (position) => {
      const wanted = +position
      if (!(wanted > this.#start)) return 0
      if (wanted >= this.#end) return this.length
      const fraction = wanted % 1
      return rankAt(this.#gaps, fraction === 0 ? wanted : wanted - fraction + 1) - this.#from
    })
  }

  /** The rank of the first message: how many messages before it are not left out. */
  get #from(): number {
    return rankAt(this.#gaps, this.#start)
  }

  /** The position of a slice's bound: of the message at an index, or this view's own start or end. */
  #boundAt(index: number): number {
    if (index === 0) return this.#start
    return index === this.length ? this.#end : positionOfRank(this.#gaps, this.#from + index)
  }
}

const messages = getterFrom(RecordView, 'messages')
const pages = getterFrom(RecordView, 'pages')
sealClass(RecordView)
