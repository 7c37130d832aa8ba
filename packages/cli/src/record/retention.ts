/** Removes recorded sessions after some time. */
import { removeRecorded } from '@indelible/evidence'
import type { Store } from 'indelible/store'
import { valueOrUnreadable } from '../sources/place.ts'
import { sessionsIn } from '../sources/sessions.ts'

/**
 * Remove the recorder's sessions without an append in the given number of days. Other sessions stay, however old.
 *
 * @returns the number of sessions removed
 */
export const removeOld = async (store: Store, days: number): Promise<number> => {
  const before = store.now() - days * 86_400_000
  const old = (await sessionsIn(store)).filter(
    ({ appended, metadata }) => appended < before && metadata['recorder'] !== undefined,
  )
  for (const { id } of old)
    await valueOrUnreadable(removeRecorded(store, id, { reason: `older than ${days} days`, by: 'indelible record' }))
  return old.length
}
