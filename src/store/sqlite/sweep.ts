/**
 * Deleting the rows of removed logs, a piece at a time. A crash in between leaves an orphan segment with the rest of its
 * rows; whoever opens the file next goes on with it.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { isLeft, right, type Either } from 'fp-ts/lib/Either.js'
import type { StoreFault } from '../fault.ts'
import type { Rows } from './rows.ts'
import type { Writer } from './writer.ts'

/** Rows that one transaction deletes. */
const piece = 1000

interface Segment {
  readonly parent: number | null
  readonly base: number
  readonly orphan: number
}

export class Sweeper {
  readonly #writer: Writer
  readonly #rows: Rows
  readonly #orphans: StatementSync
  readonly #segment: StatementSync
  readonly #shared: StatementSync
  readonly #last: StatementSync
  readonly #unuse: StatementSync
  readonly #dropContent: StatementSync
  readonly #dropBlocks: StatementSync
  readonly #dropMentions: StatementSync
  readonly #dropRows: StatementSync
  readonly #dropSegment: StatementSync

  constructor(db: DatabaseSync, writer: Writer, rows: Rows) {
    this.#writer = writer
    this.#rows = rows
    this.#orphans = db.prepare('select key from segment where orphan = 1')
    this.#segment = db.prepare('select parent, base, orphan from segment where key = ?')
    this.#shared = db.prepare('select max(base) as shared, count(*) as forks from segment where parent = ?')
    const rowsFrom = '(:segment << 32) + :from and (:segment << 32) + 4294967295'
    this.#last = db.prepare(`select max(id) & 4294967295 as position from row where id between ${rowsFrom}`)
    this.#unuse = db.prepare(`update block set uses = uses - (select count(*) from mention where row between ${rowsFrom} and block = block.key) where key in (select block from mention where row between ${rowsFrom})`)
    this.#dropContent = db.prepare(`delete from content where block in (select key from block where uses = 0 and kept = 0 and key in (select block from mention where row between ${rowsFrom}))`)
    this.#dropBlocks = db.prepare(`delete from block where uses = 0 and kept = 0 and key in (select block from mention where row between ${rowsFrom})`)
    this.#dropMentions = db.prepare(`delete from mention where row between ${rowsFrom}`)
    this.#dropRows = db.prepare(`delete from row where id between ${rowsFrom}`)
    this.#dropSegment = db.prepare('delete from segment where key = ?')
  }

  /** Go on with what a crash has left behind. Nobody waits for it. */
  begin(): void {
    for (const { key } of this.#orphans.all() as unknown as readonly { readonly key: number }[]) void this.sweep(key)
  }

  /** Delete what no fork of an orphan shares, and the orphan itself if nothing is left of it. */
  async sweep(key: number): Promise<Either<StoreFault, void>> {
    for (let next: number | undefined = key; next !== undefined; ) {
      const segment: number = next
      const swept: Either<StoreFault, number | undefined> = await this.#writer.write(() => right(this.#piece(segment)))
      if (isLeft(swept)) return swept
      next = swept.right
    }
    return right(undefined)
  }

  /** One transaction of it. The segment to go on with, if there is one. */
  #piece(key: number): number | undefined {
    const segment = this.#segment.get(key) as Segment | undefined
    if (segment === undefined || segment.orphan === 0) return undefined
    const { shared, forks } = this.#shared.get(key) as { readonly shared: number | null; readonly forks: number }
    const from = Math.max(segment.base, shared ?? 0)
    const { position: last } = this.#last.get({ segment: key, from }) as { readonly position: number | null }
    if (last !== null) {
      const start = Math.max(from, last - piece + 1) // from the end, so that what is left is still a run
      for (const statement of [this.#unuse, this.#dropContent, this.#dropBlocks, this.#dropMentions, this.#dropRows]) statement.run({ segment: key, from: start })
      if (start > from) return key
    }
    if (forks > 0) return undefined
    this.#dropSegment.run(key)
    this.#rows.forget(key)
    return segment.parent ?? undefined
  }
}
