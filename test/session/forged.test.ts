/** Every column of a store file, and every field of the rows that a store returns, changed by somebody. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { orThrow, type Store } from 'indelible'
import { right } from '../../src/json/index.ts'
import type { StoredRow } from 'indelible/store'
import { memoryDriver, storeOf, type StoreDriver } from 'indelible/store/driver'
import { sqliteStore } from 'indelible/store/sqlite'
import { sumOf } from '../../src/store/sqlite/sum.ts'
import { oneIn } from '../rounds.ts'
import { othersOf, sentOf, storeConversation } from './forged-cases.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-forged-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
const original = join(folder, 'original.db')
let sent = ''

const openFile = (path: string): Promise<Store> => Promise.resolve(sqliteStore({ path, durability: 'os' }))

beforeAll(async () => {
  const store = await openFile(original)
  await storeConversation(store)
  sent = await sentOf(store)
  await store.close()
})

/** The check sums of a file as a forger makes them again. */
const sums = [
  'update scope set sum = sum_of(name)',
  'update segment set sum = sum_of(scope, parent, base)',
  'update log set sum = sum_of(scope, id, segment), meta_sum = sum_of(scope, id, created, meta, changes)',
  'update operation set sum = sum_of(log, id, base, size, root)',
  'update block set sum = sum_of(scope, id, kept)',
].join(';')

type Row = Readonly<Record<string, unknown>>

it('what is sent is read from the conversation', () => {
  expect(sent).toMatch(/Use tabs.*The file has one line.*Port 8080/)
  expect(sent).not.toContain('a question to erase')
})

describe('a store file', () => {
  const db = (path: string): DatabaseSync => {
    const opened = new DatabaseSync(path)
    opened.function('sum_of', { varargs: true, deterministic: true, useBigIntArguments: true }, (...columns) => sumOf(...columns)) // oxfmt-ignore
    return opened
  }

  it.each(['without', 'with'])(
    'a changed cell, %s right check sums, is refused or changes nothing that is sent',
    async (sumsAgain) => {
      const reading = db(original)
      const tables = reading.prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'").all() as unknown as readonly { readonly name: string }[] // oxfmt-ignore
      const counts = { refused: 0, same: 0 }
      let turn = 0
      const path = join(folder, `forged-${sumsAgain}.db`)
      copyFileSync(original, path)
      const forging = db(path)
      forging.exec('pragma journal_mode = delete; pragma synchronous = off')
      for (const { name: table } of tables) {
        const columns = reading.prepare(`select name from pragma_table_info('${table}')`).all() as unknown as readonly { readonly name: string }[] // oxfmt-ignore
        const keys = reading
          .prepare(`select name from pragma_table_info('${table}') where pk > 0`)
          .all() as unknown as typeof columns
        const rows = reading.prepare(`select * from ${table}`).all() as readonly Row[]
        for (const { name: column } of columns) {
          const siblings = rows.map((row) => row[column])
          for (const row of rows) {
            if (keys.length === 0 && rows.length > 1) throw new Error(`${table} has no key`)
            const where = keys.length === 0 ? 'true' : keys.map(({ name }) => `${name} is ?`).join(' and ')
            const at = keys.map(({ name }) => row[name]) as never[]
            for (const other of othersOf(row[column], siblings)) {
              if (turn++ % oneIn(7) !== 0) continue
              forging.exec('begin')
              try {
                forging.prepare(`update ${table} set ${column} = ? where ${where}`).run(other, ...at)
                if (sumsAgain === 'with') forging.exec(sums)
                forging.exec('commit')
              } catch {
                forging.exec('rollback') // the table does not take this value
                continue
              }
              const opened = await sqliteStore({ path, durability: 'os', readOnly: true })()
              const found = opened._tag === 'Left' ? `refused: ${opened.left._tag}` : await sentOf(opened.right)
              if (opened._tag === 'Right') await opened.right.close()
              if (found.startsWith('refused: ')) counts.refused += 1
              else counts.same += 1
              if (!found.startsWith('refused: '))
                expect([table, column, String(other), found]).toEqual([table, column, String(other), sent])
              restore(forging)
            }
          }
        }
      }
      reading.close()
      forging.close()
      expect([counts.refused > 50, counts.same > 50]).toEqual([true, true])
    },
  )

  /** The file as it was, in place, so that the connection stays open. */
  const restore = (forging: DatabaseSync): void => {
    forging.exec(`attach '${original}' as original; begin`)
    const names = forging.prepare("select name from original.sqlite_schema where type = 'table' and name not like 'sqlite_%'").all() // oxfmt-ignore
    for (const { name } of names as unknown as readonly { readonly name: string }[])
      forging.exec(`delete from main.${name}; insert into main.${name} select * from original.${name}`)
    forging.exec(`commit; detach original`)
  }
})

it('a changed field of a row, a log or a block that a driver returns is refused or changes nothing that is sent', async () => {
  const driver = memoryDriver()
  const storeFor = (storeDriver: StoreDriver): Store => orThrow(storeOf(storeDriver))
  await storeConversation(storeFor(driver))
  const before = await sentOf(storeFor(driver))
  const { logs } = await storeFor(driver).list({ limit: 10 })
  let [refused, same] = [0, 0]
  for (const { id } of logs) {
    const rows = await storeFor(driver).read(id)
    const info = await storeFor(driver).info(id)
    type Forge = (driver: StoreDriver) => StoreDriver
    const forgeries: (readonly [what: string, forge: Forge])[] = []
    for (const row of rows)
      for (const [name, value] of Object.entries(row))
        for (const other of othersOf(
          value,
          rows.map((row) => (row as unknown as Row)[name]),
        )) {
          const forge =
            (one: StoreDriver['read']): StoreDriver['read'] =>
            async (scope, log, range) => {
              const read = await one(scope, log, range)
              if (log !== id || read._tag === 'Left') return read
              const changed = (each: StoredRow): StoredRow => Object.assign({ ...each }, { [name]: other })
              return right(read.right.map((each) => (each.position === row.position ? changed(each) : each))) // oxfmt-ignore
            }
          forgeries.push([
            `${id} ${row.position} ${name} ${String(other)}`,
            (storeDriver) => ({ ...storeDriver, read: forge(storeDriver.read) }),
          ])
        }
    for (const [name, value] of Object.entries(info))
      for (const other of name === 'head' || name === 'meta' ? [] : othersOf(value, [])) {
        const forge =
          (one: StoreDriver['info']): StoreDriver['info'] =>
          async (scope, log) => {
            const found = await one(scope, log)
            return log !== id || found._tag === 'Left' ? found : { ...found, right: { ...found.right, [name]: other } }
          }
        forgeries.push([
          `${id} ${name} ${String(other)}`,
          (storeDriver) => ({ ...storeDriver, info: forge(storeDriver.info) }),
        ])
      }
    for (const [what, forge] of forgeries) {
      const found = await sentOf(storeFor(forge(driver))).catch((error: unknown) => `refused: ${String(error)}`) // a driver of other types
      if (found.startsWith('refused: ')) refused += 1
      else {
        same += 1
        expect([what, found]).toEqual([what, before])
      }
    }
  }
  expect([refused > 100, same > 20]).toEqual([true, true])
})
