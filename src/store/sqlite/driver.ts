/** The store driver for a SQLite file. Reads run immediately, in pieces; writes go through the single writer. */
import type { DatabaseSync } from 'node:sqlite'
import { isLeft, left, right } from '../../json/index.ts'
import type { Hash } from '../../proof/internal.ts'
import type { CheckedAppend, ErasingDriver, IndexDriver, StoreDriver } from '../port/driver.ts'
import { removalIncompleteFault } from '../rules/rules.ts'
import { Appender } from './append.ts'
import { Blocks } from './blocks.ts'
import { OtherWriters } from './data-version.ts'
import type { Eraser } from './erase.ts'
import { Leases } from './leases.ts'
import { infoIn, rangeIn } from './log.ts'
import { Logs } from './logs.ts'
import { Reader } from './reader.ts'
import { Rows } from './rows.ts'
import { Scopes } from './scopes.ts'
import { Search } from './search.ts'
import { Sweeper } from './sweep.ts'
import type { Writer } from './writer.ts'

/** All of the port, with nothing optional. */
export interface SqliteDriver extends Required<StoreDriver> {
  readonly erasing: Required<ErasingDriver>
  readonly index: Required<IndexDriver>
}

export const sqliteDriver = (
  db: DatabaseSync,
  writer: Writer,
  hash: Hash,
  now: () => number,
): Omit<SqliteDriver, 'check' | 'repair'> => {
  const scopes = new Scopes(db, writer)
  const rows = new Rows(db, writer)
  const logs = new Logs(db, scopes, rows, hash, now)
  const blocks = new Blocks(db)
  const leases = new Leases(db, writer, logs)
  const search = new Search(db, { scopes, logs, rows, blocks, writer })
  const appender = new Appender(db, { scopes, logs, rows, blocks, leases, search }, hash)
  const reader = new Reader(db, logs, rows)
  const sweeper = new Sweeper(db, writer, rows, search)
  const elsewhere = new OtherWriters(db)
  let made: Promise<Eraser> | undefined
  const eraser = (): Promise<Eraser> => (made ??= makeEraser()) // loaded when it is first used: few programs need it
  const makeEraser = async (): Promise<Eraser> => {
    const { Eraser } = await import('./erase.ts')
    return new Eraser(db, { scopes, logs, rows, leases, appender, search, sweeper, writer })
  }
  return {
    hash,
    now,
    create: (scope, id, meta, first) => writer.write(() => appender.create(scope, id, meta, first), sizeOf(first)),
    info: async (scope, id) =>
      logs.on(scope, id, (log, raw) => {
        rangeIn(log, hash)
        return right(infoIn(raw))
      }),
    list: async (scope, query) => right(logs.list(scope, query)),
    pieces: async (scope) => right(await logs.pieces(scope)),
    update: (scope, id, change) =>
      writer.write(() => logs.update(scope, id, change, (log) => leases.against(log, change))),
    append: (scope, id, append) => writer.write(() => appender.append(scope, id, append), sizeOf(append)),
    read: (scope, id, range) => reader.read(scope, id, range),
    nodes: (scope, id, positions) => reader.nodes(scope, id, positions),
    fork: (scope, id, to, at, meta) => writer.write(() => logs.fork(scope, id, to, at, meta)),
    remove: async (scope, id, unchanged) => {
      const gone = await writer.write(() => logs.remove(scope, id, unchanged))
      if (isLeft(gone)) return gone
      // The log is gone. Its rows are deleted in pieces, so that a long log does not block everything.
      const swept = gone.right === undefined ? right(undefined) : await sweeper.sweep(gone.right)
      const tidied = isLeft(swept) ? swept : await sweeper.tidy()
      return isLeft(tidied) ? left(removalIncompleteFault(tidied.left)) : tidied
    },
    lease: (scope, id, change) => leases.change(scope, id, change),
    putBlocks: (scope, input) => writer.write(() => right(blocks.put(scopes.own(scope), input, true)), bytesIn(input)),
    getBlocks: async (scope, ids) => right(await blocks.getInSlices(scopes.keyOf(scope), ids)),
    hasBlocks: async (scope, ids) => right(await blocks.soundInSlices(scopes.keyOf(scope), ids, hash)),
    scopes: async () => right(scopes.withLogs()),
    erasing: {
      erase: async (scope, erasure) => (await eraser()).erase(scope, erasure),
      sharing: async (scope, id) => logs.on(scope, id, (log) => right(logs.sharing(log))),
      containing: async (scope, texts) => right(await (await eraser()).containing(scope, texts)),
      erased: async (scope) => right(await (await eraser()).erased(scope)),
    },
    // SQLite's version covers the whole file, so a watcher of one log is woken for all.
    watch: async (_scope, _id, wake) => elsewhere.watch(wake),
    index: search,
    close: async () => {
      elsewhere.end()
      await writer.end()
      db.close()
    },
  }
}

const sizeOf = ({ rows, blocks }: CheckedAppend): number =>
  rows.reduce((sum, { body }) => sum + body.length, 0) + bytesIn(blocks)

const bytesIn = (blocks: CheckedAppend['blocks']): number => blocks.reduce((sum, { bytes }) => sum + bytes.length, 0)
