/** A table of PostgreSQL as a key-value store: `putIfAbsent` is `insert … on conflict do nothing`. */
import { afterAll, describe, it } from 'vitest'
import type { KeyValueStore } from 'indelible/store'
import { keyValueContract } from '@indelible/testing'
import { noPostgres, openPool, startPostgres } from './postgres-server.ts'
import { leftOutIf } from '../../../test/skipped-tests.ts'

const server = await startPostgres()

describe('PostgreSQL', leftOutIf(server === undefined, noPostgres), () => {
  const pool = openPool({ connectionString: server?.url ?? '', max: 8 })
  afterAll(async () => {
    await pool.end()
    await server?.stop()
  })
  let place = 0
  for (const { name, run } of keyValueContract('a table', async () => {
    const table = `kv_${place++}`
    await pool.query(`create table ${table} (key text collate "C" primary key, value bytea not null)`)
    const store: Required<KeyValueStore> = {
      mget: async (keys) => {
        const { rows } = await pool.query<{ key: string; value: Buffer }>(
          `select key, value from ${table} where key = any($1)`,
          [keys],
        )
        const found = new Map(rows.map(({ key, value }) => [key, value]))
        return keys.map((key) => found.get(key))
      },
      mset: async (entries) => {
        await pool.query(
          `insert into ${table} select * from unnest($1::text[], $2::bytea[]) on conflict (key) do update set value = excluded.value`,
          [entries.map(([key]) => key), entries.map(([, value]) => Buffer.from(value))],
        )
      },
      putIfAbsent: async (key, value) => {
        const put = await pool.query(`insert into ${table} values ($1, $2) on conflict do nothing`, [
          key,
          Buffer.from(value),
        ])
        return put.rowCount === 1
      },
      keys: async function* (prefix) {
        const { rows } = await pool.query<{ key: string }>(`select key from ${table} where starts_with(key, $1)`, [
          prefix,
        ])
        for (const { key } of rows) yield key
      },
      deletePrefix: async (prefix) => {
        await pool.query(`delete from ${table} where starts_with(key, $1)`, [prefix])
      },
    }
    return { store, leave: async () => void (await pool.query(`drop table ${table}`)) }
  }))
    it(name, run)
})
