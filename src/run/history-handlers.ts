/** Handlers that keep the deltas of a run in memory: in a history, in an array, or collected. */
import type { Either } from 'fp-ts/lib/Either.js'
import { applyDelta, type History, type HistoryDelta, type DeltaFault } from '../history/index.ts'
import { isLeft, jsonEqual, left, optionsOf, right, type Json } from '../json/index.ts'
import type { Message, Sequence } from '../message/index.ts'
import { createRedactor, type Redact } from '../redact/index.ts'
import type { RunEvent } from './event.ts'

/** The result of a handler: `ignored` for every event but a delta. */
export type Kept = 'applied' | 'duplicate' | 'ignored'

/**
 * A handler that appends the messages of each delta to a history or to an array of yours. You may append to it
 * meanwhile;
 * the next delta then comes after your messages.
 *
 * Each delta is appended once, however many handlers there are and however often they get it. All handlers of one
 * history or array share the ids of applied deltas. A delta whose id is not known is appended, whatever stands at its
 * place: with `resume`, it is first compared with what a restored target has.
 *
 * A delta beyond the end (`DeltaGap`), or a known id with other messages (`DeltaMismatch`), ends the run. The target
 * may
 * begin with fewer messages than the record, or with none: the handler learns the length of the record from the first
 * event (`seq` 0).
 *
 * @param target a history, or an array
 * @param options what is taken out of messages
 * @returns the handler
 * @throws TypeError if `target` is neither a history of this library nor an array
 * @example
 * const messages: Message[] = [...view]
 * await run({ model, view, handlers: [historyHandler(messages)] }).result() // messages is now the run's result.messages
 */
export const historyHandler = (
  target: History<Message> | Message[],
  options: HistoryHandlerOptions = {},
): ((event: RunEvent) => Either<DeltaFault, Kept>) => {
  const { redact, resume = false } = optionsOf('historyHandler', options, { redact: true, resume: true })
  const redactor = redact === undefined ? undefined : createRedactor(redact)
  const keep = Array.isArray(target)
    ? intoArray(target, { unread: false, missing: 0 }, resume)
    : intoHistory(ours(target), resume)
  if (redactor === undefined) return keep
  return (event) =>
    keep(
      event.type === 'history_delta'
        ? { ...event, append: event.append.map((message) => redactor.message(message as Message)) }
        : event,
    )
}

/** What a handler does with messages before it keeps them. */
export interface HistoryHandlerOptions {
  /**
   * True: the target was restored, so the ids of deltas that it has are not known. Equal messages at `expectedLen` then
   * count as the delta; if only the first of them are there, the rest is appended. Default: false.
   */
  readonly resume?: boolean
  /** Takes secrets out of messages. The run goes on with the messages as they came. Default: nothing is taken out. */
  readonly redact?: Redact
}

/**
 * A handler for which each delta must continue the history exactly. A gap, or another message in its place, is a fault
 * that
 * names the position and ends the run.
 *
 * @param history the history to append to
 * @returns the handler
 * @throws TypeError if `history` was not made by this library
 */
export const strictHistoryHandler = (history: History<Message>): ((event: RunEvent) => Either<DeltaFault, Kept>) => {
  ours(history)
  return (event) => (event.type === 'history_delta' ? applyDelta(history, event) : right('ignored'))
}

/**
 * A handler that collects messages: the seed, and after it the messages of each delta, once.
 *
 * @param seed the first messages. Default: none
 * @returns the handler; `messages()` gives the messages so far
 * @example
 * const collected = historyAccumulator(view)
 * await run({ model, view, handlers: [collected] }).result() // collected.messages() is the run's result.messages
 */
export const historyAccumulator = (
  seed?: Sequence<Message>,
): ((event: RunEvent) => Either<DeltaFault, Kept>) & {
  /** The messages so far: a frozen array. */
  readonly messages: () => readonly Message[]
} => {
  const messages: Message[] = seed === undefined ? [] : [...seed]
  const handler = intoArray(messages, { unread: seed === undefined, missing: 0 }, false)
  return Object.freeze(Object.assign(handler, { messages: () => Object.freeze([...messages]) }))
}

/** A delta that was appended: where the run placed it, and its messages as they stand in the target. */
interface Taken {
  readonly expectedLen: number
  readonly messages: Sequence<Message>
}

/** The deltas that handlers have appended to each history and array, by id. */
const takenBy = new WeakMap<object, Map<string, Taken>>()

