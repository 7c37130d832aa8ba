/** Makes one page of a list of logs. Unreadable logs are listed separately. */
import type { CheckedQuery, Cursor } from '../port/driver.ts'
import { cursorText } from '../rules/check-query.ts'
import { Damaged, orDamage } from '../port/damage-error.ts'
import { matches } from '../rules/lookup.ts'
import type { DamagedEntry, LogInfo, LogPage } from '../port/store.ts'
import { countIn } from '../port/row-tokens.ts'
import { infoIn, type RawLog } from './log.ts'

export const pageOfLogs = (found: Iterable<RawLog>, { limit, where, by }: CheckedQuery): LogPage => {
  const logs: LogInfo[] = []
  const damaged: DamagedEntry[] = []
  const page = (): Omit<LogPage, 'next'> => ({
    logs: Object.freeze(logs),
    ...(damaged.length > 0 && { damaged: Object.freeze(damaged) }),
  })
  let last: Cursor = { value: undefined, key: 0 }
  for (const raw of found) {
    const info = orDamage(() => infoIn(raw))
    if (!(info instanceof Damaged) && !matches(info.meta, where)) continue
    if (logs.length + damaged.length === limit) return Object.freeze({ ...page(), next: cursorText(last, by) })
    if (info instanceof Damaged) damaged.push(Object.freeze({ id: String(raw['id']), reason: info.reason }))
    else logs.push(info)
    last = cursorOf[by](raw)
  }
  return Object.freeze(page())
}

const cursorOf: { readonly [By in CheckedQuery['by']]: (raw: RawLog) => Cursor } = {
  created: ({ key }) => ({ value: undefined, key: Number(key) }),
  appended: ({ appended, created, key }) => ({ value: Number(appended ?? created), key: Number(key) }),
  entries: ({ entries, key }) => ({ value: Number(entries), key: Number(key) }),
  tokens: ({ tokens, key }) => ({ value: countIn(tokens), key: Number(key) }),
  id: ({ id }) => ({ value: String(id), key: 0 }),
}
