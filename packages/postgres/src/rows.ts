/** Reads the rows of a log from the database, across its segments, in a fixed number of statements: those from a position on in one. */
import {
  Damaged,
  decodePlace,
  type KindIndex,
  type Positions,
  positionsOf,
  rowIn,
  type RowKind,
  type RowRange,
  sliceBytes,
  sliceRows,
  type StoredRow,
  wholeIn,
} from 'indelible/internal/store'
import type { Query, Rows } from './database.ts'
import { copyBytes, type Log } from './log.ts'

interface Beside extends KindIndex {
  readonly node: Uint8Array
}

export class LogRows {
  readonly #query: Query
  readonly #schema: string
  readonly #scope: string
  readonly #log: Log

  constructor(query: Query, schema: string, scope: string, log: Log) {
    this.#query = query
    this.#schema = schema
    this.#scope = scope
    this.#log = log
  }

  /** The rows of a range. Throws Damaged. */
  async read(range: RowRange): Promise<readonly StoredRow[]> {
    const { start, end } = await this.#positions(range)
    const { id, key } = this.#log
    const found = await readPieces(this.#query, this.#schema, this.#scope, id, start, end)
    if (found?.key !== key) throw new Damaged(start, 'its log was removed') // who reads it looks for the log again
    return Object.freeze(range.only === undefined ? found.rows : found.rows.filter(({ kind }) => kind === range.only))
  }

  /** The nodes and places of rows. Throws Damaged. */
  async at(positions: readonly number[]): Promise<ReadonlyMap<number, Beside>> {
    const wanted = [...new Set(positions)]
    if (wanted.length === 0) return new Map()
    for (const position of wanted)
      if (!(Number.isInteger(position) && position >= 0 && position < this.#log.head.size))
        throw new Damaged(position, 'its row is missing')
    const rows = await this.#query(
      `select r.position, r.place, r.node from unnest($2::bigint[], $3::bigint[]) as w (segment, position)
       join ${this.#schema}.row r on r.scope = $1::text and r.segment = w.segment and r.position = w.position`,
      [this.#scope, wanted.map((position) => this.#ownerOf(position)), wanted],
    )
    const found = new Map(
      rows.map(({ position, place, node }) => [
        Number(position),
        { ...decodePlace(Number(place)), node: copyBytes(node as Buffer) },
      ]),
    )
    const missing = wanted.find((position) => !found.has(position))
    if (missing !== undefined) throw new Damaged(missing, 'its row is missing')
    return found
  }

  async nodes(positions: readonly number[]): Promise<Uint8Array[]> {
    const found = await this.at(positions)
    return positions.map((position) => (found.get(position) as Beside).node.slice()) // `at` throws if one is missing
  }

  async #positions({ only, ...slice }: RowRange): Promise<Positions> {
    const { head, entries } = this.#log
    const { size } = head
    if (only === undefined) return positionsOf(this.#log, slice, noRowExpected)
    const count = only === 'entry' ? entries : size - entries
    // The index range among rows of this kind, as for a log with only such rows.
    const { start, end } = positionsOf({ head: { ...head, size: count }, entries: count }, slice, noRowExpected)
    if (start >= end) return { start: 0, end: 0 }
    const [first, last] = await Promise.all([
      start === 0 ? 0 : this.#positionOf(only, start, count),
      end === count ? size - 1 : this.#positionOf(only, end - 1, count),
    ])
    return { start: first, end: last + 1 }
  }

  /** The position of the row with this index among its kind. Each step reads many candidates in one statement. */
  async #positionOf(kind: RowKind, index: number, count: number): Promise<number> {
    let low = index // at least this many rows come before it
    let high = this.#log.head.size - (count - index) // and at least this many after
    while (low < high) {
      const step = Math.max(1, Math.ceil((high - low) / 64))
      const probes = Array.from({ length: Math.ceil((high - low) / step) }, (_, probe) => low + probe * step)
      const found = await this.at(probes)
      for (const position of probes) {
        const row = found.get(position) as KindIndex // `at` throws if one is missing
        const through = row.kind === kind ? row.index + 1 : position - row.index // rows of the kind up to this one
        if (through > index) {
          high = position
          break
        }
        low = position + 1
      }
    }
    return low
  }

  #ownerOf(position: number): number {
    return (
      (this.#log.stretches.findLast(({ base }) => base <= position) ?? this.#log.stretches[0])?.segment ?? this.#log.key
    )
  }
}

/** The rows of a log from one position to another, or to its end, and its key. */
interface FoundRows {
  readonly key: number
  readonly rows: readonly StoredRow[]
}

/**
 * Reads the rows of a log by its id, without its description. Undefined if there is no such log. Throws Damaged.
 *
 * @param from a position
 * @param to the position after the last one; it may be beyond the end
 */
export const readPieces = async (
  query: Query,
  schema: string,
  scope: string,
  id: string,
  from: number,
  to: number,
): Promise<FoundRows | undefined> => {
  let key: number | undefined
  const rows: StoredRow[] = []
  for (;;) {
    const start = from + rows.length
    const found = await query(
      `select l.key, l.size, r.position, r.place, r.body, r.at, r.salt, r.erased from ${schema}.log l
       left join lateral (${sliceOf(
         `select r.* from generate_subscripts(l.segments, 1) as i join ${schema}.row r
          on r.scope = l.scope and r.segment = l.segments[i] and r.position >= greatest(l.bases[i], $3::bigint)
            and r.position < least(coalesce(l.bases[i + 1], l.size), $4::bigint)`,
         'position',
       )}) r on true
       where l.scope = $1::text and l.id = $2::text order by r.position`,
      [scope, id, start, Math.min(start + sliceRows, to)],
    )
    const [log] = found
    if (log === undefined || (key !== undefined && Number(log['key']) !== key)) return undefined // removed between
    key = Number(log['key'])
    const end = Math.min(to, wholeIn(String(log['size']), 'size'))
    for (const { position, place, body, at, salt, erased } of found) {
      if (position === null) break // a log without rows there
      if (Number(position) !== from + rows.length) throw new Damaged(from + rows.length, 'its row is missing')
      rows.push(rowIn(Number(position), Number(place), unescapeBody(body as string), Number(at), salt, erased))
    }
    if (from + rows.length >= end) return { key, rows: Object.freeze(rows) }
    if (from + rows.length === start) throw new Damaged(start, 'its row is missing')
  }
}

/**
 * The first rows of a statement, as SQL: at most a slice of bytes, but one row at least. The server counts the bytes
 * without reading values that it keeps outside of the table.
 *
 * @param statement one that finds at most a slice of rows
 * @param order the columns that order its rows
 * @param value the column that is counted. Default: the body of a row
 */
export const sliceOf = (statement: string, order: string, value = 'body'): string =>
  `select * from (
     select q.*, sum(octet_length(q.${value})) over o as bytes_to, row_number() over o as number_in_slice
     from (${statement}) q window o as (order by ${order})
   ) s where s.number_in_slice = 1 or s.bytes_to <= ${sliceBytes} order by s.number_in_slice`

/**
 * The rows of a statement, read in pieces: each continues after the key of the last row of the one before.
 *
 * @param text a statement with rows in the order of the key. Its last parameters are the key after which they start
 * @param key the columns of the key, with the values of the first piece
 * @param full a piece with fewer rows is the last one. Default: 1, for pieces that `sliceOf` limits
 */
export async function* inPieces(
  query: Query,
  text: string,
  values: readonly unknown[],
  key: Rows[number],
  full = 1,
): AsyncGenerator<Rows[number]> {
  for (let after = Object.values(key); ;) {
    const rows = await query(text, [...values, ...after])
    yield* rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < full) return
    after = Object.keys(key).map((name) => last[name])
  }
}

/** A range over all rows is computed without reading any. */
const noRowExpected = (): KindIndex => {
  throw new Error('no row should be needed')
}

/** PostgreSQL text has no U+0000. U+0001 escapes it (as U+0001 and 0), and itself (U+0001 and 1). JSON has neither. */
export const escapeBody = (body: string): string =>
  body.includes('\u0001') || body.includes('\0')
    ? body.replaceAll('\u0001', '\u00011').replaceAll('\0', '\u00010')
    : body

export const unescapeBody = (body: string): string =>
  body.includes('\u0001') ? body.replaceAll('\u00010', '\0').replaceAll('\u00011', '\u0001') : body