const takenOf = (target: object): Map<string, Taken> => {
  const known = takenBy.get(target) ?? new Map<string, Taken>()
  takenBy.set(target, known)
  return known
}

/** Whether a delta was appended before; a fault, if another one was under its id. */
const before = (
  taken: Taken | undefined,
  { expectedLen, append }: HistoryDelta<Message>,
  len: number,
): Either<DeltaFault, 'duplicate'> | undefined => {
  if (taken === undefined) return undefined
  const same =
    taken.expectedLen === expectedLen &&
    taken.messages.length === append.length &&
    equalFrom(taken.messages, 0, append) === append.length
  return same ? right('duplicate') : left({ _tag: 'DeltaMismatch', position: expectedLen, len })
}

/** Where the messages of a run's record stand in a target, which may begin with fewer of them. */
interface Place {
  /** Whether the next length that an event says is that of the record as the run began. */
  unread: boolean
  /** How many messages of the record the target lacks. */
  missing: number
}

/** Learn from an event where the run began; `len` is that of the target. */
const look = (place: Place, event: RunEvent, len: number): void => {
  if (event.seq === 0) place.unread = true
  const length =
    event.type === 'step_start' ? event.len : event.type === 'history_delta' ? event.expectedLen : undefined
  if (!place.unread || length === undefined) return
  place.unread = false
  place.missing = Math.max(0, length - len)
}

const intoHistory = (history: History<Message>, resume: boolean): ((event: RunEvent) => Either<DeltaFault, Kept>) => {
  const taken = takenOf(history)
  const place: Place = { unread: false, missing: 0 }
  return (event) => {
    look(place, event, history.len)
    if (event.type !== 'history_delta') return right('ignored')
    const { id, expectedLen, append } = event
    const known = before(taken.get(id), event, history.len)
    if (known !== undefined) return known
    const at = Math.max(0, expectedLen - place.missing)
    let applied = applyDelta(history, { id, expectedLen: at, append }, { resume })
    if (isLeft(applied) && applied.left._tag === 'DeltaMismatch') {
      // Others have appended meanwhile; or the history was saved in the middle of this delta.
      const { len } = history
      const stands = resume && applied.left.appliedBy === undefined ? standing(history.view(), at, append) : 0
      applied = applyDelta(history, { id, expectedLen: len, append: append.slice(stands) })
    }
    if (!isLeft(applied) && applied.right === 'applied') {
      const { len } = history
      taken.set(id, { expectedLen, messages: history.view().slice(len - append.length) })
    }
    return applied
  }
}

const intoArray = (
  array: Message[],
  place: Place,
  resume: boolean,
): ((event: RunEvent) => Either<DeltaFault, Kept>) => {
  const taken = takenOf(array)
  return (event) => {
    look(place, event, array.length)
    if (event.type !== 'history_delta') return right('ignored')
    const { id, expectedLen, append } = event
    const known = before(taken.get(id), event, array.length)
    if (known !== undefined) return known
    const at = Math.max(0, expectedLen - place.missing)
    if (at > array.length) return left({ _tag: 'DeltaGap', position: array.length, expectedLen: at })
    const stands = resume ? standing(array, at, append) : 0
    for (let index = stands; index < append.length; index++) array.push(append[index] as Message)
    taken.set(id, { expectedLen, messages: append as readonly Message[] })
    return right(stands === append.length && stands > 0 ? 'duplicate' : 'applied')
  }
}

/** How many messages of a delta stand at its place: all of them, or the first ones if nothing comes after them. */
const standing = (messages: Sequence<Message>, at: number, append: HistoryDelta<Message>['append']): number => {
  const equal = equalFrom(messages, at, append)
  return equal === append.length || at + equal === messages.length ? equal : 0
}

/** How many messages of `append` stand in `messages` from a position on, one after the other. */
const equalFrom = (messages: Sequence<Message>, at: number, append: HistoryDelta<Message>['append']): number => {
  let count = 0
  while (
    count < append.length &&
    at + count < messages.length &&
    jsonEqual(messages.at(at + count) as unknown as Json, append[count] as unknown as Json)
  )
    count += 1
  return count
}

/** The history, if it is one of this library: a delta without messages changes nothing. */
const ours = (history: History<Message>): History<Message> => {
  applyDelta(history, { id: '', expectedLen: 0, append: [] })
  return history
}
