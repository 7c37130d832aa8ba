/**
 * Round trips to PostgreSQL, and their time with a server 1 ms away each way: a new store, a new session, opening one, a
 * turn of one step. Beside them a minimal turn of the same tables: one statement that inserts the question, one for the answer.
 */
import { assistant, createSession, openSession } from 'indelible'
import { scriptedModel, turn } from 'indelible/run'
import { postgresStore } from '@indelible/postgres'
import { countingProxy } from '../packages/postgres/test/counting-proxy.ts'
import { openPool, startPostgres } from '../packages/postgres/test/postgres-server.ts'
import { machine } from './measure.ts'

const rounds = process.argv.includes('--quick') ? 3 : 15
const server = await startPostgres()
if (server === undefined) process.exit(1)
const proxy = await countingProxy(server.url, 1)

interface Row {
  readonly trips: number[]
  readonly times: number[]
}
const found = new Map<string, Row>()
const measured = async <T>(name: string, work: () => PromiseLike<T>): Promise<T> => {
  proxy.trips()
  const began = performance.now()
  const result = await work()
  const time = performance.now() - began
  const row = found.get(name) ?? { trips: [], times: [] }
  found.set(name, row)
  row.trips.push(proxy.trips())
  row.times.push(time)
  return result
}
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] as number

const options = { connectionString: proxy.url, schema: 'trips' }
const first = await postgresStore(options)
await first.close()
const pool = openPool({ connectionString: proxy.url, max: 1 })
await pool.query('create table bare (session text, position serial, body text)')
for (let round = 0; round < rounds; round++) {
  await measured('a new schema', async () => (await postgresStore({ ...options, schema: `new ${round}` })).close())
  const store = await measured('a store, with its connection', () => postgresStore(options))
  const id = `s ${round}`
  const session = await measured('createSession', () => createSession(store, { id }))
  const answer = assistant('Yes.')
  const model = scriptedModel([answer, answer, answer])
  await measured('turn of a new session', () => turn(session, 'Is it raining?', { model }).result())
  await measured('turn', () => turn(session, 'Is it raining?', { model }).result())
  const reopened = await measured('openSession of 4 messages', () => openSession(store, id))
  await measured('turn with an id, after opening', () =>
    turn(reopened, 'Is it raining?', { model, id: 'again' }).result(),
  )
  await store.close()
  await measured('minimal turn', async () => {
    for (const body of ['Is it raining?', 'Yes.'])
      await pool.query({ name: 'bare', text: 'insert into bare (session, body) values ($1, $2)', values: [id, body] })
  })
}
console.log(`${machine()}; ${rounds} rounds, medians; notifications are sent in the background and not counted.\n`)
console.log('| work | round trips | ms |\n|---|--:|--:|')
for (const [name, { trips, times }] of found)
  console.log(`| ${name} | ${median(trips)} | ${median(times).toFixed(1)} |`)
await pool.end()
await proxy.close()
await server.stop()
