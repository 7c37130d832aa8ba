/** Graphs of LangGraph on our checkpointer and on its own: the same states, histories and interrupts. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages'
import {
  Annotation,
  Command,
  END,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
  type BaseCheckpointSaver,
} from '@langchain/langgraph'
import { afterAll, expect, it } from 'vitest'
import { memoryStore, settle, textOf } from 'indelible'
import { IndelibleSaver } from '@indelible/langgraph'
import { sqliteStore } from 'indelible/store/sqlite'
import { postgresStore } from '@indelible/postgres'
import { fileURLToPath } from 'node:url'
import { startPostgres } from '../../packages/postgres/test/postgres-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-graph-'))
const server = await startPostgres()
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const State = Annotation.Root({ ...MessagesAnnotation.spec, steps: Annotation<number> })

/** A model that calls a tool once, a tool that asks a person, and an answer. */
const graphWith = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(State)
    .addNode('model', ({ messages, steps = 0 }) => {
      const last = messages.at(-1)
      const message =
        last instanceof HumanMessage
          ? new AIMessage({ content: '', tool_calls: [{ id: `call ${steps}`, name: 'ask', args: { n: steps } }] })
          : new AIMessage(`The answer is ${last?.text}, after ${messages.length} messages.`)
      return { messages: [message], steps: steps + 1 }
    })
    .addNode('tool', ({ messages }) => {
      const [call] = (messages.at(-1) as AIMessage).tool_calls ?? []
      const said: unknown = interrupt({ ask: call?.args })
      return { messages: [new ToolMessage({ content: String(said), tool_call_id: call?.id ?? '' })] }
    })
    .addEdge(START, 'model')
    .addConditionalEdges('model', ({ messages }) =>
      ((messages.at(-1) as AIMessage).tool_calls ?? []).length > 0 ? 'tool' : END,
    )
    .addEdge('tool', 'model')
    .compile({ checkpointer })

const messageSummaries = (messages: readonly BaseMessage[]): readonly unknown[] =>
  messages.map((message) => [message.type, message.text, (message as AIMessage).tool_calls ?? []])

/** A conversation with interrupts, an edited state and a fork; what was seen of it. */
const talk = async (savers: () => Promise<BaseCheckpointSaver>): Promise<readonly unknown[]> => {
  const seen: unknown[] = []
  const thread = { configurable: { thread_id: 'chat' } }
  const look = async (): Promise<void> => {
    const state = await graphWith(await savers()).getState(thread)
    const { messages = [], steps } = state.values as { messages?: BaseMessage[]; steps?: number }
    seen.push([
      messageSummaries(messages),
      steps,
      state.next,
      state.tasks.map(({ name, interrupts }) => [name, interrupts.map(({ value }) => value as unknown)]),
    ])
  }
  for (const turn of [1, 2, 3]) {
    await graphWith(await savers()).invoke({ messages: [new HumanMessage(`question ${turn}`)] }, thread)
    await look()
    await graphWith(await savers()).invoke(new Command({ resume: `answer ${turn}` }), thread)
    await look()
  }
  const graph = graphWith(await savers())
  const history = []
  for await (const state of graph.getStateHistory(thread))
    history.push([
      state.next,
      state.metadata?.step,
      state.metadata?.source,
      messageSummaries((state.values as { messages?: BaseMessage[] }).messages ?? []),
    ])
  seen.push(history)
  // Back to the first turn, another way on.
  const old = []
  for await (const state of graph.getStateHistory(thread)) old.push(state)
  const first = old.findLast(
    ({ next, values }) => next.length === 0 && (values as { messages: unknown[] }).messages.length === 4,
  )
  const edited = await graph.updateState(first?.config ?? thread, { messages: [new HumanMessage('edited')] }, 'model')
  await graphWith(await savers()).invoke(null, edited)
  await look()
  return seen
}

it("a graph behaves as on LangGraph's own saver, with a new handle per step", async () => {
  const theirs = new MemorySaver()
  const store = await sqliteStore({ path: join(folder, 'graph.db'), durability: 'os' })
  const expected = await talk(async () => theirs)
  expect(await talk(async () => new IndelibleSaver(store))).toEqual(expected)
  const session = await new IndelibleSaver(store).record('chat')
  const texts = session.view().toArray().map(textOf)
  for (const turn of [1, 2, 3]) expect(texts).toContain(`question ${turn}`) // what was left is in the record
  expect(settle(session.conversation().slice(0, 4).toArray())._tag).toBe('Right')
  await store.close()
})

const places = {
  memory: async () => memoryStore(),
  SQLite: async (scope: string) => sqliteStore({ path: join(folder, 'once.db'), scope }),
  PostgreSQL: async (scope: string) =>
    postgresStore({ connectionString: server?.url ?? '', schema: `graph ${process.pid}`, scope, connections: 2 }),
} as const

it.each((['memory', 'SQLite', 'PostgreSQL'] as const).filter((name) => name !== 'PostgreSQL' || server !== undefined))(
  'IndelibleSaver stores each message once with durability %s',
  async (name) => {
    for (const durability of ['async', 'sync', 'exit'] as const) {
      const store = await places[name](durability)
      const saver = new IndelibleSaver(store)
      const graph = new StateGraph(MessagesAnnotation)
        .addNode('model', ({ messages }) => ({ messages: [new AIMessage(`heard ${messages.length}`)] }))
        .addEdge(START, 'model')
        .addEdge('model', END)
        .compile({ checkpointer: saver })
      const thread = { configurable: { thread_id: 'chat' }, durability }
      for (let turn = 0; turn < 30; turn++)
        await graph.invoke({ messages: [new HumanMessage(`question ${turn}`)] }, thread)
      const session = await saver.record('chat')
      expect([durability, session.len, session.conversation().length]).toEqual([durability, 60, 60])
      const { values } = await graph.getState(thread)
      expect((values as { messages: unknown[] }).messages).toHaveLength(60)
      await store.close()
    }
  },
)

it('the program in the documentation runs', async () => {
  const page = readFileSync(fileURLToPath(new URL('../../docs/adapters/langgraph.md', import.meta.url)), 'utf8')
  const blocks = [...page.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code = '']) => code)
  expect(blocks.length).toBeGreaterThan(1)
  const { mkdirSync, writeFileSync } = await import('node:fs')
  const target = fileURLToPath(new URL('../.cache/page.mjs', import.meta.url))
  mkdirSync(fileURLToPath(new URL('../.cache', import.meta.url)), { recursive: true })
  writeFileSync(target, blocks.join('\n'))
  await import(/* @vite-ignore */ target)
})
