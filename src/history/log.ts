/**
 * The log: where the entries of a record live, private to this folder. Handles and views reach it through private
 * names, which no key, symbol, prototype, Proxy or patched built-in does.
 */
import { create, emptyList, freeze, Given, snapshot, type Immutable } from '../json/index.ts'
import { codeOf, kindOfCode, pagesOf, type PageKind, type Pages } from '../pages/index.ts'
import {
  collect,
  indexAt,
  iterate,
  keptAt,
  rankAt,
  seclude,
  sliceBounds,
  withGaps,
  type Gaps,
  type Range,
  type Read,
} from '../sequence/index.ts'
import type { Classify, History } from './history.ts'
import {
  chunkLength,
  codeOfKindAt,
  emptyState,
  emptyTail,
  firstOf,
  messageAt,
  messagesOf,
  sealed,
  type Content,
  type State,
  type Tail,
} from './state.ts'
import type { Position, View } from './view.ts'

/** The storage of one history. */
export interface Log<M> extends Content<M> {
  /** The frozen part: replaced when the tail is full. */
  state: State<M>
  /** The messages after it: replaced with the state. */
  tail: Tail<M>
  /** Decides a kind that was not given. */
  readonly classify: Classify<M>
  /** The deltas that were applied through this handle, by position. */
  readonly deltas: Applied[]
  /** The view of everything, kept until the next append. */
  whole: View<M> | undefined
}

/** The messages of one delta: from `start` up to, not including, `end`. */
export interface Applied {
  /** The id of the delta. */
  readonly id: string
  /** The position of its first message. */
  readonly start: number
  /** The position after its last message. */
  readonly end: number
}

/** A log without messages. */
export const emptyLog = <M>(classify: Classify<M>): Log<M> => ({
  state: emptyState,
  tail: emptyTail(),
  classify,
  deltas: emptyList(),
  whole: undefined,
})

/** How many messages a log has. */
export const lenOf = ({ state, tail }: Content<unknown>): number => state.len + tail.messages.length

/** The page kind of a message without a tag. */
export const kindOf = <M>(log: Log<M>, message: Immutable<M>): PageKind => {
  const { classify } = log // called on its own: as a method it would be handed the log as `this`
  return classify(message)
}

/**
 * Record a message that is frozen plain data. Whatever can throw comes first: an unknown page kind is a TypeError, and a
 * full tail is sealed before anything is written. Then the message and its kind are written together.
 */
export const record = <M>(log: Log<M>, message: Immutable<M>, page: PageKind): Position => {
  const code = codeOf(page)
  if (log.tail.messages.length === chunkLength) {
    const state = sealed(log.state, log.tail)
    const tail = emptyTail<M>()
    log.state = state
    log.tail = tail
  }
  const { state, tail } = log
  const index = tail.messages.length
  tail.messages[index] = message
  tail.codes[index] = code
  log.whole = undefined
  return (state.len + index) as Position // the one place where a position is made
}

/** Record the messages of a view. What begins a record is shared with it; the rest is copied, entry by entry. */
export const continueFrom = <M>(log: Log<M>, { state, tail, gaps, start, end }: LogPart<M>): void => {
  if (start === 0 && rankAt(gaps, end) === end) {
    const content = firstOf({ state, tail }, end)
    log.state = content.state
    log.tail = content.tail
    return
  }
  const last = rankAt(gaps, end)
  for (let rank = rankAt(gaps, start); rank < last; rank++) {
    const position = keptAt(gaps, rank)
    record(log, messageAt(state, tail, position), kindOfCode(codeOfKindAt(state, tail, position)))
  }
}

/** Copy, freeze, classify and record a message; what was decoded is not copied again. Throws a TypeError or what `classify` throws; then nothing is recorded. */
export const append = <M>(log: Log<M>, message: M | Immutable<M>, page?: PageKind): Position => {
  const copy = snapshot(message) as Immutable<M>
  return record(log, copy, page === undefined ? kindOf(log, copy) : page)
}

/** The handle of a log. */
export const handleOf = <M>(log: Log<M>): History<M> => {
  const handle = {
    __proto__: nothing,
    append: (message: M | Immutable<M>, page?: PageKind) => append(log, message, page),
    view: () => (log.whole ??= viewOf(log, undefined, 0, lenOf(log))),
    get len() {
      return lenOf(log)
    },
  }
  // The cast gives the brand; a handle is what has this private name.
  return freeze(Handle.stamp(handle, log)) as unknown as History<M>
}

/** The log behind a handle; undefined if the value is none of ours. */
export const logOf = <M>(history: History<M>): Log<M> | undefined => Handle.log(history) as Log<M> | undefined

/** The part of a log that a view stands for; undefined if the value is none of ours. */
export const partOf = <M>(view: unknown): LogPart<M> | undefined => LogView.part(view) as LogPart<M> | undefined

/** Messages of a log: a range of positions, less the gaps in it. */
export interface LogPart<M> extends Content<M> {
  /** What is left out. It may reach beyond the range. */
  readonly gaps: Gaps | undefined
  /** The first position. */
  readonly start: number
  /** The position after the last one. */
  readonly end: number
}

