/** Removes recorded sessions after some time. */
import { removeRecorded } from '@indelible/evidence'
import { isLeft } from 'indelible/internal/json'
import type { Store } from 'indelible/store'
import { valueOrUnreadable } from '../sources/place.ts'
import { sessionsIn } from '../sources/sessions.ts'
import { countText } from '../terminal/screen.ts'

/**
 * Remove the recorder's sessions without an append in the given number of days. Other sessions stay, however old, and
 * so do sessions under a hold.
 */
export const removeOld = async (store: Store, days: number): Promise<number> => {
  const before = store.now() - days * 86_400_000
  const old = (await sessionsIn(store)).filter(
    ({ appended, metadata }) => appended < before && metadata['recorder'] !== undefined,
  )
  let removed = 0
  for (const { id } of old) {
    const done = await removeRecorded(store, id, {
      reason: `older than ${countText(days, 'day')}`,
      by: 'indelible record',
    })()
    if (isLeft(done) && done.left._tag === 'LogHeld') continue
    await valueOrUnreadable(async () => done)
    removed += 1
  }
  return removed
}
