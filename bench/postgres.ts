/**
 * Durable appends on PostgreSQL from 1, 8 and 64 sessions at once, beside a bare INSERT of the same bytes from as many
 * connections. The server is that of DATABASE_URL, or the one that the tests start.
 */
import { isLeft, type Either } from 'fp-ts/lib/Either.js'
import { createSession, type Session } from 'indelible/session'
import { postgresStore } from '@indelible/postgres'
import { Client, Pool } from 'pg'
import { startPostgres } from '../packages/postgres/test/postgres-server.ts'
import { machine } from './measure.ts'
import { messageAt, source } from './messages.ts'

const right = <T>(found: Either<unknown, T>): T => {
  if (isLeft(found)) throw new Error(JSON.stringify(found.left))
  return found.right
}
const quick = process.argv.includes('--quick')
const seconds = quick ? 0.5 : 5

/** How often a second `work` is done by so many at once, each waiting for its own before. */
const rate = async (workers: number, work: (worker: number, turn: number) => Promise<unknown>): Promise<number> => {
  let done = 0
  const began = performance.now()
  const until = began + seconds * 1000
  await Promise.all(
    Array.from({ length: workers }, async (_, worker) => {
      for (let turn = 0; performance.now() < until; turn++) {
        await work(worker, turn)
        done += 1
      }
    }),
  )
  return done / ((performance.now() - began) / 1000)
}

const server = await startPostgres()
if (server === undefined) process.exit(1)
const schema = `bench ${process.pid}`
const store = right(await postgresStore({ connectionString: server.url, schema })())
const clients: Client[] = []
for (let index = 0; index < 64; index++) {
  const client = new Client({ connectionString: server.url })
  await client.connect()
  clients.push(client)
}
const pool = new Pool({ connectionString: server.url, max: 10 })
pool.on('error', () => {}) // the server may end before the last connection has
const [first] = clients as [Client]
const table = `"${schema}".bare`
await first.query(`create table ${table} (session bigint, position bigint, body text, primary key (session, position))`)
const { rows } = await first.query(
  "select current_setting('server_version') as version, current_setting('synchronous_commit') as durable, current_setting('fsync') as fsync",
)
const [settings] = rows as [{ readonly version: string; readonly durable: string; readonly fsync: string }]

console.log(
  `${machine()}; PostgreSQL ${settings.version}, synchronous_commit ${settings.durable}, fsync ${settings.fsync}\n${source}; one message an append, each session waits for its own; ${seconds} s each.\n`,
)
console.log(
  '| sessions | appends/s | bare INSERTs/s, a connection each | bare INSERTs/s, 10 connections | ratio to the last |',
)
console.log('|---:|---:|---:|---:|---:|')
for (const count of [1, 8, 64]) {
  const sessions: Session[] = []
  for (let index = 0; index < count; index++)
    sessions.push(right(await createSession(store, { id: `${count} ${index}` })()))
  const appends = await rate(count, async (worker, turn) =>
    right(await (sessions[worker] as Session).append(messageAt(turn))()),
  )
  const text = `insert into ${table} (session, position, body) values ($1, $2, $3)`
  const bare = (run: number, by: (worker: number) => Pick<Client, 'query'>) => (worker: number, turn: number) =>
    by(worker).query({
      name: 'bare',
      text,
      values: [run * 1000 + worker, turn, JSON.stringify({ message: messageAt(turn) })],
    })
  const each = await rate(
    count,
    bare(count * 2, (worker) => clients[worker] as Client),
  )
  const pooled = await rate(
    count,
    bare(count * 2 + 1, () => pool as Pick<Client, 'query'>),
  )
  console.log(
    `| ${count} | ${appends.toFixed(0)} | ${each.toFixed(0)} | ${pooled.toFixed(0)} | ${(appends / pooled).toFixed(2)} |`,
  )
}
for (const client of clients) await client.end()
await pool.end()
await store.close()()
await server.stop()
