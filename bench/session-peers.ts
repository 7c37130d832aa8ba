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
import { emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import { isLeft, type Either } from 'fp-ts/lib/Either.js'
import { createPendingHistory, createSession, faultMessage, hydrate, openSession, persist, type Fault, type Message } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { around, machine } from './measure.ts'
import { messageAt, source } from './messages.ts'

const turns = process.argv.includes('--quick') ? 40 : 400
const turn = (number: number): readonly Message[] => [messageAt(2 * number), messageAt(2 * number + 1)]

const ok = <T>(answer: Either<Fault, T>): T => {
  if (isLeft(answer)) throw new Error(faultMessage(answer.left))
  return answer.right
}

interface Kept {
  readonly add: (messages: readonly Message[], number: number) => unknown
  /** How many messages it finds when it is opened anew. */
  readonly load: () => number | Promise<number>
  /** Let go of its files; SQLite then moves its log into the database. */
  readonly close?: () => unknown
}

const peers: { readonly [name: string]: (folder: string) => Kept | Promise<Kept> } = {
  "indelible, 'disk'": (folder) => ours(folder, 'disk'),
  "indelible, 'os'": (folder) => ours(folder, 'os'),
  'indelible, a reference history': async (folder) => {
    const store = ok(await sqliteStore({ path: join(folder, 'refs.db') })())
    let history = ok(await persist(store, createPendingHistory({ scope: store.scope }))())
    return {
      add: async (messages) => {
        const pending = history.extend()
        for (const message of messages) pending.append(message)
        history = ok(await persist(store, pending)())
      },
      load: async () => ok(await hydrate(store, history.refHistory())()).len,
      close: store.close(),
    }
  },
  'LangGraph SqliteSaver': (folder) => {
    const db = new DatabaseSync(join(folder, 'langgraph.db'))
    const saver = new SqliteSaver(asBetterSqlite(db))
    const config = { configurable: { thread_id: 't', checkpoint_ns: '' } }
    let state: Message[] = []
    let parent: Parameters<typeof saver.put>[0] = config
    const put = async (number: number, source: 'input' | 'loop'): Promise<void> => {
      parent = await saver.put(parent, { ...emptyCheckpoint(), id: uuid6(number), channel_values: { messages: state } }, { source, step: number, parents: {} })
    }
    return {
      add: async ([question, answer], number) => {
        state = [...state, question as Message]
        await put(2 * number, 'input')
        state = [...state, answer as Message]
        await put(2 * number + 1, 'loop')
      },
      load: async () => ((await saver.getTuple(config))?.checkpoint.channel_values['messages'] as Message[] | undefined)?.length ?? 0,
      close: () => db.close(),
    }
  },
  "OpenAI Agents' file session": (folder) => {
    // As the FileSession of its examples: the file is read, added to, and written whole.
    const path = join(folder, 'session.json')
    writeFileSync(path, '[]')
    const read = (): Message[] => JSON.parse(readFileSync(path, 'utf8')) as Message[]
    return { add: (messages) => writeFileSync(path, JSON.stringify([...read(), ...messages], null, 2)), load: () => read().length }
  },
  'JSON lines, as pi': (folder) => {
    const path = join(folder, 'session.jsonl')
    let last: string | null = null
    return {
      add: (messages) => {
        for (const message of messages) {
          const id = crypto.randomUUID().slice(0, 8)
          appendFileSync(path, `${JSON.stringify({ type: 'message', id, parentId: last, timestamp: new Date().toISOString(), message })}\n`)
          last = id
        }
      },
      load: () => readFileSync(path, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line) as unknown).length,
    }
  },
}

const ours = async (folder: string, durability: 'disk' | 'os'): Promise<Kept> => {
  const path = join(folder, 'sessions.db')
  const store = ok(await sqliteStore({ path, durability })())
  const session = ok(await createSession(store, { id: 's' })())
  return { add: async (messages) => ok(await session.append(messages)()), load: async () => ok(await openSession(store, 's')()).view().toArray().length, close: store.close() }
}

/** What the saver calls of better-sqlite3. */
const asBetterSqlite = (db: DatabaseSync): ConstructorParameters<typeof SqliteSaver>[0] =>
  ({
    pragma: (text: string) => db.exec(`pragma ${text}`),
    exec: (text: string) => db.exec(text),
    prepare: (text: string) => db.prepare(text),
    transaction: (work: (...args: unknown[]) => unknown) => (...args: unknown[]) => {
      db.exec('begin')
      const result = work(...args)
      db.exec('commit')
      return result
    },
  }) as unknown as ConstructorParameters<typeof SqliteSaver>[0]

let json = 0
for (let number = 0; number < turns; number++) for (const message of turn(number)) json += Buffer.byteLength(JSON.stringify(message))
console.log(`${machine()}; ${source}\n\n${turns} turns, ${json} bytes of message JSON\n`)
console.log(`| | on disk | per byte of JSON | turn 10 | turn ${turns} | load |\n|---|---:|---:|---:|---:|---:|`)
for (const [name, start] of Object.entries(peers)) {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-peers-'))
  const kept = await start(folder)
  const times: number[] = []
  for (let number = 0; number < turns; number++) {
    const messages = turn(number)
    const from = performance.now()
    await kept.add(messages, number)
    times.push(performance.now() - from)
  }
  const from = performance.now()
  const found = await kept.load()
  const load = performance.now() - from
  if (found !== 2 * turns) throw new Error(`${name} has ${found} messages, not ${2 * turns}`)
  await kept.close?.()
  const size = readdirSync(folder).filter((file) => !file.endsWith('-shm')).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
  console.log(`| ${name} | ${size} | ${(size / json).toFixed(2)} | ${around(times, 10)} | ${around(times, turns - 5)} | ${load.toFixed(1)} ms |`)
  rmSync(folder, { recursive: true, force: true })
}
