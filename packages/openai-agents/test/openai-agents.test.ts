import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import {
  isSessionHistoryRewriteAwareSession,
  isSessionHistoryTransactionAwareSession,
  MemorySession,
  type AgentInputItem,
  type Session,
} from '@openai/agents-core'
import { left } from 'fp-ts/lib/Either.js'
import { afterAll, describe, expect, it } from 'vitest'
import { openSession, textOf, type Store } from 'indelible'
import { agentsSession, copyItems } from '@indelible/openai-agents'
import { approvingAgent, runner } from './openai-agents-agent.ts'
import { agentsCases, answered, call, userItem } from './openai-agents-cases.ts'
import { eachStepFails, inFiles, inMemory, verified } from '../../../test/session/adapter-stores.ts'
import { storeTask } from '../../../src/store/internal.ts'
import { rounds } from '../../../test/rounds.ts'
import { program } from '../../../test/programs.ts'
import { pending } from 'indelible/session'

const files = inFiles()
afterAll(files.leave)

describe('openai-agents, in memory', () => agentsCases(inMemory, rounds(12, 1000)))
describe('openai-agents, in SQLite', () => agentsCases(files, rounds(4, 200)))

it('agentsSession returns the fault of a store that fails at any step', () =>
  eachStepFails(async (store) => {
    const session = agentsSession(store, { sessionId: 's' })
    await session.addItems([userItem('hi'), answered('there')])
    await session.getItems()
    await session.popItem()
    await session.replaceHistoryWithCompaction([userItem('in short')])
    await session.record()
    await session.clearSession()
    await session.addItems([userItem('anew')])
    await agentsSession(store, { sessionId: 's' }).getItems(1)
  }))

it('each change of a session is rejected if its append fails', async () => {
  const inner = await inMemory.fresh()
  let isFull = false
  const append: Store['append'] = (id, append) =>
    isFull
      ? storeTask(async () => left({ _tag: 'Io', operation: 'append', cause: 'full' }), 'store.append')
      : inner.append(id, append)
  const session = agentsSession({ ...inner, append }, { sessionId: 's' })
  await session.addItems([userItem('hi'), call('1')])
  isFull = true
  const replacement = call('1', 'renamed')
  for (const change of [
    () => session.addItems([userItem('more')]),
    () => session.popItem(),
    () => session.clearSession(),
    () => session.replaceHistoryWithCompaction([userItem('in short')]),
    () => session.applyHistoryMutations({ mutations: [{ type: 'replace_function_call', callId: '1', replacement }] }),
    () =>
      session.applyHistoryTransaction({
        operationId: 'o',
        transaction: { type: 'append_items', items: [userItem('more')] },
      } as never),
  ])
    await expect(change()).rejects.toMatchObject({ fault: { _tag: 'Io' } })
})

it('a note of another program is no operation of agentsSession', async () => {
  const store = await inMemory.fresh()
  const session = agentsSession(store, { sessionId: 's' })
  await session.addItems([userItem('hi')])
  const content = { type: 'operation', id: 'o', transaction: 'theirs' }
  await (await openSession(store, 's')).note({ type: 'application', namespace: 'theirs', content })
  const transaction = { type: 'append_items' as const, items: [userItem('more')] }
  await agentsSession(store, { sessionId: 's' }).applyHistoryTransaction({ operationId: 'o', transaction })
  expect(await session.getItems()).toEqual([userItem('hi'), userItem('more')])
})

it('agentsSession implements everything that the runner uses', () => {
  const session = agentsSession(files as never)
  expect([isSessionHistoryRewriteAwareSession(session), isSessionHistoryTransactionAwareSession(session)]).toEqual([
    true,
    true,
  ])
})

it("a runner behaves as with the SDK's own session", async () => {
  const store = await inMemory.fresh()
  const talk = async (session: Session): Promise<unknown> => {
    const agent = approvingAgent()
    const outputs: unknown[] = []
    for (const input of ['Clean up.', 'And again.']) {
      let result = await runner.run(agent, input, { session })
      while (result.interruptions.length > 0) {
        for (const waiting of result.interruptions) result.state.approve(waiting)
        result = await runner.run(agent, result.state, { session })
      }
      outputs.push(result.finalOutput)
    }
    return [outputs, await session.getItems()]
  }
  expect(await talk(agentsSession(store, { sessionId: 'chat' }))).toEqual(await talk(new MemorySession()))
})

