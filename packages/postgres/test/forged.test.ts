/** Every column of a store in PostgreSQL, changed by somebody: refused, or nothing that a model is sent is changed. */
import { afterAll, expect, it } from 'vitest'
import { postgresStore } from '@indelible/postgres'
import { oneIn } from '../../../test/rounds.ts'
import { othersOf, sentOf, storeConversation } from '../../../test/session/forged-cases.ts'
import { leftOutIf } from '../../../test/skipped-tests.ts'
import { noPostgres, openPool, startPostgres } from './postgres-server.ts'

const server = await startPostgres()
const schema = `it ${process.pid} forged`
const pool = openPool({ connectionString: server?.url ?? '', max: 4, idleTimeoutMillis: 0 })
afterAll(async () => {
  if (server !== undefined && server.own === undefined) await pool.query(`drop schema if exists "${schema}" cascade`)
  await pool.end()
  await server?.stop()
})

type Row = Readonly<Record<string, unknown>>

const tables = {
  scope: ['name'],
  log: ['scope', 'id'],
  segment: ['scope', 'key'],
  row: ['scope', 'segment', 'position'],
  operation: ['scope', 'log', 'id'],
  block: ['scope', 'id'],
  mention: ['scope', 'segment', 'position', 'block'],
  lease: ['scope', 'log'],
} as const

it(
  'a changed cell is refused, or changes nothing that is sent',
  leftOutIf(server === undefined, noPostgres),
  async () => {
    const store = await postgresStore({ pool: pool as never, schema })
    await storeConversation(store)
    const sent = await sentOf(store)
    expect(sent).toMatch(/Use tabs.*The file has one line.*Port 8080/)
    let [turn, refused, same] = [0, 0, 0]
    for (const [table, keys] of Object.entries(tables)) {
      const { rows } = (await pool.query(`select * from "${schema}".${table}`)) as { readonly rows: readonly Row[] }
      const columns =
        (await pool.query('select column_name as name, data_type as type from information_schema.columns where table_schema = $1 and table_name = $2', [schema, table]) // oxfmt-ignore
        ).rows as readonly { readonly name: string; readonly type: string }[]
      for (const { name, type } of columns)
        for (const row of rows) {
          const value = type === 'bigint' && row[name] !== null ? Number(row[name]) : row[name]
          const siblings = rows.map((other) => other[name])
          const others =
            type === 'ARRAY' ? [[], ['1', '2']] : type === 'boolean' ? [row[name] !== true] : othersOf(value, siblings)
          for (const other of others) {
            if (turn++ % oneIn(5) !== 0) continue
            const change = `update "${schema}".${table} set ${name} = $1 where ${keys.map((key, index) => `${key} = $${index + 2}`).join(' and ')}`
            const at = keys.map((key) => row[key])
            try {
              await pool.query(change, [other, ...at])
            } catch {
              continue // the table does not take this value
            }
            const found = await sentOf(store)
            if (found.startsWith('refused: ')) refused += 1
            else {
              same += 1
              expect([table, name, String(other), found]).toEqual([table, name, String(other), sent])
            }
            await pool.query(change, [row[name], ...keys.map((key) => (key === name ? other : row[key]))])
          }
        }
    }
    expect(await sentOf(store)).toBe(sent)
    expect([refused > 20, same > 50]).toEqual([true, true])
    await store.close()
  },
)
