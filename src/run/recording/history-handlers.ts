/** A handler that applies a run's deltas in memory: to a history or an array. */
import type { Either } from 'fp-ts/lib/Either.js'
import { applyDelta, type History, type HistoryDelta, type DeltaFault } from '../../history/index.ts'
import { describe, isLeft, jsonEqual, left, optionsOf, right } from '../../json/index.ts'
import type { Message, Sequence } from '../../message/index.ts'
import { createRedactor, type Redact } from '../../redact/index.ts'
import type { RunEvent } from '../event.ts'

/** A handler's result: `ignored` for every event except a delta. */
export type DeltaOutcome = 'applied' | 'duplicate' | 'ignored'

/**
 * A handler that appends the messages of each delta to your history or array. You may append to it in between; the
 * next delta then goes after your messages.
 *
 * Each delta is appended once, no matter how many handlers receive it or how often. All handlers of one history or
 * array share the ids of applied deltas. A delta with an unknown id is appended, whatever the target has at its
 * position; with `resume`, it is first compared with the messages of a restored target.
 *
 * A delta beyond the end (`DeltaGap`), or a known id with other messages (`DeltaMismatch`), ends the run. The target
 * may start with fewer messages than the record, or none: the handler takes the record's length from the first event
 * (`seq` 0).
 *
 * @param target a history or an array
 * @param options redaction, and how to match existing messages
 * @throws TypeError if `target` is neither a history of this library nor an array, or an array with `strict`
 * @example
 * const messages: Message[] = [...view]
 * await run({ model, view, handlers: [historyHandler(messages)] }).result() // messages is now the run's result.messages
 */
export const historyHandler = (
  target: History<Message> | Message[],
  options: HistoryHandlerOptions = {},
): ((event: RunEvent) => Either<DeltaFault, DeltaOutcome>) => {
  const { redact, resume = false, strict = false } = optionsOf('historyHandler', options, optionNames)
  const redactor = redact === undefined ? undefined : createRedactor(redact)
  const keep = strict
    ? strictHandler(target, resume)
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

/** Options of a history handler. */
interface HistoryHandlerOptions {
  /**
   * True: the target was restored, so the ids of its deltas are unknown. Equal messages at `expectedLen` then count
   * as the delta; if only the first of them exist, the rest is appended. Default: false.
   */
  readonly resume?: boolean
  /**
   * True: each delta must continue the history exactly, as with `applyDelta`. A gap, or a message that another delta
   * or nobody's delta appended, is a fault that names the position and ends the run; with `resume`, equal messages
   * count as the delta. Not for arrays. Default: false.
   */
  readonly strict?: boolean
  /** Removes secrets from messages. The run itself continues with the originals. Default: nothing is removed. */
  readonly redact?: Redact
}

/** The deltas already appended to each history and array, by id. */
const appliedDeltas = new WeakMap<object, Map<string, HistoryDelta<Message>>>()

type DeltaHandler = (event: RunEvent) => Either<DeltaFault, DeltaOutcome>

/** Applies each delta to `target` once. @param add appends a delta at its position */
const applyOnce = (
  target: object,
  len: () => number,
  add: (delta: HistoryDelta<Message>) => Either<DeltaFault, DeltaOutcome>,
): DeltaHandler => {
  const taken = appliedDeltas.get(target) ?? new Map<string, HistoryDelta<Message>>()
  appliedDeltas.set(target, taken)
  // A target may start with fewer messages than the run's record, whose length the next event tells.
  let isUnread = len() === 0
  let missing = 0
  return (event) => {
    isUnread ||= event.seq === 0
    const length =
      event.type === 'step_start' ? event.len : event.type === 'history_delta' ? event.expectedLen : undefined
    if (isUnread && length !== undefined) {
      isUnread = false
      missing = Math.max(0, length - len())
    }
    if (event.type !== 'history_delta') return right('ignored')
    const { id, expectedLen, append } = event
    const before = taken.get(id)
    if (before !== undefined)
      return isSame(before, event)
        ? right('duplicate')
        : left({ _tag: 'DeltaMismatch', position: expectedLen, len: len() })
    const kept = add({ id, expectedLen: Math.max(0, expectedLen - missing), append })
    if (!isLeft(kept)) taken.set(id, { id, expectedLen, append })
    return kept
  }
}

const strictHandler = (target: History<Message> | Message[], resume: boolean): DeltaHandler => {
  if (Array.isArray(target))
    throw new TypeError('historyHandler: `strict` needs a history; an array has no ids of deltas to compare')
  const history = checkHistory(target)
  return (event) => (event.type === 'history_delta' ? applyDelta(history, event, { resume }) : right('ignored'))
}

const intoHistory = (history: History<Message>, resume: boolean): DeltaHandler =>
  applyOnce(
    checkHistory(history),
    () => history.len,
    (delta) => {
      const applied = applyDelta(history, delta, { resume })
      if (!isLeft(applied) || applied.left._tag !== 'DeltaMismatch') return applied
      // Somebody else appended in between, or the history was saved in the middle of this delta.
      const { id, expectedLen, append } = delta
      const stands =
        resume && applied.left.appliedBy === undefined ? matchedCount(history.view(), expectedLen, append) : 0
      return applyDelta(history, { id, expectedLen: history.len, append: append.slice(stands) })
    },
  )

const intoArray = (array: Message[], resume: boolean): DeltaHandler =>
  applyOnce(
    array,
    () => array.length,
    ({ expectedLen, append }) => {
      if (expectedLen > array.length) return left({ _tag: 'DeltaGap', position: array.length, expectedLen })
      const stands = resume ? matchedCount(array, expectedLen, append) : 0
      for (let index = stands; index < append.length; index++) array.push(append[index] as Message)
      return right(stands === append.length && stands > 0 ? 'duplicate' : 'applied')
    },
  )

/** Whether two deltas have the same messages at the same position. */
const isSame = (entry: HistoryDelta<Message>, { expectedLen, append }: HistoryDelta<Message>): boolean =>
  entry.expectedLen === expectedLen &&
  entry.append.length === append.length &&
  equalFrom(entry.append as readonly Message[], 0, append) === append.length

/** How many messages of a delta are already at its position: all, or the first ones if nothing follows them. */
const matchedCount = (messages: Sequence<Message>, at: number, append: HistoryDelta<Message>['append']): number => {
  const equal = equalFrom(messages, at, append)
  return equal === append.length || at + equal === messages.length ? equal : 0
}

/** The number of leading messages of `append` that equal those in `messages` from `at`. */
const equalFrom = (messages: Sequence<Message>, at: number, append: HistoryDelta<Message>['append']): number => {
  let count = 0
  while (count < append.length && at + count < messages.length && jsonEqual(messages.at(at + count), append[count]))
    count += 1
  return count
}

/** The history, if it is one of this library. Checked with an empty delta, which changes nothing. */
const checkHistory = (history: History<Message> | Message[]): History<Message> => {
  try {
    applyDelta(history as History<Message>, { id: '', expectedLen: 0, append: [] })
  } catch {
    throw new TypeError(
      `historyHandler: the target is ${describe(history)}; expected a history from createHistory or restoreHistory, or an array of messages. For a session, use sessionHandler`,
    )
  }
  return history as History<Message>
}

const optionNames = { redact: true, resume: true, strict: true } as const
