/** Appends to the logs of a file: the first rows of a new log, and later rows. Runs inside a write transaction. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right, type JsonObject } from '../../json/index.ts'
import { emptyRange, type CompactRange, type Hash } from '../../proof/internal.ts'
import { RecentMap } from '../../sequence/index.ts'
import { Damaged } from '../port/damage-error.ts'
import type { CheckedAppend } from '../port/driver.ts'
import { claims } from '../port/lease.ts'
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
  type LogBasis,
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
import { FailedWrite } from './writer.ts'

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
  readonly #known = new RecentMap<string, KnownLog>(mostKnown)

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
    this.#store(id, key, segment, grown, first)
    return right(logs.add(key, id, segment, grown, meta))
  }

  append(scope: string, id: string, append: CheckedAppend): Either<StoreFault, AppendedRows> {
    const name = `${id}\0${scope}` // an id has no control characters
    const known = this.#known.get(name)
    if (known !== undefined && continues(known, append)) {
      const done = this.#appendTo(name, known, append)
      if (done !== undefined) return done
    }
    return this.#parts.logs.on(scope, id, (log, raw) => {
      // Rows appended to another segment might not be found again.
      if (!nameIsSound(raw, log)) throw new Damaged(log.size, 'its name or its segment was altered')
      if (!hasKey(String(raw['meta']), append.ownKey)) return left(divergedFault(id, append.expected, headIn(log)))
      const before = append.operation === undefined ? undefined : this.#answered(log, append.operation, append.rows)
      if (before !== undefined) return before
      const found = this.#checked(log, raw, append)
      if (isLeft(found)) return found
      const problem = this.#lacking(log.scope, append)
      if (problem !== undefined) return left(problem)
      return this.#appendTo(name, found.right, append) as Either<StoreFault, AppendedRows> // nobody else writes now
    })
  }

  /** A log that the rows continue, compared with its last row. */
  #checked(log: LogRow, raw: RawLog, append: CheckedAppend): Either<StoreFault, KnownLog> {
    const { rows, leases } = this.#parts
    const { expected, ownKey } = append
    const unleased = leases.against(log, append)
    if (unleased !== undefined) return left(unleased)
    rows.checkSegment(log.segment)
    const head = headIn(log)
    if (!sameHead(expected, head)) {
      const at = (size: number): CompactRange => rows.rangeAt(log.segment, size)
      return left(
        staleHeadFault(log.id, expected, head, this.#hash, at, ({ from, to }) => rows.read(log.segment, from, to)),
      )
    }
    const peaks = splitHashes(log.peaks)
    if (!isPlanFor(append.plan, { head, peaks })) rangeOf(head, peaks, this.#hash)
    rows.checkEnd(log.segment, log, peaks.at(-1))
    return right({ log, head, peaks, stored: raw as KnownLog['stored'], ownKey })
  }

  /** Append to a log. Undefined, and nothing is written, if the log in the file is no longer the one that is known. */
  #appendTo(name: string, known: KnownLog, append: CheckedAppend): Either<StoreFault, AppendedRows> | undefined {
    const { log } = known
    const { entries, tokens } = log
    const grown = growLog({ head: known.head, entries, tokens, peaks: known.peaks }, append, this.#hash)
    const after = this.#advance(known, grown, append.operation)
    if (after === undefined) return undefined
    this.#store(log.id, log.scope, log.segment, grown, append)
    this.#known.set(name, after)
    return right(grown.answer)
  }

  #answered(log: LogRow, operation: string, rows: CheckedAppend['rows']): Either<StoreFault, AppendedRows> | undefined {
    const found = this.#sql.operation().get(log.key, operation) as
      | { readonly base: number; readonly size: number; readonly root: Uint8Array; readonly sum: number | null }
      | undefined
    if (found === undefined) return undefined
    const { base: from, size, root, sum } = found
    if (!fits(sum, log.key, operation, from, size, root))
      throw new Damaged(log.size, `its record of operation ${JSON.stringify(operation)} was altered`)
    const head = { size, root: Buffer.from(root).toString('hex') }
    return repeatedAppend(log.id, { operation, from, head }, rows, this.#parts.rows.read(log.segment, from, size))
  }

  /** The fault of missing or altered blocks among those referenced. */
  #lacking(scope: number, append: CheckedAppend): StoreFault | undefined {
    const { blocks } = this.#parts
    const named = referencedBlocks(append)
    if (named.length === 0) return undefined
    const missing = blocks.missing(scope, named)
    if (missing.length > 0) return { _tag: 'MissingBlock', ids: missing }
    const damaged = named.filter((id) => !blocks.isSound(scope, id, this.#hash))
    return damaged.length > 0 ? { _tag: 'DamagedBlock', ids: damaged } : undefined
  }

  /** Store the rows and blocks of an append. Throws FailedWrite, because something is written before damage is found. */
  #store(id: string, scope: number, segment: number, grown: GrownLog, append: CheckedAppend): void {
    const { rows, blocks, search } = this.#parts
    try {
      if (append.blocks.length > 0) blocks.put(scope, append.blocks, false)
      for (const row of grown.rows) {
        rows.append(segment, row)
        if (row.row.blocks.length > 0) blocks.mention(scope, segment, row.position, row.row.blocks)
      }
      const [first] = grown.rows
      if (first !== undefined) rows.checkThere(segment, first.position, first.position + grown.rows.length)
      search.append(scope, segment, grown.rows, append)
    } catch (error) {
      if (!(error instanceof Damaged)) throw error
      throw new FailedWrite({ _tag: 'DamagedLog', id, position: error.position, reason: error.reason })
    }
  }

  /** Update a log's head, if the log is the one that is known, and store the operation that changed it. */
  #advance(known: KnownLog, grown: GrownLog, operation: string | undefined): KnownLog | undefined {
    const { log, head, stored } = known
    const { key, scope, id, segment } = log
    const { size } = grown.range
    const { entries, tokens } = grown
    const [peaks, root] = [Buffer.concat(grown.peaks), Buffer.from(grown.head.root, 'hex')]
    const appended = grown.rows.length === 0 ? log.appended : (grown.appended ?? null)
    const { changes } = this.#sql
      .grow()
      .run(
        ...[size, entries, peaks, root, appended, key, scope, id, segment],
        ...knownColumns.map((name) => stored[name]),
      )
    if (changes !== 1) return undefined
    // The columns for list orders are updated only if they change: each update writes two more pages.
    const used = grown.appended === undefined ? stored.used : BigInt(useTimeKey(grown.appended))
    if (used !== stored.used) this.#sql.move().run(used, key)
    const sized = BigInt(sizeKey(entries))
    if (sized !== stored.sized) this.#sql.resize().run(sized, key)
    if (tokens !== log.tokens) this.#sql.count().run(tokens, key)
    if (operation !== undefined) {
      const mark = sumOf(key, operation, head.size, size, root)
      this.#sql.addOperation().run(key, operation, head.size, size, root, mark)
    }
    const { tokens: counted, version, sum } = stored
    return {
      log: { ...log, size, entries, tokens, peaks, root, appended },
      head: grown.head,
      peaks: grown.peaks,
      stored: {
        ...{ size, entries, peaks, root, appended, used, sized, version, sum },
        tokens: tokens === log.tokens ? counted : tokens,
      },
      ownKey: known.ownKey,
    }
  }
}

