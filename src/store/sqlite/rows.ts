/** The rows of a log in the file: finds the segment that has them, and reads them. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { equalBytes, peakEnds, type CompactRange } from '../../proof/internal.ts'
import { Damaged } from '../port/damage-error.ts'
import { decodePlace, entriesBefore, placeOf, type GrownRow, type KindIndex } from '../rules/rules.ts'
import { rowIn } from '../rules/read-columns.ts'
import type { StoredRow } from '../port/row.ts'
import type { LogRow } from './log.ts'
import { prepareAllOnce } from './prepared.ts'
import { fits } from './sum.ts'
import type { Writer } from './writer.ts'

/** The largest position that fits into a row id. */
export const lastPosition = 4294967295

/** A range of positions, and the segment with their rows. */
export interface Stretch {
  readonly segment: number
  readonly from: number
  readonly to: number
}

/** The first position of a segment, and the segment with earlier rows. Constant as long as the segment exists. */
export interface Base {
  readonly parent: number | null
  readonly base: number
}

/** A row as a list of its columns, which SQLite builds faster than an object. */
type RawRow = readonly [position: number, place: unknown, body: unknown, at: unknown, salt: unknown, erased: unknown]
type RawNode = readonly [position: number, node: Uint8Array]

export class Rows {
  readonly #segment: StatementSync
  readonly #bodies: StatementSync
  readonly #nodes: StatementSync
  readonly #sql: ReturnType<typeof statements>
  readonly #bases = new Map<number, Base>()

