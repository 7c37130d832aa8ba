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

Copies sessions, or all of them, under their own ids, and compares the heads of
both records. A copy that was broken off is continued when the command is run
again. Until it is whole, it is no session there. A whole copy is left as it is.
If the other store has a session of that id whose record differs, or has grown
past this one, the command leaves it as it is and says so. It copies the others,
and the exit code is 1.

What is copied is the record and its metadata: not when it was made, nor the
ids of its operations, and of forks each has its own rows.

A STORE is the path of a file, or postgres://USER@HOST/DATABASE?schema=NAME.

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
              `${id}: ${counted(copied.right.len, 'message')}, head ${headText(copied.right.head)}${stored || copied.right.head.size === 0 ? '' : ', was there already'}`,
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
      return `${id}: the copy has grown since: ${counted(fault.actual.size, 'row')}, and ${grouped(fault.expected.size)} in the store to read; it was left as it is`
    case 'Diverged':
      return `${id}: there is another record of this id there, of ${counted(fault.actual.size, 'row')}; it was left as it is. To have both, fork one under another id`
    case 'NoSuchLog':
      return `${id}: there is no such session in the store to read`
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
