/** A handler that keeps the deltas of a run in memory: in a history, or in an array. */
import type { Either } from 'fp-ts/lib/Either.js'
import { applyDelta, type History, type HistoryDelta, type DeltaFault } from '../history/index.ts'
import { isLeft, jsonEqual, left, optionsOf, right } from '../json/index.ts'
import type { Message, Sequence } from '../message/index.ts'
import { createRedactor, type Redact } from '../redact/index.ts'
import type { RunEvent } from './event.ts'

/** The result of a handler: `ignored` for every event but a delta. */
export type DeltaOutcome = 'applied' | 'duplicate' | 'ignored'

/**
 * A handler that appends the messages of each delta to a history or to an array of yours. You may append to it
 * meanwhile; the next delta then comes after your messages.
 *
 * Each delta is appended once, however many handlers there are and however often they get it. All handlers of one
 * history or array share the ids of applied deltas. A delta whose id is not known is appended, whatever stands at its
 * place: with `resume`, it is first compared with what a restored target has.
 *
 * A delta beyond the end (`DeltaGap`), or a known id with other messages (`DeltaMismatch`), ends the run. The target
 * may begin with fewer messages than the record, or with none: the handler learns the length of the record from the
 * first event (`seq` 0).
 *
 * @param target a history, or an array
 * @param options what is taken out of messages
 * @throws TypeError if `target` is neither a history of this library nor an array
 * @example
 * const messages: Message[] = [...view]
 * await run({ model, view, handlers: [historyHandler(messages)] }).result() // messages is now the run's result.messages
 */
export const historyHandler = (
  target: History<Message> | Message[],
  options: HistoryHandlerOptions = {},
): ((event: RunEvent) => Either<DeltaFault, DeltaOutcome>) => {
  const { redact, resume = false, strict = false } = optionsOf('historyHandler', options, known)
  const redactor = redact === undefined ? undefined : createRedactor(redact)
  const keep = strict
    ? exactly(ours(target))
    : Array.isArray(target)
      ? intoArray(target, resume)
      : intoHistory(target, resume)
  if (redactor === undefined) return keep
  return (event) =>
    keep(
      event.type === 'history_delta'
        ? { ...event, append: event.append.map((message) => redactor.message(message as Message)) }
        : event,
    )
}

/** How a handler prepares messages before it keeps them. */
export interface HistoryHandlerOptions {
  /**
   * True: the target was restored, so the ids of deltas that it has are not known. Equal messages at `expectedLen` then
   * count as the delta; if only the first of them are there, the rest is appended. Default: false.
   */
  readonly resume?: boolean
  /**
   * True: each delta must continue the history exactly. A gap, or another message in its place, is a fault that names the
   * position and ends the run. Not for arrays. Default: false.
   */
  readonly strict?: boolean
  /** Takes secrets out of messages. The run goes on with the messages as they came. Default: nothing is taken out. */
  readonly redact?: Redact
}

/** The deltas that handlers have appended to each history and array, by id. */
const takenBy = new WeakMap<object, Map<string, HistoryDelta<Message>>>()

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

type Keep = (event: RunEvent) => Either<DeltaFault, DeltaOutcome>

/** Each delta once, in `target`. @param add appends a delta at its place there */
const once = (
  target: object,
  len: () => number,
  add: (delta: HistoryDelta<Message>) => Either<DeltaFault, DeltaOutcome>,
): Keep => {
  const taken = takenBy.get(target) ?? new Map<string, HistoryDelta<Message>>()
  takenBy.set(target, taken)
  const place: Place = { unread: len() === 0, missing: 0 }
  return (event) => {
    look(place, event, len())
    if (event.type !== 'history_delta') return right('ignored')
    const { id, expectedLen, append } = event
    const before = taken.get(id)
    if (before !== undefined)
      return isSame(before, event)
        ? right('duplicate')
        : left({ _tag: 'DeltaMismatch', position: expectedLen, len: len() })
    const kept = add({ id, expectedLen: Math.max(0, expectedLen - place.missing), append })
    if (!isLeft(kept)) taken.set(id, { id, expectedLen, append })
    return kept
  }
}

const exactly =
  (history: History<Message>): Keep =>
  (event) =>
    event.type === 'history_delta' ? applyDelta(history, event) : right('ignored')

const intoHistory = (history: History<Message>, resume: boolean): Keep =>
  once(
    ours(history),
    () => history.len,
    (delta) => {
      const applied = applyDelta(history, delta, { resume })
      if (!isLeft(applied) || applied.left._tag !== 'DeltaMismatch') return applied
      // Others have appended meanwhile; or the history was saved in the middle of this delta.
      const { id, expectedLen, append } = delta
      const stands = resume && applied.left.appliedBy === undefined ? standing(history.view(), expectedLen, append) : 0
      return applyDelta(history, { id, expectedLen: history.len, append: append.slice(stands) })
    },
  )

const intoArray = (array: Message[], resume: boolean): Keep =>
  once(
    array,
    () => array.length,
    ({ expectedLen, append }) => {
      if (expectedLen > array.length) return left({ _tag: 'DeltaGap', position: array.length, expectedLen })
      const stands = resume ? standing(array, expectedLen, append) : 0
      for (let index = stands; index < append.length; index++) array.push(append[index] as Message)
      return right(stands === append.length && stands > 0 ? 'duplicate' : 'applied')
    },
  )

/** Whether two deltas have the same messages at the same place. */
const isSame = (one: HistoryDelta<Message>, { expectedLen, append }: HistoryDelta<Message>): boolean =>
  one.expectedLen === expectedLen &&
  one.append.length === append.length &&
  equalFrom(one.append as readonly Message[], 0, append) === append.length

/** How many messages of a delta stand at its place: all of them, or the first ones if nothing comes after them. */
const standing = (messages: Sequence<Message>, at: number, append: HistoryDelta<Message>['append']): number => {
  const equal = equalFrom(messages, at, append)
  return equal === append.length || at + equal === messages.length ? equal : 0
}

/** How many messages of `append` stand in `messages` from a position on, one after the other. */
const equalFrom = (messages: Sequence<Message>, at: number, append: HistoryDelta<Message>['append']): number => {
  let count = 0
  while (count < append.length && at + count < messages.length && jsonEqual(messages.at(at + count), append[count]))
    count += 1
  return count
}

/** The history, if it is one of this library: a delta without messages changes nothing. */
const ours = (history: History<Message> | Message[]): History<Message> => {
  applyDelta(history as History<Message>, { id: '', expectedLen: 0, append: [] })
  return history as History<Message>
}

const known = { redact: true, resume: true, strict: true } as const
