/**
 * The log: where the entries of a record live, private to this folder. Handles and views are closures over it, and
 * this folder finds the log behind one through a private name, which no key, symbol, prototype, Proxy or patched
 * built-in reaches.
 */
import { snapshot, type Immutable } from '../json/index.ts'
import { createSidecar, isPageKind, pageKinds, type PageKind, type Pages, type Sidecar } from '../pages/index.ts'
import { sliceBounds, spanOf } from '../sequence/index.ts'
import type { Classify, History } from './history.ts'
import type { Position, View } from './view.ts'

export interface Log<M> {
  readonly entries: Immutable<M>[]
  readonly pages: Sidecar
  readonly classify: Classify<M>
  /** The view of everything, kept until the next append. */
  whole: View<M> | undefined
}

/** A message about which nothing can fail any more. */
export interface Entry<M> {
  readonly message: Immutable<M>
  readonly page: PageKind
}

export const emptyLog = <M>(classify: Classify<M>): Log<M> => ({
  entries: emptyList(),
  pages: createSidecar(),
  classify,
  whole: undefined,
})

/** A list without a prototype: growing it runs no setter and calls no method that somebody may have patched. */
export const emptyList = <T>(): T[] => setPrototypeOf([], null) as T[]

/** Copy, freeze and classify a message. Throws a TypeError, or what `classify` throws; nothing is recorded yet. */
export const prepare = <M>(log: Log<M>, message: M, page?: PageKind): Entry<M> => {
  const { classify } = log // called on its own: as a method it would be handed the log as `this`
  const copy = snapshot(message)
  const kind = page === undefined ? classify(copy) : page
  if (!isPageKind(kind))
    throw new TypeError(`${describe(kind)} is not a page kind; expected one of ${pageKinds.join(', ')}`)
  return { message: copy, page: kind }
}

/** Record an entry. It can't fail. */
export const record = <M>(log: Log<M>, { message, page }: Entry<M>): Position => {
  const position = log.entries.length
  log.pages.append(page)
  log.entries[position] = message
  log.whole = undefined
  return position as Position // the one place where a position is made
}

/** The handle of a log. */
export const handleOf = <M>(log: Log<M>): History<M> => {
  const handle = {
    __proto__: nothing,
    append: (message: M, page?: PageKind) => record(log, prepare(log, message, page)),
    view: () => wholeView(log),
    get len() {
      return log.entries.length
    },
  }
  // The cast gives the brand; a handle is what has this private name.
  return freeze(Handle.stamp(handle, log)) as unknown as History<M>
}

/** The log behind a handle; undefined if the value is none of ours. */
export const logOf = <M>(history: History<M>): Log<M> | undefined => Handle.read(history) as Log<M> | undefined

/** The view of everything in a log. Cost: O(1); without an append in between, the same value again. */
export const wholeView = <M>(log: Log<M>): View<M> => (log.whole ??= viewOf(log, 0, log.entries.length))

/** The range that a view stands for; undefined if the value is none of ours. */
export const rangeOf = <M>(view: unknown): Range<M> | undefined => ViewRange.read(view) as Range<M> | undefined

export interface Range<M> {
  readonly log: Log<M>
  readonly start: number
  readonly end: number
}

const viewOf = <M>(log: Log<M>, start: number, end: number): View<M> => {
  const span = spanOf((index) => log.entries[index] as Immutable<M>, start, end)
  let pages: Pages | undefined
  const view = {
    __proto__: nothing,
    length: span.length,
    at: span.at,
    slice: (from?: number, to?: number) => {
      const [first, last] = sliceBounds(span.length, from, to)
      return viewOf(log, start + first, start + last)
    },
    get pages() {
      return (pages ??= log.pages.view(start, end))
    },
    toArray: span.toArray,
    toJSON: span.toArray,
    [Symbol.iterator]: span[Symbol.iterator],
  }
  return freeze(ViewRange.stamp(view, { log, start, end })) as unknown as View<M>
}

const describe = (value: unknown): string => (typeof value === 'string' ? JSON.stringify(value) : `a ${typeof value}`)

const { create, freeze, setPrototypeOf } = Object

/** The prototype of handles and views: empty and frozen, so there is nothing to reach, and Immer drafts neither. */
const nothing: object = freeze(create(null) as object)

/** Gives its argument back, so that a subclass defines its private fields on it. */
class Stamped {
  constructor(target: object) {
    return target
  }
}

class Handle extends Stamped {
  readonly #log: Log<unknown>

  private constructor(target: object, log: Log<unknown>) {
    super(target)
    this.#log = log
  }

  static stamp<M>(target: object, log: Log<M>): object {
    return new Handle(target, log as unknown as Log<unknown>)
  }

  static read(value: unknown): Log<unknown> | undefined {
    return typeof value === 'object' && value !== null && #log in value ? value.#log : undefined
  }
}

class ViewRange extends Stamped {
  readonly #range: Range<unknown>

  private constructor(target: object, range: Range<unknown>) {
    super(target)
    this.#range = range
  }

  static stamp<M>(target: object, range: Range<M>): object {
    return new ViewRange(target, range as unknown as Range<unknown>)
  }

  static read(value: unknown): Range<unknown> | undefined {
    return typeof value === 'object' && value !== null && #range in value ? value.#range : undefined
  }
}
