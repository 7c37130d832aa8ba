/** The store driver over PostgreSQL: each method a fixed number of statements, whatever it is given. */
import { isLeft, left, right } from '../../json/index.ts'
import { blockIdOf, emptyRange, peakEnds, type BlockId, type CompactRange, type Hash } from '../../proof/index.ts'
import type { JsonObject } from '../../json/index.ts'
import { momentOf } from '../clock.ts'
import {
  cursorText,
  type Answer,
  type Block,
  type CheckedAppend,
  type CheckedQuery,
  type Cursor,
  type StoreDriver,
} from '../driver.ts'
import { storeOf } from '../handle.ts'
import { storeFaultText, type StoreFault } from '../fault.ts'
import { matches } from '../lookup.ts'
import { Damaged } from '../damaged.ts'
import { againstFork, entriesBefore } from '../rules.ts'
import type { StoreRepair } from '../check.ts'
import type { DamagedEntry, LogInfo, LogPage, Store } from '../store.ts'
import { signalKey } from '../signals.ts'
import { headOf, rangeOf } from '../tree.ts'
import { appendStatement, bytesOf, grown } from './append.ts'
import { checkSchema, rebuild } from './check.ts'
import { stateOf, type Database, type Query, type Rows } from './database.ts'
import { Elsewhere } from './elsewhere.ts'
import type { Filler } from './fill.ts'
import { faultOf, foreignKey, patiently, type Place } from './fault.ts'
import { findLog, infoOf, joined, logColumns, logsOf, readable, plain, type Log, type Stretch } from './log.ts'
import { Leases } from './leases.ts'
import { LogRows } from './rows.ts'
import { Sweeper } from './sweep.ts'
import { createdSum, metaSum } from './sum.ts'
import { termsOf } from './terms.ts'
import { damageOr, statementBytes, Writer } from './writer.ts'

/** How many logs one statement looks through for those that have the wanted metadata. */
const listPiece = 1000
/** How many blocks one statement carries. */
const blockPiece = 2000

