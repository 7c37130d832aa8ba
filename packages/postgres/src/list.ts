/** One page of a list of logs. One that can't be read is named beside the others. */
import type { JsonObject } from 'indelible/json/kit'
import type { Hash } from 'indelible/proof/kit'
import { Damaged } from 'indelible/store/kit'
import { cursorText, type CheckedQuery, type Cursor } from 'indelible/store/kit'
import { matches } from 'indelible/store/kit'
import type { DamagedEntry, LogInfo, LogPage } from 'indelible/store/kit'
import type { Query, Rows } from './database.ts'
import { infoOf, logColumns, readable } from './log.ts'
import { termsOf } from './terms.ts'

/** How many logs one statement looks through for those that have the wanted metadata. */
const listPiece = 1000

export const listed = async (
  query: Query,
  schema: string,
  hash: Hash,
  scope: string,
  { limit, after, where, by }: CheckedQuery,
): Promise<LogPage> => {
  const logs: LogInfo[] = []
  const damaged: DamagedEntry[] = []
  const page = (): Omit<LogPage, 'next'> => ({
    logs: Object.freeze(logs),
    ...(damaged.length > 0 && { damaged: Object.freeze(damaged) }),
  })
  const order = by === 'appended' ? 'coalesce(appended, created)' : 'key'
  const terms = termsOf(scope, where as JsonObject, hash)
  const wanted = terms.length === 0 ? '' : ' and terms @> $5::bigint[]'
  const text = `select ${logColumns} from ${schema}.log where scope = $1::text and (${order}, key) < ($2::bigint, $3::bigint)${wanted} order by ${order} desc, key desc limit $4::bigint`
  const many = terms.length === 0 && Object.keys(where).length === 0 ? limit + 1 : listPiece
  const orderOf = (row: Rows[number]): Cursor => ({
    appended: by === 'appended' ? Number(row['appended'] ?? row['created']) : undefined,
    key: Number(row['key']),
  })
  let last: Cursor = { appended: undefined, key: 0 }
  for (let before: Cursor = after ?? { appended: undefined, key: Number.MAX_SAFE_INTEGER }; ;) {
    const from = by === 'appended' ? (before.appended ?? Number.MAX_SAFE_INTEGER) : before.key
    const found = await query(text, [scope, from, before.key, many, ...(terms.length === 0 ? [] : [terms])])
    for (const row of found) {
      const log = readable(row)
      if (!(log instanceof Damaged) && !matches(log.meta, where)) continue
      if (logs.length + damaged.length === limit) return Object.freeze({ ...page(), next: cursorText(last) })
      if (log instanceof Damaged) damaged.push(Object.freeze({ id: String(row['id']), reason: log.reason }))
      else logs.push(infoOf(log))
      last = orderOf(row)
    }
    const end = found.at(-1)
    if (found.length < many || end === undefined) return Object.freeze(page())
    before = orderOf(end)
  }
}
