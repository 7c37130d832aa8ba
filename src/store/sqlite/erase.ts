/**
 * Erases rows in the file. One transaction replaces the bodies with stubs, removes blocks that nothing else
 * references, and appends to the ledger; freed space is overwritten (`secure_delete`). Then the file is rewritten (`VACUUM`),
 * because SQLite leaves copies of rows in its unused parts when it moves them between pages, and the write-ahead log is emptied.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../../json/index.ts'
import type { BlockId } from '../../proof/internal.ts'
import type { Answer, CheckedErasure } from '../port/driver.ts'
import type { EraseResult, RemainingBlock, Residue, RowPlace, TextPlaces } from '../port/erasing.ts'
import type { StoreFault } from '../fault.ts'
import { byteFinderInSlices, finderInSlices } from '../port/find-texts.ts'
import { sliceRows, Slices } from '../port/slices.ts'
import { conflict, sameHead } from '../rules/rules.ts'
import type { Head } from '../port/row.ts'
import type { Appender } from './append.ts'
import type { Leases } from './leases.ts'
import { headIn } from './log.ts'
import { damageIn, type Logs } from './logs.ts'
import { packedColumns, unpack, type Packed } from './packed.ts'
import { rewriteFile } from './thread.ts'
import { emptyLog, untilDone } from './open.ts'
import { prepareAllOnce } from './prepared.ts'
import { bodyColumn, type Rows } from './rows.ts'
import type { Scopes } from './scopes.ts'
import type { Search } from './search.ts'
import type { Sweeper } from './sweep.ts'
import type { Writer } from './writer.ts'

/** The parts of a file that an erasure uses. */
interface Parts {
  readonly scopes: Scopes
  readonly logs: Logs
  readonly rows: Rows
  readonly leases: Leases
  readonly appender: Appender
  readonly search: Search
  readonly sweeper: Sweeper
  readonly writer: Writer
}

type ErasedExceptRows = Omit<EraseResult, 'rows'>

type ErasedInFile = Omit<ErasedExceptRows, 'residue'>

type ErasedPlace = CheckedErasure['logs'][number]['rows'][number] & { readonly segment: number }

interface PlacedRow {
  readonly segment: number
  readonly position: number
}

interface Keyed {
  readonly key: number
}

interface BodyRow {
  readonly position: number
  readonly body: string | Uint8Array
}

interface ErasedRow {
  readonly position: number
  readonly erased: number
}

/** An operation of a log. */
interface Operation {
  readonly key: number
  readonly id: string
  readonly log: string
}

interface Content extends Packed {
  readonly id: Uint8Array
  readonly kept: number
}

export class Eraser {
  readonly #db: DatabaseSync
  readonly #parts: Parts
  readonly #sql: ReturnType<typeof statements>

  constructor(db: DatabaseSync, parts: Parts) {
    this.#db = db
    this.#parts = parts
    this.#sql = statements(db)
  }

  async erase(scope: string, erasure: CheckedErasure | undefined): Answer<ErasedExceptRows> {
    const { writer } = this.#parts
    if (erasure === undefined) return this.#cleaned({ head: undefined, blocks: [] })
    const compared = await this.#parts.sweeper.restoreMentions()
    if (isLeft(compared)) return compared
    const done = await writer.write((): Either<StoreFault, ErasedInFile> => {
      const was = this.#secure('on')
      try {
        return this.#together(scope, erasure)
      } finally {
        this.#secure(was)
      }
    })
    if (isLeft(done)) return done
    return erasure.slice === 'one of several' ? right({ ...done.right, residue: [] }) : this.#cleaned(done.right)
  }

