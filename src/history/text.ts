/** Appending what is stored as JSON text: as safe as an append, without the copy. */
import type { Either } from 'fp-ts/lib/Either.js'
import {
  create,
  define,
  freeze,
  freezeParsed,
  hasOwn,
  type Immutable,
  left,
  NotJson,
  ownField,
  parseText,
  type Path,
  right,
} from '../json/index.ts'
import type { PageKind } from '../pages/index.ts'
import type { HistoryFaultOf, TextFault } from './fault.ts'
import type { History } from './history.ts'
import { kindOf, logOf, record } from './log.ts'
import { lenOf } from './state.ts'
import type { Position } from './view.ts'

/** A text that belongs in a message. The JSON text has an empty string in its place. */
export interface Fill {
  /** The path of the empty string in the message. */
  readonly path: Path
  /** The text to put there. Anything but a string is refused. */
  readonly text: string
}

/** Fields of a message that its JSON text lacks. */
export interface TextOptions {
  /** The page kind of the message. Default: the history's `classify` decides. */
  readonly page?: PageKind | undefined
  /** Texts to put in before the message is recorded. Default: none. */
  readonly fills?: readonly Fill[]
  /**
   * Checks the message. Default: any JSON is accepted.
   *
   * @param message the parsed message
   * @returns what is wrong with it; undefined if nothing is
   */
  readonly check?: (message: unknown) => unknown
}

/**
 * Append a message that is given as JSON text. The result equals `history.append(JSON.parse(text))`. Nobody else holds
 * the parsed value, so it is frozen in place instead of copied.
 *
 * Cost    little more than `JSON.parse` (bench: sessions)
 *
 * @param history the history to append to
 * @param text the message as JSON
 * @param options page kind, texts to fill in, and a check
 * @returns the position; or `UndecodableMessage`, `UnrecordableMessage`, `CallbackThrew`
 * @throws TypeError if `history` was not made by this library, or `page` is not a page kind; the history is unchanged
 */
export const appendText = <M>(
  history: History<M>,
  text: string,
  options: TextOptions = none,
): Either<TextFault, Position> => {
  const log = logOf(history)
  if (log === undefined)
    throw new TypeError('appendText needs a history that was made by createHistory or restoreHistory')
  const position = lenOf(log.content)
  const page = ownField(options, 'page')
  const fills = ownField(options, 'fills') ?? noFills
  const check = ownField(options, 'check')
  const unrecordable = (path: Path, reason: string): Either<HistoryFaultOf<'UnrecordableMessage'>, never> =>
    left({ _tag: 'UnrecordableMessage', position, path, reason })
  let message: unknown
  try {
    message = parseText(text)
  } catch {
    return unrecordable([], 'is not JSON text')
  }
  for (let index = 0; index < fills.length; index++) {
    const { path, text: filling } = fills[index] as Fill
    // Anything but a text would be recorded as it is, alive.
    if (typeof filling !== 'string') return unrecordable(path, 'is to be filled with something that is no text')
    if (!fillText(message, path, filling)) return unrecordable(path, 'is no place for a text that was taken out')
  }
  try {
    freezeParsed(message)
  } catch (error) {
    if (error instanceof NotJson) return unrecordable(error.path, error.reason)
    throw error
  }
  let callback = 'check'
  let kind: PageKind
  try {
    const problem = check?.(message)
    if (problem !== undefined) return left({ _tag: 'UndecodableMessage', position, cause: problem })
    callback = 'classify'
    kind = page ?? kindOf(log, message as Immutable<M>)
  } catch (cause) {
    return left({ _tag: 'CallbackThrew', callback, cause })
  }
  return right(record(log, message as Immutable<M>, kind)) // what `check` has nothing against is a message
}

const none: object = freeze(create(null))
const noFills: readonly Fill[] = freeze([])

/** Put a text at its path. False if the path does not lead to an empty string. */
const fillText = (message: unknown, path: Path, text: string): boolean => {
  const last = path.length - 1
  let place: unknown = message
  for (let index = 0; index < last; index++) place = member(place, path[index])
  const key = path[last]
  if (member(place, key) !== '') return false
  define(place as object, key as string | number, text)
  return true
}

const member = (value: unknown, key: unknown): unknown =>
  typeof value === 'object' &&
  value !== null &&
  (typeof key === 'string' || typeof key === 'number') &&
  hasOwn(value, key)
    ? (value as { readonly [key: string | number]: unknown })[key]
    : undefined
