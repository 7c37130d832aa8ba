/** What a check of a store file knows: its scopes, segments and logs; and functions that read and repair its tables. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { CompactRange, Hash } from '../../proof/internal.ts'
import type { StoreFinding } from '../port/check.ts'
import { Damaged } from '../port/damage-error.ts'
import { sliceBytes, sliceRows } from '../port/slices.ts'
import type { KindIndex } from '../rules/rules.ts'
import type { LogRow, RawLog } from './log.ts'

/** A finding and, if it can be repaired, the repair, which returns a description of its action. */
export interface Finding extends Omit<StoreFinding, 'repairable'> {
  readonly rebuild?: (() => string) | undefined
}

/** At each number, the bytes of a row that was read, other work may run; no read of the file is open then. */
export type Findings = Generator<Finding | number>

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
    return this.#statement(sql).all(...parameters) as unknown as readonly Raw[]
  }

  #statement(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.db.prepare(sql)
    this.#statements.set(sql, statement)
    statement.setReadBigInts(true)
    return statement
  }

  /** The rows of a table in the order of its key columns, in pieces: between two pieces, no read is open. */
  *each(select: string, ...key: readonly string[]): Generator<Raw> {
    let before: readonly (bigint | string)[] = []
    const limited = `order by ${key.join()} limit ${sliceRows}`
    for (let [after, rows] = ['', this.all(`${select} ${limited}`)]; ;) {
      yield* rows
      const last = rows.at(-1)
      if (last === undefined || rows.length < sliceRows) return
      const found = key.map((name) => last[name.slice(name.lastIndexOf('.') + 1)] as bigint | string)
      if (!isAfter(found, before)) throw new Damaged(0, 'its rows are not in order') // a damaged page may repeat a row without end
      before = found
      after ||= `${select} where (${key.join()}) > (${key.map(() => '?').join()}) ${limited}`
      rows = this.all(after, ...found)
    }
  }

  /** The first rows of a statement, until they have 1 MiB. */
  first(sql: string, bytesIn: (row: Raw) => number, ...parameters: readonly bigint[]): readonly Raw[] {
    const rows: Raw[] = []
    let bytes = 0
    for (const row of this.#statement(sql).iterate(...parameters) as Iterable<Raw>) {
      rows.push(row)
      bytes += bytesIn(row)
      if (bytes >= sliceBytes) break
    }
    return rows
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

/** Whether a key comes after another one. Texts are only compared for equality: SQLite orders them by their bytes. */
const isAfter = (key: readonly (bigint | string)[], before: readonly (bigint | string)[]): boolean => {
  for (const [index, part] of key.entries()) {
    const other = before[index]
    if (part !== other)
      return other === undefined || typeof part === 'string' || typeof other === 'string' || part > other
  }
  return false
}

export const findingOf = (
  table: string,
  where: string | undefined,
  what: string,
  rebuild?: (() => string) | undefined,
): Finding => ({ table, where, what, rebuild })

export const quoteValue = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value) : String(value)
