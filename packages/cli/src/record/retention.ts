/** How long recorded sessions are kept. */
import { removeRecorded } from '@indelible/evidence'
import type { Store } from 'indelible/store'
import { answer } from '../sources/place.ts'
import { sessionsIn } from '../sources/sessions.ts'

/**
 * Remove the sessions that a recorder made and that nothing was appended to for some days. Others stay, however old.
 *
 * @returns how many were removed
 */
export const removeOld = async (store: Store, days: number): Promise<number> => {
  const before = store.now() - days * 86_400_000
  const old = (await sessionsIn(store)).filter(
    ({ appended, metadata }) => appended < before && metadata['recorder'] !== undefined,
  )
  for (const { id } of old)
    await answer(removeRecorded(store, id, { reason: `older than ${days} days`, by: 'indelible record' }))
  return old.length
}
