/** The storage of a record's entries, private to this folder. Only a handle leads to it. */
import { snapshot, type Immutable } from '../json/index.ts'
import type { PageKind } from '../pages/index.ts'
import { codeOf, kindOfCode } from '../pages/internal.ts'
import {
  consoleTextOf,
  defineGetter,
  getterFrom,
  inspectKey,
  positionOfRank,
  rankAt,
  sealClass,
} from '../sequence/index.ts'
import type { Classify, History } from './history.ts'
import { viewOf, type Part } from './read.ts'
import { chunkLength, codeOfKindAt, emptyContent, firstOf, lenOf, messageAt, sealTail, type Content } from './state.ts'
import type { Position, View } from './view.ts'

export interface Log<M> {
  /** The messages and their page kinds. Replaced when the tail is full. */
  content: Content<M>
  /** Picks the page kind when none was given. */
  readonly classify: Classify<M>
  /** Throws for a message that the history's schema refuses. */
  readonly check: ((message: unknown) => void) | undefined
  /** Whether many messages are read at once, so that full chunks are measured on the way. A single append is not to wait for it. */
  isLoading: boolean
  /** The deltas that were applied through this handle, by position. */
  readonly deltas: Applied[]
  /** The view of all messages, cached until the next append. */
  whole: View<M> | undefined
  /** The record that gets the messages too. */
  readonly link?: Link<M>
}

/** Another record, such as a stored session, that gets every message of a history. */
export interface Link<M> {
  /** Copies, checks and freezes a message. Throws for one that the other record can't have, and if it takes no more. */
  readonly admit: (message: M | Immutable<M>) => Immutable<M>
  /** Prepares an admitted message. The function that it returns passes the message on; it is called once it is recorded. */
  readonly prepare: (message: Immutable<M>, page: PageKind) => () => void
}

/** The positions of one delta's messages. */
export interface Applied {
  readonly id: string
  /** The position of its first message. */
  readonly start: number
  /** The position after its last message. */
  readonly end: number
}

export const emptyLog = <M>(classify: Classify<M>, check?: Log<M>['check']): Log<M> => ({
  content: emptyContent(),
  classify,
  check,
  isLoading: false,
  deltas: [],
  whole: undefined,
})

/** Classifies a message that was appended without a page kind. */
export const kindOf = <M>(log: Log<M>, message: Immutable<M>): PageKind => {
  const { classify } = log // called without a receiver: as a method it would get the log as `this`
  return classify(message)
}

/**
 * Record a frozen message. Everything that can throw comes first: an unknown page kind is a TypeError, and
 * a full tail is sealed before anything is written. Then the message and its kind are written together.
 */
export const record = <M>(log: Log<M>, message: Immutable<M>, page: PageKind): Position => {
  const code = codeOf(page)
  if (log.content.tail.messages.length === chunkLength) log.content = sealTail(log.content, log.isLoading)
  const { state, tail } = log.content
  tail.codes.push(code)
  log.whole = undefined
  return (state.len + tail.messages.push(message) - 1) as Position
}

/** Record the messages of a view. A view from 0 without gaps shares its storage; others are copied by entry. */
export const continueFrom = <M>(log: Log<M>, { content, gaps, start, end }: Part<M>): void => {
  if (start === 0 && rankAt(gaps, end) === end) {
    log.content = firstOf(content, end)
    return
  }
  const last = rankAt(gaps, end)
  for (let rank = rankAt(gaps, start); rank < last; rank++) {
    const position = positionOfRank(gaps, rank)
    record(log, messageAt(content, position), kindOfCode(codeOfKindAt(content, position)))
  }
}

/** Copy, check, classify and record a message. If a step throws, nothing is recorded. */
export const append = <M>(log: Log<M>, message: M | Immutable<M>, page?: PageKind): Position => {
  const copy = copyFor(log, message)
  log.check?.(copy)
  const kind = page === undefined ? kindOf(log, copy) : page
  const passOn = log.link?.prepare(copy, kind)
  const position = record(log, copy, kind)
  passOn?.()
  return position
}

/** A frozen copy that the linked record also accepts; a decoded message is returned unchanged. Throws for what can't be recorded. */
export const copyFor = <M>(log: Log<M>, message: M | Immutable<M>): Immutable<M> =>
  log.link === undefined ? (snapshot(message) as Immutable<M>) : log.link.admit(message)

const fullViewOf = <M>(log: Log<M>): View<M> => (log.whole ??= viewOf(log.content, undefined, 0, lenOf(log.content)))

export const handleOf = <M>(log: Log<M>): History<M> => new Handle(log) as unknown as History<M>

/** The log behind a handle; undefined if this library did not make the value. */
export const logOf = <M>(history: History<M>): Log<M> | undefined => Handle.log(history) as Log<M> | undefined

/** A handle. Its private field is its brand at run time: no other object has it. */
class Handle<M> {
  readonly #log: Log<M>
  readonly append: (message: M | Immutable<M>, page?: PageKind) => Position
  readonly view: () => View<M>

  constructor(log: Log<M>) {
    this.#log = log
    this.append = (message, page) => append(log, message, page)
    this.view = () => fullViewOf(log)
    defineGetter(this, 'len', len)
    Object.freeze(this)
  }

  /** Also of an object made with `Object.create(history)`. */
  get len(): number {
    return lenOf(Handle.#logIn(this).content)
  }

  static #logIn(value: object): Log<unknown> {
    for (let at: object | null = value; at !== null; at = Object.getPrototypeOf(at) as object | null)
      if (#log in at) return at.#log as Log<unknown>
    throw new TypeError('expected a history')
  }

  static log(value: unknown): Log<unknown> | undefined {
    return typeof value === 'object' && value !== null && #log in value ? (value.#log as Log<unknown>) : undefined
  }

  /** `History(5)` */
  [Symbol.toPrimitive](): string {
    return `History(${this.len})`
  }

  [inspectKey](depth: number, options: object, inspect: unknown): string {
    return consoleTextOf(`${this}`, fullViewOf(this.#log), depth, options, inspect)
  }
}
const len = getterFrom(Handle, 'len')
sealClass(Handle)
