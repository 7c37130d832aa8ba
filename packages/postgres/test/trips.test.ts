/** Round trips that calls take, and what a lease's one statement reads while others write. */
import { assistant, createSession, openSession, user } from 'indelible'
import { scriptedModel, turn } from 'indelible/run'
import { postgresStore } from '@indelible/postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { leftOutIf } from '../../../test/skipped-tests.ts'
import { countingProxy, type CountingProxy } from './counting-proxy.ts'
import { noPostgres, openPool, startPostgres } from './postgres-server.ts'

const server = await startPostgres()
const schema = `trips ${process.pid}`
const pool = openPool({ connectionString: server?.url ?? '', max: 2 })
afterAll(async () => {
  if (server !== undefined && server.own === undefined) await pool.query(`drop schema if exists "${schema}" cascade`)
  await pool.end()
  await server?.stop()
})

describe('the round trips of', leftOutIf(server === undefined, noPostgres), () => {
  let proxy: CountingProxy
  const during = async <T>(work: () => PromiseLike<T>): Promise<readonly [T, number]> => {
    proxy.trips()
    const result = await work()
    return [result, proxy.trips()]
  }
  /** One connection, so that no other one is opened for a notification. */
  const options = (): Parameters<typeof postgresStore>[0] => ({ connectionString: proxy.url, schema, connections: 1 })
  beforeAll(async () => {
    proxy = await countingProxy(server?.url ?? '')
    const first = await postgresStore(options())
    await first.close()
  })
  afterAll(() => proxy.close())

  it('a store are two, its connection included; of a session one, or two to open it', async () => {
    const [store, opening] = await during(() => postgresStore(options()))
    const [, creating] = await during(() => createSession(store, { id: 'o', messages: [] }))
    const session = await openSession(store, 'o')
    for (let count = 0; count < 40; count++) await session.append(user(`message ${count}`))
    const [opened, reading] = await during(() => openSession(store, 'o'))
    expect([opening, creating, reading]).toEqual([2, 1, 2])
    const [, appending] = await during(() => opened.append(user('a')))
    expect([opened.len, appending]).toEqual([41, 1])
    await store.close()
  })
  it('a lease are one to take it, one to renew it, one to release it', async () => {
    const store = await postgresStore(options())
    await createSession(store, { id: 'l' })
    const [{ number }, taking] = await during(() => store.lease('l', { holder: 'a', ttl: 60_000 }))
    const [, renewing] = await during(() => store.renew('l', { number, ttl: 60_000 }))
    const [, refused] = await during(() => store.lease('l', { holder: 'b', ttl: 60_000 })())
    const [, releasing] = await during(() => store.release('l', number))
    expect([taking, renewing, refused, releasing]).toEqual([1, 1, 1, 1])
    await store.close()
  })
  it('a turn of one step are four: the lease, the question, the answer, the release', async () => {
    const store = await postgresStore(options())
    await createSession(store, { id: 't' })
    const session = await openSession(store, 't')
    const answer = assistant('Yes.')
    const model = scriptedModel([answer, answer, answer])
    const counts: number[] = []
    for (const id of [undefined, 'a', 'b'])
      counts.push((await during(() => turn(session, 'Is it raining?', { model, ...(id && { id }) }).result()))[1])
    expect(counts).toEqual([4, 4, 4])
    await store.close()
  })
})

describe('a lease that is taken or released while others write', leftOutIf(server === undefined, noPostgres), () => {
  const table = (name: string): string => `"${schema}".${name}`
  const grown = { size: 7, root: '07'.repeat(32) }
  const growing = `update ${table('log')} set size = 7, root = decode('${grown.root}', 'hex') where id = $1`

  it('comes with the head of an append that was under way with the lease before', async () => {
    const store = await postgresStore({ connectionString: server?.url ?? '', schema })
    await createSession(store, { id: 'before' })
    await store.lease('before', { holder: 'paused', ttl: 1 })
    while ((await store.leaseOf('before')) !== undefined) continue
    const writer = await pool.connect()
    await writer.query('begin')
    await writer.query(`select number from ${table('lease')} s join ${table('log')} l on l.key = s.log and l.scope = s.scope where l.id = 'before' for share of s`) // oxfmt-ignore
    const taken = store.lease('before', { holder: 'next', ttl: 60_000 })
    await waitingFor(1)
    await writer.query(growing, ['before'])
    await writer.query('commit')
    writer.release()
    expect((await taken).head).toEqual(grown)
    await store.close()
  })
  it('is released with the head of every append that was committed before', async () => {
    const store = await postgresStore({ connectionString: server?.url ?? '', schema })
    await createSession(store, { id: 'after' })
    const { number } = await store.lease('after', { holder: 'a', ttl: 60_000 })
    const writer = await pool.connect()
    await writer.query('begin')
    await writer.query(growing, ['after'])
    const released = store.release('after', number)
    await waitingFor(1)
    await writer.query('commit')
    writer.release()
    expect(await released).toEqual(grown)
    expect(await store.leaseOf('after')).toBeUndefined()
    await store.close()
  })
  it('is refused without waiting for an append of its holder', async () => {
    const store = await postgresStore({ connectionString: server?.url ?? '', schema })
    await createSession(store, { id: 'held' })
    await store.lease('held', { holder: 'a', ttl: 60_000 })
    const writer = await pool.connect()
    await writer.query('begin')
    await writer.query(`select number from ${table('lease')} for share`)
    await writer.query(growing, ['held'])
    const refused = await store.lease('held', { holder: 'b', ttl: 60_000 })()
    await writer.query('rollback')
    writer.release()
    expect(refused).toMatchObject({ left: { _tag: 'LeaseHeld', holder: 'a' } })
    await store.close()
  })
  it('goes on while logs are removed, appended to and leased at once', async () => {
    const store = await postgresStore({ connectionString: server?.url ?? '', schema })
    for (let round = 0; round < 20; round++) {
      const session = await createSession(store, { id: `gone ${round}` })
      const tags = await Promise.all([
        store.lease(session.id, { holder: 'a', ttl: 60_000 })(),
        store.remove(session.id)(),
        session.append(user('x'))(),
        store.lease(session.id, { holder: 'b', ttl: 60_000 })(),
      ])
      for (const answer of tags)
        expect(['Right', 'NoSuchLog', 'LeaseHeld']).toContain(answer._tag === 'Left' ? answer.left._tag : 'Right')
    }
    await store.close()
  })
})

/** Until so many statements wait for a lock. */
const waitingFor = async (count: number): Promise<void> => {
  for (;;) {
    const { rows } = await pool.query(`select count(*)::int as waiting from pg_locks where not granted`)
    if (((rows as { waiting: number }[])[0]?.waiting ?? 0) >= count) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
