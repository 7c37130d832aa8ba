/** Reads the rows and nodes of a log: immediately, and a long range in pieces. */
import type { DatabaseSync } from 'node:sqlite'
import { isLeft, left, right } from '../../json/index.ts'
import { Damaged } from '../port/damage-error.ts'
import type { Answer } from '../port/driver.ts'
import { positionsOf } from '../rules/lookup.ts'
import type { StoredRow } from '../port/row.ts'
import { nextTurn, sliceBytes, sliceRows } from '../port/slices.ts'
import type { RowRange } from '../port/store.ts'
import { isDamage } from './fault.ts'
import { headIn } from './log.ts'
import { damageIn, type Logs } from './logs.ts'
import { rollBack } from './open.ts'
import type { Rows } from './rows.ts'

export class Reader {
  readonly #db: DatabaseSync
  readonly #logs: Logs
  readonly #rows: Rows

  constructor(db: DatabaseSync, logs: Logs, rows: Rows) {
    this.#db = db
    this.#logs = logs
    this.#rows = rows
  }

  async read(scope: string, id: string, range: RowRange): Answer<readonly StoredRow[]> {
    const place = () =>
      this.#logs.on(scope, id, (log) =>
        right({
          segment: log.segment,
          positions: positionsOf({ head: headIn(log), entries: log.entries }, range, (position) =>
            this.#rows.placeAt(log.segment, position),
          ),
        }),
      )
    const placed = range.only === undefined ? place() : this.#together(place) // without a kind it is one statement
    if (isLeft(placed)) return placed
    const { segment, positions } = placed.right
    const found: StoredRow[] = []
    for (let { start } = positions; start < positions.end;) {
      if (start > positions.start) await nextTurn()
      const part = damageIn(id, () => right(this.#slice(segment, start, positions.end)))
      // If the log was removed meanwhile, missing rows are not damage.
      if (isLeft(part))
        return Number(this.#logs.find(scope, id)?.['segment'] ?? -1) === segment
          ? part
          : left({ _tag: 'NoSuchLog', id })
      start += part.right.length
      for (const row of part.right) if (range.only === undefined || row.kind === range.only) found.push(row)
    }
    return right(Object.freeze(found))
  }

  async nodes(scope: string, id: string, positions: readonly number[]): Answer<readonly Uint8Array[]> {
    return this.#together(() =>
      this.#logs.on(scope, id, ({ segment }) =>
        right(
          Object.freeze(
            elseOneByOne(
              () => this.#rows.nodes(segment, positions),
              positions,
              (position) => this.#rows.nodes(segment, [position]),
            ),
          ),
        ),
      ),
    )
  }

  /** The rows from `start` that are read in one turn, and at least one of them. Throws Damaged. */
  #slice(segment: number, start: number, to: number): readonly StoredRow[] {
    let end = Math.min(start + sliceRows, to)
    while (end - start > 1 && this.#bytesIn(segment, start, end) > sliceBytes) end = start + ((end - start) >> 1)
    return elseOneByOne(
      () => this.#rows.read(segment, start, end),
      Array.from({ length: end - start }, (_, index) => start + index),
      (position) => this.#rows.read(segment, position, position + 1),
    )
  }

  #bytesIn(segment: number, start: number, end: number): number {
    try {
      return this.#rows.bytesIn(segment, start, end)
    } catch (error) {
      if (isDamage(error) || error instanceof Damaged) return 0 // the read finds which row is damaged
      throw error
    }
  }

  /** Runs several reads on the same state of the file. */
  #together<T>(work: () => T): T {
    try {
      this.#db.exec('begin')
      return work()
    } finally {
      rollBack(this.#db) // a damaged file can't be committed, and nothing was written
    }
  }
}

/** Reads all positions, or finds the first bad one in a damaged file. Throws Damaged. */
const elseOneByOne = <T>(
  all: () => readonly T[],
  positions: readonly number[],
  readOne: (position: number) => readonly T[],
): readonly T[] => {
  try {
    return all()
  } catch (error) {
    if (!isDamage(error)) throw error
    return positions.flatMap((position) => {
      try {
        return readOne(position)
      } catch (inner) {
        throw inner instanceof Damaged ? inner : new Damaged(position, "it can't be read: the file is damaged there")
      }
    })
  }
}
