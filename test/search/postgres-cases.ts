/** Searching a store in PostgreSQL by its index: cases for a file of tests that has a server. */
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createSession, openSession, orThrow, user, type Store } from 'indelible'
import { dropIndex, indexStore, searchStore } from 'indelible/search'
import type { Append } from 'indelible/store'
import { postgresStore } from '@indelible/postgres'
import type { PostgresServer } from '../../packages/postgres/test/postgres-server.ts'
import { all, places, searchCases } from './cases.ts'
import { noPostgres } from '../../packages/postgres/test/postgres-server.ts'
import { leftOutIf } from '../skipped-tests.ts'
import { fault } from '../task-results.ts'

/** Describe them. Schemas are of this run's own, and dropped at the end: a server of somebody else's is left as it was. */
export const searchInPostgres = (server: PostgresServer | undefined): void => {
  const url = server?.url ?? ''
  const schemas: string[] = []
  const fresh = (): string => {
    const schema = `search "${process.pid} ${schemas.length}`
    schemas.push(schema)
    return schema
  }
  /** A count that took long is used for a while, and so is what is known of the index: here no time passes. */
  const whileNoTimePasses = (): void => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
    afterEach(() => void vi.useRealTimers())
  }
  const quoted = (schema: string): string => `"${schema.replaceAll('"', '""')}"`
  const sql = async (text: string): Promise<readonly Readonly<Record<string, unknown>>[]> => {
    const client = new Client({ connectionString: url })
    await client.connect()
    try {
      return (await client.query(text)).rows as Readonly<Record<string, unknown>>[]
    } finally {
      await client.end()
    }
  }
  const open = (schema: string): Promise<Store> =>
    Promise.resolve(postgresStore({ timeout: 600_000, connectionString: url, schema, connections: 3 }))

  describe('searching PostgreSQL with its index', leftOutIf(server === undefined, noPostgres), () => {
    whileNoTimePasses()
    let store: Store
    let scopes = 0
    beforeAll(async () => {
      store = await open(fresh())
      await indexStore(store)
    })
    afterAll(async () => void (await store.close()))
    searchCases(() => ({ open: async () => orThrow(store.scoped(`scope ' \\ ${++scopes}`)), indexed: true }))
    it('leaves a schema that passes a check', async () => {
      expect(await store.check()).toEqual([])
      expect(await indexStore(store)).toBe(0) // nothing is left to index
    })
  })

  describe('the search index of a schema', leftOutIf(server === undefined, noPostgres), () => {
    whileNoTimePasses()
    it('of an earlier version counts as none, and is replaced', async () => {
      const schema = fresh()
      const store = await open(schema)
      await createSession(store, { id: 'a', messages: [user('we decided')] })
      const s = quoted(schema)
      await sql(`create table ${s}.search (scope text not null, segment bigint not null, position bigint not null, part smallint not null,
          terms tsvector not null, primary key (scope, segment, position, part))`)
      await sql(
        `create table ${s}.search_until (scope text not null, segment bigint not null, until bigint not null, primary key (scope, segment))`,
      )
      expect(await searchStore(store, { question: 'decide' })).toMatchObject({ indexed: false, sessions: [{}] })
      expect(await indexStore(store)).toBe(1)
      expect(await searchStore(store, { question: 'decide' })).toMatchObject({ indexed: true, sessions: [{}] })
      expect(await store.check()).toEqual([])
      await store.close()
    })
    it('drops removed rows and catches up with rows appended without it', async () => {
      const schema = fresh()
      const [store, other] = [await open(schema), await open(schema)]
      await createSession(other, { id: 'a', messages: [user('eta one')] })
      await indexStore(store)
      const old = { ...other, append: (id: string, append: Append) => other.append(id, { ...append, terms: undefined as never }) } // oxfmt-ignore
      await (await openSession(old, 'a')).append(user('eta two'))
      await (await openSession(other, 'a')).append(user('eta three')) // by a handle that has not heard of the index
      expect(places((await searchStore(store, 'eta', { sort: 'time' })).hits)).toEqual(['a:2', 'a:1', 'a:0'])
      await (await openSession(store, 'a')).append(user('eta four'))
      expect(await sql(`select count(*) from ${quoted(schema)}.search`)).toEqual([{ count: '4' }])
      const stub = JSON.stringify({ page: 'conversation', message: { role: 'user', content: [] } })
      const { head } = await store.info('a')
      await store.erase({ logs: [{ id: 'a', expected: head, rows: [{ position: 1, stub }] }], reason: 'r', by: 'me' })
      expect(await sql(`select position from ${quoted(schema)}.search order by position`)).toEqual([
        { position: '0' },
        { position: '2' },
        { position: '3' },
      ])
      await createSession(store, { id: 'b', messages: [user('theta')] })
      await store.remove('a')
      expect(await sql(`select count(*) from ${quoted(schema)}.search`)).toEqual([{ count: '1' }])
      expect(await sql(`select count(*) from ${quoted(schema)}.search_until`)).toEqual([{ count: '1' }])
      await dropIndex(other)
      await (await openSession(store, 'b')).append(user('theta two')) // by a handle that has not heard that it is gone
      await createSession(store, { id: 'c', messages: [user('theta three')] })
      expect(await searchStore(store, 'theta')).toMatchObject({ indexed: false, hits: [{}, {}, {}] })
      expect(await indexStore(other, { rebuild: true })).toBe(4) // with the row of the ledger
      for (const one of [store, other]) await one.close()
    })

    it('can be searched by a read-only role, which reports missing rows', async () => {
      const schema = fresh()
      const store = await open(schema)
      await createSession(store, { id: 'a', messages: [user('kappa one')] })
      await indexStore(store)
      const role = `reader_${process.pid}_${schemas.length}`
      await sql(`create role ${role} login password 'p'; grant usage on schema ${quoted(schema)} to ${role}; grant select on all tables in schema ${quoted(schema)} to ${role}`) // oxfmt-ignore
      const address = new URL(url)
      address.username = role
      address.password = 'p'
      const reader = await postgresStore({ timeout: 600_000, connectionString: address.href, schema, connections: 2 })
      expect(await searchStore(reader, 'kappa')).toMatchObject({ indexed: true, hits: [{ session: 'a', position: 0 }] })
      const old = { ...store, append: (id: string, append: Append) => store.append(id, { ...append, terms: undefined as never }) } // oxfmt-ignore
      await (await openSession(old, 'a')).append(user('kappa two'))
      expect(await searchStore(reader, 'kappa')).toMatchObject({ hits: [{ position: 0 }], behind: 1 })
      expect(await all(store, 'kappa')).toHaveLength(2)
      expect((await searchStore(reader, 'kappa')).hits).toHaveLength(2)
      await sql(`revoke select on ${quoted(schema)}.search from ${role}`)
      expect((await fault('Io', searchStore(reader, 'kappa'))).cause).toMatchObject({ code: '42501' })
      for (const one of [store, reader]) await one.close()
      await sql(`drop owned by ${role}; drop role ${role}`)
    })

    it('accepts a message with more terms than a tsvector holds', async () => {
      const schema = fresh()
      const store = await open(schema)
      await indexStore(store)
      const words = Array.from({ length: 30_000 }, (_, n) => `thelongerword${n.toString(36)}x`)
      await createSession(store, { id: 'a', messages: [user(words.join(' ')), user('thelongerword0x')] })
      expect(await sql(`select count(*) from ${quoted(schema)}.search`)).not.toEqual([{ count: '2' }])
      expect(places(await all(store, `${words[0]} ${words[29_999]}`))).toEqual(['a:0'])
      expect(places(await all(store, `"${words[77]} ${words[78]}" -none`))).toEqual(['a:0'])
      expect(places(await all(store, `${words[0]} -${words[25_000]}`))).toEqual(['a:1'])
      await store.close()
    })
  })
  afterAll(async () => {
    for (const schema of schemas) if (server !== undefined) await sql(`drop schema if exists ${quoted(schema)} cascade`)
  })
}
