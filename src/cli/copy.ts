/** `indelible copy --from A --to B`: the sessions of one store, in another. */
import { existsSync } from 'node:fs'
import { copySession } from '../session/index.ts'
import type { Store } from '../store/index.ts'
import { Misuse, Unreadable, type Command } from './command.ts'
import { allSessions } from './list.ts'
import { answer, headText } from './place.ts'
import { counted } from './screen.ts'
import { isAddress, openStore } from './store.ts'

export const copy: Command = {
  name: 'copy',
  synopsis: 'copy [SESSION…]',
  purpose: 'copy sessions from one store to another',
  help: `Usage: indelible copy --from STORE --to STORE [SESSION…]

Copies sessions, or all of them, under their own ids. A copy that was broken off
is gone on with when the command is run again; one that is whole is left as it
is. At the end of each the heads of both records are compared. A session of that
id with another content is left as it is, and told.

A STORE is the path of a file, or postgres://USER@HOST:PORT/DATABASE.

Options:
  --from STORE   the store to read
  --to STORE     the store to write to; it is made if it is not there
  -h, --help     print this help

Example:
  indelible copy --from sessions.db --to postgres://app@db.example.com/agents
`,
  options: { from: { type: 'string' }, to: { type: 'string' } },
  run: async ({ values, positionals, terminal }) => {
    const [source, target] = [values['from'], values['to']]
    if (typeof source !== 'string' || source === '' || typeof target !== 'string' || target === '') throw new Misuse('copy needs both stores: --from STORE and --to STORE')
    if (source === target) throw new Misuse('copy needs two stores, and --from and --to are the same')
    if (!isAddress(source) && !existsSync(source)) throw new Unreadable(`${source}: there is no store here`)
    const { store: from } = await openStore(source)
    try {
      const { store: to } = await openStore(target)
      try {
        for (const id of positionals.length > 0 ? positionals : await idsOf(from)) {
          const bar = terminal.progress(`copying ${id}`, undefined, 'rows')
          const info = await answer(copySession(from, to, id, { progress: bar.at }))
          bar.end()
          await terminal.print([`${id}: ${counted(info.len, 'message')}, head ${headText(info.head)}`])
        }
      } finally {
        await answer(to.close())
      }
    } finally {
      await answer(from.close())
    }
  },
}

/** The oldest first, so that the copies are in the same order. */
const idsOf = async (store: Store): Promise<readonly string[]> => {
  const ids: string[] = []
  for await (const { id } of allSessions(store)) ids.push(id)
  return ids.toReversed()
}
