/**
 * Reads the rows of a store file, segment by segment, and computes from them what is stored beside them. A fork's
 * tree starts with what its parent's rows give, not with stored nodes: one pass finds what all of them hide.
 */
import { appendLeaf, emptyRange, equalBytes } from '../../proof/internal.ts'
import { Damaged, orDamage } from '../port/damage-error.ts'
import type { RowKind } from '../port/row.ts'
import { sliceRows } from '../port/slices.ts'
import { tokensIn } from '../port/row-tokens.ts'
import { rowLeaf } from '../port/tree.ts'
import { rowIn } from '../rules/read-columns.ts'
import { placeOf } from '../rules/rules.ts'
import { findingOf, type Beside, type Facts, type Findings, type Raw, type Segment } from './check-facts.ts'
import { bodyColumn } from './rows.ts'

/** Reads all rows. A parent has a smaller key than its forks, so its rows come first. */
export function* checkRows(facts: Facts): Findings {
  const forks = Map.groupBy(facts.segments.values(), ({ parent, base }) => `${parent} ${base}`)
  let next = -(2n ** 63n)
  for (const segment of facts.segments.values()) {
    const key = BigInt(segment.key)
    yield* strayRows(facts, next, (key << 32n) - 1n)
    next = (key + 1n) << 32n
    if (segment.parent === null && segment.base === 0) segment.start = { range: emptyRange, entries: 0 }
    yield* readSegment(facts, segment, forks)
  }
  yield* strayRows(facts, next, 2n ** 63n - 1n)
}

function* strayRows(facts: Facts, from: bigint, to: bigint): Findings {
  const orphans = 'select id >> 32 as segment, count(*) as rows from row where id between ? and ? group by 1'
  for (const { segment, rows } of facts.all(orphans, from, to))
    yield findingOf('row', `segment ${String(segment)}`, `${String(rows)} rows of a segment that is missing`)
}

/** Computes the totals of a segment's rows, and the start of each fork. */
function* readSegment(facts: Facts, segment: Segment, forks: ReadonlyMap<string, readonly Segment[]>): Findings {
  if (segment.start === undefined) return
  let { range, entries } = segment.start
  let tokens = 0
  let appended: number | null = null
  const beside: Beside[] = []
  const startForks = (): void => {
    for (const fork of forks.get(`${segment.key} ${range.size}`) ?? []) fork.start = { range, entries }
  }
  /** Returns the damage of the row, if any. */
  const take = ({ position, place, node, body, at, salt, erased }: Raw): string | undefined => {
    if (position !== BigInt(range.size)) return `damaged at row ${range.size}: its row is missing`
    const text = body instanceof Uint8Array ? Buffer.from(body).toString() : body
    const [placed, time] = [place, at].map((column) => (typeof column === 'bigint' ? Number(column) : Number.NaN))
    const row = orDamage(() => rowIn(range.size, placed, text, time, salt, erased))
    if (row instanceof Damaged) return `damaged at row ${range.size}: ${row.reason}`
    const grownAs = (kind: RowKind) => {
      const grown = appendLeaf(range, rowLeaf({ ...row, kind }, facts.hash), facts.hash)
      const own = grown.peaks.at(-1) as Uint8Array // a leaf was just appended
      return { kind, grown, own, isStored: node instanceof Uint8Array && equalBytes(own, node) }
    }
    const stored = grownAs(row.kind)
    const other = stored.isStored ? stored : grownAs(row.kind === 'entry' ? 'note' : 'entry')
    const { kind, grown, own, isStored } = other.isStored ? other : stored // the node proves the kind
    const index = kind === 'entry' ? entries : range.size - entries
    if (!isStored || place !== BigInt(placeOf({ kind, index }))) beside.push({ position: range.size, kind, index, node: own }) // oxfmt-ignore
    if (kind === 'entry') entries += 1
    else tokens += tokensIn({ ...row, kind })
    appended = row.at
    range = grown
    return undefined
  }
  const read = `select id, id & 4294967295 as position, place, node, ${bodyColumn(facts.db)}, at, salt, erased
    from row where id between ? and ? order by id limit ${sliceRows}`
  const first = BigInt(segment.key) << 32n
  let damage: string | undefined
  startForks()
  for (let from = first; damage === undefined;) {
    const rows = facts.first(read, bytesIn, from, first + 0xffff_ffffn)
    for (const row of rows) {
      damage ??= take(row)
      if (damage === undefined) startForks()
      yield bytesIn(row)
    }
    const last = rows.at(-1)
    if (last === undefined) break
    from = (last['id'] as bigint) + 1n
  }
  segment.rows = { range, entries, tokens, appended, damage, beside }
}

const bytesIn = ({ body }: Raw): number =>
  typeof body === 'string' ? body.length : body instanceof Uint8Array ? body.length : 0
