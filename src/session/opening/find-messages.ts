/** Finds messages to erase, by their text or age. */
import { bytesOfBase64, optionsOf, textOfBase64 } from '../../json/index.ts'
import { isErased, type Message, type Part } from '../../message/index.ts'
import type { Store } from '../../store/index.ts'
import { charactersOf, stoppable } from '../../store/internal.ts'
import { need, type SignalLike, type Task } from '../../task/index.ts'
import { sessionSteps, type ReadSessionFault } from '../fault.ts'
import { rowsIn } from '../record/mirror.ts'
import { readMirror } from '../record/read.ts'
import { textsOf } from '../record/note-copies.ts'
import { checkStore } from '../record/store-of.ts'

/** The conditions of a search. A message must meet all of them. */
export interface MessageQuery {
  /**
   * A pattern that one text of the message must match: of its parts, its name, its `meta`, and its files and images
   * that are in it as base64, or their addresses. Default: any message.
   */
  readonly matching?: RegExp
  /** Only messages appended before this time, in milliseconds since 1970. Default: any. */
  readonly before?: number
  /** Aborting this signal ends the search with `Cancelled`. Default: none. */
  readonly signal?: SignalLike
}

/**
 * The messages of a session that match. Erased messages never match.
 *
 * Cost    that of opening the session
 *
 * @param store the store that has the session
 * @param id the id of the session
 * @param query the conditions
 * @returns their positions in the record, in order
 * @example
 * const found = await findMessages(store, 'support-1', { matching: /grace hopper/i })
 */
export const findMessages = (
  store: Store,
  id: string,
  query: MessageQuery,
): Task<ReadSessionFault, readonly number[]> => {
  checkStore('findMessages', store)
  const { matching, before, signal } = optionsOf('findMessages', query, optionNames)
  const pattern = matching && new RegExp(matching.source, matching.flags.replace(/[gy]/g, ''))
  const matches = (message: Message): boolean =>
    pattern === undefined ||
    textsOf(message).some((text) => pattern.test(text)) ||
    textsInSources(message).some((text) => pattern.test(text))
  return sessionSteps(async function* () {
    const { mirror } = yield* need(readMirror(stoppable(store, signal), id))
    const found: number[] = []
    for (const row of rowsIn(mirror, 0, mirror.head.size)) {
      if (row.kind !== 'entry') continue
      const message = row.message as Message
      const isOld = before === undefined || row.at < before
      if (isOld && !isErased(message) && matches(message)) found.push(row.position)
    }
    return Object.freeze(found)
  }, 'findMessages')
}

/** The texts of files and images: those that are in a message as base64, and addresses without percent-encoding. */
const textsInSources = ({ content }: Pick<Message, 'content'>): readonly string[] =>
  (content as readonly Part[]).flatMap((part) => {
    if (part.type === 'tool_result') return textsInSources(part)
    if (part.type !== 'file' && part.type !== 'image') return []
    if (part.source.type === 'url') return decoded(part.source.url)
    if (part.source.type !== 'base64') return []
    const { data } = part.source
    const text = textOfBase64(data)
    const bytes = text === undefined ? bytesOfBase64(data) : undefined
    return text !== undefined ? [text] : bytes === undefined ? [] : [charactersOf(bytes)]
  })

const decoded = (url: string): readonly string[] => {
  try {
    return [decodeURIComponent(url)]
  } catch {
    return []
  }
}

const optionNames = { matching: true, before: true, signal: true } as const
