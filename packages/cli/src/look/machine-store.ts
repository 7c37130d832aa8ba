/** The sessions that agents keep on this machine, in a store in memory: `indelible view` shows them without an import. */
import { statSync } from 'node:fs'
import { memoryStore, type Store } from 'indelible/store'
import { nothingErased } from '../keep/erased-messages.ts'
import { rowsOfSource, UnreadFormat } from '../keep/keep-store.ts'
import { sessionIdIn } from '../keep/session-ids.ts'
import { allSources, findSource, type SessionAtPath } from '../sources/machine-sessions.ts'
import { programs } from '../sources/agent-sessions.ts'
import { Unreadable, type Terminal } from '../terminal/command.ts'
import { countText } from '../terminal/screen.ts'

export interface MachineStore {
  readonly store: Store
  /** The id of the named session. */
  readonly id?: string
  /** Read the sessions that are not in the store yet, until the signal ends it. */
  readonly readRest: (ended: AbortSignal) => Promise<void>
}

/** This many are read before the page opens, the others while it is shown. */
const readAtFirst = 30

/** The most bytes of files that are read, the latest sessions first: a store in memory holds all of it. */
const mostBytes = 2 ** 28

/** The latest sessions of this machine; undefined if there are none. Throws Unreadable if none is the named one. */
export const machineStore = async (
  named: string | undefined,
  terminal: Terminal,
): Promise<MachineStore | undefined> => {
  const { found, unread } = await allSources(terminal, programs)
  if (found.length === 0) return undefined
  terminal.tell(unread)
  const wanted = named === undefined ? undefined : await findSource(named, terminal)
  if (named !== undefined && wanted === undefined)
    throw new Unreadable(`no agent on this machine has a session "${named}"; "indelible list --machine" lists them`)
  const store = memoryStore()
  const quiet: Terminal = { ...terminal, tell: () => {}, tellDamage: () => {} } // import reports what is wrong with a file
  const skipped: string[] = []
  let bytes = 0
  const read = async ({ program, source }: SessionAtPath): Promise<readonly string[]> => {
    bytes += statSync(source.path, { throwIfNoEntry: false })?.size ?? 0
    if (bytes > mostBytes) {
      skipped.push(source.path)
      return []
    }
    try {
      const own = await sessionIdIn(source)
      const stored = await rowsOfSource(store, program, source, own, nothingErased, undefined, quiet)
      return stored.map(({ id }) => id)
    } catch (error) {
      if (!(error instanceof Unreadable || error instanceof UnreadFormat)) throw error
      terminal.tell([error instanceof Unreadable ? error.message : `${source.path}: ${error.message}`])
      return []
    }
  }
  const order = found.toSorted(
    (a, b) => Number(b.source.path === wanted?.path) - Number(a.source.path === wanted?.path),
  )
  const first = order.slice(0, wanted === undefined ? readAtFirst : 1)
  const bar = terminal.progress('reading the sessions of this machine', first.length, 'sessions')
  let id: string | undefined
  for (const [index, source] of first.entries()) {
    const [own] = await read(source)
    if (wanted !== undefined) id = own
    bar.at(index + 1)
  }
  bar.end()
  return {
    store,
    ...(id !== undefined && { id }),
    readRest: async (ended) => {
      const rest = order.slice(first.length)
      for (const source of rest) {
        if (ended.aborted) return
        await read(source)
      }
      if (rest.length > 0)
        terminal.tell([`${countText(rest.length - skipped.length, 'older session')} read: reload the page to see them`])
      if (skipped.length > 0)
        terminal.tell([`${countText(skipped.length, 'session')} left out, because together the files are too large for memory; an import reads all`]) // oxfmt-ignore
    },
  }
}
