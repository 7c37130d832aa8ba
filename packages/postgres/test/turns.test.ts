/** Long operations on PostgreSQL let other work run: at most 256 rows or 1 MiB, and what is beside them, are read between two turns. */
import { afterAll, expect, it } from 'vitest'
import { postgresStore } from '@indelible/postgres'
import { user, type Store } from 'indelible'
import { numberedMessages, operationsInSlices } from '../../../test/session/operations-in-slices.ts'
import { leftOutIf } from '../../../test/skipped-tests.ts'
import { noPostgres, openPool, startPostgres } from './postgres-server.ts'

const server = await startPostgres()
const schemas = ['a', 'b', 'c', 'd'].map((name) => `turns ${process.pid} ${name}`)

/** The turns of the event loop in which statements returned rows, the rows of the present one and of the longest one, and the bytes of the largest result. */
const read = { turns: 0, now: 0, rows: 0, bytes: 0 }
const endTurn = (): void => void ([read.turns, read.now] = [read.turns + 1, 0])
const count = (rows: readonly object[]): void => {
  if (rows.length === 0) return
  if (read.now === 0) setImmediate(endTurn)
  read.now += rows.length
  read.rows = Math.max(read.rows, read.now)
  read.bytes = Math.max(read.bytes, rows.flatMap((row) => Object.values(row)).reduce<number>((sum, value) => sum + bytesOf(value), 0)) // oxfmt-ignore
}
const bytesOf = (value: unknown): number =>
  typeof value === 'string' || value instanceof Uint8Array ? value.length : 0
/** A pool whose statements count what they return. */
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
          const found = (await target.query(query)) as { readonly rows?: readonly object[] }
          count(found.rows ?? [])
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

const openBoth = async (names: readonly string[]): Promise<readonly [Store, Store]> => {
  const [store, other] = await Promise.all(
    names.map((schema) => Promise.resolve(postgresStore({ pool: counted as never, schema }))),
  )
  if (store === undefined || other === undefined) throw new Error('two were opened')
  return [store, other]
}
const readBy = async (work: () => PromiseLike<unknown>): Promise<typeof read> => {
  Object.assign(read, { turns: 0, now: 0, rows: 0, bytes: 0 })
  await work()
  return { ...read }
}

it('each operation has a turn for every 256 rows', leftOutIf(server === undefined, noPostgres), async () => {
  const messages = 1280
  const [store, other] = await openBoth(schemas.slice(0, 2))
  const operations = await operationsInSlices(store, other, numberedMessages(messages))
  const found: unknown[] = []
  for (const [name, work] of Object.entries(operations)) {
    const { turns, rows } = await readBy(work)
    found.push([name, turns >= messages / 256 - 1 || turns, rows <= 1024 || rows])
  }
  expect(found).toEqual(Object.keys(operations).map((name) => [name, true, true]))
  await Promise.all([store.close(), other.close()])
})

it(
  'no statement of an operation reads more than 1 MiB of large rows',
  leftOutIf(server === undefined, noPostgres),
  async () => {
    const slice = 1 << 20
    const [store, other] = await openBoth(schemas.slice(2))
    // Three fill a slice: large texts are stored as blocks, and many small ones in the row.
    const textOf = (length: number, seed: number): string => Array.from({ length: length / 8 }, (_, word) => `${((seed + word) * 7919) % 10_000_000}`.padStart(8)).join('') // oxfmt-ignore
    const messages = Array.from({ length: 12 }, (_, index) =>
      index % 2 === 0
        ? user(textOf(300_000, index))
        : user(
            ...Array.from({ length: 300 }, (__, part) => ({ type: 'text' as const, text: textOf(1000, index + part) })),
          ),
    )
    const operations = await operationsInSlices(store, other, messages)
    const found: unknown[] = []
    for (const [name, work] of Object.entries(operations)) {
      const { bytes } = await readBy(work)
      found.push([name, bytes <= slice + 10_000 || bytes])
    }
    expect(found).toEqual(Object.keys(operations).map((name) => [name, true]))
    await Promise.all([store.close(), other.close()])
  },
)
