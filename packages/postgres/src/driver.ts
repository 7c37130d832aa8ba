/** The store driver for PostgreSQL. Each method takes a fixed number of statements, whatever its arguments. */
import { isLeft, left, right } from 'indelible/internal/json'
import { removalIncompleteFault, rangeOf, signalKey, type StoreDriver } from 'indelible/internal/store'
import { Blocks } from './blocks.ts'
import { Calls } from './calls.ts'
import { checkSchema, repairSchema } from './check.ts'
import type { Database } from './database.ts'
import type { Documents } from './documents.ts'
import { OtherWriters } from './notifications.ts'
import { Eraser } from './erase.ts'
import { Leases } from './leases.ts'
import { listLogs, piecesOf } from './list.ts'
import { infoOf } from './log.ts'
import { Logs } from './logs.ts'
import { Mentions } from './mentions.ts'
import { readPieces } from './rows.ts'
import { Search } from './search.ts'
import { hash } from './sum.ts'
import { Sweeper } from './sweep.ts'
import { Writer } from './writer.ts'

export const postgresDriver = (
  db: Database,
  now: () => number,
  end: () => Promise<void>,
  documents: Documents,
): StoreDriver => {
  const { schema } = db
  const calls = new Calls(db)
  const blocks = new Blocks(db)
  const search = new Search(db, documents, calls, blocks)
  const leases = new Leases(db)
  const writer = new Writer(db, leases, documents)
  const logs = new Logs(db, writer, leases, documents, now)
  const mentions = new Mentions(db)
  const sweeper = new Sweeper(db, mentions)
  const elsewhere = new OtherWriters(db)
  const eraser = new Eraser(db, logs, leases, mentions)
  const driver: StoreDriver = {
    hash,
    now,
    create: (scope, id, meta, first) => calls.run('create a log', () => logs.create(scope, id, meta, first)),
    info: (scope, id) =>
      calls.onLog('read a log', scope, id, async (log) => {
        rangeOf(log.head, log.peaks, hash)
        writer.remember(scope, log)
        return right(infoOf(log))
      }),
    list: (scope, query) => calls.run('list logs', async () => right(await listLogs(db.read, schema, scope, query))),
    pieces: (scope) => calls.run('list logs', async () => right(await piecesOf(db.read, schema, scope))),
    update: (scope, id, change) => calls.run('update metadata', () => logs.update(scope, id, change)),
    append: (scope, id, append) =>
      db.track(async () => {
        const appended = await writer.append(scope, id, append)
        if (!isLeft(appended)) elsewhere.changed(signalKey(scope, id))
        return appended
      }),
    read: (scope, id, range) => {
      const { from = 0, to = Number.MAX_SAFE_INTEGER, only } = range
      if (only !== undefined || !isPosition(from) || !isPosition(to))
        return calls.onLog('read rows', scope, id, async (_log, rows) => right(await rows.read(range)))
      return calls.onId('read rows', id, async () => {
        const found = await readPieces(db.read, schema, scope, id, from, to)
        return found === undefined ? left({ _tag: 'NoSuchLog', id }) : right(found.rows)
      })
    },
    nodes: (scope, id, positions) =>
      calls.onLog('read nodes', scope, id, async (_log, rows) => right(Object.freeze(await rows.nodes(positions)))),
    fork: (scope, id, to, at, meta) =>
      calls.onLog('fork', scope, id, (log, rows) => logs.fork(scope, log, rows, to, at, meta)),
    remove: async (scope, id, unchanged) => {
      const gone = await calls.run('remove a log', () => logs.remove(scope, id, unchanged))
      if (isLeft(gone)) return gone
      elsewhere.changed(signalKey(scope, id))
      // The log is gone. Its rows are deleted in pieces, so that a long log does not block everything.
      const swept = await calls.run('delete the rows', async () => {
        await sweeper.sweep(scope, gone.right)
        return right(await sweeper.tidy())
      })
      return isLeft(swept) ? left(removalIncompleteFault(swept.left)) : swept
    },
    lease: (scope, id, change) => calls.run('change a lease', () => leases.change(scope, id, change)),
    putBlocks: (scope, input) => calls.run('put blocks', async () => right(await blocks.put(scope, input))),
    getBlocks: (scope, ids) => calls.run('get blocks', async () => right(await blocks.get(scope, ids))),
    hasBlocks: (scope, ids) => calls.run('look for blocks', async () => right(await blocks.soundIn(scope, ids))),
    scopes: () =>
      calls.run('list the scopes', async () => {
        const used = `select name from ${schema}.scope s where exists (select 1 from ${schema}.log where scope = s.name)`
        return right((await db.read(used, [])).map(({ name }) => String(name)))
      }),
    erasing: {
      erase: (scope, erasure) => calls.run('erase rows', () => eraser.erase(scope, erasure)),
      sharing: (scope, id) => calls.onLog('look for forks', scope, id, (log) => eraser.sharing(scope, log)),
      containing: (scope, texts) => calls.run('look for texts', () => eraser.containing(scope, texts)),
    },
    check: (signal) => calls.run('check the store', async () => right(await checkSchema(db, driver, signal))),
    repair: (signal) => calls.run('repair the store', async () => right(await repairSchema(db, driver, signal))),
    index: search,
    watch: async (scope, id, wake) => elsewhere.watch(signalKey(scope, id), wake),
    close: async () => {
      await db.idle()
      await elsewhere.end()
      await end()
    },
  }
  return driver
}

const isPosition = (value: number): boolean => Number.isSafeInteger(value) && value >= 0
