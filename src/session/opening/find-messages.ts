/** Finding what is to be erased: messages by what they say, or by their age. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, optionsOf, right } from '../../json/index.ts'
import { isErased, type Message } from '../../message/index.ts'
import type { Store } from '../../store/index.ts'
import type { Task } from '../../task/index.ts'
import { sessionTask, type ReadSessionFault } from '../fault.ts'
import { rowsIn } from '../record/mirror.ts'
import { readMirror } from '../record/read.ts'
import { textsOf } from '../record/repeats.ts'
import { checkStore } from '../record/store-of.ts'

/** Which messages to find: those that meet all that is asked. */
export interface MessageQuery {
  /** A text of the message matches it. Default: any message. */
  readonly matching?: RegExp
  /** The message was appended before this: milliseconds since 1970. Default: any. */
  readonly before?: number
}

/**
 * The messages of a session that match. Messages that are erased already are not found.
 *
 * Cost    that of opening the session
 *
 * @param store the store that keeps the session
 * @param id the id of the session
 * @param query what to look for
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
  const { matching, before } = optionsOf('findMessages', query, known)
  const matches = ({ content }: Message): boolean =>
    matching === undefined ||
    textsOf(content).some((text) => new RegExp(matching.source, matching.flags.replace(/[gy]/g, '')).test(text))
  return sessionTask(async (): Promise<Either<ReadSessionFault, readonly number[]>> => {
    const opened = await readMirror(store, id)
    if (isLeft(opened)) return opened
    const { mirror } = opened.right
    const found: number[] = []
    for (const row of rowsIn(mirror, 0, mirror.head.size)) {
      if (row.kind !== 'entry') continue
      const message = row.message as Message
      const isOld = before === undefined || row.at < before
      if (isOld && !isErased(message) && matches(message)) found.push(row.position)
    }
    return right(Object.freeze(found))
  }, 'findMessages')
}

const known = { matching: true, before: true } as const
