/** What a check of a store file knows: its scopes, segments and logs; and functions that read and repair its tables. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { CompactRange, Hash } from '../../proof/internal.ts'
import type { StoreFinding } from '../port/check.ts'
import type { KindIndex } from '../rules/rules.ts'
import type { LogRow, RawLog } from './log.ts'

/** A finding and, if it can be repaired, the repair, which returns a description of its action. */
export interface Finding extends Omit<StoreFinding, 'repairable'> {
  readonly rebuild?: (() => string) | undefined
}

/** At each `undefined` other work may run; no read of the file is open then. */
export type Findings = Generator<Finding | undefined>

/** A row of a table, with integers as bigints: a damaged one may be too large for a number. */
export type Raw = RawLog

export interface Segment {
  readonly key: number
  readonly scope: number
  readonly orphan: number
  readonly forks: number
  /** As stored; or as the check sum proves them, if they were altered. */
  parent: number | null
  base: number
  /** The number of segments whose parent it is, and of logs that have it. */
  children: number
  logs: number
  /** The totals of the rows before its own; undefined if those can't be read. */
  start: Totals | undefined
  /** The totals of all its rows; undefined without `start`. */
  rows: SegmentRows | undefined
}

interface Totals {
  readonly range: CompactRange
  readonly entries: number
}

export interface SegmentRows extends Totals {
  /** The tokens that its own rows report, and the time of the last one; null without rows. */
  readonly tokens: number
  readonly appended: number | null
  /** Why its rows can be read only up to here. */
  readonly damage: string | undefined
  /** The rows whose node or place is not what the rows give. */
  readonly beside: readonly Beside[]
}

export interface Beside extends KindIndex {
  readonly position: number
  readonly node: Uint8Array
}

export class Facts {
  readonly db: DatabaseSync
  readonly hash: Hash
  readonly scopes: Map<number, string> = new Map()
  readonly segments: Map<number, Segment> = new Map()
  readonly logs: Map<number, { readonly log: LogRow; readonly raw: RawLog }> = new Map()
  /** Blocks whose mention was lost, and can be made again. */
  readonly lostBlocks: Set<bigint> = new Set()

  readonly #statements = new Map<string, StatementSync>()

  constructor(db: DatabaseSync, hash: Hash) {
    this.db = db
    this.hash = hash
  }

  logName({ scope, id }: Pick<LogRow, 'scope' | 'id'>): string {
    const name = this.scopes.get(scope)
    return `${quoteValue(id)} of scope ${name === undefined ? String(scope) : quoteValue(name)}`
  }

  all(sql: string, ...parameters: readonly (bigint | number | string | null)[]): readonly Raw[] {
    const known = this.#statements.get(sql)
    const statement = known ?? this.db.prepare(sql)
    if (known === undefined) this.#statements.set(sql, statement)
    statement.setReadBigInts(true)
    return statement.all(...parameters) as unknown as readonly Raw[]
  }

  /** The rows of a table in the order of its key columns, in pieces: between two pieces, no read is open. */
  *each(select: string, ...key: readonly string[]): Generator<Raw> {
    for (let [after, rows] = ['', this.all(`${select} order by ${key.join()} limit ${piece}`)]; ;) {
      yield* rows
      const last = rows.at(-1)
      if (last === undefined || rows.length < piece) return
      after ||= `${select} where (${key.join()}) > (${key.map(() => '?').join()}) order by ${key.join()} limit ${piece}`
      rows = this.all(after, ...key.map((name) => last[name.slice(name.lastIndexOf('.') + 1)] as bigint | string))
    }
  }

  /** The repair that writes columns of the row with this key. */
  set(
    table: string,
    key: number | bigint,
    columns: Readonly<Record<string, number | bigint | null | Uint8Array>>,
    done: string,
    keyColumn = 'key',
  ): () => string {
    return () => {
      const names = Object.keys(columns).map((name) => `${name} = ?`)
      const update = `update ${table} set ${names.join(', ')} where ${keyColumn} = ?`
      this.db.prepare(update).run(...Object.values(columns), key)
      return done
    }
  }
}

/** The number of rows in one read. */
export const piece = 500

export const findingOf = (
  table: string,
  where: string | undefined,
  what: string,
  rebuild?: (() => string) | undefined,
): Finding => ({ table, where, what, rebuild })

export const quoteValue = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value) : String(value)