it('a run waiting for an approval continues in another process', async () => {
  const store = await files.fresh()
  const session = agentsSession(store, { sessionId: 'chat' })
  const waiting = await runner.run(approvingAgent(), 'Clean up.', { session })
  expect(waiting.interruptions.length).toBe(1)
  const saved = `${files.path()}.state`
  writeFileSync(saved, waiting.state.toString())
  const other = spawnSync(
    process.execPath,
    [program('packages/openai-agents/test/openai-agents-process.ts'), files.path(), saved],
    {
      encoding: 'utf8',
    },
  )
  expect([other.stderr, other.stdout]).toEqual(['', 'Done, after 3 items.'])
  const record = await session.record()
  await record.refresh()
  expect(
    record
      .conversation()
      .toArray()
      .map(({ role }) => role),
  ).toEqual(['user', 'assistant', 'tool', 'assistant'])
  expect(pending(record).calls).toEqual([])
  expect(record.view().slice(-1).toArray().map(textOf)).toEqual(['Done, after 3 items.'])
  await verified(store, 'chat')
})

it.each<readonly [number | undefined, readonly string[]]>([
  [undefined, ['a', 'b', 'c']],
  [Infinity, ['a', 'b', 'c']],
  [4, ['a', 'b', 'c']],
  [3, ['a', 'b', 'c']],
  [2, ['b', 'c']],
  [1, ['c']],
  [0, []],
  [-1, []],
])('getItems(%s) returns as many last items of a session', async (limit, texts) => {
  const session = agentsSession(await inMemory.fresh(), { initialItems: ['a', 'b', 'c'].map(userItem) })
  expect(await session.getItems(limit)).toEqual(texts.map(userItem))
  expect(await agentsSession(await inMemory.fresh()).getItems(limit)).toEqual([])
})

it('the options of agentsSession are the id, the first items and the metadata of a new session', async () => {
  const store = await inMemory.fresh()
  const options = { sessionId: 's', initialItems: [userItem('hi')], metadata: { user: 'ada' } }
  const session = agentsSession(store, options)
  expect(await session.getSessionId()).toBe('s')
  expect((await session.record()).metadata()).toEqual({ user: 'ada', 'openai-agents': 'session' })
  const again = agentsSession(store, { ...options, metadata: { user: 'bob' } })
  expect(await again.getItems()).toEqual([userItem('hi')])
  expect((await again.record()).metadata()).toEqual({ user: 'ada', 'openai-agents': 'session' })
  await again.clearSession()
  expect(await agentsSession(store, options).getItems()).toEqual([]) // no longer new
  const [a, b] = [agentsSession(store), agentsSession(store)]
  expect(await a.getSessionId()).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/)
  expect(await a.getSessionId()).not.toBe(await b.getSessionId())
  expect(() => agentsSession(store, { id: 's' } as never)).toThrow(
    new TypeError('agentsSession has no option "id". Its options: sessionId, initialItems, metadata'),
  )
})

