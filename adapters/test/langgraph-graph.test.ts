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
import { memoryStore, settle, textOf, type Store } from 'indelible'
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

const Files = Annotation.Root({
  ...MessagesAnnotation.spec,
  files: Annotation<Readonly<Record<string, string>>>({
    reducer: (files, written) => ({ ...files, ...written }),
    default: () => ({}),
  }),
})

/** Source code, whose lines need escapes. */
const sourceOf = (name: string): string =>
  Array.from({ length: 100 }, (_, line) => `export const ${name}_${line} = "${line * 7919}\\n" // of ${name}`).join(
    '\n',
  )

/** A coding agent: each turn writes one file into a map that only grows. */
const coder = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(Files)
    .addNode('write', ({ files, messages }) => {
      const name = `file${Object.keys(files).length}`
      return { files: { [`src/${name}.ts`]: sourceOf(name) }, messages: [new AIMessage(`${messages.length}: ${name}`)] }
    })
    .addEdge(START, 'write')
    .addEdge('write', END)
    .compile({ checkpointer })

const thread = { configurable: { thread_id: 'chat' } }

const bytesOf = async (store: Store, saver: IndelibleSaver): Promise<number> =>
  (await store.read(saver.idOf('chat'))).reduce((sum, { body }) => sum + Buffer.byteLength(body), 0)

it.each(['async', 'sync', 'exit'] as const)(
  'a graph whose files grow stores at most 3 bytes per byte of a new file, with durability %s',
  async (durability) => {
    const store = memoryStore()
    const [own, theirs] = [new IndelibleSaver(store), new MemorySaver()]
    let written = 0
    for (let turn = 0; turn < 40; turn++) {
      const input = { messages: [new HumanMessage(`write file ${turn}`)] }
      const { files } = await coder(own).invoke(input, { ...thread, durability })
      written += Buffer.byteLength(files[`src/file${turn}.ts`] ?? '')
      await coder(theirs).invoke(input, { ...thread, durability })
    }
    expect((await bytesOf(store, own)) / written).toBeLessThanOrEqual(3)
    const [state, expected] = [
      await coder(new IndelibleSaver(store)).getState(thread),
      await coder(theirs).getState(thread),
    ]
    expect((state.values as typeof Files.State).files).toEqual((expected.values as typeof Files.State).files)
    expect(Object.keys((state.values as typeof Files.State).files)).toHaveLength(40)
  },
)

it('a turn of such a graph stores the same at any number of files', async () => {
  const store = memoryStore()
  const saver = new IndelibleSaver(store)
  const costs: number[] = []
  for (let turn = 0; turn < 200; turn++) {
    const before = await bytesOf(store, saver).catch(() => 0)
    await coder(saver).invoke({ messages: [new HumanMessage('next')] }, thread)
    costs.push((await bytesOf(store, saver)) - before)
  }
  // A little longer, by the digits of the file's number in each of its lines.
  expect((costs[199] as number) / (costs[10] as number)).toBeLessThan(1.1)
})

it('prune of such a graph keeps the states that the last checkpoints reach, and erases the others from the file', async () => {
  const path = join(folder, 'files.db')
  const store = await sqliteStore({ path, durability: 'os' })
  const saver = new IndelibleSaver(store)
  const Scratch = Annotation.Root({ ...Files.spec, scratch: Annotation<Readonly<Record<string, string>>> })
  const graphOn = (checkpointer: BaseCheckpointSaver) =>
    new StateGraph(Scratch)
      .addNode('write', ({ files }) => {
        const turn = Object.keys(files).length
        return {
          files: { [`f${turn}`]: `file ${turn} ${sourceOf('f')}` },
          scratch: { only: `scratch ${turn}. ${sourceOf('s')}` },
        }
      })
      .addEdge(START, 'write')
      .addEdge('write', END)
      .compile({ checkpointer })
  const graph = graphOn(saver)
  for (let turn = 0; turn < 5; turn++) await graph.invoke({ messages: [new HumanMessage(`question ${turn}`)] }, thread)
  const before = await graph.getState(thread)
  expect(await saver.prune('chat', { keep: 1 })).toBeGreaterThan(0)
  const after = await graphOn(new IndelibleSaver(store)).getState(thread)
  expect(after.values).toEqual(before.values)
  const record = await saver.record('chat')
  expect(record.view().toArray().map(textOf)).toEqual([0, 1, 2, 3, 4].map((turn) => `question ${turn}`))
  // The graph goes on from what is left.
  const next = await graph.invoke({ messages: [new HumanMessage('question 5')] }, thread)
  expect(Object.keys(next.files)).toEqual(['f0', 'f1', 'f2', 'f3', 'f4', 'f5'])
  await store.close()
  const file = readFileSync(path, 'latin1')
  expect([0, 1, 2, 3].filter((turn) => file.includes(`scratch ${turn}. `))).toEqual([])
  expect([0, 1, 2, 3, 4, 5].filter((turn) => !file.includes(`file ${turn} `))).toEqual([])
})
