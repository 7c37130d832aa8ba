/** Appending what is stored as JSON text: as safe as an append, without the copy. */
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import { freezeParsed, NotJson, type Immutable, type Path } from '../json/index.ts'
import type { PageKind } from '../pages/index.ts'
import type { HistoryFault } from './fault.ts'
import type { History } from './history.ts'
import { kindOf, logOf, record } from './log.ts'
import type { Position } from './view.ts'

/** A text that was taken out of a message. An empty string stands in its place. */
export interface Fill {
  readonly path: Path
  readonly text: string
}

export interface TextOptions {
  /** What the entry is for memory management. Default: as the history classifies it. */
  readonly page?: PageKind | undefined
  /** Texts to put in before the message is recorded. */
  readonly fills?: readonly Fill[]
  /** Finds what is wrong with the message; `undefined` where nothing is. Default: any JSON will do. */
  readonly check?: (message: unknown) => unknown
}

/**
 * Append a message that is given as JSON text: all of `history.append(JSON.parse(text))`, but nobody else holds what was
 * parsed, so it is frozen where it is instead of being copied.
 *
 * Cost    little more than `JSON.parse` (bench: sessions)
 * Throws  TypeError, if `history` was not made by this library or `page` is no page kind; the history is unchanged
 */
export const appendText = <M>(history: History<M>, text: string, { page, fills = [], check }: TextOptions = {}): Either<HistoryFault, Position> => {
  const log = logOf(history)
  if (log === undefined) throw new TypeError('appendText needs a history that was made by createHistory or restoreHistory')
  const position = log.entries.length
  const unrecordable = (path: Path, reason: string): Either<HistoryFault, never> => left({ _tag: 'UnrecordableMessage', position, path, reason })
  let message: unknown
  try {
    message = parse(text)
    for (const fill of fills) if (!filled(message, fill)) return unrecordable(fill.path, 'is no place for a text that was taken out')
    freezeParsed(message)
  } catch (error) {
    if (error instanceof NotJson) return unrecordable(error.path, error.reason)
    if (error instanceof SyntaxError) return unrecordable([], 'is not JSON text')
    throw error
  }
  const problem = check?.(message)
  if (problem !== undefined) return left({ _tag: 'UndecodableMessage', position, cause: problem })
  const entry = message as Immutable<M> // what `check` has nothing against is a message
  return right(record(log, entry, page ?? kindOf(log, entry)))
}

const { parse } = JSON
const { defineProperty, hasOwn } = Object

/** Put a text in its place. False, if there is no empty string. */
const filled = (message: unknown, { path, text }: Fill): boolean => {
  let place: unknown = message
  for (const step of path.slice(0, -1)) place = member(place, step)
  const last = path.at(-1)
  if (last === undefined || member(place, last) !== '') return false
  defineProperty(place, last, { value: text, enumerable: true, configurable: true, writable: true }) // `__proto__` too is data
  return true
}

const member = (value: unknown, key: string | number): unknown =>
  typeof value === 'object' && value !== null && hasOwn(value, key) ? (value as Record<string | number, unknown>)[key] : undefined
