/** The marks of a session in lists: on hold, encrypted, or with erased messages. */
import { readLedger } from '@indelible/evidence'
import { isLeft } from 'indelible/json/kit'
import type { SessionInfo } from 'indelible/session'
import type { Store } from 'indelible/store'
import type { Terminal } from '../terminal/command.ts'
import { faultText } from './place.ts'

export interface Marks {
  readonly held?: true
  readonly encrypted?: true
  /** The number of erased messages. */
  readonly erased?: number
}

/** The marks of the sessions of a scope. An unreadable ledger is reported. Cost: O(rows of the ledger) */
export const marksIn = async (store: Store, terminal: Terminal): Promise<(info: SessionInfo) => Marks> => {
  const read = await readLedger(store)()
  if (isLeft(read) && read.left._tag !== 'NoLedger')
    terminal.tell([`can't tell which sessions are held or erased: ${faultText(read.left)}`])
  const { held, erasures } = isLeft(read) ? { held: new Map<string, unknown>(), erasures: [] } : read.right
  const erased = new Map<string, Set<number>>()
  for (const { id, rows } of erasures) {
    const found = erased.get(id) ?? new Set()
    for (const { row, kind } of rows) if (kind === 'entry') found.add(row)
    erased.set(id, found)
  }
  return ({ id, encrypted }) => {
    const messages = erased.get(id)?.size ?? 0
    return {
      ...(held.has(id) && { held: true as const }),
      ...(encrypted && { encrypted }),
      ...(messages > 0 && { erased: messages }),
    }
  }
}

/** `[held, 2 erased] `, or an empty text. */
export const marksText = ({ held, encrypted, erased }: Marks): string => {
  const words = [held && 'held', encrypted && 'encrypted', erased !== undefined && `${erased} erased`].filter(Boolean)
  return words.length === 0 ? '' : `[${words.join(', ')}] `
}
