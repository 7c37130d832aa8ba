/** Which call started which sub-agent, and when tools ran. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { assistant, createSession, forkSession, memoryStore, toolCall, toolResult, user, type Message } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { traceOf } from '../src/server/trace.ts'
import { withSubAgents } from './agents.ts'
import { provider, type Chat } from './page/recorded.ts'

it('a trace has each sub-agent below the call that started it, in any order of their files', async () => {
  const store = memoryStore()
  await withSubAgents(store)
  const { agents, left } = await traceOf(store, 'main')
  const byId = new Map(agents.map((agent) => [agent.id, agent]))
  const startedBy = (id: string): readonly unknown[] => {
    const { parent = -1, call = -1 } = byId.get(id) ?? {}
    const { id: of, tools } = agents[parent] ?? { tools: [] }
    return [of, tools[call]?.name, tools[call]?.position]
  }
  expect(left).toBeUndefined()
  expect(agents[0]?.id).toBe('main')
  expect(agents.length).toBe(4)
  expect(startedBy('main.agent-a11')).toEqual(['main', 'Task', 3])
  expect(byId.get('main.agent-a11')?.call).toBe(2)
  expect(byId.get('main.agent-a33')?.call).toBe(1)
  expect(startedBy('main.agent-a22')).toEqual(['main.agent-a11', 'Task', 3])
  expect(agents[0]?.tools.map(({ name, gist, took, state }) => [name, gist, took, state])).toEqual([
    ['Bash', 'ls test', 2500, undefined],
    ['Task', 'Find places', 52_000, undefined],
    ['Task', 'Find places', 52_000, undefined],
    ['Bash', 'npm test', undefined, 'open'],
  ])
  expect(byId.get('main.agent-a22')?.tools[0]).toMatchObject({ gist: 'src/year.ts', took: 1000, state: 'failed' })
  const { started = 0, ended = 0 } = byId.get('main.agent-a11') ?? {}
  expect(ended - started).toBe(31_000)
})
it("a sub-agent's trace has its own sub-agents only", async () => {
  const store = memoryStore()
  await withSubAgents(store)
  const { agents } = await traceOf(store, 'main.agent-a22')
  expect(agents.map(({ id }) => id)).toEqual(['main.agent-a22'])
  const above = await traceOf(store, 'main.agent-a11')
  expect(above.agents.map(({ id, parent, call }) => [id, parent, call])).toEqual([
    ['main.agent-a11', undefined, undefined],
    ['main.agent-a22', 0, 1],
  ])
  const beside = await traceOf(store, 'main.agent-a33')
  expect(beside.agents.map(({ id }) => id)).toEqual(['main.agent-a33'])
})
it('recorded sessions of one client: the prompt shows which call started which; others stand at the end of the first', async () => {
  let now = 0
  const store = memoryStore({ now: () => ++now })
  const record = async (id: string, messages: Parameters<typeof createSession>[1]): Promise<void> => {
    await (await createSession(store, { ...messages, id, metadata: { client: 'c-1', recorder: {} } })).close()
  }
  const ask = 'Look into the log of the calendar.'
  await record('lead', {
    messages: [
      user('Why does it fail?'),
      assistant(toolCall('c1', 'spawn_agent', JSON.stringify({ message: ask }))),
      toolResult('c1', 'started'),
    ],
  })
  await record('second', {
    messages: [
      user(`<context>today is Monday</context>\n${ask}`),
      assistant(toolCall('c1', 'spawn_agent', JSON.stringify({ message: 'And the rest of it, line by line.' }))),
    ],
  })
  await record('third', { messages: [user('And the rest of it, line by line.'), assistant('Nothing.')] })
  await record('fourth', { messages: [user('A title in five words, please.')] })
  const { agents } = await traceOf(store, 'lead')
  expect(agents.map(({ id, parent, call }) => [id, parent, call])).toEqual([
    ['lead', undefined, undefined],
    ['second', 0, 0],
    ['third', 1, 0],
    ['fourth', 0, undefined],
  ])
  const below = await traceOf(store, 'second')
  expect(below.agents.map(({ id }) => id)).toEqual(['second', 'third'])
})
it('a recorded sub-agent that begins with the history of its parent is in the trace, with its own calls only', async () => {
  let now = 0
  const store = memoryStore({ now: () => ++now })
  const look = 'Look at the rules of the calendar, one by one.'
  const lead = await createSession(store, {
    id: 'lead',
    metadata: { client: 'thread-1', recorder: {} },
    messages: [
      user('Why does it fail?'),
      assistant(toolCall('c1', 'shell', '{"command":"ls"}')),
      toolResult('c1', 'year.ts'),
    ],
  })
  const fork = async (id: string, client: string, from: string, own: Message[]): Promise<void> => {
    const forked = await forkSession(store, from, { id, metadata: { client, recorder: {} } })
    await forked.append(own)
    await forked.close()
  }
  await fork('reader', 'thread-2', 'lead', [
    user(look),
    assistant(toolCall('r1', 'shell', '{"command":"cat rules.ts"}')),
  ])
  await fork('second reader', 'thread-3', 'lead', [user('And this is another prompt.')])
  await fork('below', 'thread-4', 'reader', [user('One level more.')])
  await fork('rewound', 'thread-1', 'lead', [user('No, begin again.')])
  await lead.append([
    assistant(
      toolCall('c2', 'spawn_agent', JSON.stringify({ message: look })),
      toolCall('c3', 'spawn_agent', JSON.stringify({ message: 'a text that the sub-agent was not sent' })),
    ),
    toolResult('c2', 'done'),
    toolResult('c3', '{"agent_id":"thread-3"}'),
  ])
  await lead.close()
  const { agents } = await traceOf(store, 'lead')
  expect(
    agents.map(({ id, parent, call, tools }) => [id, parent, call, tools.map(({ position }) => position)]),
  ).toEqual([
    ['lead', undefined, undefined, [1, 3, 3]],
    ['reader', 0, 1, [4]],
    ['second reader', 0, 2, []],
    ['below', 1, undefined, []],
  ])
})
it('a sub-agent whose requests begin with those of its parent is recorded as a fork, and is in the trace', async () => {
  const store = memoryStore()
  const { fetch, clientOf, close } = await provider(store, () => ({ input: 100, cached: 0 }))
  const messages: Chat = [{ role: 'user', content: 'Why does it fail?' }]
  const ask = async (client: string, more: string): Promise<void> => {
    if (more !== '') messages.push({ role: 'user', content: more })
    const answer = await clientOf(client).chat.completions.create({ model: 'gpt-5.5', messages })
    messages.push(answer.choices[0]?.message as Chat[number])
    await fetch.settled()
  }
  await ask('lead', '')
  await ask('helper', 'Look at the rules, and report.')
  await close()
  const lead = fetch.summary().sessions[0] ?? ''
  const { agents } = await traceOf(store, lead)
  expect(agents.map(({ parent, title }) => [parent, title])).toEqual([
    [undefined, 'Why does it fail?'],
    [0, expect.stringMatching(/rules/)],
  ])
})
it('a session that can not be read is named, and the others are traced', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-trace-'))
  const path = join(folder, 'sessions.db')
  const store = await sqliteStore({ path })
  await withSubAgents(store)
  const db = new DatabaseSync(path)
  db.exec(`update row set body = replace(body, 'Three places.', 'Three "places.') where body not like '%agentId%'`)
  db.close()
  const { agents } = await traceOf(store, 'main')
  expect(agents.map(({ id, unreadable }) => [id, unreadable !== undefined]).toSorted()).toEqual([
    ['main', false],
    ['main.agent-a11', false],
    ['main.agent-a22', false],
    ['main.agent-a33', true],
  ])
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})
