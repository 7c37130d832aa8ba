/** The streams of a chat: logs of their own, which end with their source and are removed some time later. */
import { digestOfName } from '../../proof/internal.ts'
import type { LogInfo, Store } from '../port/store.ts'
import type { MediumFault } from '../fault.ts'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../../json/index.ts'

/** What the ids of the logs with a chat's streams start with. */
const streamLogsOf = (chat: string): string => `indelible.stream.${digestOfName(chat)}.`

/** The id of the log with one of a chat's streams. */
export const streamLogOf = (chat: string, name: string): string => `${streamLogsOf(chat)}${name}`

/**
 * The logs of a chat's streams, the oldest first. Streams beyond the first hundred are left out.
 *
 * Cost    one page of a list by id
 */
export const streamLogs = async (store: Store, chat: string): Promise<Either<MediumFault, readonly LogInfo[]>> => {
  const prefix = streamLogsOf(chat)
  const page = await store.list({ by: 'id', after: prefix, limit: 100 })()
  if (isLeft(page)) return left(page.left as MediumFault) // the query is valid
  const logs = page.right.logs.filter(({ id }) => id.startsWith(prefix))
  return right(logs.toSorted((a, b) => a.created - b.created))
}