  async containing(scope: string, texts: readonly string[]): Promise<TextPlaces> {
    const key = this.#parts.scopes.keyOf(scope)
    const [isIn, isInBytes] = [await finderInSlices(texts), await byteFinderInSlices(texts)]
    const rows = new Map<string, RowPlace>()
    const blocks: BlockId[] = []
    const slices = new Slices()
    const add = (row: PlacedRow): void => void rows.set(`${row.segment} ${row.position}`, this.#placeOf(row))
    for (const { segment, position, body } of this.#rowsOf<BodyRow>(scope, this.#sql.bodies())) {
      if (isIn(typeof body === 'string' ? body : Buffer.from(body).toString())) add({ segment, position })
      await slices.next(body.length)
    }
    for (const { key: block } of this.#sql.blocks().all(key) as unknown as readonly Keyed[]) {
      const content = this.#sql.content().get(block) as Content | undefined
      if (content === undefined) continue // removed meanwhile
      const whole = unpack(content)
      if (isInBytes(whole)) {
        if (content.kept === 1) blocks.push(Buffer.from(content.id).toString('hex') as BlockId) // stored as a block id
        for (const row of this.#sql.naming().all(block) as unknown as readonly PlacedRow[]) add(row)
      }
      await slices.next(whole.length)
    }
    const operations = new Set<string>()
    for (let last: Operation | undefined = { key: 0, id: '', log: '' }; last !== undefined;) {
      const { key: log, id } = last
      const found = this.#sql.operations().all({ scope: key, log, id }) as unknown as readonly Operation[]
      for (const operation of found) {
        if (isIn(operation.id)) operations.add(operation.log)
        await slices.next(operation.id.length)
      }
      last = found.at(-1)
    }
    return { rows: [...rows.values()], blocks, ...(operations.size > 0 && { operations: [...operations] }) }
  }

  async erased(scope: string): Promise<readonly RowPlace[]> {
    const places: RowPlace[] = []
    const slices = new Slices()
    for (const row of this.#rowsOf<ErasedRow>(scope, this.#sql.erased())) {
      if (row.erased === 1) places.push(this.#placeOf(row))
      await slices.next()
    }
    return places
  }

  /** The rows of a scope, in pieces: between two pieces, no read is open. */
  *#rowsOf<T extends { readonly position: number }>(
    scope: string,
    read: StatementSync,
  ): Generator<T & { readonly segment: number }> {
    const segments = this.#sql.segments().all(this.#parts.scopes.keyOf(scope)) as unknown as readonly Keyed[]
    for (const { key: segment } of segments)
      for (let [after, count] = [-1, sliceRows]; count === sliceRows;) {
        const found = read.all({ segment, after }) as unknown as readonly T[]
        for (const row of found) yield { ...row, segment }
        ;[after, count] = [found.at(-1)?.position ?? after, found.length]
      }
  }

  /** A row in the log that appended it, or the oldest fork that shares it. Without a log, the row is about to be deleted. */
  #placeOf({ segment, position }: PlacedRow): RowPlace {
    const log = this.#sql.owner().get(segment, position) as { readonly id: string } | undefined
    return { id: log?.id ?? '', position }
  }

  /** The transaction. Everything that can fail is checked before the first write. */
  #together(scope: string, { logs: input, ledger }: CheckedErasure): Either<StoreFault, ErasedInFile> {
    const { logs, rows, leases, appender, search, sweeper } = this.#parts
    const places = new Map<string, ErasedPlace>() // by segment and position: logs may share a row
    for (const { id, expected, rows: chosen, ...claim } of input) {
      const looked = logs.on(scope, id, (log): Either<StoreFault, undefined> => {
        const unleased = leases.against(log, claim)
        if (unleased !== undefined) return left(unleased)
        const head = headIn(log)
        if (!sameHead(head, expected)) return left(conflict(id, expected, head, []))
        for (const row of chosen) {
          const segment = rows.segmentAt(log.segment, row.position)
          places.set(`${segment} ${row.position}`, { ...row, segment })
        }
        return right(undefined)
      })
      if (isLeft(looked)) return looked
    }
    const recorded = damageIn(ledger.id, (): Either<StoreFault, { readonly head: Head }> =>
      ledger.append.expected.size === 0 && logs.find(scope, ledger.id) === undefined
        ? appender.create(scope, ledger.id, ledger.meta, ledger.append)
        : appender.append(scope, ledger.id, ledger.append),
    )
    if (isLeft(recorded)) return recorded
    const touched = new Set<number>()
    for (const { segment, position, leaf, stub, tokens } of places.values()) {
      search.erase(segment, position)
      rows.erase(segment, position, stub, leaf)
      if (tokens > 0) this.#sql.uncount().run(tokens, segment)
      for (const key of sweeper.forgetBlocks(segment, position)) touched.add(key)
    }
    this.#sql.mark().run()
    const blocks = [...touched].flatMap((key): readonly RemainingBlock[] => {
      const left = this.#sql.block().get(key) as
        | { readonly id: Uint8Array; readonly rows: number; readonly kept: number }
        | undefined
      if (left === undefined) return []
      const block = Buffer.from(left.id).toString('hex') as RemainingBlock['block'] // stored as a block id
      return [{ block, rows: left.rows, kept: left.kept === 1 }]
    })
    return right({ head: recorded.right.head, blocks })
  }

