/** Rows of a log in the file: which segment holds them, and reading them. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { Damaged, type Placed } from '../lookup.ts'
import type { StoredRow } from '../store.ts'

/** A stretch of positions, and the segment that holds their rows. */
interface Stretch {
  readonly segment: number
  readonly from: number
  readonly to: number
}

interface Held {
  readonly position: number
  readonly place: number
  readonly body: string | Uint8Array
}

export class Rows {
  readonly #segment: StatementSync
  readonly #bodies: StatementSync
  readonly #nodes: StatementSync
  readonly #place: StatementSync
  readonly #insert: StatementSync
  /** Where a segment begins, and whose rows come before. Never changes while the segment is there. */
  readonly #bases = new Map<number, { readonly parent: number | null; readonly base: number }>()

  constructor(db: DatabaseSync) {
    this.#segment = db.prepare('select parent, base from segment where key = ?')
    const body = endsTextAtNul(db) ? 'cast(body as blob) as body' : 'body'
    this.#bodies = db.prepare(`select id & 4294967295 as position, place, ${body} from row where id between (? << 32) + ? and (? << 32) + ? - 1`)
    this.#nodes = db.prepare('select id & 4294967295 as position, node from row where id between (? << 32) + ? and (? << 32) + ? - 1')
    this.#place = db.prepare('select place from row where id = (? << 32) + ?')
    this.#insert = db.prepare('insert into row (id, place, node, body) values ((? << 32) + ?, ?, ?, ?)')
  }

  /** Segments that are gone must not be remembered: their keys are never given again, but memory is not free. */
  forget(segment: number): void {
    this.#bases.delete(segment)
  }

  append(segment: number, position: number, { kind, index }: Placed, node: Uint8Array, body: string): void {
    this.#insert.run(segment, position, index * 2 + (kind === 'note' ? 1 : 0), node, body)
  }

  /** The rows from `from` up to, not including, `to`. Throws Damaged. */
  read(segment: number, from: number, to: number): StoredRow[] {
    const rows: StoredRow[] = []
    for (const stretch of this.#stretches(segment, from, to)) {
      for (const { position, place, body } of this.#bodies.all(stretch.segment, stretch.from, stretch.segment, stretch.to) as unknown as readonly Held[]) {
        if (position !== from + rows.length) throw new Damaged(from + rows.length, 'its row is missing')
        rows.push(Object.freeze({ position, ...placed(place), body: typeof body === 'string' ? body : Buffer.from(body).toString() }))
      }
    }
    if (rows.length !== to - from) throw new Damaged(from + rows.length, 'its row is missing')
    return rows
  }

  placeAt(segment: number, position: number): Placed {
    const [stretch] = this.#stretches(segment, position, position + 1)
    const found = this.#place.get(stretch?.segment ?? segment, position) as { readonly place: number } | undefined
    if (found === undefined) throw new Damaged(position, 'its row is missing')
    return placed(found.place)
  }

  nodes(segment: number, positions: readonly number[]): Uint8Array[] {
    if (positions.length === 0) return []
    const first = positions.reduce((least, position) => Math.min(least, position))
    const last = positions.reduce((most, position) => Math.max(most, position))
    if (last - first >= 2 * positions.length) return positions.map((position) => this.#node(segment, position))
    const found = new Map<number, Uint8Array>()
    for (const { segment: owner, from, to } of this.#stretches(segment, first, last + 1))
      for (const { position, node } of this.#nodes.all(owner, from, owner, to) as unknown as readonly { readonly position: number; readonly node: Uint8Array }[]) found.set(position, node)
    return positions.map((position) => {
      const node = found.get(position)
      if (node === undefined) throw new Damaged(position, 'its row is missing')
      return node
    })
  }

  #node(segment: number, position: number): Uint8Array {
    const [stretch] = this.#stretches(segment, position, position + 1)
    const owner = stretch?.segment ?? segment
    const [found] = this.#nodes.all(owner, position, owner, position + 1) as unknown as readonly { readonly node: Uint8Array }[]
    if (found === undefined) throw new Damaged(position, 'its row is missing')
    return found.node
  }

  /** Which segments hold the positions, in order. */
  #stretches(segment: number, from: number, to: number): readonly Stretch[] {
    const stretches: Stretch[] = []
    let owner: number | null = segment
    let end = to
    while (owner !== null && end > from) {
      const { parent, base } = this.#baseOf(owner)
      const start = Math.max(base, from)
      if (start < end) {
        stretches.unshift({ segment: owner, from: start, to: end })
        end = start
      }
      owner = parent
    }
    return stretches
  }

  #baseOf(segment: number): { readonly parent: number | null; readonly base: number } {
    const known = this.#bases.get(segment)
    if (known !== undefined) return known
    const found = this.#segment.get(segment) as { readonly parent: number | null; readonly base: number } | undefined
    const base = found ?? { parent: null, base: 0 }
    if (this.#bases.size >= 10_000) this.#bases.clear()
    this.#bases.set(segment, base)
    return base
  }

  /** The segment that a fork at `at` shares its rows with: the one that holds the last of them. */
  ownerOf(segment: number, at: number): number | null {
    let owner: number | null = segment
    while (owner !== null) {
      const { parent, base } = this.#baseOf(owner)
      if (at > base) return owner
      owner = parent
    }
    return null
  }
}

/** Node 22 reads text up to its first NUL only; as bytes it reads all of it. */
const endsTextAtNul = (db: DatabaseSync): boolean => Object.values(db.prepare("select 'a' || char(0) || 'b'").get() ?? {})[0] !== 'a\0b'

const placed = (place: number): Placed => ({ kind: place % 2 === 1 ? 'note' : 'entry', index: Math.floor(place / 2) })
