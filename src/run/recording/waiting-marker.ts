/**
 * The marker of a session with a waiting step: a log of its own, made before the step waits and removed after it ends. A
 * marker can remain after a crash, so `listWaiting` reads the calls from the session itself.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, right } from '../../json/index.ts'
import { digestOfName } from '../../proof/internal.ts'
import { openStepsOf, partsOf } from '../../session/internal.ts'
import type { LogInfo, RemoveFault } from '../../store/index.ts'
import { ownStore, type NewLogFault } from '../../store/internal.ts'

/** The start of the ids of the markers. */
export const markerPrefix = 'indelible.waiting.'
/** The metadata key of a marker, with the id of the session. */
const sessionKey = 'indelible.waiting'

const markerOf = (session: string): string => `${markerPrefix}${digestOfName(session)}`

/** The id of the session of a marker. */
export const markedSession = ({ meta }: LogInfo): string | undefined => {
  const session = Object.hasOwn(meta, sessionKey) ? meta[sessionKey] : undefined
  return typeof session === 'string' ? session : undefined
}

/** Puts a session into the inbox, before a step of it waits. A value that is not a session of a store has no inbox. */
export const markWaiting = async (session: object): Promise<Either<NewLogFault, void>> => {
  const made = partsOf(session)
  if (made === undefined) return right(undefined)
  const { store, record } = made
  const id = markerOf(record.id)
  const created = await ownStore(store).create({ id, meta: { [sessionKey]: record.id }, encrypt: false })()
  return isLeft(created) && created.left._tag !== 'LogExists' ? created : right(undefined)
}

/** Whether a step of a session waits, or has waited. */
export const hasWaited = (session: object): boolean => openStepsOf(session).some(({ waited }) => waited)

/** Takes a session out of the inbox, once no step of it waits. */
export const unmarkWaiting = async (session: object): Promise<Either<RemoveFault, void>> => {
  const made = partsOf(session)
  if (made === undefined || hasWaited(session)) return right(undefined)
  const removed = await ownStore(made.store).remove(markerOf(made.record.id))()
  return isLeft(removed) && removed.left._tag !== 'NoSuchLog' ? removed : right(undefined)
}