  /** Remove remains of erased rows from the file and its write-ahead log. */
  async #cleaned(done: ErasedInFile): Answer<ErasedExceptRows> {
    if (this.#sql.marked().get() === undefined) return right({ ...done, residue: [] })
    const cleaned = await this.#clean()
    // The rows are erased, even if their remains are not.
    const residue = isLeft(cleaned)
      ? [
          {
            where: 'file' as const,
            reason: `it could not be cleaned (${cleaned.left._tag}): erase the same messages again`,
          },
        ]
      : cleaned.right
        ? []
        : [waiting]
    return right({ ...done, residue })
  }

  /** Returns false while other readers prevent it. */
  async #clean(): Promise<Either<StoreFault, boolean>> {
    const { search, writer } = this.#parts
    const wait = Math.min(writer.wait, mostWait)
    let isRewritten = false
    return untilDone(wait, () =>
      writer.outside(async () => {
        if (!isRewritten) {
          search.purge()
          await rewriteFile(this.#db, wait)
        }
        isRewritten = true
        if (!emptyLog(this.#db)) return false
        this.#sql.unmark().run() // the write-ahead log then has only this deletion
        return true
      }),
    )
  }

  #secure(value: string): string {
    const was = Object.values(this.#db.prepare('pragma secure_delete').get() ?? {})[0]
    this.#db.exec(`pragma secure_delete = ${value}`)
    return was === 1 ? 'on' : was === 2 ? 'fast' : 'off'
  }
}

/** Milliseconds to wait for other readers and writers after an erasure. */
const mostWait = 1000

const waiting: Residue = {
  where: 'wal',
  reason:
    'another connection still reads an earlier state of the file, so the write-ahead log could not be emptied: close it, and erase the same messages again',
}

const statements = (db: DatabaseSync) =>
  prepareAllOnce(db, {
    mark: 'insert or ignore into residue (key) values (1)',
    marked: 'select 1 from residue',
    unmark: 'delete from residue',
    uncount: 'update log set tokens = max(tokens - ?, 0) where segment = ?',
    block:
      'select id, kept, (select count(*) from mention where mention.block = block.key) as rows from block where key = ?',
    owner: `select log.id from log where segment in (with recursive kin (key) as
        (select ? union select segment.key from segment join kin on segment.parent = kin.key where segment.base > ?) select key from kin)
        order by log.key`,
    segments: 'select key from segment where scope = ? order by key',
    bodies: `select id & 4294967295 as position, ${bodyColumn(db)} from row
      where id > (:segment << 32) + :after and id <= (:segment << 32) + 4294967295 order by id limit ${sliceRows}`,
    blocks: 'select key from block where scope = ? order by key',
    content: `select block.id, block.kept, ${packedColumns}
      from block join content on content.block = block.key where block.key = ?`,
    erased: `select id & 4294967295 as position, erased is not null as erased
      from row where id > (:segment << 32) + :after and id <= (:segment << 32) + 4294967295 order by id limit ${sliceRows}`,
    operations: `select operation.log as key, operation.id, log.id as log from operation join log on log.key = operation.log
        where log.scope = :scope and (operation.log, operation.id) > (:log, :id)
        order by operation.log, operation.id limit ${sliceRows}`,
    naming: 'select row >> 32 as segment, row & 4294967295 as position from mention where block = ?',
  })
