/**
 * Deletes the rows of removed logs, in several writes. A crash in between leaves an orphan segment with its
 * remaining rows, and the next removal continues with it. Nothing is deleted because of a single column: a
 * segment must be marked as an orphan, belong to no log, and have as many forks as it counts. The bytes of a block
 * are destroyed once no mention is left, and only after all rows that name blocks were compared with their mentions:
 * a lost mention must not destroy another log's text. `verify --all --deep` reports what these checks keep.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, right } from '../../json/index.ts'
import type { StoreFault } from '../fault.ts'
import { nextTurn } from '../port/slices.ts'
import { namingPiece, namingRowsAfter, prepareMentions, restoreMention } from './mentions.ts'
import { prepareAllOnce } from './prepared.ts'
import { lastPosition, type Base, type Rows } from './rows.ts'
import type { Search } from './search.ts'
import { fits } from './sum.ts'
import type { Writer } from './writer.ts'

/** The number of rows that one transaction deletes. */
const piece = 256

interface Segment extends Base {
  readonly scope: number
  readonly forks: number
  readonly sum: number | null
}

interface UnmentionedBlock {
  readonly scope: number
  readonly id: Uint8Array
  readonly kept: number
  readonly sum: number | null
}

export class Sweeper {
  readonly #writer: Writer
  readonly #rows: Rows
  readonly #search: Search
  readonly #sql: ReturnType<typeof statements>
  #tidied = false
  /** Whether rows and mentions were compared. */
  #compared = false
  /** Scopes in which a lost mention was not found again, so that no block may be destroyed. */
  readonly #unsure = new Set<number>()

  constructor(db: DatabaseSync, writer: Writer, rows: Rows, search: Search) {
    this.#writer = writer
    this.#rows = rows
    this.#search = search
    this.#sql = statements(db)
  }

  /** Delete the rows of an orphan that no fork shares, and the orphan itself if none remain. */
  async sweep(key: number): Promise<Either<StoreFault, void>> {
    const compared = await this.restoreMentions()
    if (isLeft(compared)) return compared
    for (let next: number | undefined = key; next !== undefined;) {
      const segment: number = next
      const swept: Either<StoreFault, number | undefined> = await this.#writer.write(() => right(this.#piece(segment)))
      if (isLeft(swept)) return swept
      next = swept.right
      if (next !== undefined) await nextTurn() // a write alone gives no turn
    }
    return right(undefined)
  }

  /** Finish the work of crashed removals, once. Cost: O(segments). */
  async tidy(): Promise<Either<StoreFault, void>> {
    if (this.#tidied) return right(undefined)
    this.#tidied = true
    for (const { key } of this.#sql.orphans().all() as unknown as readonly { readonly key: number }[]) {
      const swept = await this.sweep(key)
      if (isLeft(swept)) return swept
    }
    return right(undefined)
  }

  /**
   * Compare the rows that name blocks with their mentions, in slices, and add lost mentions. Once for each handle,
   * before it destroys the bytes of a block.
   */
  async restoreMentions(): Promise<Either<StoreFault, void>> {
    if (this.#compared) return right(undefined)
    for (let last = -(2n ** 63n); ;) {
      const rows = namingRowsAfter(this.#sql, last)
      if (rows.some(({ blocks, mentions }) => mentions < blocks)) {
        const restored = await this.#writer.write(() => right(this.#restore(last)))
        if (isLeft(restored)) return restored
      }
      const end = rows.at(-1)
      if (end === undefined || rows.length < namingPiece) break
      last = end.id
      await nextTurn()
    }
    this.#compared = true
    return right(undefined)
  }

  /** Adds the lost mentions of one slice. */
  #restore(last: bigint): void {
    for (const row of namingRowsAfter(this.#sql, last)) {
      if (row.mentions >= row.blocks) continue
      const { scope, isWhole } = restoreMention(this.#sql, row)
      if (!isWhole && scope !== undefined) this.#unsure.add(scope)
    }
  }

  /** Runs one transaction. Returns the segment to continue with, if any. */
  #piece(key: number): number | undefined {
    const segment = this.#sql.orphan().get(key) as Segment | undefined
    const children = this.#sql.children().get(key) as { readonly shared: number | null; readonly forks: number }
    if (segment === undefined || !isSound(segment) || children.forks !== segment.forks) return undefined
    const from = Math.max(segment.base, children.shared ?? 0)
    const { position: last } = this.#sql.last().get({ segment: key, from }) as { readonly position: number | null }
    if (last !== null) {
      const start = Math.max(from, last - piece + 1) // from the end, so that the remaining rows have no gap
      this.#drop({ segment: key, from: start })
      if (start > from) return key
    }
    if (segment.forks > 0) return undefined
    this.#sql.dropSegment().run(key)
    this.#search.forgetSegment(key)
    this.#rows.forget(key)
    if (segment.parent === null) return undefined
    this.#sql.lessForks().run(segment.parent)
    return segment.parent
  }

  #drop(range: { readonly segment: number; readonly from: number }): void {
    this.#unmention({ ...range, to: lastPosition })
    this.#sql.dropRows().run(range)
    this.#search.forget(range.segment, range.from, lastPosition)
  }

  /**
   * Drop the mentions of one row, and the blocks that nothing else mentions. Runs inside a write, after
   * `restoreMentions`. Returns the blocks that the row mentioned.
   */
  forgetBlocks(segment: number, position: number): readonly number[] {
    return this.#unmention({ segment, from: position, to: position })
  }

  #unmention(range: { readonly segment: number; readonly from: number; readonly to: number }): readonly number[] {
    const mentioned = this.#sql.mentioned().all(range) as unknown as readonly { readonly key: number }[]
    this.#sql.dropMentions().run(range)
    for (const { key } of mentioned) {
      const block = this.#sql.unmentioned().get(key) as UnmentionedBlock | undefined
      if (block === undefined || !this.#compared || this.#unsure.has(block.scope)) continue
      if (!fits(block.sum, block.scope, block.id, block.kept)) continue
      this.#sql.dropContent().run(key)
      this.#sql.dropBlock().run(key)
    }
    return mentioned.map(({ key }) => key)
  }
}

const isSound = ({ scope, parent, base, sum }: Segment): boolean => fits(sum, scope, parent, base)

const statements = (db: DatabaseSync) => {
  const isOrphan = 'orphan = 1 and not exists (select 1 from log where log.segment = segment.key)'
  const rowsFrom = `(:segment << 32) + :from and (:segment << 32) + ${lastPosition}`
  const rowsBetween = '(:segment << 32) + :from and (:segment << 32) + :to'
  return {
    ...prepareAllOnce(db, {
      orphans: `select key from segment where ${isOrphan}`,
      orphan: `select scope, parent, base, forks, sum from segment where key = ? and ${isOrphan}`,
      children: 'select max(base) as shared, count(*) as forks from segment where parent = ?',
      last: `select max(id) & 4294967295 as position from row where id between ${rowsFrom}`,
      mentioned: `select distinct block as key from mention where row between ${rowsBetween}`,
      unmentioned:
        'select scope, id, kept, sum from block where key = ? and kept = 0 and not exists (select 1 from mention where mention.block = block.key)',
      dropContent: 'delete from content where block = ?',
      dropBlock: 'delete from block where key = ?',
      dropMentions: `delete from mention where row between ${rowsBetween}`,
      dropRows: `delete from row where id between ${rowsFrom}`,
      dropSegment: 'delete from segment where key = ?',
      lessForks: 'update segment set forks = forks - 1 where key = ?',
    }),
    ...prepareMentions(db),
  }
}