  constructor(db: DatabaseSync, writer: Pick<Writer, 'onRollBack'>) {
    writer.onRollBack(() => this.#bases.clear()) // the key of a segment that is rolled back is used again
    this.#segment = db.prepare('select scope, parent, base, sum from segment where key = ?')
    this.#bodies = db.prepare(
      `select id & 4294967295 as position, place, ${bodyColumn(db)}, at, salt, erased from row where id between (? << 32) + ? and (? << 32) + ? - 1`,
    )
    this.#bodies.setReturnArrays(true)
    this.#nodes = db.prepare(
      'select id & 4294967295 as position, node from row where id between (? << 32) + ? and (? << 32) + ? - 1',
    )
    this.#nodes.setReturnArrays(true)
    this.#sql = statements(db)
  }

  /** Forget a removed segment, to free memory. Its key is never used again. */
  forget(segment: number): void {
    this.#bases.delete(segment)
  }

  append(segment: number, grown: GrownRow): void {
    const { body, at, salt, erased, blocks } = grown.row
    const bytes = salt === undefined ? null : Buffer.from(salt, 'hex')
    const leaf = erased === undefined ? null : Buffer.from(erased, 'hex')
    const named = blocks.length === 0 ? null : new Set(blocks).size
    this.#sql.insert().run(segment, grown.position, placeOf(grown), grown.node, body, at, bytes, leaf, named)
  }

  /** Replace the body of a row with a stub. */
  erase(segment: number, position: number, stub: string, leaf: Uint8Array): void {
    this.#sql.erase().run(stub, leaf, segment, position)
  }

  /**
   * Compare a log's last row with its head: an altered size, count of entries or list of peaks would make appended
   * rows unreadable. Throws Damaged.
   */
  checkEnd(
    segment: number,
    { size, entries }: Pick<LogRow, 'size' | 'entries'>,
    lastPeak: Uint8Array | undefined,
  ): void {
    const last = size === 0 ? undefined : this.#besideRow(segment, size - 1)
    const isEnd =
      last === undefined
        ? lastPeak === undefined
        : last.node instanceof Uint8Array && lastPeak !== undefined && equalBytes(last.node, lastPeak)
    if (!isEnd || entriesBefore(size, last && decodePlace(last.place)) !== entries)
      throw new Damaged(size, 'its head was altered')
  }

  /** What is stored beside a row. Throws Damaged. */
  #besideRow(segment: number, position: number): { readonly place: number; readonly node: unknown } {
    const found = this.#sql.beside().get(this.segmentAt(segment, position), position)
    if (found === undefined) throw new Damaged(position, 'its row is missing')
    return found as { readonly place: number; readonly node: unknown }
  }

  /** The segment with this position. Throws Damaged. */
  segmentAt(segment: number, position: number): number {
    return this.stretches(segment, position, position + 1)[0]?.segment ?? segment
  }

  /**
   * Read rows back as a reader will: in a damaged index page, an inserted row may be unreachable.
   * Throws Damaged.
   */
  checkThere(segment: number, from: number, to: number): void {
    const { there } = this.#sql.there().get(segment, from, segment, to) as { readonly there: number } // an aggregate always returns a row
    if (there !== to - from) throw new Damaged(from + there, 'its row is missing')
  }

  /** The rows from `from` up to, not including, `to`. Throws Damaged. */
  read(segment: number, from: number, to: number): StoredRow[] {
    const rows: StoredRow[] = []
    for (const stretch of this.stretches(segment, from, to)) {
      for (const [position, place, body, at, salt, erased] of this.#bodies.all(
        stretch.segment,
        stretch.from,
        stretch.segment,
        stretch.to,
      ) as unknown as readonly RawRow[]) {
        if (position !== from + rows.length) throw new Damaged(from + rows.length, 'its row is missing')
        const text = body instanceof Uint8Array ? Buffer.from(body).toString() : body
        rows.push(rowIn(position, place, text, at, salt, erased))
      }
    }
    if (rows.length !== to - from) throw new Damaged(from + rows.length, 'its row is missing')
    return rows
  }

  /** The bytes of these rows' bodies, from their lengths alone. Throws Damaged. */
  bytesIn(segment: number, from: number, to: number): number {
    let bytes = 0
    for (const stretch of this.stretches(segment, from, to)) {
      const found = this.#sql.bytes().get(stretch.segment, stretch.from, stretch.segment, stretch.to)
      bytes += Number(found?.['bytes'] ?? 0)
    }
    return bytes
  }

  placeAt(segment: number, position: number): KindIndex {
    return decodePlace(this.#besideRow(segment, position).place)
  }

  nodes(segment: number, positions: readonly number[]): Uint8Array[] {
    if (positions.length === 0) return []
    const first = positions.reduce((least, position) => Math.min(least, position))
    const last = positions.reduce((most, position) => Math.max(most, position))
    if (last - first >= 2 * positions.length) return positions.map((position) => this.#node(segment, position))
    const found: (Uint8Array | undefined)[] = Array.from({ length: last + 1 - first })
    // For a damaged page, SQLite may return row 0 repeatedly. Rows out of order are ignored.
    let before = -1
    for (const { segment: owner, from, to } of this.stretches(segment, first, last + 1))
      for (const [position, node] of this.#nodes.all(owner, from, owner, to) as unknown as readonly RawNode[])
        if (position > before) found[(before = position) - first] = node
    return positions.map((position) => {
      const node = found[position - first]
      if (node === undefined) throw new Damaged(position, 'its row is missing')
      return nodeIn(position, node)
    })
  }

  /** The compact range of the first `size` rows. Throws Damaged. */
  rangeAt(segment: number, size: number): CompactRange {
    return {
      size,
      peaks: this.nodes(
        segment,
        peakEnds(size).map((end) => end - 1),
      ),
    }
  }

  #node(segment: number, position: number): Uint8Array {
    return nodeIn(position, this.#besideRow(segment, position).node)
  }

  /** Throws Damaged if a segment's checksum is wrong: rows appended to it might not be found again. */
  checkSegment(segment: number): void {
    this.#baseOf(segment)
  }

  /** The segments with these positions, in order. Throws Damaged. */
  stretches(segment: number, from: number, to: number): readonly Stretch[] {
    const stretches: Stretch[] = []
    let end = to
    for (const { key, base } of this.#chain(segment)) {
      const start = Math.max(base, from)
      if (start < end) {
        stretches.unshift({ segment: key, from: start, to: end })
        end = start
      }
      if (end <= from) break // stops before the parent, which may be damaged
    }
    return stretches
  }

  /** A segment, its parent, and so on. Each must start before its fork, so this terminates. Throws Damaged. */
  *#chain(segment: number): Generator<Base & { readonly key: number }> {
    let below = Infinity
    for (let key: number | null = segment; key !== null;) {
      const { parent, base } = this.#baseOf(key)
      if (base >= below) throw new Damaged(base, `segment ${key}, which should have the rows before, starts after them`)
      below = base
      yield { key, parent, base }
      key = parent
    }
  }

  #baseOf(segment: number): Base {
    const known = this.#bases.get(segment)
    if (known !== undefined) return known
    const found = this.#segment.get(segment) as
      | (Base & { readonly scope: number; readonly sum: number | null })
      | undefined
    if (found === undefined) throw new Damaged(0, `segment ${segment}, which has its rows, is missing`)
    const { scope, parent, base, sum } = found
    if (!fits(sum, scope, parent, base)) throw new Damaged(0, `segment ${segment}, which has its rows, was altered`)
    if (this.#bases.size >= 10_000) this.#bases.clear()
    this.#bases.set(segment, { parent, base })
    return { parent, base }
  }

  /** The segment that a fork at `at` shares rows with: the one with the last shared row. Throws Damaged. */
  ownerOf(segment: number, at: number): number | null {
    for (const { key, base } of this.#chain(segment)) if (at > base) return key
    return null
  }
}

/** The column with the bodies. Node 22 reads text only up to the first NUL. It reads blobs completely. */
export const bodyColumn = (db: DatabaseSync): string =>
  (foundColumn ??=
    Object.values(db.prepare("select 'a' || char(0) || 'b'").get() ?? {})[0] === 'a\0b'
      ? 'body'
      : 'cast(body as blob) as body')
let foundColumn: string | undefined

const nodeIn = (position: number, node: unknown): Uint8Array => {
  if (node instanceof Uint8Array) return node
  throw new Damaged(position, 'its row can not be read')
}

const statements = (db: DatabaseSync) =>
  prepareAllOnce(db, {
    insert:
      'insert into row (id, place, node, body, at, salt, erased, blocks) values ((? << 32) + ?, ?, ?, ?, ?, ?, ?, ?)',
    bytes: 'select sum(octet_length(body)) as bytes from row where id between (? << 32) + ? and (? << 32) + ? - 1',
    beside: 'select place, node from row where id = (? << 32) + ?',
    there: 'select count(node) as there from row where id between (? << 32) + ? and (? << 32) + ? - 1',
    erase: 'update row set body = ?, salt = null, erased = ?, blocks = null where id = (? << 32) + ?',
  })
