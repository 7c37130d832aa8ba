/** `indelible list --scopes`: the scopes of a store, each with its sessions. */
import { Unreadable, type Call } from '../terminal/command.ts'
import { valueOrUnreadable, scopeOf, withStore } from '../sources/place.ts'
import { countText, groupedNumber, oneLine } from '../terminal/screen.ts'
import { alignRows } from '../terminal/table.ts'
import { activityOf } from '@indelible/view/internal'
import { sessionsIn } from '../sources/sessions.ts'
import type { DamagedEntry } from 'indelible/internal/store'

export const listScopes = async (call: Call): Promise<void> => {
  const { terminal, values } = call
  await withStore(call, {}, async (store) => {
    const names = await valueOrUnreadable(store.scopes())
    if (names === undefined) throw new Unreadable('this kind of store can not list its scopes')
    const found = []
    for (const scope of names) {
      const damaged: DamagedEntry[] = []
      const times = (await sessionsIn(scopeOf(store, scope), damaged)).map(activityOf)
      const activity =
        times.length === 0 ? undefined : new Date(times.reduce((latest, time) => Math.max(latest, time))).toISOString()
      found.push({ scope, sessions: times.length, activity, ...(damaged.length > 0 && { damaged: damaged.length }) })
    }
    if (values['json'] === true) return terminal.printJson(found)
    if (found.length === 0) return terminal.tell(['this store is empty; "indelible import FILE" stores a conversation'])
    const [heading = '', ...lines] = alignRows(
      [
        ['sessions', 'last activity   ', 'scope'],
        ...found.map(({ scope, sessions, activity = '', damaged }) => [
          groupedNumber(sessions),
          activity.slice(0, 16).replace('T', ' '),
          `${oneLine(scope)}${damaged === undefined ? '' : `  and ${countText(damaged, 'damaged session')}`}`,
        ]),
      ],
      (column) => column === 0,
    )
    await terminal.print([terminal.paint('dim', heading), ...lines])
  })
}
