/**
 * Reads the rows of a store file, segment by segment, and computes from them what is stored beside them. A fork's
 * tree starts with what its parent's rows give, not with stored nodes: one pass finds what all of them hide.
 */
import { appendLeaf, emptyRange, equalBytes, type CompactRange, type Hash } from '../../proof/internal.ts'
import { Damaged, orDamage } from '../port/damage-error.ts'
import { placeOf } from '../rules/rules.ts'
import { rowIn } from '../rules/read-columns.ts'
import type { RowKind } from '../port/row.ts'
import { tokensIn } from '../port/row-tokens.ts'
import { bodyColumn } from './rows.ts'
import { rowLeaf } from '../port/tree.ts'
import {
  findingsOf,
  numberIn,
  type Beside,
  type Facts,
  type Finding,
  type Raw,
  type Segment,
  type SegmentRows,
  type SegmentStart,
} from './check-facts.ts'

/** The number of rows in one read. */
const piece = 256

/** Reads all rows, segment by segment. A parent has a smaller key than its forks, so it comes first. */
export function* checkRows(facts: Facts): Generator<Finding | undefined> {
  const read = facts.db.prepare(
    `select id, place, node, ${bodyColumn(facts.db)}, at, salt, erased from row where id > ? order by id limit ${piece}`,
  )
  read.setReadBigInts(true)
  let walk: Walk | undefined
  for (let last = -(2n ** 63n); ;) {
    const rows = read.all(last) as unknown as readonly Raw[]
    for (const raw of rows) {
      const id = raw['id'] as bigint
      const key = Number(id >> 32n)
      if (walk?.key !== key) {
        yield* endOf(facts, walk)
        walk = walkOf(facts, key)
      }
      walk.take(Number(id & 0xffffffffn), raw)
      last = id
      yield undefined
    }
    if (rows.length < piece) break
  }
  yield* endOf(facts, walk)
}

/** The totals of a segment's rows, even if it has none yet. Undefined if the rows before it can't be read. */
export const rowsOf = (facts: Facts, segment: Segment): SegmentRows | undefined =>
  segment.rows ?? walkOf(facts, segment.key).end()

/** The forks of each segment, by the position at which they start. */
const forksOf = (facts: Facts, key: number): ReadonlyMap<number, readonly Segment[]> => {
  const forks = new Map<number, Segment[]>()
  for (const segment of facts.segments.values()) {
    if (segment.parent !== key || segment.key <= key) continue
    const known = forks.get(segment.base)
    if (known === undefined) forks.set(segment.base, [segment])
    else known.push(segment)
  }
  return forks
}

function walkOf(facts: Facts, key: number): Walk {
  const segment = facts.segments.get(key)
  const isFirst = segment?.parent === null && segment.base === 0
  const start = isFirst ? { range: emptyRange, entries: 0 } : startOf(facts, segment)
  return new Walk(key, segment?.base ?? 0, start, forksOf(facts, key), facts.hash)
}

/** The start of a fork. A parent without rows of its own is not walked before its forks. */
function startOf(facts: Facts, segment: Segment | undefined): SegmentStart | undefined {
  if (segment === undefined || segment.start !== undefined) return segment?.start
  const parent = segment.parent === null ? undefined : facts.segments.get(segment.parent)
  if (parent !== undefined && parent.key < segment.key && parent.rows === undefined) walkOf(facts, parent.key).end()
  return segment.start
}

function* endOf(facts: Facts, walk: Walk | undefined): Generator<Finding | undefined> {
  if (walk === undefined) return
  const segment = facts.segments.get(walk.key)
  if (segment === undefined)
    yield findingsOf('row', `segment ${walk.key}`, `${walk.count} rows of a segment that is missing`)
  else segment.rows = walk.end()
}

/** Computes the totals of one segment, row by row. */
class Walk {
  readonly key: number
  readonly #hash: Hash
  readonly #beside: Beside[] = []
  readonly #forks: ReadonlyMap<number, readonly Segment[]>
  #range: CompactRange | undefined
  #next: number
  #entries: number
  #tokens = 0
  #damage: Finding | undefined
  #appended: number | null = null
  count = 0

  constructor(
    key: number,
    base: number,
    start: SegmentStart | undefined,
    forks: ReadonlyMap<number, readonly Segment[]>,
    hash: Hash,
  ) {
    this.key = key
    this.#next = base
    this.#range = start?.range
    this.#entries = start?.entries ?? 0
    this.#forks = forks
    this.#hash = hash
    this.#startForks()
  }

  #startForks(): void {
    if (this.#range === undefined || this.#damage !== undefined) return
    for (const fork of this.#forks.get(this.#next) ?? []) fork.start = { range: this.#range, entries: this.#entries }
  }

  take(position: number, { place, node, body, at, salt, erased }: Raw): void {
    this.count += 1
    if (this.#range === undefined || this.#damage !== undefined) return
    if (position !== this.#next) return this.#damaged(this.#next, 'its row is missing')
    const text = body instanceof Uint8Array ? Buffer.from(body).toString() : body
    const placed = typeof place === 'bigint' ? Number(place) : place
    const row = orDamage(() => rowIn(position, placed, text, numberIn(at), salt, erased))
    if (row instanceof Damaged) return this.#damaged(position, row.reason)
    const range = this.#range
    const rangeAs = (kind: RowKind): CompactRange =>
      appendLeaf(range, rowLeaf({ ...row, kind }, this.#hash), this.#hash)
    const marked = row.kind
    const other: RowKind = marked === 'entry' ? 'note' : 'entry'
    const matchesNode = (grown: CompactRange): boolean =>
      node instanceof Uint8Array && equalBytes(grown.peaks.at(-1) as Uint8Array, node)
    const kind = !matchesNode(rangeAs(marked)) && matchesNode(rangeAs(other)) ? other : marked
    const grown = rangeAs(kind)
    const index = kind === 'entry' ? this.#entries : position - this.#entries
    if (!matchesNode(grown) || place !== BigInt(placeOf({ kind, index })))
      this.#beside.push({ position, kind, index, node: grown.peaks.at(-1) as Uint8Array }) // a leaf was just appended
    this.#range = grown
    this.#next += 1
    if (kind === 'entry') this.#entries += 1
    else this.#tokens += tokensIn({ ...row, kind })
    this.#appended = row.at
    this.#startForks()
  }

  /** Undefined if the rows before the segment can't be read. */
  end(): SegmentRows | undefined {
    if (this.#range === undefined) return undefined
    return {
      range: this.#range,
      entries: this.#entries,
      tokens: this.#tokens,
      appended: this.#appended,
      damage: this.#damage,
      beside: this.#beside,
    }
  }

  #damaged(position: number, what: string): void {
    this.#damage = findingsOf('row', undefined, `damaged at row ${position}: ${what}`)
  }
}
