/** `indelible hold` and `indelible release`: sessions that may not be erased or removed. */
import { isLeft } from 'indelible/json/kit'
import { holdSession, listHolds, releaseSession, type Hold } from '@indelible/evidence'
import type { Store } from 'indelible/store'
import { actionReasonOf } from 'indelible/store/kit'
import { becauseOptions, Misuse, Unreadable, type Call, type Command } from '../terminal/command.ts'
import { valueOrUnreadable, storeOption, withStore } from '../sources/place.ts'
import { countText } from '../terminal/screen.ts'
import { sessionOrAdvice } from '../sources/sessions.ts'

const options: Command['options'] = { ...becauseOptions, ...storeOption }

/** A hold as text. */
export const heldText = ({ id: holder, reason, by }: Hold, id: string): string =>
  `held${holder === id ? '' : ` with ${holder}, which shares them,`}${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : ` (${reason})`}`

/** The holds on a session. Empty if it can't be read: it can still be released. */
type Holds = Awaited<ReturnType<ReturnType<typeof listHolds>>>

const changeHold =
  (
    name: string,
    mark: (store: Store, id: string, call: Call, holds: Holds) => Promise<string | undefined>,
  ): Command['run'] =>
  async (call) => {
    const named = [...new Set(call.positionals)]
    if (named.length === 0) throw new Misuse(`${name} needs a SESSION: its id, as "indelible list" shows it`)
    await withStore(call, {}, async (store) => {
      const ids: string[] = []
      for (const given of named) ids.push(await sessionOrAdvice(store, given, call.terminal))
      let refused = 0
      for (const id of ids) {
        const said = await mark(store, id, call, await listHolds(store, id)())
        if (said === undefined) refused += 1
        else await call.terminal.print([`${id}: ${said}`])
      }
      if (refused > 0)
        throw new Unreadable(`${countText(refused, 'session')} ${refused === 1 ? 'was' : 'were'} not held`)
    })
  }

export const hold: Command = {
  name: 'hold',
  synopsis: 'hold SESSION…',
  purpose: 'keep sessions from being erased or removed',
  usage: ['hold SESSION… [options]'],
  about: `From now on "indelible erase" and "indelible remove" refuse these
sessions, and messages that they share with others, until "indelible release".
The ledger of the store gets a row with the time, and with the reason and name
that you give.`,
  options,
  examples: ['indelible hold support-1 --reason "case 2026-14" --by ann'],
  run: changeHold('hold', async (store, id, { values }, holds) => {
    const own = (await valueOrUnreadable(async () => holds)).find(({ hold }) => hold.id === id)
    await valueOrUnreadable(holdSession(store, id, actionReasonOf(values)))
    return own === undefined ? 'held' : `${heldText(own.hold, id)} already`
  }),
}

export const release: Command = {
  name: 'release',
  synopsis: 'release SESSION…',
  purpose: 'release held sessions',
  usage: ['release SESSION… [options]'],
  about: `Releases sessions from "indelible hold". The ledger gets a row about
it. Exit code 1 if a session was not held.`,
  options,
  run: changeHold('release', async (store, id, { values, terminal }, holds) => {
    if (isLeft(holds) || holds.right.some(({ hold }) => hold.id === id)) {
      await valueOrUnreadable(releaseSession(store, id, actionReasonOf(values)))
      return 'released'
    }
    terminal.tell([
      `${id}: was not held${holds.right.map(({ hold }) => `; messages of it are ${heldText(hold, id)}`).join('')}`,
    ])
    return undefined
  }),
}
