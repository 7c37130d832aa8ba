/** Restoring: a history from untrusted saved state, with every explicit page tag it was saved with. */
import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import { NotJson, type Path } from '../json/index.ts'
import { classify as classifyMessage, isPageKind, type PageKind } from '../pages/index.ts'
import type { HistoryFault } from './fault.ts'
import type { Classify, History } from './history.ts'
import { append, emptyLog, handleOf } from './log.ts'

export interface Restored<M> {
  readonly history: History<M>
  /** From this position on, page kinds were missing in the saved sidecar and have been classified. `len` if none was. */
  readonly classifiedFrom: number
}

/**
 * A history from saved messages and page kinds, as `view.toArray()` and `view.pages.toArray()` gave them.
 *
 * Each message goes through `decode` (for messages of this library: `decodeMessage`). A sidecar that is absent or too
 * short is completed by classifying the messages it lacks, and only those; one that is too long or names an unknown
 * kind is a fault. All or nothing.
 *
 * Cost    O(messages)
 */
export const restoreHistory = <M>(
  saved: { readonly messages: unknown; readonly pages?: unknown },
  decode: (message: unknown) => Either<unknown, M>,
  options: { readonly classify?: Classify<M> } = {},
): Either<HistoryFault, Restored<M>> => {
  if (typeof saved !== 'object' || saved === null) return left(notSaved([], 'an object with messages and pages'))
  const { messages, pages = [] } = saved as { readonly messages: unknown; readonly pages?: unknown }
  if (!Array.isArray(messages)) return left(notSaved(['messages'], 'an array of messages'))
  if (!Array.isArray(pages)) return left(notSaved(['pages'], 'an array of page kinds'))
  const kinds: PageKind[] = []
  for (const [position, kind] of pages.entries()) {
    if (!isPageKind(kind)) return left({ _tag: 'UnknownPage', position, found: describe(kind) })
    kinds[position] = kind
  }
  if (kinds.length > messages.length)
    return left({ _tag: 'TooManyPages', position: messages.length, messages: messages.length, pages: kinds.length })

  const log = emptyLog<M>(options.classify ?? classifyMessage)
  for (const [position, message] of [...messages].entries()) {
    const decoded = decode(message)
    if (isLeft(decoded)) return left({ _tag: 'UndecodableMessage', position, cause: decoded.left })
    try {
      append(log, decoded.right, kinds[position])
    } catch (error) {
      if (!(error instanceof NotJson)) throw error
      return left({ _tag: 'UnrecordableMessage', position, path: error.path, reason: error.reason })
    }
  }
  return right(Object.freeze({ history: handleOf(log), classifiedFrom: kinds.length }))
}

const notSaved = (path: Path, expected: string): HistoryFault => ({ _tag: 'NotSavedHistory', path, expected })

const describe = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : value === null ? 'null' : `a value of type ${typeof value}`
