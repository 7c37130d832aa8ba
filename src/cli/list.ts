/** `indelible list`: the sessions of a store. */
import { listSessions, type SessionInfo } from '../session/index.ts'
import type { DamagedEntry, Store } from '../store/index.ts'
import { Misuse, type Command } from './command.ts'
import { described } from './import.ts'
import { answer, storeHelp, storeOption, withStore } from './place.ts'
import { fit, grouped, oneLine, padEnd, padStart } from './screen.ts'

export const list: Command = {
  name: 'list',
  synopsis: 'list',
  purpose: 'list the sessions of a store',
  help: `Usage: indelible list [options]

Prints the sessions of a store: the time of the last append (UTC), the number of
messages, the id, and the session that it was forked from or its title. The
session that was appended to last comes first.

Options:
  --by ORDER     appended (default), or created: the newest session first, with
                 the time of its creation
  --json         one JSON object for each session, for programs
${storeHelp}
  -h, --help     print this help
`,
  options: { by: { type: 'string' }, json: { type: 'boolean' }, ...storeOption },
  run: async (call) => {
    if (call.positionals.length > 0) throw new Misuse(`list takes no arguments, but got ${call.positionals.join(', ')}`)
    const { values, terminal } = call
    const by = values['by'] ?? 'appended'
    if (by !== 'appended' && by !== 'created') throw new Misuse('--by takes appended or created')
    await withStore(call, {}, async (store) => {
      let none = true
      const damaged: DamagedEntry[] = []
      for await (const info of allSessions(store, damaged, by)) {
        none = false
        if (values['json'] === true) await terminal.printJson([JSON.stringify(described(info))])
        else await terminal.print([fit(lineOf(info, by), terminal.columns)])
      }
      for (const { id, reason } of damaged)
        await terminal.print([
          values['json'] === true ? JSON.stringify({ id, damaged: reason }) : `damaged: ${oneLine(id)}: ${reason}`,
        ])
      if (none && damaged.length === 0 && values['json'] !== true)
        terminal.tell(['no sessions yet; "indelible import FILE" creates one'])
    })
  },
}

/** Every session of a store, page by page; and into `damaged` the logs that can't be read. */
export async function* allSessions(
  store: Store,
  damaged: DamagedEntry[] = [],
  by: 'appended' | 'created' = 'created',
): AsyncGenerator<SessionInfo> {
  let after: string | undefined
  do {
    const page = await answer(listSessions(store, { by, limit: 500, ...(after !== undefined && { after }) }))
    yield* page.sessions
    damaged.push(...(page.damaged ?? []))
    after = page.next
  } while (after !== undefined)
}

const lineOf = (info: SessionInfo, by: 'appended' | 'created'): string => {
  const { id, len, metadata, forkedFrom } = info
  const time = new Date(info[by]).toISOString().slice(0, 16).replace('T', ' ')
  const title = forkedFrom === undefined ? metadata['title'] : `forked from ${forkedFrom.id} at ${forkedFrom.at}`
  return `${time}  ${padStart(grouped(len), 8)}  ${padEnd(oneLine(id), 24)}  ${typeof title === 'string' ? oneLine(title) : ''}`.trimEnd()
}
