/** A log as the database has it. */
import type { JsonObject } from '../../json/index.ts'
import type { Head, LogInfo } from '../store.ts'
import type { Query, Rows } from './database.ts'

export interface Log {
  readonly id: string
  /** Of the log, and of the segment of its own rows. */
  readonly key: number
  /** The segments that hold its rows, in order; the last is its own. */
  readonly stretches: readonly Stretch[]
  readonly head: Head
  readonly entries: number
  readonly peaks: readonly Uint8Array[]
  readonly created: number
  readonly meta: JsonObject
  readonly version: number
}

/** A segment, and the position of the first row that the log has of it. */
export interface Stretch {
  readonly segment: number
  readonly base: number
}

export const logColumns = 'id, key, segments, bases, size, entries, peaks, root, created, meta, version'

export const logsOf = (rows: Rows): readonly Log[] => rows.map((row) => logOf(row as unknown as LogRow)) // selected by `logColumns`

export const findLog = async (query: Query, schema: string, scope: string, id: string): Promise<Log | undefined> =>
  logsOf(await query(`select ${logColumns} from ${schema}.log where scope = $1::text and id = $2::text`, [scope, id]))[0]

export const infoOf = ({ id, head, entries, created, meta, version }: Log): LogInfo => Object.freeze({ id, head, entries, created, meta, version })

/** A compact range's peaks as they are kept: one after the other. */
export const joined = (peaks: readonly Uint8Array[]): Buffer => Buffer.concat(peaks)

/** Bytes of our own: a driver's may stand in a buffer that more is in. */
export const plain = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes)

/** What `pg` makes of the columns: it gives a bigint as its digits. */
interface LogRow {
  readonly id: string
  readonly key: string
  readonly segments: readonly string[]
  readonly bases: readonly string[]
  readonly size: string
  readonly entries: string
  readonly peaks: Buffer
  readonly root: Buffer
  readonly created: string
  readonly meta: string
  readonly version: string
}

const logOf = (row: LogRow): Log => ({
  id: row.id,
  key: Number(row.key),
  stretches: row.segments.map((segment, index) => ({ segment: Number(segment), base: Number(row.bases[index]) })),
  head: Object.freeze({ size: Number(row.size), root: row.root.toString('hex') }),
  entries: Number(row.entries),
  peaks: Array.from({ length: row.peaks.length / 32 }, (_, index) => plain(row.peaks.subarray(index * 32, index * 32 + 32))),
  created: Number(row.created),
  meta: JSON.parse(row.meta) as JsonObject, // it was written by JSON.stringify, of an object
  version: Number(row.version),
})
