/**
 * Deletes the rows of removed logs, in several writes. A crash in between leaves an orphan segment with its
 * remaining rows, and the next removal continues with it. Nothing is deleted because of a single column: a
 * segment must be marked as an orphan, belong to no log, and have as many forks as it counts; a block must
 * have no uses by its count and by its mentions. `verify --all --deep` reports what these checks keep.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, right } from '../../json/index.ts'
import type { StoreFault } from '../fault.ts'
import { prepareAllOnce } from './prepared.ts'
import type { Base, Rows } from './rows.ts'
import type { Search } from './search.ts'
import { fits } from './sum.ts'
import type { Writer } from './writer.ts'

/** The largest position that fits into a row id. */
const lastPosition = 4294967295

/** The number of rows that one transaction deletes. */
const piece = 1000

interface Segment extends Base {
  readonly scope: number
  readonly forks: number
  readonly sum: number | null
}

interface MentionedBlock {
  readonly key: number
  readonly scope: number
  readonly id: Uint8Array
  readonly uses: number
  readonly kept: number
  readonly sum: number | null
  /** The number of its mentions, by the index. */
  readonly mentions: number
}

export class Sweeper {
  readonly #writer: Writer
  readonly #rows: Rows
  readonly #search: Search
  readonly #sql: ReturnType<typeof statements>
  #tidied = false

  constructor(db: DatabaseSync, writer: Writer, rows: Rows, search: Search) {
    this.#writer = writer
    this.#rows = rows
    this.#search = search
    this.#sql = statements(db)
  }

  /** Delete the rows of an orphan that no fork shares, and the orphan itself if none remain. */
  async sweep(key: number): Promise<Either<StoreFault, void>> {
    for (let next: number | undefined = key; next !== undefined;) {
      const segment: number = next
      const swept: Either<StoreFault, number | undefined> = await this.#writer.write(() => right(this.#piece(segment)))
      if (isLeft(swept)) return swept
      next = swept.right
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
   * Drop the references of one row, and the blocks that nothing else references. Runs inside a
   * write. Returns the blocks that the row referenced.
   */
  forgetBlocks(segment: number, position: number): readonly number[] {
    return this.#unmention({ segment, from: position, to: position })
  }

  #unmention(range: { readonly segment: number; readonly from: number; readonly to: number }): readonly number[] {
    const mentioned = this.#sql.mentioned().all(range) as unknown as readonly {
      readonly key: number
      readonly dropped: number
    }[]
    this.#sql.dropMentions().run(range)
    for (const { key, dropped } of mentioned) {
      this.#sql.unuse().run(dropped, key)
      const block = this.#sql.block().get(key) as MentionedBlock | undefined
      if (block === undefined || block.kept !== 0 || block.uses !== 0 || block.mentions !== 0) continue
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
  return prepareAllOnce(db, {
    orphans: `select key from segment where ${isOrphan}`,
    orphan: `select scope, parent, base, forks, sum from segment where key = ? and ${isOrphan}`,
    children: 'select max(base) as shared, count(*) as forks from segment where parent = ?',
    last: `select max(id) & 4294967295 as position from row where id between ${rowsFrom}`,
    mentioned: `select block as key, count(*) as dropped from mention where row between ${rowsBetween} group by block`,
    unuse: 'update block set uses = uses - ? where key = ?',
    block:
      'select key, scope, id, uses, kept, sum, (select count(*) from mention where mention.block = block.key) as mentions from block where key = ?',
    dropContent: 'delete from content where block = ?',
    dropBlock: 'delete from block where key = ?',
    dropMentions: `delete from mention where row between ${rowsBetween}`,
    dropRows: `delete from row where id between ${rowsFrom}`,
    dropSegment: 'delete from segment where key = ?',
    lessForks: 'update segment set forks = forks - 1 where key = ?',
  })
}
