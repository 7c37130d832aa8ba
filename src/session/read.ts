/** Reading a session whole, as it is stored. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../json/index.ts'
import { encryptionOf, withoutKeys, type LogInfo, type Store } from '../store/index.ts'
import type { Redactor } from '../redact/index.ts'
import type { ReadSessionFault } from './fault.ts'
import { sessionInfo, type SessionInfo } from './metadata.ts'
import { emptyMirror, readUpTo, type Mirror } from './mirror.ts'

/** A session that was read. */
export interface Opened {
  readonly mirror: Mirror
  readonly log: LogInfo
  readonly info: SessionInfo
}

/** A session as it is stored. */
export const readMirror = async (
  store: Store,
  id: string,
  redactor?: Redactor,
): Promise<Either<ReadSessionFault, Opened>> => {
  const log = await store.info(id)()
  if (isLeft(log)) return log
  const info = sessionInfo(log.right)
  if (isLeft(info)) return info
  if (info.right.encrypted && store.encryption === undefined)
    return left(withoutKeys(id, encryptionOf(log.right)?.keys.at(-1)))
  const mirror = emptyMirror(store, id, redactor)
  const read = await readUpTo(store, mirror, log.right)
  return isLeft(read) ? read : right({ mirror, log: log.right, info: info.right })
}