it.each(['create', 'append'] as const)(
  'the first items that could not be stored are stored by the next call: %s',
  async (step) => {
    const inner = await inMemory.fresh()
    let isFull = true
    const failing = (...given: readonly never[]): unknown =>
      isFull
        ? storeTask(async () => left({ _tag: 'Io', operation: step, cause: 'full' }), `store.${step}`)
        : (inner[step] as (...given: readonly never[]) => unknown)(...given)
    const store = { ...inner, [step]: failing } as Store
    const session = agentsSession(store, { sessionId: 's', initialItems: [userItem('hi')] })
    for (const call of [
      () => session.getItems(),
      () => session.record(),
      () => session.popItem(),
      () => session.clearSession(),
      () => session.addItems([userItem('there')]),
    ])
      await expect(call()).rejects.toMatchObject({ fault: { _tag: 'Io' } })
    const together = await Promise.allSettled([session.getItems(), session.addItems([userItem('there')])])
    expect(together.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    isFull = false
    await session.addItems([userItem('there')])
    expect(await session.getItems()).toEqual([userItem('hi'), userItem('there')])
  },
)

it('a change that changes nothing appends nothing', async () => {
  const session = agentsSession(await inMemory.fresh(), { sessionId: 's' })
  const size = async (): Promise<number> => (await session.record()).head().size
  await session.clearSession()
  expect([await session.popItem(), await size()]).toEqual([undefined, 0])
  await session.addItems([])
  expect(await size()).toBe(0)
  await session.addItems([userItem('hi')])
  const replacement = call('1', 'renamed')
  await session.applyHistoryMutations({ mutations: [{ type: 'replace_function_call', callId: '1', replacement }] })
  expect(await size()).toBe(1)
  await session.clearSession()
  expect(await size()).toBe(3) // a retraction, and a note that forgets operations
  await session.clearSession()
  expect([await session.popItem(), await size()]).toEqual([undefined, 3])
})

it('clearing a session forgets its operations, also if it has no items', async () => {
  const session = agentsSession(await inMemory.fresh(), { sessionId: 's' })
  const transaction = { type: 'append_items' as const, items: [userItem('hi')] }
  const apply = () => session.applyHistoryTransaction({ operationId: 'o', transaction })
  await apply()
  await session.popItem()
  await apply()
  expect(await session.getItems()).toEqual([])
  await session.clearSession()
  await apply()
  expect(await session.getItems()).toEqual([userItem('hi')])
})

it('a refused transaction names the session, the operation and the reason', async () => {
  const session = agentsSession(await inMemory.fresh(), { sessionId: 's', initialItems: [userItem('a')] })
  const apply = (expectedSuffix: AgentInputItem[], operationId = 'o') =>
    session.applyHistoryTransaction({
      operationId,
      transaction: { type: 'replace_suffix', expectedSuffix, replacement: [userItem('c')] },
    })
  await expect(apply([userItem('b')])).rejects.toThrow(
    new Error('session s, operation o: suffix no longer matches the transaction precondition. Nothing was changed.'),
  )
  await apply([userItem('a')])
  await expect(apply([userItem('c')])).rejects.toThrow(
    new Error('session s, operation o: already applied with a different transaction. Nothing was changed.'),
  )
  await apply([], 'other') // an empty suffix is the end of any conversation
  expect(await session.getItems()).toEqual([userItem('c'), userItem('c')])
})

it('items that cannot be read as messages are stored raw, beside those that can', async () => {
  const unreadable = [
    {},
    { role: 'tool', content: 'x' },
    { type: 'function_call', callId: '1', arguments: '{}' },
    { type: 'message', role: 'user', content: 5 },
  ] as unknown as AgentInputItem[]
  const session = agentsSession(await inMemory.fresh(), { sessionId: 's' })
  for (const item of unreadable) await session.addItems([userItem('before'), item, answered('after')])
  const all = unreadable.flatMap((item) => [userItem('before'), item, answered('after')])
  expect(await session.getItems()).toEqual(all)
  const record = await session.record()
  expect(record.view().toArray().slice(0, 3).map(textOf)).toEqual(['before', '', 'after'])
  for (const item of all.toReversed()) expect(await session.popItem()).toEqual(item)
})

it('copyItems copies into an empty session only, and returns the number of items', async () => {
  const store = await inMemory.fresh()
  const from = new MemorySession({ initialItems: [userItem('a'), answered('b')] })
  const to = agentsSession(store, { sessionId: 's' })
  for (const looks of [0, 1]) {
    let left = looks
    const signal = { throwIfAborted: () => { if (left-- === 0) throw new Error('gone') } } // oxfmt-ignore
    await expect(copyItems(from, to, { signal })).rejects.toThrow('gone')
    expect(await to.getItems()).toEqual([])
  }
  expect([await copyItems(new MemorySession(), to), await copyItems(from, to)]).toEqual([0, 2])
  expect(await to.getItems()).toEqual(await from.getItems())
  await expect(copyItems(from, to)).rejects.toThrow(
    new Error('the target session already has items; expected an empty one. Nothing was copied.'),
  )
})

it('an item of plain JSON is stored as a plain message, without a field for other values', async () => {
  const session = agentsSession(await inMemory.fresh(), { sessionId: 's' })
  await session.addItems([userItem('hi'), answered('there'), { ...userItem('odd'), id: undefined } as AgentInputItem])
  const tagged = (await session.record()).view().toArray().map((message) => JSON.stringify(message).includes('indelible.tags')) // oxfmt-ignore
  expect(tagged).toEqual([false, false, true])
})
