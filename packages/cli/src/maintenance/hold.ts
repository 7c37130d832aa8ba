/** `indelible hold`: sessions that may not be erased or removed. */
import { isLeft } from 'indelible/internal/json'
import { holdSession, listHolds, releaseSession, type Hold } from '@indelible/evidence'
import type { Store } from 'indelible/store'
import { actionReasonOf } from 'indelible/internal/store'
import { becauseOptions, Misuse, Unreadable, type Call, type Command } from '../terminal/command.ts'
import { valueOrUnreadable, storeOption, withStore } from '../sources/place.ts'
import { countText } from '../terminal/screen.ts'
import { sessionOrAdvice } from '../sources/sessions.ts'

/** A hold as text. */
export const heldText = ({ id: holder, reason, by }: Hold, id: string): string =>
  `held${holder === id ? '' : ` with ${holder}, which shares them,`}${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : ` (${reason})`}`

/** The holds on a session. Empty if it can't be read: it can still be released. */
type Holds = Awaited<ReturnType<ReturnType<typeof listHolds>>>

export const hold: Command = {
  name: 'hold',
  synopsis: 'hold SESSION…',
  purpose: 'keep sessions from being erased or removed',
  usage: ['hold SESSION… [options]', 'hold --release SESSION… [options]'],
  about: `From now on "indelible erase" and "indelible remove" refuse these
sessions, and messages that they share with others, until "indelible hold
--release". The ledger of the store gets a row with the time, and with the
reason and name that you give. With --release the exit code is 1 if a session was not held.`,
  options: { release: { help: 'release the sessions' }, ...becauseOptions, ...storeOption },
  examples: [
    'indelible hold support-1 --reason "case 2026-14" --by ann',
    'indelible hold --release support-1 --reason "case 2026-14 is closed" --by ann',
  ],
  run: async (call) => {
    const { values, positionals, terminal } = call
    const named = [...new Set(positionals)]
    if (named.length === 0) throw new Misuse('hold needs a SESSION: its id, as "indelible list" shows it')
    const change = values['release'] === true ? releaseOne : holdOne
    await withStore(call, {}, async (store) => {
      const ids: string[] = []
      for (const name of named) ids.push(await sessionOrAdvice(store, name, terminal))
      let refused = 0
      for (const id of ids) {
        const result = await change(store, id, call, await listHolds(store, id)())
        if (result === undefined) refused += 1
        else await terminal.print([`${id}: ${result}`])
      }
      if (refused > 0)
        throw new Unreadable(`${countText(refused, 'session')} ${refused === 1 ? 'was' : 'were'} not held`)
    })
  },
}

const holdOne = async (store: Store, id: string, { values }: Call, holds: Holds): Promise<string> => {
  const own = (await valueOrUnreadable(async () => holds)).find(({ hold }) => hold.id === id)
  await valueOrUnreadable(holdSession(store, id, actionReasonOf(values)))
  return own === undefined ? 'held' : `${heldText(own.hold, id)} already`
}

/** Undefined if the session was not held. */
const releaseOne = async (
  store: Store,
  id: string,
  { values, terminal }: Call,
  holds: Holds,
): Promise<string | undefined> => {
  if (isLeft(holds) || holds.right.some(({ hold }) => hold.id === id)) {
    await valueOrUnreadable(releaseSession(store, id, actionReasonOf(values)))
    return 'released'
  }
  terminal.tell([
    `${id}: was not held${holds.right.map(({ hold }) => `; messages of it are ${heldText(hold, id)}`).join('')}`,
  ])
  return undefined
}
