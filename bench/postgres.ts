/**
 * Durable appends on PostgreSQL from 1, 8 and 64 sessions at once, beside a bare INSERT of the same bytes from as many
 * connections, by turns. The server is that of DATABASE_URL, or one that is started here, with `fsync` on; `--no-sync` for the
 * settings of the tests.
 */
import { isLeft, type Either } from 'fp-ts/lib/Either.js'
import { createSession, type Session } from 'indelible/session'
import { postgresStore } from '@indelible/postgres'
import { Client } from 'pg'
import { openPool, startPostgres } from '../packages/postgres/test/postgres-server.ts'
import { machine } from './measure.ts'
import { messageAt, source } from './messages.ts'

const right = <T>(found: Either<unknown, T>): T => {
  if (isLeft(found)) throw new Error(JSON.stringify(found.left))
  return found.right
}
const quick = process.argv.includes('--quick')
const seconds = quick ? 0.5 : 1
const rounds = quick ? 1 : 7

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

const server = await startPostgres(!process.argv.includes('--no-sync'))
if (server === undefined) process.exit(1)
const schema = `bench ${process.pid}`
const store = right(await postgresStore({ connectionString: server.url, schema })())
const clients: Client[] = []
for (let index = 0; index < 64; index++) {
  const client = new Client({ connectionString: server.url })
  await client.connect()
  clients.push(client)
}
const pool = openPool({ connectionString: server.url, max: 10 })
const [first] = clients as [Client]
const table = `"${schema}".bare`
await first.query(`create table ${table} (session bigint, position bigint, body text, primary key (session, position))`)
const { rows } = await first.query(
  "select current_setting('server_version') as version, current_setting('synchronous_commit') as durable, current_setting('fsync') as fsync",
)
const [settings] = rows as [{ readonly version: string; readonly durable: string; readonly fsync: string }]

console.log(
  `${machine()}; PostgreSQL ${settings.version}, synchronous_commit ${settings.durable}, fsync ${settings.fsync}\n${source}; one message an append, each session waits for its own; ${seconds} s each, ${rounds} rounds.\n`,
)
console.log(
  '| sessions | appends/s | bare INSERTs/s, a connection each | bare INSERTs/s, 10 connections | ratios to both |  |',
)
console.log('|---:|---:|---:|---:|---:|---:|')
for (const count of [1, 8, 64]) {
  const sessions: Session[] = []
  for (let index = 0; index < count; index++)
    sessions.push(right(await createSession(store, { id: `${count} ${index}` })()))
  const text = `insert into ${table} (session, position, body) values ($1, $2, $3)`
  let position = 0
  const bare = (by: (worker: number) => Pick<Client, 'query'>) => (worker: number, turn: number) =>
    by(worker).query({ name: 'bare', text, values: [worker, position++, JSON.stringify({ message: messageAt(turn) })] })
  const works = [
    async (worker: number, turn: number) => right(await (sessions[worker] as Session).append(messageAt(turn))()),
    bare((worker) => clients[worker] as Client),
    bare(() => pool as Pick<Client, 'query'>),
  ]
  const rates: (readonly number[])[] = []
  await first.query(`truncate ${table}`)
  for (let round = -1; round < rounds; round++) {
    const found: number[] = []
    for (const work of works) found.push(await rate(count, work))
    if (round >= 0) rates.push(found)
  }
  const spread = (values: readonly number[], digits: number): string => {
    const sorted = values.toSorted((a, b) => a - b).map((value) => value.toFixed(digits))
    return `${sorted[rounds >> 1]} [${sorted[0]} to ${sorted.at(-1)}]`
  }
  const cells = works.map((_, which) =>
    spread(
      rates.map((found) => found[which] ?? NaN),
      0,
    ),
  )
  const ratios = [1, 2].map((which) =>
    spread(
      rates.map((found) => (found[0] ?? NaN) / (found[which] ?? NaN)),
      2,
    ),
  )
  console.log(`| ${[count, ...cells, ...ratios].join(' | ')} |`)
}
for (const client of clients) await client.end()
await pool.end()
await store.close()()
await server.stop()
