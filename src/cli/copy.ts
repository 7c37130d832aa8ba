/** `indelible copy --from A --to B`: the sessions of one store, in another. */
import type { CallbackThrew } from '../index.ts'
import { isRight } from '../json/index.ts'
import { copySession, type SessionFault } from '../session/index.ts'
import type { Store, StoreFault } from '../store/index.ts'
import { Misuse, Unreadable, type Command } from './command.ts'
import { allSessions } from './list.ts'
import { answer, faultText, headText } from './place.ts'
import { counted, grouped } from './screen.ts'
import { openStore } from './store.ts'

export const copy: Command = {
  name: 'copy',
  synopsis: 'copy [SESSION…]',
  purpose: 'copy sessions from one store to another',
  help: `Usage: indelible copy --from STORE --to STORE [SESSION…]

Copies the named sessions, or all of them, under their own ids, and compares the
heads of both records. Run the command again to continue an interrupted copy.
An unfinished copy is not yet a session of the other store. If the other store
already has the whole session, nothing changes. If its session with that id
differs or is longer, the command reports it, changes nothing there, copies the
others, and exits with code 1.

The copy has the record and the metadata. It does not have the time of creation
or the operation ids, and each fork gets its own rows.

A STORE is the path of a file, or postgres://USER@HOST/DATABASE?schema=NAME.

Options:
  --from STORE   the store to read
  --to STORE     the store to write to; it is created if it does not exist
  -h, --help     print this help

Example:
  indelible copy --from sessions.db --to postgres://app@db.example.com/agents
`,
  options: { from: { type: 'string' }, to: { type: 'string' } },
  run: async ({ values, positionals, terminal }) => {
    const [source, target] = [values['from'], values['to']]
    if (typeof source !== 'string' || source === '' || typeof target !== 'string' || target === '')
      throw new Misuse('copy needs both stores: --from STORE and --to STORE')
    if (source === target) throw new Misuse('copy needs two stores, and --from and --to are the same')
    const { store: from } = await openStore(source, false, terminal)
    try {
      const { store: to } = await openStore(target, true, terminal)
      try {
        const ids = positionals.length > 0 ? positionals : await idsOf(from)
        let left = 0
        for (const id of ids) {
          const bar = terminal.progress(`copying ${id}`, undefined, 'rows')
          let stored = false
          const progress = (rows: number): void => {
            stored = true
            bar.at(rows)
          }
          const copied = await copySession(from, to, id, { progress })()
          bar.end()
          if (isRight(copied))
            await terminal.print([
              `${id}: ${counted(copied.right.len, 'message')}, head ${headText(copied.right.head)}${stored || copied.right.head.size === 0 ? '' : ', already copied'}`,
            ])
          else {
            terminal.tell([whyNot(id, copied.left)])
            left += 1
          }
        }
        if (left > 0)
          throw new Unreadable(`${counted(left, 'session')} of ${ids.length} ${left === 1 ? 'was' : 'were'} not copied`)
      } finally {
        await answer(to.close())
      }
    } finally {
      await answer(from.close())
    }
  },
}

/** Why one was not copied. Throws Unreadable where the others can't be either. */
const whyNot = (id: string, fault: SessionFault | StoreFault | CallbackThrew): string => {
  switch (fault._tag) {
    case 'Conflict':
      return `${id}: the session in the other store is longer: ${counted(fault.actual.size, 'row')}, against ${grouped(fault.expected.size)} here; it was not changed`
    case 'Diverged':
      return `${id}: the other store has another record with this id, of ${counted(fault.actual.size, 'row')}; it was not changed; to keep both, fork one under another id`
    case 'NoSuchLog':
      return `${id}: the store that --from names has no such session`
    case 'NotASession':
    case 'UnfinishedSession':
    case 'NewerSession':
    case 'DamagedLog':
    case 'DamagedBlock':
    case 'OtherHead':
      return faultText(fault)
    default:
      throw new Unreadable(faultText(fault))
  }
}

/** The oldest first, so that the copies are in the same order. */
const idsOf = async (store: Store): Promise<readonly string[]> => {
  const ids: string[] = []
  for await (const { id } of allSessions(store)) ids.push(id)
  return ids.toReversed()
}
