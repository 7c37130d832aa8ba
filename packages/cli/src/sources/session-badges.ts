/** The marks of a session in lists: on hold, encrypted, with erased messages, or sent from a machine. */
import { readLedger } from '@indelible/evidence'
import { isLeft } from 'indelible/internal/json'
import type { SessionInfo } from 'indelible/session'
import type { Store } from 'indelible/store'
import type { Terminal } from '../terminal/command.ts'
import { oneLine } from '../terminal/screen.ts'
import { machinesOf } from './machines.ts'
import { faultText } from './place.ts'
import { sessionsIn } from './sessions.ts'

export interface Marks {
  readonly held?: true
  readonly encrypted?: true
  readonly erased?: number
  /** The machines that it was sent from: USER@HOST. */
  readonly machines?: readonly string[]
}

/**
 * The marks of the sessions of a scope. An unreadable ledger is reported.
 *
 * Cost    O(rows of the ledger); if messages were erased, also a list of all sessions, because forks share messages
 *
 * @param sessions all sessions of the scope, if they are known
 */
export const marksIn = async (
  store: Store,
  terminal: Terminal,
  sessions?: Iterable<SessionInfo>,
): Promise<(info: SessionInfo) => Marks> => {
  const read = await readLedger(store)()
  if (isLeft(read) && read.left._tag !== 'NoLedger')
    terminal.tell([`can't tell which sessions are held or erased: ${faultText(read.left)}`])
  const { held, erasures } = isLeft(read) ? { held: new Map<string, unknown>(), erasures: [] } : read.right
  const forks = new Map<string, SessionInfo['forkedFrom']>()
  if (erasures.length > 0)
    for (const { id, forkedFrom } of sessions ?? (await sessionsIn(store))) forks.set(id, forkedFrom)
  /** By the session that does not share them with an original: the positions of erased messages. */
  const erased = new Map<string, Set<number>>()
  for (const { id, rows } of erasures)
    for (const { index, kind } of rows) {
      if (kind !== 'entry') continue
      let owner = id
      for (let from = forks.get(owner); from !== undefined && index < from.at; from = forks.get(owner)) owner = from.id
      erased.set(owner, (erased.get(owner) ?? new Set()).add(index))
    }
  const erasedIn = (id: string, before = Infinity): number => {
    const from = forks.get(id)
    const own = [...(erased.get(id) ?? [])].filter((index) => index < before).length
    return from === undefined ? own : own + erasedIn(from.id, Math.min(before, from.at))
  }
  return ({ id, encrypted, metadata }) => {
    const machines = machinesOf(metadata)
    const messages = erased.size === 0 ? 0 : erasedIn(id)
    return {
      ...(held.has(id) && { held: true as const }),
      ...(encrypted && { encrypted }),
      ...(messages > 0 && { erased: messages }),
      ...(machines.length > 0 && { machines }),
    }
  }
}

/** `[held, 2 erased, ann@desk] `, or an empty text. */
export const marksText = ({ held, encrypted, erased, machines }: Marks): string => {
  const words = [
    ...[held && 'held', encrypted && 'encrypted', erased !== undefined && `${erased} erased`],
    machines !== undefined && oneLine(machines.join(', ')),
  ].filter(Boolean)
  return words.length === 0 ? '' : `[${words.join(', ')}] `
}
