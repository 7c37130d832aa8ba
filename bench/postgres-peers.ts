/**
 * The same 400 turns (a question and an answer) kept in PostgreSQL by a session and by what people use instead: bytes in
 * the database, time of a turn at turn 10 and at turn 400, time to load. Two conversations: real messages, and messages of
 * 1 kB that do not compress.
 */
import { randomBytes } from 'node:crypto'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import type { Message, Store } from 'indelible'
import { postgresStore } from '@indelible/postgres'
import { Client } from 'pg'
import { startPostgres } from '../packages/postgres/test/postgres-server.ts'
import { graph, type Saver } from './langgraph.ts'
import { machine } from './measure.ts'
import { messageAt, source } from './messages.ts'
import {
  conversationOf,
  incompressible,
  keptByRefs,
  keptBySession,
  measured,
  ok,
  turns,
  type MessageStore,
} from './turns.ts'

const server = await startPostgres(true)
if (server === undefined) process.exit(1)
const { url } = server
const client = new Client({ connectionString: url })
await client.connect()

const storeIn = async (schema: string): Promise<Store> => ok(await postgresStore({ connectionString: url, schema })())

const peers: { readonly [name: string]: (schema: string) => Promise<MessageStore> } = {
  'indelible, a session': async (schema) => keptBySession(await storeIn(schema)),
  'indelible, a reference history': async (schema) => keptByRefs(await storeIn(schema)),
  'LangGraph PostgresSaver': async (schema) => {
    const saver = PostgresSaver.fromConnString(url, { schema })
    await saver.setup()
    const same = (): Saver => saver as unknown as Saver
    return graph(same(), same, () => saver.end())
  },
  'one jsonb document, updated': async (schema) => {
    await client.query(
      `create schema "${schema}"; create table "${schema}".chat (id text primary key, messages jsonb not null)`,
    )
    await client.query(`insert into "${schema}".chat values ('c', '[]')`)
    let all: readonly Message[] = []
    return {
      add: (messages) => {
        all = [...all, ...messages] // what an application has in its hands when a turn is over
        return client.query({
          name: `update ${schema}`,
          text: `update "${schema}".chat set messages = $1 where id = 'c'`,
          values: [JSON.stringify(all)],
        })
      },
      load: async () =>
        (
          (await client.query(`select messages from "${schema}".chat where id = 'c'`)).rows[0] as {
            readonly messages: readonly unknown[]
          }
        ).messages.length,
      close: async () => undefined,
    }
  },
  'a row of jsonb a message': async (schema) => {
    await client.query(
      `create schema "${schema}"; create table "${schema}".message (chat text, position bigint, message jsonb not null, primary key (chat, position))`,
    )
    return {
      add: ([question, answer], number) =>
        client.query({
          name: `insert ${schema}`,
          text: `insert into "${schema}".message values ('c', $1, $2), ('c', $3, $4)`,
          values: [2 * number, JSON.stringify(question), 2 * number + 1, JSON.stringify(answer)],
        }),
      load: async () =>
        (await client.query(`select message from "${schema}".message where chat = 'c' order by position`)).rows.length,
      close: async () => undefined,
    }
  },
}

/** Tables, their indexes, and what stands beside them, as they are once the server has cleaned up. */
const bytesOf = async (schema: string): Promise<number> => {
  const { rows: tables } = await client.query(
    `select c.oid, quote_ident(n.nspname) || '.' || quote_ident(c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relkind = 'r'`,
    [schema],
  )
  for (const { name } of tables as readonly { readonly name: string }[]) await client.query(`vacuum ${name}`)
  const { rows } = await client.query(
    'select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint as bytes from unnest($1::oid[]) as oid',
    [tables.map(({ oid }: { readonly oid: number }) => oid)],
  )
  return Number((rows[0] as { readonly bytes: string }).bytes)
}

const conversations = [
  conversationOf(source, messageAt),
  conversationOf(
    'messages of 1 kB that do not compress',
    incompressible(() => randomBytes(750).toString('base64')),
  ),
]

console.log(machine())
for (const [index, conversation] of conversations.entries()) {
  const { title, json } = conversation
  console.log(`\n${title}: ${turns} turns, ${json} bytes of message JSON\n`)
  console.log(
    `| | in the database | of it before the first turn | per byte of JSON | of what the turns added | turn 10 | turn ${turns} | load |\n|---|---:|---:|---:|---:|---:|---:|---:|`,
  )
  for (const [peer, [name, start]] of Object.entries(peers).entries()) {
    const schema = `peer ${index} ${peer} ${process.pid}`
    const kept = await start(schema)
    const empty = await bytesOf(schema)
    const times = await measured(name, kept, conversation)
    const bytes = await bytesOf(schema)
    console.log(
      `| ${[name, bytes, empty, (bytes / json).toFixed(2), ((bytes - empty) / json).toFixed(2), ...times].join(' | ')} |`,
    )
    await client.query(`drop schema "${schema}" cascade`)
  }
}
await client.end()
await server.stop()
