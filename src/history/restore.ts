/** Restores a history from untrusted saved state, and keeps every saved page kind. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../either/index.ts'
import { describe, NotJson, optionsOf, ownField, ownItems, type Path, type Recordable } from '../json/index.ts'
import { checkOf } from './check.ts'
import { callCallback } from '../task/index.ts'
import { classify as classifyMessage, isPageKind, type PageKind } from '../pages/index.ts'
import type { HistoryFaultOf, RestoreFault } from './fault.ts'
import type { HistoryOptions } from './create.ts'
import type { History } from './history.ts'
import { copyFor, emptyLog, handleOf, kindOf, record } from './log.ts'

/** A history from saved state. */
export interface Restored<M> {
  /** Its handle. */
  readonly history: History<M>
  /**
   * The first position whose page kind was not saved and had to be classified; `len` if there is none.
   */
  readonly classifiedFrom: number
}

/**
 * Make a history from saved messages and page kinds, as `view.toArray()` and `view.pages.toArray()` return them.
 *
 * If page kinds are missing at the end, only the messages that lack one are classified. Too many
 * page kinds or an unknown kind is a fault. Either the whole history is restored or nothing is.
 *
 * Cost    O(messages)
 *
 * @param saved the saved messages and page kinds; untrusted data
 * @param decode checks one message. Pass `decodeMessage` for messages of this library
 * @param options `classify` returns the page kind of messages without one, `check` is a schema that each message must match,
 * also later ones: both as for `createHistory`
 * @returns the history; or `NotSavedHistory`, `UndecodableMessage`, `UnrecordableMessage`,
 * `TooManyPages`, `UnknownPage`, `CallbackThrew`
 * @throws TypeError if `check` is no Standard Schema
 * @example
 * const saved = JSON.parse(JSON.stringify({ messages: history.view(), pages: history.view().pages }))
 * const { history: restored } = orThrow(restoreHistory<Message>(saved, decodeMessage))
 */
export const restoreHistory = <M extends Recordable<M>>(
  saved: { readonly messages: unknown; readonly pages?: unknown },
  decode: (message: unknown) => Either<unknown, M>,
  options: Pick<HistoryOptions<M>, 'classify' | 'check'> = {},
): Either<RestoreFault, Restored<M>> => {
  const names = { classify: true, check: true } as const
  const { classify = classifyMessage, check } = optionsOf('restoreHistory', options, names)
  if (typeof saved !== 'object' || saved === null) return left(savedShapeFault([], 'an object with messages and pages'))
  const messages: unknown = ownField(saved, 'messages')
  const input: unknown = ownField(saved, 'pages')
  const pages = input === undefined ? [] : input
  if (!Array.isArray(messages)) return left(savedShapeFault(['messages'], 'an array of messages'))
  if (!Array.isArray(pages)) return left(savedShapeFault(['pages'], 'an array of page kinds'))
  const kinds: PageKind[] = []
  for (const [position, kind] of ownItems<unknown>(pages).entries()) {
    if (!isPageKind(kind)) return left({ _tag: 'UnknownPage', position, found: describe(kind) })
    kinds.push(kind)
  }
  if (kinds.length > messages.length)
    return left({ _tag: 'TooManyPages', position: messages.length, messages: messages.length, pages: kinds.length })

  const log = emptyLog<M>(classify, check === undefined ? undefined : checkOf('restoreHistory', check))
  log.isLoading = true
  // A copy, because `decode` could change the saved array.
  for (const [position, encoded] of ownItems<unknown>(messages).entries()) {
    const answer = callCallback('decode', () => decode(encoded))
    if (isLeft(answer)) return answer
    const decoded = answer.right
    if (!isEither(decoded))
      return left({ _tag: 'CallbackThrew', callback: 'decode', cause: new TypeError(notEither(decoded)) })
    if (isLeft(decoded)) return left({ _tag: 'UndecodableMessage', position, cause: decoded.left })
    let callback = 'decode' // it made the message
    try {
      const message = copyFor(log, decoded.right)
      callback = 'check'
      log.check?.(message)
      callback = 'classify'
      record(log, message, kinds.at(position) ?? kindOf(log, message))
    } catch (error) {
      if (!(error instanceof NotJson)) return left({ _tag: 'CallbackThrew', callback, cause: error })
      return left({ _tag: 'UnrecordableMessage', position, path: error.path, reason: error.reason })
    }
  }
  log.isLoading = false
  return right(Object.freeze({ history: handleOf(log), classifiedFrom: kinds.length }))
}

const isEither = (value: unknown): boolean => {
  const tag =
    typeof value === 'object' && value !== null ? ownField(value as { readonly _tag?: unknown }, '_tag') : undefined
  return tag === 'Left' || tag === 'Right'
}

const notEither = (value: unknown): string => `it returned ${describe(value)}, not an Either, as decodeMessage does`

const savedShapeFault = (path: Path, expected: string): HistoryFaultOf<'NotSavedHistory'> => ({
  _tag: 'NotSavedHistory',
  path,
  expected,
})
