/** Appends to the logs of a file: the first rows of a new log, and later rows. Runs inside a write transaction. */
import type { DatabaseSync } from 'node:sqlite'
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right, type JsonObject } from '../../json/index.ts'
import { emptyRange, type CompactRange, type Hash } from '../../proof/internal.ts'
import { Damaged } from '../port/damage-error.ts'
import type { CheckedAppend } from '../port/driver.ts'
import type { StoreFault } from '../fault.ts'
import {
  divergedFault,
  growLog,
  hasKey,
  isPlanFor,
  referencedBlocks,
  staleHeadFault,
  repeatedAppend,
  sameHead,
  type GrownLog,
} from '../rules/rules.ts'
import type { AppendedRows, LogInfo } from '../port/store.ts'
import { rangeOf } from '../port/tree.ts'
import type { Blocks } from './blocks.ts'
import type { Leases } from './leases.ts'
import { headIn, nameIsSound, sizeKey, splitHashes, useTimeKey, type LogRow, type RawLog } from './log.ts'
import type { Logs } from './logs.ts'
import { prepareAllOnce } from './prepared.ts'
import type { Rows } from './rows.ts'
import type { Scopes } from './scopes.ts'
import type { Search } from './search.ts'
import { fits, sumOf } from './sum.ts'

/** The parts of a file that an append uses. */
interface Parts {
  readonly scopes: Scopes
  readonly logs: Logs
  readonly rows: Rows
  readonly blocks: Blocks
  readonly leases: Leases
  readonly search: Search
}

export class Appender {
  readonly #parts: Parts
  readonly #hash: Hash
  readonly #sql: ReturnType<typeof statements>

  constructor(db: DatabaseSync, parts: Parts, hash: Hash) {
    this.#parts = parts
    this.#hash = hash
    this.#sql = statements(db)
  }