export const postgresDriver = (
  db: Database,
  place: Place,
  hash: Hash,
  now: () => number,
  end: () => Promise<void>,
  filler: Filler | undefined,
): StoreDriver => {
  const { schema, timeout } = place
  const writer = new Writer(db, place, hash)
  const sweeper = new Sweeper(db, place)
  const elsewhere = new Elsewhere(db, schema)
  const leases = new Leases(db, schema)
  const query: Query = (text, values) => db.read(text, values)

  /** What a method does: finished before a close, tried again where others were in the way, its failure a fault. */
  const doing = <T>(operation: string, work: () => Answer<T>): Answer<T> =>
    db.track(async () => {
      try {
        return await patiently(timeout, work)
      } catch (error) {
        return left(faultOf(error, place, operation))
      }
    })

  /** The same for what reads a log. Rows may be gone because the whole log is: that is no damage. */
  const onLog = <T>(
    operation: string,
    scope: string,
    id: string,
    work: (log: Log, rows: LogRows) => Answer<T>,
  ): Answer<T> =>
    doing(operation, async () => {
      let log: Log | undefined
      try {
        log = await findLog(query, schema, scope, id)
      } catch (error) {
        const damage = damageOr(error, id)
        if (damage === undefined) throw error
        return left(damage)
      }
      if (log === undefined) return left({ _tag: 'NoSuchLog', id })
      try {
        return await work(log, new LogRows(query, schema, scope, log))
      } catch (error) {
        const damage = damageOr(error, id)
        if (damage === undefined) throw error
        const again = await findLog(query, schema, scope, id)
        return left(again?.key === log.key ? damage : { _tag: 'NoSuchLog', id })
      }
    })

  /** A new log: its key is the next of its scope. Undefined: there is one already, or `source` is not there any more. */
  const start = async (
    run: Query,
    scope: string,
    id: string,
    stretches: readonly Stretch[],
    range: CompactRange,
    entries: number,
    meta: JsonObject,
    source: Log | undefined,
  ): Promise<Log | undefined> => {
    const head = headOf(range, hash)
    const created = momentOf(now)
    const text = JSON.stringify(meta)
    const made = await run(
      `with source as (
         select key from ${schema}.log where scope = $1::text and id = $11::text and key = $12::bigint for key share
       ), next as (
         insert into ${schema}.scope (name, last) values ($1::text, 1) on conflict (name) do update set last = scope.last + 1 returning last
       ), made as (
         insert into ${schema}.log (${logColumns}, scope, terms, created_sum, meta_sum)
         select $2::text, next.last, array_append($3::bigint[], next.last), $4::bigint[], $5::bigint, $6::bigint, $7::bytea, $8::bytea, $9::bigint, null, $10::text, 1, $1::text, $14::bigint[], $15::bigint, $16::bigint
         from next where $12::bigint is null or exists (select 1 from source)
         on conflict (scope, id) do nothing returning key
       )
       insert into ${schema}.segment (scope, key, parent, base, state) select $1::text, key, $13::bigint, $5::bigint, 0 from made returning key`,
      [
        scope,
        id,
        stretches.map(({ segment }) => segment),
        [...stretches.map(({ base }) => base), range.size],
        range.size,
        entries,
        joined(range.peaks),
        bytesOf(head.root),
        created,
        text,
        source?.id ?? null,
        source?.key ?? null,
        stretches.at(-1)?.segment ?? null,
        termsOf(scope, meta, hash),
        createdSum(hash, scope, id, created),
        metaSum(hash, scope, id, text, 1),
      ],
    )
    const [row] = made
    if (row === undefined) return undefined
    const key = Number(row['key'])
    const own = [...stretches, { segment: key, base: range.size }]
    const { peaks } = range
    return { id, key, stretches: own, head, entries, peaks, created, appended: undefined, meta, version: 1 }
  }

  /** A log and its first rows, in one transaction. */
  const startWith = async (scope: string, id: string, meta: JsonObject, first: CheckedAppend): Answer<LogInfo> => {
    for (;;) {
      let problem: StoreFault | undefined
      try {
        const log = await db.transaction(async (run) => {
          const made = await start(run, scope, id, [], emptyRange, 0, meta, undefined)
          if (made === undefined) problem = { _tag: 'LogExists', id }
          const growths = made && grown({ before: made, after: made, steps: [] }, first, hash)
          if (growths === undefined) return undefined
          const { text, values } = appendStatement(schema, scope, [growths])
          if ((await run(text, values)).length === 0) throw new DamagedThere()
          return growths.after
        })
        if (problem !== undefined) return left(problem)
        if (log !== undefined) return right(infoOf(log))
      } catch (error) {
        if (error instanceof DamagedThere) await writer.mend(scope, first)
        else {
          const missing = stateOf(error) === foreignKey ? await writer.missing(scope, first) : []
          if (missing.length > 0) return left({ _tag: 'MissingBlock', ids: missing })
          throw error
        }
      }
    }
  }

  const listed = async (scope: string, { limit, after, where, by }: CheckedQuery): Promise<LogPage> => {
    const logs: LogInfo[] = []
    const damaged: DamagedEntry[] = []
    const page = (): Omit<LogPage, 'next'> => ({
      logs: Object.freeze(logs),
      ...(damaged.length > 0 && { damaged: Object.freeze(damaged) }),
    })
    const order = by === 'appended' ? 'coalesce(appended, created)' : 'key'
    const terms = termsOf(scope, where as JsonObject, hash)
    // Logs of an older version have no terms yet.
    const wanted = terms.length === 0 ? '' : ' and (terms @> $5::bigint[] or terms is null)'
    const text = `select ${logColumns} from ${schema}.log where scope = $1::text and (${order}, key) < ($2::bigint, $3::bigint)${wanted} order by ${order} desc, key desc limit $4::bigint`
    const many = terms.length === 0 && Object.keys(where).length === 0 ? limit + 1 : listPiece
    const orderOf = (row: Rows[number]): Cursor => ({
      appended: by === 'appended' ? Number(row['appended'] ?? row['created']) : undefined,
      key: Number(row['key']),
    })
    let last: Cursor = { appended: undefined, key: 0 }
    for (let before: Cursor = after ?? { appended: undefined, key: Number.MAX_SAFE_INTEGER }; ;) {
      const from = by === 'appended' ? (before.appended ?? Number.MAX_SAFE_INTEGER) : before.key
      const found = await db.read(text, [scope, from, before.key, many, ...(terms.length === 0 ? [] : [terms])])
      for (const row of found) {
        const log = readable(row)
        if (!(log instanceof Damaged) && !matches(log.meta, where)) continue
        if (logs.length + damaged.length === limit) return Object.freeze({ ...page(), next: cursorText(last) })
        if (log instanceof Damaged) damaged.push(Object.freeze({ id: String(row['id']), reason: log.reason }))
        else logs.push(infoOf(log))
        last = orderOf(row)
      }
      const end = found.at(-1)
      if (found.length < many || end === undefined) return Object.freeze(page())
      before = orderOf(end)
    }
  }

  const storeFor = (scope: string): Store => {
    const store = storeOf(driver, scope)
    if (isLeft(store)) throw new Error(storeFaultText(store.left))
    return store.right
  }

  const driver: StoreDriver = {
    hash,
    now,
    create: (scope, id, meta, first) =>
      doing('create a log', async () => {
        if (first.rows.length > 0) return startWith(scope, id, meta, first)
        const log = await start((text, values) => db.write(text, values), scope, id, [], emptyRange, 0, meta, undefined)
        return log === undefined ? left({ _tag: 'LogExists', id }) : right(infoOf(log))
      }),
    info: (scope, id) =>
      onLog('read a log', scope, id, async (log) => {
        rangeOf(log.head, log.peaks, hash)
        return right(infoOf(log))
      }),
    list: (scope, given) => doing('list logs', async () => right(await listed(scope, given))),
    update: (scope, id, expected, meta) =>
      doing('update metadata', async () => {
        const [version, text] = [versionIn(expected), JSON.stringify(meta)]
        const done = await db.write(
          `update ${schema}.log set meta = $4::text, terms = $5::bigint[], changes = changes + 1, meta_sum = $6::bigint where scope = $1::text and id = $2::text and changes = $3::bigint returning ${logColumns}`,
          [scope, id, version, text, termsOf(scope, meta, hash), metaSum(hash, scope, id, text, version + 1)],
        )
        const [updated] = logsOf(done)
        if (updated !== undefined) return right(Object.freeze({ ...infoOf(updated), meta }))
        const log = await findLog(query, schema, scope, id)
        return left(
          log === undefined
            ? { _tag: 'NoSuchLog', id }
            : { _tag: 'MetaConflict', id, expected, actual: log.version, meta: log.meta },
        )
      }),
    append: (scope, id, append) =>
      db.track(async () => {
        const appended = await writer.append(scope, id, append)
        if (!isLeft(appended)) {
          elsewhere.changed(signalKey(scope, id))
          filler?.wrote(scope)
        }
        return appended
      }),
    read: (scope, id, range) => onLog('read rows', scope, id, async (_log, rows) => right(await rows.read(range))),
    nodes: (scope, id, positions) =>
      onLog('read nodes', scope, id, async (_log, rows) => right(Object.freeze(await rows.nodes(positions)))),
    fork: (scope, id, to, at, meta) =>
      onLog('fork', scope, id, async (log, rows) => {
        const problem = againstFork(id, at, log.head.size)
        if (problem !== undefined) return left(problem)
        const ends = peakEnds(at).map((peakEnd) => peakEnd - 1)
        const found = await rows.at(ends) // the last of them is the last row
        const entries = entriesBefore(at, found.get(at - 1))
        const peaks = ends.map((position) => found.get(position)?.node as Uint8Array) // `at` throws if one is not there
        const shared = log.stretches.filter(({ base }) => base < at)
        const run: Query = (text, values) => db.write(text, values)
        const forked = await start(run, scope, to, shared, { size: at, peaks }, entries, meta, log)
        if (forked !== undefined) return right(infoOf(forked))
        const there = await findLog(query, schema, scope, to)
        return left(there === undefined ? { _tag: 'NoSuchLog', id } : { _tag: 'LogExists', id: to })
      }),
    remove: async (scope, id) => {
      const removed = await doing('remove a log', async () => {
        const [segment] = await db.write(
          `with gone as (delete from ${schema}.log where scope = $1::text and id = $2::text returning key),
           free as (delete from ${schema}.lease where scope = $1::text and log in (select key from gone))
           update ${schema}.segment set state = 1 where scope = $1::text and key in (select key from gone) returning key`,
          [scope, id],
        )
        return segment === undefined ? left({ _tag: 'NoSuchLog', id }) : right(Number(segment['key']))
      })
      if (isLeft(removed)) return removed
      elsewhere.changed(signalKey(scope, id))
      // The log is gone. Its rows follow in pieces, so that a long one does not hold everything up.
      const swept = await doing('delete the rows', async () => {
        await sweeper.sweep(scope, removed.right)
        return right(await sweeper.tidy())
      })
      if (!isLeft(swept)) return swept
      const cause = new Error(storeFaultText(swept.left), { cause: swept.left })
      return left({ _tag: 'Io', operation: 'delete the rows of a removed log', cause, outcome: 'unknown' })
    },
    lease: (scope, id, change) => doing('change a lease', () => leases.change(scope, id, change)),
    putBlocks: (scope, given) =>
      doing('put blocks', async () => {
        const inOrder = given.toSorted((one, other) => (one.id < other.id ? -1 : 1))
        for (const blocks of inPieces(inOrder))
          await db.write(
            `insert into ${schema}.block (scope, id, kept, bytes) select $1::text, b.id, true, b.bytes from unnest($2::bytea[], $3::bytea[]) as b (id, bytes)
             on conflict (scope, id) do update set kept = true, bytes = excluded.bytes where not block.kept or block.bytes <> excluded.bytes`,
            [scope, blocks.map(({ id }) => bytesOf(id)), blocks.map(({ bytes }) => bytes)],
          )
        return right(undefined)
      }),
    getBlocks: (scope, ids) =>
      doing('get blocks', async () => {
        const found = new Map<BlockId, Uint8Array>()
        for (let from = 0; from < ids.length; from += blockPiece) {
          const rows = await db.read(
            `select id, bytes from ${schema}.block where scope = $1::text and id = any($2::bytea[])`,
            [scope, ids.slice(from, from + blockPiece).map(bytesOf)],
          )
          for (const { id, bytes } of rows) found.set((id as Buffer).toString('hex') as BlockId, plain(bytes as Buffer)) // it was stored as one
        }
        return right(found)
      }),
    hasBlocks: (scope, ids) =>
      doing('look for blocks', async () => {
        const given = [scope, ids.map(bytesOf)]
        const there = `from ${schema}.block where scope = $1::text and id = any($2::bytea[])`
        const idsOf = (rows: Rows): BlockId[] => rows.map(({ id }) => (id as Buffer).toString('hex') as BlockId) // it was stored as one
        try {
          return right(new Set(idsOf(await db.read(`select id ${there} and sha256(bytes) = id`, given))))
        } catch (error) {
          if (!/^(?:42|22|0A)/.test(stateOf(error) ?? '')) throw error
          // A cluster whose function has another name, or gives something else.
          const rows = await db.read(`select id, bytes ${there}`, given)
          return right(
            new Set(
              idsOf(
                rows.filter(({ id, bytes }) => blockIdOf(bytes as Buffer, hash) === (id as Buffer).toString('hex')),
              ),
            ),
          )
        }
      }),
    check: () => doing('check the store', async () => right(await checkSchema(query, schema, hash, storeFor))),
    repair: () =>
      doing('repair the store', async () => {
        const repairs: StoreRepair[] = []
        for (const finding of await checkSchema(query, schema, hash, storeFor)) {
          const { repairable: _repairable, ...found } = finding
          repairs.push(Object.freeze({ ...found, done: await rebuild((text) => db.write(text), schema, finding) }))
        }
        return right(Object.freeze(repairs))
      }),
    watch: async (scope, id, wake) => elsewhere.watch(signalKey(scope, id), wake),
    close: async () => {
      await db.idle()
      await elsewhere.end()
      await end()
    },
  }
  return driver
}

/** A block that is given with rows is there already, and is not what its id says. */
class DamagedThere extends Error {}

/** A version that there can be; -1 is none. */
const versionIn = (version: number): number => (Number.isSafeInteger(version) ? version : -1)

const inPieces = (blocks: readonly Block[]): readonly (readonly Block[])[] => {
  const pieces: Block[][] = []
  let bytes = Infinity
  for (const block of blocks) {
    if (bytes + block.bytes.length > statementBytes || (pieces.at(-1)?.length ?? 0) >= blockPiece) {
      pieces.push([])
      bytes = 0
    }
    pieces.at(-1)?.push(block)
    bytes += block.bytes.length
  }
  return pieces
}
