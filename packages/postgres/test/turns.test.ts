/** Long operations on PostgreSQL let other work run: at most 256 rows and what is beside them are read between two turns. */
import { afterAll, expect, it } from 'vitest'
import { createSession, openSession, user, verifySession } from 'indelible'
import { copySession, eraseMessages, exportSession, findMessages, importRecord } from 'indelible/session'
import { searchStore } from 'indelible/search'
import { verifyLog } from 'indelible/store'
import { postgresStore } from '@indelible/postgres'
import { leftOutIf } from '../../../test/skipped-tests.ts'
import { noPostgres, openPool, startPostgres } from './postgres-server.ts'

const server = await startPostgres()
const schemas = ['turns', 'turns-copies'].map((name) => `it ${process.pid} ${name}`)
/** The turns of the event loop in which statements returned rows, and the rows of the present one and of the longest one. */
let [turns, rows, most] = [0, 0, 0]
const endTurn = (): void => void ([turns, rows] = [turns + 1, 0])
/** A pool whose statements count their rows when they return. */
const pool = openPool({ connectionString: server?.url ?? '', max: 4, idleTimeoutMillis: 0 })
const counted = {
  connect: async () => {
    const client = await pool.connect()
    return new Proxy(client, {
      get: (target, name) => {
        if (name !== 'query') {
          const member = Reflect.get(target, name) as unknown
          return typeof member === 'function' ? (member.bind(target) as unknown) : member
        }
        return async (query: never) => {
          const found = (await target.query(query)) as { readonly rows?: readonly unknown[] }
          if (rows === 0) setImmediate(endTurn)
          rows += found.rows?.length ?? 0
          most = Math.max(most, rows)
          return found
        }
      },
    })
  },
  options: { max: 4 },
  end: () => pool.end(),
}
afterAll(async () => {
  if (server !== undefined && server.own === undefined)
    for (const schema of schemas) await pool.query(`drop schema if exists "${schema}" cascade`)
  await pool.end()
  await server?.stop()
})

const messages = 1280

const turnsOf = async (
  work: () => PromiseLike<unknown>,
): Promise<{ readonly turns: number; readonly most: number }> => {
  ;[turns, rows, most] = [0, 0, 0]
  await work()
  return { turns, most }
}

it('each operation has a turn for every 256 rows', leftOutIf(server === undefined, noPostgres), async () => {
  const [store, other] = await Promise.all(
    schemas.map((schema) => Promise.resolve(postgresStore({ pool: counted as never, schema }))),
  )
  if (store === undefined || other === undefined) throw new Error('two were opened')
  const session = await createSession(store, { id: 's' })
  for (let start = 0; start < messages; start += 256)
    await session.append(Array.from({ length: 256 }, (_, index) => user(`message number ${start + index} of many`)))
  await session.note({ type: 'application', namespace: 'a', content: 'a note of the application' })
  await session.close()
  const record = await exportSession(store, 's')
  const operations: Readonly<Record<string, () => PromiseLike<unknown>>> = {
    open: () => openSession(store, 's'),
    verify: () => verifySession(store, 's'),
    'verify a log': () => verifyLog(store, 's'),
    read: () => store.read('s'),
    find: () => findMessages(store, 's', { matching: /number 77 / }),
    search: () => searchStore(store, 'no such words'),
    copy: () => copySession(store, other, 's'),
    export: () => exportSession(store, 's'),
    import: () => importRecord(other, record, { id: 'imported' }),
    check: () => store.check(),
    repair: () => store.repair(),
    'erase one': () => eraseMessages(store, 's', [7], { reason: 'asked to' }),
    'erase all': () => eraseMessages(store, 's', { all: true }, { reason: 'asked to' }),
    'verify what was erased': () => verifySession(store, 's'),
    'check what was erased': () => store.check(),
    'copy what was erased': () => copySession(store, other, 's'),
    remove: () => store.remove('s'),
  }
  const found: unknown[] = []
  for (const [name, work] of Object.entries(operations)) {
    const counts = await turnsOf(work)
    found.push([name, counts.turns >= messages / 256 - 1 || counts.turns, counts.most <= 1024 || counts.most])
  }
  expect(found).toEqual(Object.keys(operations).map((name) => [name, true, true]))
  await Promise.all([store.close(), other.close()])
})
