/** Finds messages to erase, by their text or age. */
import { optionsOf } from '../../json/index.ts'
import { isErased, type Message } from '../../message/index.ts'
import type { Store } from '../../store/index.ts'
import { need, type Task } from '../../task/index.ts'
import { sessionSteps, type ReadSessionFault } from '../fault.ts'
import { rowsIn } from '../record/mirror.ts'
import { readMirror } from '../record/read.ts'
import { textsOf } from '../record/note-copies.ts'
import { checkStore } from '../record/store-of.ts'

/** The conditions of a search. A message must meet all of them. */
export interface MessageQuery {
  /** A pattern that one text of the message must match. Default: any message. */
  readonly matching?: RegExp
  /** Only messages appended before this time, in milliseconds since 1970. Default: any. */
  readonly before?: number
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
  const { matching, before } = optionsOf('findMessages', query, optionNames)
  const matches = ({ content }: Message): boolean =>
    matching === undefined ||
    textsOf(content).some((text) => new RegExp(matching.source, matching.flags.replace(/[gy]/g, '')).test(text))
  return sessionSteps(async function* () {
    const { mirror } = yield* need(readMirror(store, id))
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

const optionNames = { matching: true, before: true } as const