/**
 * A view without the messages at some positions of its history. The given view stays as it is. Nothing leads from the
 * new
 * view back to the messages that it leaves out.
 *
 * Cost    O(n log n) in the ranges, independent of the length
 *
 * @param view the view to start from
 * @param ranges positions of the history to leave out. They may overlap, come in any order, and reach beyond the view
 * @returns the view without them
 * @throws TypeError if a range has no valid positions, or the view was not made by this library
 * @example
 * without(history.view(), [{ from: 3, to: 5 }]) // all but the messages 3 and 4
 */
export const without = <M>(view: View<M>, ranges: readonly Range[]): View<M> => {
  const part = partOf<M>(view)
  if (part === undefined) throw new TypeError('without needs a view of a history of this library')
  return viewOf(part, withGaps(part.gaps, ranges), part.start, part.end)
}

const viewOf = <M>({ state, tail }: Content<M>, gaps: Gaps | undefined, start: number, end: number): View<M> =>
  new LogView(state, tail, gaps, start, end) as unknown as View<M> // the one place where a view is made

/** The prototype of handles: empty and frozen, so there is nothing to reach, and Immer does not take one for a draft. */
const nothing: object = freeze(create(null) as object)

class Handle extends Given {
  readonly #log: Log<unknown>

  private constructor(target: object, log: Log<unknown>) {
    super(target)
    this.#log = log
  }

  static stamp<M>(target: object, log: Log<M>): object {
    return new Handle(target, log as unknown as Log<unknown>)
  }

  static log(value: unknown): Log<unknown> | undefined {
    return typeof value === 'object' && value !== null && #log in value ? value.#log : undefined
  }
}

class LogView<M> {
  readonly #state: State<M>
  readonly #tail: Tail<M>
  readonly #gaps: Gaps | undefined
  readonly #start: number
  readonly #end: number
  /** The ranks of the first entry and after the last one: its entries have all that are between. */
  readonly #from: number
  readonly #to: number
  #pages: Pages | undefined

  constructor(state: State<M>, tail: Tail<M>, gaps: Gaps | undefined, start: number, end: number) {
    this.#state = state
    this.#tail = tail
    this.#gaps = gaps
    this.#start = start
    this.#end = end
    this.#from = rankAt(gaps, start)
    this.#to = rankAt(gaps, end)
    freeze(this)
  }

  static part(value: unknown): LogPart<unknown> | undefined {
    if (typeof value !== 'object' || value === null || !(#state in value)) return undefined
    const view = value as LogView<unknown>
    return { state: view.#state, tail: view.#tail, gaps: view.#gaps, start: view.#start, end: view.#end }
  }

  get length(): number {
    return this.#to - this.#from
  }

  get pages(): Pages {
    return (this.#pages ??= pagesOf((rank) => this.#codeAt(rank), this.#from, this.#to))
  }

  at(position: number): Immutable<M> | undefined {
    const rank = indexAt(position, this.#from, this.#to)
    return rank === -1 ? undefined : messageAt(this.#state, this.#tail, keptAt(this.#gaps, rank))
  }

  slice(from?: number, to?: number): View<M> {
    const { start, end } = sliceBounds(this.#to - this.#from, from, to)
    return viewOf({ state: this.#state, tail: this.#tail }, this.#gaps, this.#boundAt(start), this.#boundAt(end))
  }

  positionAt(index: number): Position | undefined {
    const length = this.#to - this.#from
    const wanted = +index // once: what is not a number may answer differently each time
    if (wanted === length) return this.#end as Position
    const rank = indexAt(wanted, this.#from, this.#to)
    return rank === -1 ? undefined : (keptAt(this.#gaps, rank) as Position)
  }

  before(position: number): number {
    const wanted = +position
    if (!(wanted > this.#start)) return 0
    if (wanted >= this.#end) return this.#to - this.#from
    const fraction = wanted % 1
    return rankAt(this.#gaps, fraction === 0 ? wanted : wanted - fraction + 1) - this.#from
  }

  toArray(): readonly Immutable<M>[] {
    return collect(this.#read(), this.#from, this.#to)
  }

  toJSON(): readonly Immutable<M>[] {
    return this.toArray()
  }

  [Symbol.iterator](): IterableIterator<Immutable<M>> {
    return iterate(this.#read(), this.#from, this.#to)
  }

  /** Reads messages by rising ranks. */
  #read(): Read<Immutable<M>> {
    const gaps = this.#gaps
    const read = messagesOf(this.#state, this.#tail)
    return gaps === undefined ? read : (rank) => read(keptAt(gaps, rank))
  }

  /** The code of the page kind at a rank. */
  #codeAt(rank: number): number {
    return codeOfKindAt(this.#state, this.#tail, keptAt(this.#gaps, rank))
  }

  /** Where a slice begins or ends: at the message with an index, or where this one does. */
  #boundAt(index: number): number {
    if (index === 0) return this.#start
    return index === this.#to - this.#from ? this.#end : keptAt(this.#gaps, this.#from + index)
  }

  /** How Node's console shows it. */
  [Symbol.for('nodejs.util.inspect.custom')](): unknown {
    return this.toArray()
  }
}

seclude(LogView.prototype)
