/** A log in the database. */
import type { JsonObject } from 'indelible/internal/json'
import {
  countIn,
  type Damaged,
  type Head,
  latest,
  type LogBasis,
  type LogInfo,
  logInfo,
  metaIn,
  orDamage,
  wholeIn,
} from 'indelible/internal/store'
import type { Query, Rows } from './database.ts'

export interface Log extends LogBasis {
  readonly id: string
  /** The key of the log, and of its own segment. */
  readonly key: number
  /** The segments with its rows, in order. The last is its own. */
  readonly stretches: readonly Stretch[]
  readonly created: number
  /** The time of its last own row; undefined without one. */
  readonly appended: number | undefined
  readonly meta: JsonObject
  readonly version: number
}

/** A segment, and the position of the log's first row in it. */
export interface Stretch {
  readonly segment: number
  readonly base: number
}

/** The ranges of a log's rows in its segments, in order. */
export const rangesOf = ({ stretches, head }: Log): readonly Readonly<Record<'segment' | 'from' | 'to', number>>[] =>
  stretches
    .map(({ segment, base }, index) => ({ segment, from: base, to: stretches[index + 1]?.base ?? head.size }))
    .filter(({ from, to }) => from < to)

export const logColumns =
  'id, key, segments, bases, size, entries, tokens, peaks, root, created, appended, meta, changes'

export const logsOf = (rows: Rows): readonly Log[] => rows.map((row) => logOf(row as unknown as LogRow)) // selected by `logColumns`

export const findLog = async (query: Query, schema: string, scope: string, id: string): Promise<Log | undefined> =>
  logsOf(
    await query(`select ${logColumns} from ${schema}.log where scope = $1::text and id = $2::text`, [scope, id]),
  )[0]

export const infoOf = ({ id, head, entries, tokens, created, appended, meta, version }: Log): LogInfo =>
  logInfo({ id, head, entries, tokens, created, appended, meta, version })

/**
 * The sort key of a log's last use in seconds, as SQL. An append in the same second changes no indexed column,
 * so the server writes to no index of the log. Logs with the same key are sorted when they are listed.
 */
export const usedAt = (time: string): string => `(${time}) / 1000`

/**
 * The sort key of a log's number of entries, as SQL: its first three bits. An append to a long log
 * seldom changes it. Logs with the same key are sorted when they are listed.
 */
export const sizedAt = (entries: string): string => {
  const rest = `greatest(length(ltrim((${entries})::bit(64)::text, '0')) - 3, 0)` // by binary digits; log() takes 20 times as long
  return `((${entries}) >> ${rest}) << ${rest}`
}

/** The head in the columns `size` and `root`. */
export const headIn = ({ size, root }: Rows[number]): Head => Object.freeze({ size: Number(size), root: hexOf(root) })

export const hexOf = (bytes: unknown): string => (bytes as Buffer).toString('hex')

/** Below this number of entries, the sort key is exact. */
export const exactSizes = 8

/** A copy: a driver's bytes may be part of a larger buffer. */
export const copyBytes = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes)

/** The columns as `pg` returns them: a bigint is a string of digits. */
interface LogRow {
  readonly id: string
  readonly key: string
  readonly segments: readonly string[]
  readonly bases: readonly string[]
  readonly size: string
  readonly entries: string
  readonly tokens: string
  readonly peaks: Buffer
  readonly root: Buffer
  readonly created: string
  readonly appended: string | null
  readonly meta: string
  readonly changes: string
}

export const logOrDamage = (row: Rows[number]): Log | Damaged => orDamage(() => logOf(row as unknown as LogRow)) // selected by `logColumns`

/** Throws Damaged. */
const logOf = (row: LogRow): Log => ({
  id: row.id,
  key: Number(row.key),
  stretches: row.segments.map((segment, index) => ({ segment: Number(segment), base: Number(row.bases[index]) })),
  head: Object.freeze({ size: wholeColumn(row, 'size'), root: hexOf(row.root) }),
  entries: wholeColumn(row, 'entries'),
  tokens: countIn(row.tokens),
  peaks: Array.from({ length: row.peaks.length / 32 }, (_, index) =>
    copyBytes(row.peaks.subarray(index * 32, index * 32 + 32)),
  ),
  created: wholeColumn(row, 'created', -latest, latest),
  appended: row.appended === null ? undefined : wholeColumn(row, 'appended', -latest, latest),
  meta: metaIn(row.meta),
  version: wholeColumn(row, 'changes'),
})

const wholeColumn = (
  row: LogRow,
  name: 'size' | 'entries' | 'created' | 'appended' | 'changes',
  least?: number,
  most?: number,
): number => wholeIn(row[name], name, least, most)
