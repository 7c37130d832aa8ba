/**
 * The log: where the entries of a record live, private to this folder. Handles and views reach it through private
 * names, which no key, symbol, prototype, Proxy or patched built-in does.
 */
import { snapshot, type Immutable } from '../json/index.ts'
import { createSidecar, type PageKind, type Pages, type Sidecar } from '../pages/index.ts'
import { collect, indexAt, iterate, seclude, sliceBounds, type Read } from '../sequence/index.ts'
import type { Classify, History } from './history.ts'
import type { Position, View } from './view.ts'

export interface Log<M> {
  readonly entries: Immutable<M>[]
  readonly pages: Sidecar
  readonly classify: Classify<M>
  readonly read: Read<Immutable<M>>
  /** The view of everything, kept until the next append. */
  whole: View<M> | undefined
}

export const emptyLog = <M>(classify: Classify<M>): Log<M> => {
  const entries = emptyList<Immutable<M>>()
  const read = (index: number): Immutable<M> => entries[index] as Immutable<M>
  return { entries, pages: createSidecar(), classify, read, whole: undefined }
}

/** A list without a prototype: growing it runs no setter and calls no method that somebody may have patched. */
export const emptyList = <T>(): T[] => setPrototypeOf([], null) as T[]

/** The page kind of a message without a tag. */
export const kindOf = <M>(log: Log<M>, message: Immutable<M>): PageKind => {
  const { classify } = log // called on its own: as a method it would be handed the log as `this`
  return classify(message)
}

/**
 * Record a message that is frozen plain data. The sidecar goes first: it refuses an unknown page kind with a TypeError,
 * and then nothing has happened.
 */
export const record = <M>(log: Log<M>, message: Immutable<M>, page: PageKind): Position => {
  const position = log.entries.length
  log.pages.append(page)
  log.entries[position] = message
  log.whole = undefined
  return position as Position // the one place where a position is made
}

/** Copy, freeze, classify and record a message. Throws a TypeError or what `classify` throws; then nothing is recorded. */
export const append = <M>(log: Log<M>, message: M | Immutable<M>, page?: PageKind): Position => {
  const copy = snapshot(message) as Immutable<M>
  return record(log, copy, page === undefined ? kindOf(log, copy) : page)
}

/** The handle of a log. */
export const handleOf = <M>(log: Log<M>): History<M> => {
  const handle = {
    __proto__: nothing,
    append: (message: M | Immutable<M>, page?: PageKind) => append(log, message, page),
    view: () => (log.whole ??= viewOf(log, 0, log.entries.length)),
    get len() {
      return log.entries.length
    },
  }
  // The cast gives the brand; a handle is what has this private name.
  return freeze(Handle.stamp(handle, log)) as unknown as History<M>
}

/** The log behind a handle; undefined if the value is none of ours. */
export const logOf = <M>(history: History<M>): Log<M> | undefined => Handle.log(history) as Log<M> | undefined

/** The range that a view stands for; undefined if the value is none of ours. */
export const rangeOf = <M>(view: unknown): Range<M> | undefined => LogView.range(view) as Range<M> | undefined

export interface Range<M> {
  readonly log: Log<M>
  readonly start: number
  readonly end: number
}

const viewOf = <M>(log: Log<M>, start: number, end: number): View<M> =>
  new LogView(log, start, end) as unknown as View<M> // the one place where a view is made

const { create, freeze, setPrototypeOf } = Object

/** The prototype of handles: empty and frozen, so there is nothing to reach, and Immer does not take one for a draft. */
const nothing: object = freeze(create(null) as object)

/** Gives its argument back, so that a subclass defines its private fields on it. */
class Given {
  constructor(target: object) {
    return target
  }
}

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
  readonly #log: Log<M>
  readonly #start: number
  readonly #end: number
  #pages: Pages | undefined

  constructor(log: Log<M>, start: number, end: number) {
    this.#log = log
    this.#start = start
    this.#end = end
    freeze(this)
  }

  static range(value: unknown): Range<unknown> | undefined {
    if (typeof value !== 'object' || value === null || !(#log in value)) return undefined
    const view = value as LogView<unknown>
    return { log: view.#log, start: view.#start, end: view.#end }
  }

  get length(): number {
    return this.#end - this.#start
  }

  get pages(): Pages {
    return (this.#pages ??= this.#log.pages.view(this.#start, this.#end))
  }

  at(position: number): Immutable<M> | undefined {
    const index = indexAt(position, this.#start, this.#end)
    return index === -1 ? undefined : this.#log.entries[index]
  }

  slice(from?: number, to?: number): View<M> {
    const { start, end } = sliceBounds(this.#end - this.#start, from, to)
    return viewOf(this.#log, this.#start + start, this.#start + end)
  }

  toArray(): readonly Immutable<M>[] {
    return collect(this.#log.read, this.#start, this.#end)
  }

  toJSON(): readonly Immutable<M>[] {
    return this.toArray()
  }

  [Symbol.iterator](): IterableIterator<Immutable<M>> {
    return iterate(this.#log.read, this.#start, this.#end)
  }

  /** How Node's console shows it. */
  [Symbol.for('nodejs.util.inspect.custom')](): unknown {
    return this.toArray()
  }
}

seclude(LogView.prototype)
