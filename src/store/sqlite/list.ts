/** One page of a list of logs. One that can't be read is named beside the others. */
import { cursorText, type CheckedQuery, type Cursor } from '../port/driver.ts'
import { Damaged } from '../port/damaged.ts'
import { matches } from '../rules/lookup.ts'
import type { DamagedEntry, LogInfo, LogPage } from '../port/store.ts'
import { infoIn, type RawLog } from './log.ts'

export const pageOfLogs = (found: Iterable<RawLog>, { limit, where, by }: CheckedQuery): LogPage => {
  const logs: LogInfo[] = []
  const damaged: DamagedEntry[] = []
  const page = (): Omit<LogPage, 'next'> => ({
    logs: Object.freeze(logs),
    ...(damaged.length > 0 && { damaged: Object.freeze(damaged) }),
  })
  let last: Cursor = { appended: undefined, key: 0 }
  for (const raw of found) {
    const info = readable(raw)
    if (!(info instanceof Damaged) && !matches(info.meta, where)) continue
    if (logs.length + damaged.length === limit) return Object.freeze({ ...page(), next: cursorText(last) })
    if (info instanceof Damaged) damaged.push(Object.freeze({ id: String(raw['id']), reason: info.reason }))
    else logs.push(info)
    last = {
      appended: by === 'appended' ? Number(raw['appended'] ?? raw['created']) : undefined,
      key: Number(raw['key']),
    }
  }
  return Object.freeze(page())
}

const readable = (raw: RawLog): LogInfo | Damaged => {
  try {
    return infoIn(raw)
  } catch (error) {
    if (error instanceof Damaged) return error
    throw error
  }
}
