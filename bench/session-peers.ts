/**
 * The same 400 turns (a question and an answer) kept by a session and by what people use instead: bytes on disk, time of
 * a turn at turn 10 and at turn 400, time to load.
 *
 * LangGraph's saver runs on the SQLite that Node has built in, as ours does: better-sqlite3 is not built for every Node.
 * It is given what a graph of one node gives it: a checkpoint for the input and one for the step of each turn.
 */
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import type { Message, Store } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { asBetterSqlite } from './better-sqlite.ts'
import { graph, type Saver } from './langgraph.ts'
import { machine } from './measure.ts'
import { messageAt, source } from './messages.ts'
import { conversationOf, keptByRefs, keptBySession, measured, ok, turns, type MessageStore } from './turns.ts'

const peers: { readonly [name: string]: (folder: string) => MessageStore | Promise<MessageStore> } = {
  "indelible, 'disk'": async (folder) => keptBySession(await storeIn(folder, 'disk')),
  "indelible, 'os'": async (folder) => keptBySession(await storeIn(folder, 'os')),
  'indelible, a reference history': async (folder) => keptByRefs(await storeIn(folder, 'disk')),
  'LangGraph SqliteSaver': (folder) => {
    const db = new DatabaseSync(join(folder, 'langgraph.db'))
    const anew = (): Saver => new SqliteSaver(asBetterSqlite(db)) as unknown as Saver
    return graph(anew(), anew, () => db.close())
  },
  "OpenAI Agents' file session": (folder) => {
    // As the FileSession of its examples: the file is read, added to, and written whole.
    const path = join(folder, 'session.json')
    writeFileSync(path, '[]')
    const read = (): Message[] => JSON.parse(readFileSync(path, 'utf8')) as Message[]
    return {
      add: (messages) => writeFileSync(path, JSON.stringify([...read(), ...messages], null, 2)),
      load: () => read().length,
      close: () => undefined,
    }
  },
  'JSON lines, as pi': (folder) => {
    const path = join(folder, 'session.jsonl')
    let last: string | null = null
    return {
      add: (messages) => {
        for (const message of messages) {
          const id = crypto.randomUUID().slice(0, 8)
          appendFileSync(
            path,
            `${JSON.stringify({ type: 'message', id, parentId: last, timestamp: new Date().toISOString(), message })}\n`,
          )
          last = id
        }
      },
      load: () =>
        readFileSync(path, 'utf8')
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as unknown).length,
      close: () => undefined,
    }
  },
}

const storeIn = async (folder: string, durability: 'disk' | 'os'): Promise<Store> =>
  ok(await sqliteStore({ path: join(folder, 'sessions.db'), durability })())

const conversation = conversationOf(source, messageAt)
console.log(`${machine()}; ${source}\n\n${turns} turns, ${conversation.json} bytes of message JSON\n`)
console.log(`| | on disk | per byte of JSON | turn 10 | turn ${turns} | load |\n|---|---:|---:|---:|---:|---:|`)
for (const [name, start] of Object.entries(peers)) {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-peers-'))
  const times = await measured(name, await start(folder), conversation)
  const size = readdirSync(folder)
    .filter((file) => !file.endsWith('-shm'))
    .reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
  console.log(`| ${[name, size, (size / conversation.json).toFixed(2), ...times].join(' | ')} |`)
  rmSync(folder, { recursive: true, force: true })
}
