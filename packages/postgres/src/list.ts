/** One page of a list of logs. One that can't be read is named beside the others. */
import type { JsonObject } from 'indelible/json/kit'
import {
  type CheckedQuery,
  type Cursor,
  cursorText,
  Damaged,
  type DamagedEntry,
  type LogInfo,
  type LogPage,
  type LogPiece,
  matches,
} from 'indelible/store/kit'
import type { Query, Rows } from './database.ts'
import { infoOf, logColumns, readable, usedAt } from './log.ts'
import { termsOf } from './terms.ts'

/** How many keys of logs a piece has. */
const inPiece = 1000

/** The digest is one that all servers have: it tells changes, and proves nothing. */
export const piecesOf = async (query: Query, schema: string, scope: string): Promise<readonly LogPiece[]> => {
  const text = `select key / ${inPiece} as piece, count(*) as logs,
      md5(string_agg(id || ' ' || size || ' ' || encode(root, 'hex'), ',' order by key)) as digest
    from ${schema}.log where scope = $1::text group by 1 order by 1`
  const found = await query(text, [scope])
  return Object.freeze(
    found.map(({ piece, logs, digest }) =>
      Object.freeze({
        name: String(piece),
        after: String((Number(piece) + 1) * inPiece),
        logs: Number(logs),
        digest: String(digest),
      }),
    ),
  )
}

/** How many logs a statement gives that looks for more with the wanted metadata. */
const listPiece = 1000

export const listLogs = async (
  query: Query,
  schema: string,
  scope: string,
  { limit, after, where, by }: CheckedQuery,
): Promise<LogPage> => {
  const logs: LogInfo[] = []
  const damaged: DamagedEntry[] = []
  const page = (): Omit<LogPage, 'next'> => ({
    logs: Object.freeze(logs),
    ...(damaged.length > 0 && { damaged: Object.freeze(damaged) }),
  })
  const terms = termsOf(scope, where as JsonObject)
  const isByUse = by === 'appended'
  const lastUse = 'coalesce(appended, created)'
  const [behind, order] = isByUse
    ? [
        `used <= ${usedAt('$4::bigint')} and (${lastUse}, key) < ($4::bigint, $3::bigint)`,
        `used desc, ${lastUse} desc, key desc`,
      ]
    : ['key < $3::bigint', 'key desc']
  const wanted = terms.length === 0 ? '' : ` and terms @> $${isByUse ? 5 : 4}::bigint[]`
  const text = `select ${logColumns} from ${schema}.log where scope = $1::text and ${behind}${wanted} order by ${order} limit $2::bigint`
  const orderOf = (row: Rows[number]): Cursor => ({
    appended: isByUse ? Number(row['appended'] ?? row['created']) : undefined,
    key: Number(row['key']),
  })
  let last: Cursor = { appended: undefined, key: 0 }
  let before: Cursor = after ?? { appended: undefined, key: Number.MAX_SAFE_INTEGER }
  // Most pages are full after the first piece: the terms leave out what is not wanted, but for a chance.
  for (let many = limit + 1; ; many = listPiece) {
    const time = before.appended ?? Number.MAX_SAFE_INTEGER
    const found = await query(text, [
      scope,
      many,
      before.key,
      ...(isByUse ? [time] : []),
      ...(terms.length === 0 ? [] : [terms]),
    ])
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
