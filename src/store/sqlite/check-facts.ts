/** The state of a check of a store file: its scopes, segments and logs, and functions that read the rest. */
import type { DatabaseSync } from 'node:sqlite'
import type { CompactRange, Hash } from '../../proof/internal.ts'
import type { StoreFinding } from '../port/check.ts'
import type { KindIndex } from '../rules/rules.ts'
import { isDamage } from './fault.ts'
import type { LogRow } from './log.ts'
import { Rows } from './rows.ts'

/** A finding and, if it can be repaired, the repair, which returns a description of its action. */
export interface Finding extends Omit<StoreFinding, 'repairable'> {
  readonly rebuild?: (() => string) | undefined
}

export type Raw = Readonly<Record<string, unknown>>

export interface Segment {
  readonly key: number
  /** As stored; or as its checksum proves them, if they were altered. */
  parent: number | null
  base: number
  readonly scope: number
  readonly orphan: number
  readonly forks: number
  readonly isSound: boolean
  readonly sum: number | null
  /** The tree and the number of entries before its rows; undefined until its parent's rows were read. */
  start: SegmentStart | undefined
  /** The number of segments whose parent it is. */
  children: number
  /** The number of logs whose segment it is. */
  logs: number
  rows: SegmentRows | undefined
}

export interface SegmentStart {
  readonly range: CompactRange
  readonly entries: number
}

/** The totals of a segment's rows. */
export interface SegmentRows {
  readonly range: CompactRange
  readonly entries: number
  /** The tokens that the rows report. */
  readonly tokens: number
  /** The time of the last row; null without rows. */
  readonly appended: number | null
  /** The first damaged row, if any. */
  readonly damage: Finding | undefined
  /** Nodes and places that differ from those computed from the rows. */
  readonly beside: readonly Beside[]
}

export interface Beside extends KindIndex {
  readonly position: number
  readonly node: Uint8Array
}

export class Facts {
  readonly db: DatabaseSync
  readonly hash: Hash
  readonly rows: Rows
  readonly scopes: Map<number, string> = new Map()
  readonly segments: Map<number, Segment> = new Map()
  readonly logs: Map<number, LogRow> = new Map()
  /** Blocks whose mention was lost, and can be made again. */
  readonly lostBlocks: Set<bigint> = new Set()

  constructor(db: DatabaseSync, hash: Hash) {
    this.db = db
    this.hash = hash
    this.rows = new Rows(db, undefined)
  }

  /** Whether nodes of a segment, or of those before it, differ from its rows, or its rows are damaged. */
  hasRepairs(key: number): boolean {
    for (let segment = this.segments.get(key), below = Infinity; segment !== undefined;) {
      const { rows, parent, base } = segment
      if (base >= below || rows?.damage !== undefined || (rows?.beside.length ?? 0) > 0) return true
      below = base
      segment = parent === null ? undefined : this.segments.get(parent)
    }
    return false
  }

  logName({ scope, id }: Pick<LogRow, 'scope' | 'id'>): string {
    const name = this.scopes.get(scope)
    return `${quoteValue(id)} of scope ${name === undefined ? String(scope) : quoteValue(name)}`
  }

  /** All rows of a query at once. Only for tables with at most one row for each log. */
  all(sql: string): readonly Raw[] {
    const statement = this.db.prepare(sql)
    statement.setReadBigInts(true)
    return statement.all() as unknown as readonly Raw[]
  }

  /**
   * The rows of a table in key order, in pieces. Between two pieces no read is open, so that the
   * write-ahead log can be emptied.
   *
   * @param sql a select without a condition
   * @param key the key columns, with their names in the select
   */
  *each(sql: string, key: Readonly<Record<string, string>>): Generator<Raw> {
    const [columns, names] = [Object.keys(key), Object.values(key)]
    const order = `order by ${columns.join(', ')} limit ${piece}`
    let rows = this.all(`${sql} ${order}`)
    const following = this.db.prepare(
      `${sql} where (${columns.join(', ')}) > (${columns.map(() => '?').join(', ')}) ${order}`,
    )
    following.setReadBigInts(true)
    for (;;) {
      yield* rows
      const last = rows.at(-1)
      if (last === undefined || rows.length < piece) return
      rows = following.all(...names.map((name) => last[name] as bigint | string)) as unknown as readonly Raw[]
    }
  }

  one(sql: string, ...parameters: readonly number[]): Raw {
    const statement = this.db.prepare(sql)
    statement.setReadBigInts(true)
    return statement.get(...parameters) as Raw // an aggregate always returns a row
  }
}

/** The number of rows in one read. */
const piece = 500

export const findingsOf = (
  table: string,
  where: string | undefined,
  what: string,
  rebuild?: (() => string) | undefined,
): Finding => ({
  table,
  where,
  what,
  rebuild,
})

export const quoteValue = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value) : String(value)

export const numberIn = (value: unknown): number => (typeof value === 'bigint' ? Number(value) : Number.NaN)

export const isUnreadable = (error: unknown): error is Error =>
  error instanceof Error && (isDamage(error) || (error as NodeJS.ErrnoException).code === 'ERR_SQLITE_ERROR')
