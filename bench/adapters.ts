/**
 * The same 400 turns (a question and an answer) kept by each adapter and by what its framework has itself: bytes on disk,
 * time of a turn at turn 10 and at turn 400, time to load by a handle that has not read before.
 *
 * LangGraph's saver runs on the SQLite that Node has built in, as ours does. Each turn is given to the savers as a graph
 * of one node does: a checkpoint for the input, the node's write, and a checkpoint for the step.
 */
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import { textOf, type Message, type Store } from 'indelible'
import { chatStore } from '@indelible/ai-sdk'
import { claudeSessionStore } from '@indelible/claude-agent'
import { agentsSession } from '@indelible/openai-agents'
import { sqliteStore } from 'indelible/store/sqlite'
import { asBetterSqlite } from './better-sqlite.ts'
import { graph, type Saver } from './langgraph.ts'
import { machine } from './measure.ts'
import { messageAt, source } from './messages.ts'
import { conversationOf, measured, ok, turns, type MessageStore } from './turns.ts'

const storeIn = async (folder: string): Promise<Store> =>
  ok(await sqliteStore({ path: join(folder, 'store.db'), durability: 'os' })())

type Item = Parameters<ReturnType<typeof agentsSession>['addItems']>[0][number]
const agentsItem = (message: Message): Item =>
  message.role === 'assistant'
    ? {
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: textOf(message) }],
      }
    : { type: 'message', role: 'user', content: textOf(message) }

type UiMessage = Parameters<ReturnType<typeof chatStore>['saveChat']>[0]['messages'][number]
const uiMessage = (message: Message, id: string): UiMessage => ({
  id,
  role: message.role === 'assistant' ? 'assistant' : 'user',
  parts: [{ type: 'text', text: textOf(message) }],
})

let lines = 0
const claudeLine = (message: Message): { type: string; uuid: string } =>
  ({
    type: message.role === 'assistant' ? 'assistant' : 'user',
    uuid: crypto.randomUUID(),
    parentUuid: `${lines++}`,
    sessionId: 's',
    timestamp: new Date().toISOString(),
    message: { role: message.role, content: [{ type: 'text', text: textOf(message) }] },
  }) as { type: string; uuid: string }

/** By a name that the compiler does not follow: in this folder the types of LangGraph are not known. */
const langgraph = '@indelible/langgraph'
const { IndelibleSaver } = (await import(langgraph)) as { readonly IndelibleSaver: new (store: Store) => Saver }

const contenders: { readonly [name: string]: (folder: string) => MessageStore | Promise<MessageStore> } = {
  'OpenAI Agents: agentsSession': async (folder) => {
    const store = await storeIn(folder)
    const session = agentsSession(store, { sessionId: 's' })
    return {
      add: (messages) => session.addItems(messages.map(agentsItem)),
      load: async () => (await agentsSession(store, { sessionId: 's' }).getItems()).length,
      close: () => store.close(),
    }
  },
  "OpenAI Agents: its examples' file session": (folder) => {
    const path = join(folder, 'session.json')
    writeFileSync(path, '[]')
    const read = (): Item[] => JSON.parse(readFileSync(path, 'utf8')) as Item[]
    return {
      add: (messages) => writeFileSync(path, JSON.stringify([...read(), ...messages.map(agentsItem)], null, 2)),
      load: () => read().length,
      close: () => undefined,
    }
  },
  'AI SDK: chatStore': async (folder) => {
    const store = await storeIn(folder)
    const { saveChat } = chatStore(store)
    const chat: UiMessage[] = []
    return {
      add: (messages, number) => {
        chat.push(...messages.map((message, index) => uiMessage(message, `${number}.${index}`)))
        return saveChat({ chatId: 'c', messages: chat })
      },
      load: async () => (await chatStore(store).loadChat('c')).length,
      close: () => store.close(),
    }
  },
  "AI SDK: its guide's file": (folder) => {
    const path = join(folder, 'chat.json')
    const chat: UiMessage[] = []
    return {
      add: (messages, number) => {
        chat.push(...messages.map((message, index) => uiMessage(message, `${number}.${index}`)))
        writeFileSync(path, JSON.stringify(chat, null, 2))
      },
      load: () => (JSON.parse(readFileSync(path, 'utf8')) as unknown[]).length,
      close: () => undefined,
    }
  },
  'Claude Agent SDK: claudeSessionStore': async (folder) => {
    const store = await storeIn(folder)
    const sessions = claudeSessionStore(store)
    const key = { projectKey: 'p', sessionId: 's' }
    return {
      add: (messages) => sessions.append(key, messages.map(claudeLine)),
      load: async () => (await claudeSessionStore(store).load(key))?.length ?? 0,
      close: () => store.close(),
    }
  },
  'Claude Agent SDK: its JSON lines': (folder) => {
    const path = join(folder, 'session.jsonl')
    return {
      add: (messages) =>
        appendFileSync(path, messages.map((message) => `${JSON.stringify(claudeLine(message))}\n`).join('')),
      load: () =>
        readFileSync(path, 'utf8')
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as unknown).length,
      close: () => undefined,
    }
  },
  'LangGraph: IndelibleSaver': async (folder) => {
    const store = await storeIn(folder)
    const saver = (): Saver => new IndelibleSaver(store)
    return graph(saver(), saver, () => store.close())
  },
  'LangGraph: SqliteSaver': (folder) => {
    const db = new DatabaseSync(join(folder, 'langgraph.db'))
    const saver = (): Saver => new SqliteSaver(asBetterSqlite(db)) as unknown as Saver
    return graph(saver(), saver, () => db.close())
  },
}

const conversation = conversationOf(source, messageAt)
console.log(`${machine()}; ${source}\n\n${turns} turns, ${conversation.json} bytes of message JSON\n`)
console.log(`| | on disk | per byte of JSON | turn 10 | turn ${turns} | load |\n|---|---:|---:|---:|---:|---:|`)
// The first round is for the compiler: the frameworks' own code runs slowly at first, whoever calls it.
for (const round of [1, 2])
  for (const [name, start] of Object.entries(contenders)) {
    const folder = mkdtempSync(join(tmpdir(), 'indelible-adapters-'))
    const times = await measured(name, await start(folder), conversation)
    const size = readdirSync(folder)
      .filter((file) => !file.endsWith('-shm'))
      .reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
    if (round === 2) console.log(`| ${[name, size, (size / conversation.json).toFixed(2), ...times].join(' | ')} |`)
    rmSync(folder, { recursive: true, force: true })
  }
