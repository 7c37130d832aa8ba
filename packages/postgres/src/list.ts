/** Lists logs page by page. Unreadable logs are listed separately. */
import type { JsonObject } from 'indelible/internal/json'
import {
  type CheckedQuery,
  countIn,
  type Cursor,
  cursorText,
  Damaged,
  type DamagedEntry,
  type LogInfo,
  type LogPage,
  type LogPiece,
  matches,
  tokensColumn,
} from 'indelible/internal/store'
import type { Query, Rows } from './database.ts'
import { exactSizes, infoOf, logColumns, logOrDamage, sizedAt, usedAt } from './log.ts'
import { termsOf } from './terms.ts'

/** The number of log keys in a piece. */
const inPiece = 1000

/** Digests of groups of logs. MD5, because all servers have it: it detects changes, and proves nothing. */
export const piecesOf = async (query: Query, schema: string, scope: string): Promise<readonly LogPiece[]> => {
  const text = `select key / ${inPiece} as piece, count(*) as logs,
      md5(string_agg(quote_literal(id) || size || encode(root, 'hex'), ',' order by key)) as digest
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

/** The number of logs in one statement, while looking for more that match the filter. */
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
  const wanted = terms.length === 0 ? '' : ' and terms @> $5::bigint[]'
  let last: Cursor = { value: undefined, key: 0 }
  let before: Cursor = after ?? { value: by === 'id' ? '' : mostValue, key: Number.MAX_SAFE_INTEGER }
  // Most pages are full after the first statement: the terms exclude almost all logs that don't match.
  for (let many = limit + 1; ; many = listPiece) {
    const isLarge = by === 'entries' && Number(before.value) >= exactSizes
    const { behind, order, cursorOf } = isLarge ? large : orders[by]
    const text = `select ${logColumns} from ${schema}.log where scope = $1::text and ${behind}${wanted} order by ${order} limit $2::bigint`
    const { key, value = mostValue } = before
    const found = await query(text, [scope, many, key, value, ...(terms.length === 0 ? [] : [terms])])
    for (const row of found) {
      const log = logOrDamage(row)
      if (!(log instanceof Damaged) && !matches(log.meta, where)) continue
      if (logs.length + damaged.length === limit) return Object.freeze({ ...page(), next: cursorText(last, by) })
      if (log instanceof Damaged) damaged.push(Object.freeze({ id: String(row['id']), reason: log.reason }))
      else logs.push(infoOf(log))
      last = cursorOf(row)
    }
    const end = found.at(-1)
    if (found.length === many && end !== undefined) before = cursorOf(end)
    else if (isLarge) before = { value: exactSizes - 1, key: Number.MAX_SAFE_INTEGER }
    else return Object.freeze(page())
  }
}

/** An order of logs: its condition for logs after the key $3 and the value $4 (it must use both), and its cursor. */
interface Order {
  readonly behind: string
  readonly order: string
  readonly cursorOf: (row: Rows[number]) => Cursor
}

const cursorBySize: Order['cursorOf'] = ({ entries, key }) => ({ value: Number(entries), key: Number(key) })

const orders: Readonly<Record<CheckedQuery['by'], Order>> = {
  created: {
    behind: 'key < $3::bigint and $4::bigint is not null',
    order: 'key desc',
    cursorOf: ({ key }) => ({ value: undefined, key: Number(key) }),
  },
  appended: {
    behind: `used <= ${usedAt('$4::bigint')} and (coalesce(appended, created), key) < ($4::bigint, $3::bigint)`,
    order: 'used desc, coalesce(appended, created) desc, key desc',
    cursorOf: ({ appended, created, key }) => ({ value: Number(appended ?? created), key: Number(key) }),
  },
  entries: {
    behind: `sized < ${exactSizes} and (sized, key) < ($4::bigint, $3::bigint)`,
    order: 'sized desc, key desc',
    cursorOf: cursorBySize,
  },
  tokens: {
    behind: `(${tokensColumn}, key) < ($4::bigint, $3::bigint)`,
    order: `${tokensColumn} desc, key desc`,
    cursorOf: ({ tokens, key }) => ({ value: countIn(tokens), key: Number(key) }),
  },
  id: {
    behind: 'id > $4::text and $3::bigint is not null',
    order: 'id',
    cursorOf: ({ id }) => ({ value: String(id), key: 0 }),
  },
}

/** The order by entries for large logs, whose order in the index is not exact. */
const large: Order = {
  behind: `sized >= ${exactSizes} and sized <= ${sizedAt('$4::bigint')} and (entries, key) < ($4::bigint, $3::bigint)`,
  order: 'sized desc, entries desc, key desc',
  cursorOf: cursorBySize,
}

/** Larger than any time and number of entries. */
const mostValue = Number.MAX_SAFE_INTEGER