  create(scope: string, id: string, meta: JsonObject, first: CheckedAppend): Either<StoreFault, LogInfo> {
    const { scopes, logs } = this.#parts
    if (logs.find(scope, id) !== undefined) return left({ _tag: 'LogExists', id })
    const problem = this.#lacking(scopes.keyOf(scope), first)
    if (problem !== undefined) return left(problem)
    const key = scopes.own(scope)
    const segment = logs.addSegment(key, null, 0)
    const grown = growLog({ head: first.expected, entries: 0, tokens: 0, peaks: emptyRange.peaks }, first, this.#hash)
    this.#store(key, segment, grown, first)
    return right(logs.add(key, id, segment, grown, meta))
  }

  append(scope: string, id: string, given: CheckedAppend): Either<StoreFault, AppendedRows> {
    return this.#parts.logs.on(scope, id, (log, raw) => {
      // Rows appended to another segment might not be found again.
      if (!nameIsSound(raw, log)) throw new Damaged(log.size, 'its name or its segment was altered')
      return hasKey(String(raw['meta']), given.ownKey)
        ? this.#appendTo(scope, log, raw, given)
        : left(divergedFault(id, given.expected, headIn(log)))
    })
  }

  #appendTo(scope: string, log: LogRow, raw: RawLog, given: CheckedAppend): Either<StoreFault, AppendedRows> {
    const { scopes, rows, leases } = this.#parts
    const { expected, operation } = given
    const before = operation === undefined ? undefined : this.#answered(log, operation, given.rows)
    if (before !== undefined) return before
    const unleased = leases.against(log, given)
    if (unleased !== undefined) return left(unleased)
    rows.checkSegment(log.segment)
    const head = headIn(log)
    if (!sameHead(expected, head)) {
      const at = (size: number): CompactRange => rows.rangeAt(log.segment, size)
      return left(
        staleHeadFault(log.id, expected, head, this.#hash, at, ({ from, to }) => rows.read(log.segment, from, to)),
      )
    }
    const planned = given.plan?.before.peaks
    const peaks =
      planned !== undefined && Buffer.compare(log.peaks, Buffer.concat(planned)) === 0
        ? planned
        : splitHashes(log.peaks)
    if (!isPlanFor(given.plan, { head, peaks })) rangeOf(head, peaks, this.#hash)
    rows.checkEnd(log.segment, log, peaks.at(-1))
    const key = scopes.keyOf(scope)
    const problem = this.#lacking(key, given)
    if (problem !== undefined) return left(problem)
    const grown = growLog({ head, entries: log.entries, tokens: log.tokens, peaks }, given, this.#hash)
    this.#store(key, log.segment, grown, given)
    this.#advance(log, raw, grown, operation)
    return right(grown.answer)
  }

  #answered(
    log: LogRow,
    operation: string,
    given: CheckedAppend['rows'],
  ): Either<StoreFault, AppendedRows> | undefined {
    const found = this.#sql.operation().get(log.key, operation) as
      | { readonly base: number; readonly size: number; readonly root: Uint8Array; readonly sum: number | null }
      | undefined
    if (found === undefined) return undefined
    const { base: from, size, root, sum } = found
    if (!fits(sum, log.key, operation, from, size, root))
      throw new Damaged(log.size, `its record of operation ${JSON.stringify(operation)} was altered`)
    const head = { size, root: Buffer.from(root).toString('hex') }
    return repeatedAppend(log.id, { operation, from, head }, given, this.#parts.rows.read(log.segment, from, size))
  }

  /** The fault of missing or altered blocks among those referenced. */
  #lacking(scope: number, given: CheckedAppend): StoreFault | undefined {
    const { blocks } = this.#parts
    const named = referencedBlocks(given)
    if (named.length === 0) return undefined
    const missing = blocks.missing(scope, named)
    if (missing.length > 0) return { _tag: 'MissingBlock', ids: missing }
    const sound = blocks.soundIn(scope, named, this.#hash)
    const damaged = named.filter((id) => !sound.has(id))
    return damaged.length > 0 ? { _tag: 'DamagedBlock', ids: damaged } : undefined
  }

  /** Store the rows and blocks of an append. */
  #store(scope: number, segment: number, grown: GrownLog, given: CheckedAppend): void {
    const { rows, blocks, search } = this.#parts
    blocks.put(scope, given.blocks, false)
    for (const row of grown.rows) {
      rows.append(segment, row)
      blocks.mention(scope, segment, row.position, row.row.blocks)
    }
    const [first] = grown.rows
    if (first !== undefined) rows.checkThere(segment, first.position, first.position + grown.rows.length)
    search.append(scope, segment, grown.rows, given)
  }

  /** Update a log's head, and store the operation that changed it. */
  #advance(log: LogRow, raw: RawLog, grown: GrownLog, operation: string | undefined): void {
    const { size } = grown.range
    const { entries, tokens } = grown
    const [peaks, root] = [Buffer.concat(grown.peaks), Buffer.from(grown.head.root, 'hex')]
    const appended = grown.rows.length === 0 ? log.appended : (grown.appended ?? null)
    this.#sql.grow().run(size, entries, peaks, root, appended, log.key)
    // The columns for list orders are updated only if they change: each update writes two more pages.
    const used = grown.appended === undefined ? undefined : useTimeKey(grown.appended)
    if (used !== undefined && raw['used'] !== BigInt(used)) this.#sql.move().run(used, log.key)
    const sized = sizeKey(entries)
    if (raw['sized'] !== BigInt(sized)) this.#sql.resize().run(sized, log.key)
    if (tokens !== log.tokens) this.#sql.count().run(tokens, log.key)
    if (operation === undefined) return
    const mark = sumOf(log.key, operation, log.size, size, root)
    this.#sql.addOperation().run(log.key, operation, log.size, size, root, mark)
  }
}

const statements = (db: DatabaseSync) =>
  prepareAllOnce(db, {
    grow: 'update log set size = ?, entries = ?, peaks = ?, root = ?, appended = ? where key = ?',
    move: 'update log set used = ? where key = ?',
    resize: 'update log set sized = ? where key = ?',
    count: 'update log set tokens = ? where key = ?',
    operation: 'select base, size, root, sum from operation where log = ? and id = ?',
    addOperation: 'insert into operation (log, id, base, size, root, sum) values (?, ?, ?, ?, ?, ?)',
  })
