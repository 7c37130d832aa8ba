/** `indelible hold` and `indelible release`: sessions that may not be erased or removed. */
import { holdSession, releaseSession } from '../evidence/index.ts'
import { Misuse, type Call, type Command } from './command.ts'
import { answer, storeOption, withStore } from './place.ts'
import { sessionOrAdvice } from './sessions.ts'

const options: Command['options'] = {
  reason: { value: 'TEXT', help: 'why, for the ledger' },
  by: { value: 'NAME', help: 'who, for the ledger' },
  ...storeOption,
}

/** Why and by whom, as the options say it. */
export const becauseOf = ({ reason, by }: Call['values']): { readonly reason?: string; readonly by?: string } => ({
  ...(typeof reason === 'string' && { reason }),
  ...(typeof by === 'string' && { by }),
})

const run =
  (name: string, mark: typeof holdSession, done: string): Command['run'] =>
  async (call) => {
    const named = [...new Set(call.positionals)]
    if (named.length === 0) throw new Misuse(`${name} needs a SESSION: its id, as "indelible list" shows it`)
    await withStore(call, {}, async (store) => {
      const ids: string[] = []
      for (const given of named) ids.push(await sessionOrAdvice(store, given, call.terminal))
      for (const id of ids) {
        await answer(mark(store, id, becauseOf(call.values)))
        await call.terminal.print([`${id}: ${done}`])
      }
    })
  }

export const hold: Command = {
  name: 'hold',
  synopsis: 'hold SESSION…',
  purpose: 'keep sessions from being erased or removed',
  usage: ['hold SESSION… [options]'],
  about: `From here on "indelible erase" and "indelible remove" refuse these sessions, and
messages that they share with others, until "indelible release". The ledger of
the store keeps a row that says so, when, and, if you say so, why and by whom.`,
  options,
  examples: ['indelible hold support-1 --reason "case 2026-14" --by ann'],
  run: run('hold', holdSession, 'held'),
}

export const release: Command = {
  name: 'release',
  synopsis: 'release SESSION…',
  purpose: 'let held sessions be erased or removed again',
  usage: ['release SESSION… [options]'],
  about: 'Ends what "indelible hold" began. The ledger keeps a row that says so.',
  options,
  run: run('release', releaseSession, 'released'),
}
