/** `indelible remove SESSION…`: removes sessions, with all their messages, from the store. */
import { existsSync } from 'node:fs'
import { actionReasonOf } from 'indelible/internal/store'
import { isLeft, present } from 'indelible/internal/json'
import { removeRecorded } from '@indelible/evidence'
import type { Note } from 'indelible/internal/notes'
import { describeSession, listUnfinished, readSession, removeUnfinished } from 'indelible/session'
import type { Store } from 'indelible/store'
import { mustConfirm, becauseOptions, confirm, Misuse, Unreadable, type Command } from '../terminal/command.ts'
import { fileDigests, sourceOf } from '../keep/kept-files.ts'
import { valueOrUnreadable, faultText, storeOption, withStore } from '../sources/place.ts'
import { allSessions, wholeId } from '../sources/sessions.ts'
import { countText } from '../terminal/screen.ts'
import { waitForSpools } from '../record/spools.ts'
import type { ForkPoint } from 'indelible/internal/session'

export const remove: Command = {
  name: 'remove',
  synopsis: 'remove SESSION…',
  purpose: 'remove sessions permanently',
  usage: ['remove SESSION… [options]', 'remove --unfinished [options]'],
  about: `Removes whole sessions: their messages, their notes, and the blocks that no
other session references. This can't be undone. A fork keeps the messages that
it shares with the session it was forked from. If one of the sessions does not
exist, none is removed. The command first waits for an "indelible record" that has
calls it has not stored yet, and stores those that a killed one left.

The ledger of the store gets a row with the removed session, its head and the
time, and with the reason and name that you give ("indelible ledger").

In a terminal the command asks first; type yes to continue.`,
  options: {
    unfinished: {
      help: 'remove the partial sessions of interrupted imports and copies; an import or copy that is still running then fails',
    },
    ...becauseOptions,
    yes: { help: 'do not ask; required without a terminal' },
    ...storeOption,
  },
  examples: ['indelible remove chat-2 chat-3'],
  run: async (call) => {
    const { values, terminal } = call
    const named = [...new Set(call.positionals)]
    if (values['unfinished'] === true && named.length > 0)
      throw new Misuse('remove --unfinished takes no SESSION: it removes all unfinished imports and copies')
    if (values['unfinished'] !== true && named.length === 0)
      throw new Misuse('remove needs a SESSION: its id, as "indelible list" shows it')
    const asks = mustConfirm('remove', call)
    await withStore(call, {}, async (store) => {
      await waitForSpools(store, call, 'nothing was removed')
      const ids =
        values['unfinished'] === true ? (await valueOrUnreadable(listUnfinished(store))).map(({ id }) => id) : named
      if (ids.length === 0) return terminal.tell(['this store has no unfinished sessions'])
      const sizes = new Map<string, string>()
      for (const id of ids) sizes.set(await wholeId(store, id, terminal), await sizeOf(store, id))
      const what = [...sizes].map(([id, size]) => `${id} (${size})`).join(', ')
      if (asks) await confirm(terminal, `Remove ${what} permanently?`, 'nothing was removed')
      const forks = await forksOf(store, new Set(ids))
      const sources = new Map<string, string | undefined>()
      const digests = new Map<string, readonly string[]>()
      for (const id of sizes.keys()) {
        const session = await readSession(store, id)()
        if (isLeft(session)) continue
        const metadata = session.right.metadata()
        sources.set(id, sourceOf(metadata).path)
        // A file that no reader reads has no id but its name.
        if (session.right.len === 0) digests.set(id, fileDigests(session.right.notes() as Iterable<Note>))
      }
      for (const [id, size] of sizes) {
        if (size === 'unfinished') await valueOrUnreadable(removeUnfinished(store, id))
        else
          await valueOrUnreadable(
            removeRecorded(store, id, present({ ...actionReasonOf(values), digests: digests.get(id) })),
          )
        await terminal.print([`${id}: removed, ${size}`])
        const source = sources.get(id)
        if (source !== undefined && existsSync(source))
          await terminal.print([`  ${source} still has it; "indelible keep" skips it from now on`])
        for (const fork of forks.get(id) ?? [])
          await terminal.print([`  ${fork.id} keeps the ${countText(fork.at, 'message')} that it shares`])
      }
    })
  },
}

/** The size of a session as text. An unfinished session can be removed too. Throws Unreadable. */
const sizeOf = async (store: Store, id: string): Promise<string> => {
  const info = await describeSession(store, id)()
  if (!isLeft(info)) return countText(info.right.len, 'message')
  if (info.left._tag === 'UnfinishedSession') return 'unfinished'
  if (info.left._tag === 'DamagedLog') return 'damaged'
  throw new Unreadable(`${faultText(info.left)}; nothing was removed`)
}

/** The remaining sessions that were forked from these. */
const forksOf = async (store: Store, ids: ReadonlySet<string>): Promise<ReadonlyMap<string, readonly ForkPoint[]>> => {
  const forks = new Map<string, ForkPoint[]>()
  for await (const { id, forkedFrom } of allSessions(store)) {
    if (forkedFrom === undefined || ids.has(id) || !ids.has(forkedFrom.id)) continue
    forks.set(forkedFrom.id, [...(forks.get(forkedFrom.id) ?? []), { id, at: forkedFrom.at }])
  }
  return forks
}
