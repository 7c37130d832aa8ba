/** How long recorded sessions are kept. */
import { removeRecorded } from '@indelible/evidence'
import { listSessions } from 'indelible/session'
import type { Store } from 'indelible/store'
import { answer } from '../sources/place.ts'

/**
 * Remove the sessions that a recorder made and that nothing was appended to for some days. Others stay, however old.
 *
 * @returns how many were removed
 */
export const removeOld = async (store: Store, days: number): Promise<number> => {
  const before = store.now() - days * 86_400_000
  const old: string[] = []
  let after: string | undefined
  do {
    const page = await answer(listSessions(store, { limit: 1000, ...(after !== undefined && { after }) }))
    for (const { id, appended, metadata } of page.sessions)
      if (appended < before && metadata['recorder'] !== undefined) old.push(id)
    after = page.next
  } while (after !== undefined)
  for (const id of old)
    await answer(removeRecorded(store, id, { reason: `older than ${days} days`, by: 'indelible record' }))
  return old.length
}
