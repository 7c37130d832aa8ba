import { isLeft } from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { Client } from 'pg'
import { afterAll, it } from 'vitest'
import { storeFaultText, type Store, type StoreFault } from 'indelible/store'
import { postgresStore, type PostgresOptions } from 'indelible/store/postgres'
import { storeContract, type StorePlace } from 'indelible/testing'
import { startPostgres } from './postgres-server.ts'

const server = await startPostgres()
afterAll(() => server?.stop())
const url = server?.url ?? ''
let count = 0
const fresh = (): string => `it "${process.pid} ${count++}`
const quoted = (schema: string): string => `"${schema.replaceAll('"', '""')}"`

const done = async <T>(task: TaskEither<StoreFault, T>): Promise<T> => {
  const answer = await task()
  if (isLeft(answer)) throw new Error(storeFaultText(answer.left), { cause: answer.left })
  return answer.right
}
const open = (options: Partial<PostgresOptions>): Promise<Store> => done(postgresStore({ connectionString: url, ...options } as PostgresOptions))

const sql = async (text: string): Promise<readonly Readonly<Record<string, unknown>>[]> => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows as Readonly<Record<string, unknown>>[]
  } finally {
    await client.end()
  }
}

const place = async (): Promise<StorePlace> => {
  const schema = fresh()
  return {
    open: (scope) => open({ schema, connections: 4, ...(scope !== undefined && { scope }) }),
    lasting: true,
    elsewhere: { module: new URL('postgres-elsewhere.ts', import.meta.url).href, argument: JSON.stringify({ connectionString: url, schema }) },
    wrecks: [
      { name: 'an empty schema', make: async () => void (await sql(`create schema ${quoted(schema)}`)) },
      { name: 'a schema without a version', make: async () => void (await sql(`create schema ${quoted(schema)}; create table ${quoted(schema)}.indelible (format integer primary key)`)) },
    ],
    leave: async () => void (await sql(`drop schema if exists ${quoted(schema)} cascade`)),
  }
}

if (server !== undefined) for (const { name, run } of storeContract('postgres', place)) it(name, run)
else it.skip('a store in PostgreSQL', () => {})
