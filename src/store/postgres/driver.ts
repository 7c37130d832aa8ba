/** The store driver over PostgreSQL: each method a fixed number of statements, whatever it is given. */
import { left, right } from 'fp-ts/lib/Either.js'
import type { Hash } from '../../digest/index.ts'
import type { JsonObject } from '../../json/index.ts'
import type { BlockId } from '../../message/index.ts'
import { emptyRange, peakEnds, type CompactRange } from '../../proof/index.ts'
import type { Answer, Block, CheckedQuery, StoreDriver } from '../driver.ts'
import { matches } from '../lookup.ts'
import type { LogInfo, LogPage } from '../store.ts'
import { headOf } from '../tree.ts'
import { bytesOf } from './append.ts'
import type { Database, Query } from './database.ts'
import { faultOf, patiently, type Place } from './fault.ts'
import { findLog, infoOf, joined, logColumns, logsOf, plain, type Log, type Stretch } from './log.ts'
import { LogRows } from './rows.ts'
import { Sweeper } from './sweep.ts'
import { damageOr, statementBytes, Writer } from './writer.ts'

/** How many logs one statement looks through for those that have the wanted metadata. */
const listPiece = 1000
/** How many blocks one statement carries. */
const blockPiece = 2000

export const postgresDriver = (db: Database, place: Place, hash: Hash, now: () => number, end: () => Promise<void>): StoreDriver => {
  const { schema, timeout } = place
  const writer = new Writer(db, place, hash)
  const sweeper = new Sweeper(db, place)
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
  const onLog = <T>(operation: string, scope: string, id: string, work: (log: Log, rows: LogRows) => Answer<T>): Answer<T> =>
    doing(operation, async () => {
      const log = await findLog(query, schema, scope, id)
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
  const start = async (scope: string, id: string, stretches: readonly Stretch[], range: CompactRange, entries: number, meta: JsonObject, source: Log | undefined): Promise<LogInfo | undefined> => {
    const head = headOf(range, hash)
    const created = now()
    const made = await db.write(
      `with source as (
         select key from ${schema}.log where scope = $1::text and id = $11::text and key = $12::bigint for key share
       ), next as (
         insert into ${schema}.scope (name, last) values ($1::text, 1) on conflict (name) do update set last = scope.last + 1 returning last
       ), made as (
         insert into ${schema}.log (${logColumns}, scope)
         select $2::text, next.last, array_append($3::bigint[], next.last), $4::bigint[], $5::bigint, $6::bigint, $7::bytea, $8::bytea, $9::bigint, $10::text, 1, $1::text
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
        JSON.stringify(meta),
        source?.id ?? null,
        source?.key ?? null,
        stretches.at(-1)?.segment ?? null,
      ],
    )
    return made.length === 0 ? undefined : Object.freeze({ id, head, entries, created, meta, version: 1 })
  }

  const listed = async (scope: string, { limit, after, where }: CheckedQuery): Promise<LogPage> => {
    const logs: LogInfo[] = []
    const text = `select ${logColumns} from ${schema}.log where scope = $1::text and key < $2::bigint order by key desc limit $3::bigint`
    const many = Object.keys(where).length === 0 ? limit + 1 : listPiece
    for (let before = after ?? Number.MAX_SAFE_INTEGER, last = 0; ; ) {
      const found = logsOf(await db.read(text, [scope, before, many]))
      for (const log of found) {
        if (!matches(log.meta, where)) continue
        if (logs.length === limit) return Object.freeze({ logs: Object.freeze(logs), next: String(last) })
        logs.push(infoOf(log))
        last = log.key
      }
      if (found.length < many) return Object.freeze({ logs: Object.freeze(logs) })
      before = (found.at(-1) as Log).key // there are as many as were asked for
    }
  }

  sweeper.begin()

  return {
    hash,
    create: (scope, id, meta) =>
      doing('create a log', async () => {
        const info = await start(scope, id, [], emptyRange, 0, meta, undefined)
        return info === undefined ? left({ _tag: 'LogExists', id }) : right(info)
      }),
    info: (scope, id) => onLog('read a log', scope, id, async (log) => right(infoOf(log))),
    list: (scope, given) => doing('list logs', async () => right(await listed(scope, given))),
    update: (scope, id, expected, meta) =>
      doing('update metadata', async () => {
        const done = await db.write(
          `update ${schema}.log set meta = $4::text, version = version + 1 where scope = $1::text and id = $2::text and version = $3::bigint returning ${logColumns}`,
          [scope, id, versionIn(expected), JSON.stringify(meta)],
        )
        const [updated] = logsOf(done)
        if (updated !== undefined) return right(Object.freeze({ ...infoOf(updated), meta }))
        const log = await findLog(query, schema, scope, id)
        return left(log === undefined ? { _tag: 'NoSuchLog', id } : { _tag: 'MetaConflict', id, expected, actual: log.version, meta: log.meta })
      }),
    append: (scope, id, append) => db.track(() => writer.append(scope, id, append)),
    read: (scope, id, range) => onLog('read rows', scope, id, async (_log, rows) => right(await rows.read(range))),
    nodes: (scope, id, positions) => onLog('read nodes', scope, id, async (_log, rows) => right(Object.freeze(await rows.nodes(positions)))),
    fork: (scope, id, to, at, meta) =>
      onLog('fork', scope, id, async (log, rows) => {
        const { size } = log.head
        if (!(Number.isInteger(at) && at >= 0 && at <= size)) return left({ _tag: 'BeyondEnd', id, at, size })
        const ends = peakEnds(at).map((peakEnd) => peakEnd - 1)
        const found = await rows.at(ends) // the last of them is the last row
        const last = found.get(at - 1)
        const entries = last === undefined ? 0 : last.kind === 'entry' ? last.index + 1 : at - 1 - last.index
        const peaks = ends.map((position) => found.get(position)?.node as Uint8Array) // `at` throws if one is not there
        const shared = log.stretches.filter(({ base }) => base < at)
        const info = await start(scope, to, shared, { size: at, peaks }, entries, meta, log)
        if (info !== undefined) return right(info)
        const there = await findLog(query, schema, scope, to)
        return left(there === undefined ? { _tag: 'NoSuchLog', id } : { _tag: 'LogExists', id: to })
      }),
    remove: (scope, id) =>
      doing('remove a log', async () => {
        const removed = await db.write(
          `with gone as (delete from ${schema}.log where scope = $1::text and id = $2::text returning key)
           update ${schema}.segment set state = 1 where scope = $1::text and key in (select key from gone) returning key`,
          [scope, id],
        )
        const [segment] = removed
        if (segment === undefined) return left({ _tag: 'NoSuchLog', id })
        // The log is gone. Its rows follow in pieces, so that a long one does not hold everything up.
        await sweeper.sweep(scope, Number(segment['key']))
        return right(undefined)
      }),
    putBlocks: (scope, given) =>
      doing('put blocks', async () => {
        const inOrder = given.toSorted((one, other) => (one.id < other.id ? -1 : 1))
        for (const blocks of inPieces(inOrder))
          await db.write(
            `insert into ${schema}.block (scope, id, kept, bytes) select $1::text, b.id, true, b.bytes from unnest($2::bytea[], $3::bytea[]) as b (id, bytes)
             on conflict (scope, id) do update set kept = true where not block.kept`,
            [scope, blocks.map(({ id }) => bytesOf(id)), blocks.map(({ bytes }) => bytes)],
          )
        return right(undefined)
      }),
    getBlocks: (scope, ids) =>
      doing('get blocks', async () => {
        const found = new Map<BlockId, Uint8Array>()
        for (let from = 0; from < ids.length; from += blockPiece) {
          const rows = await db.read(`select id, bytes from ${schema}.block where scope = $1::text and id = any($2::bytea[])`, [scope, ids.slice(from, from + blockPiece).map(bytesOf)])
          for (const { id, bytes } of rows) found.set((id as Buffer).toString('hex') as BlockId, plain(bytes as Buffer)) // it was stored as one
        }
        return right(found)
      }),
    hasBlocks: (scope, ids) =>
      doing('look for blocks', async () => {
        const rows = await db.read(`select id from ${schema}.block where scope = $1::text and id = any($2::bytea[])`, [scope, ids.map(bytesOf)])
        return right(new Set(rows.map(({ id }) => (id as Buffer).toString('hex') as BlockId))) // it was stored as one
      }),
    close: async () => {
      await db.idle()
      await end()
    },
  }
}

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