/** The columns that another writer, a repair or a disk error may have changed. */
const knownColumns = [
  'size',
  'entries',
  'tokens',
  'peaks',
  'root',
  'appended',
  'used',
  'sized',
  'version',
  'sum',
] as const

/** A log as an append left it. The next one need not read it: its update requires that nothing of this has changed. */
interface KnownLog extends Pick<LogBasis, 'head' | 'peaks'> {
  readonly log: LogRow
  /** Its columns, as they are in the file. */
  readonly stored: Readonly<Record<(typeof knownColumns)[number], SQLInputValue>>
  /** The key that the log has, as the last append required it. */
  readonly ownKey: CheckedAppend['ownKey']
}

/** The number of logs that are known: those appended to most recently. */
const mostKnown = 1000

/** Whether an append needs no more than the known log: no earlier operation, no lease, no stored blocks. */
const continues = ({ head, ownKey }: KnownLog, append: CheckedAppend): boolean =>
  append.operation === undefined &&
  !claims(append) &&
  append.ownKey === ownKey &&
  sameHead(append.expected, head) &&
  append.rows.every(({ blocks }) => blocks.length === 0)

const statements = (db: DatabaseSync) =>
  prepareAllOnce(db, {
    // Node 22 binds an empty array as null.
    grow: `update log set size = ?, entries = ?, peaks = ifnull(?, x''), root = ?, appended = ?
      where key = ? and scope = ? and id = ? and segment = ? and size is ? and entries is ? and tokens is ? and peaks is ifnull(?, x'')
      and root is ? and appended is ? and used is ? and sized is ? and changes is ? and sum is ?`,
    move: 'update log set used = ? where key = ?',
    resize: 'update log set sized = ? where key = ?',
    count: 'update log set tokens = ? where key = ?',
    operation: 'select base, size, root, sum from operation where log = ? and id = ?',
    addOperation: 'insert into operation (log, id, base, size, root, sum) values (?, ?, ?, ?, ?, ?)',
  })
