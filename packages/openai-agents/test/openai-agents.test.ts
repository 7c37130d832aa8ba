import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import {
  isSessionHistoryRewriteAwareSession,
  isSessionHistoryTransactionAwareSession,
  MemorySession,
  type Session,
} from '@openai/agents-core'
import { left } from 'fp-ts/lib/Either.js'
import { afterAll, describe, expect, it } from 'vitest'
import { openSession, textOf, type Store } from 'indelible'
import { agentsSession } from '@indelible/openai-agents'
import { approvingAgent, runner } from './openai-agents-agent.ts'
import { agentsCases, answered, call, userItem } from './openai-agents-cases.ts'
import { eachStepFails, inFiles, inMemory, verified } from '../../../test/session/adapter-stores.ts'
import { storeTask } from '../../../src/store/kit.ts'
import { rounds } from '../../../test/rounds.ts'
import { program } from '../../../test/programs.ts'

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
    await (await session.record()).info()
    await session.clearSession()
    await session.addItems([userItem('anew')])
    await agentsSession(store, { sessionId: 's' }).getItems(1)
  }))

it('each change of a session is rejected if its append fails', async () => {
  const inner = await inMemory.fresh()
  let isFull = false
  const append: Store['append'] = (id, given) =>
    isFull
      ? storeTask(async () => left({ _tag: 'Io', operation: 'append', cause: 'full' }), 'store.append')
      : inner.append(id, given)
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
  expect(record.openCalls()).toEqual([])
  expect(record.view().slice(-1).toArray().map(textOf)).toEqual(['Done, after 3 items.'])
  await verified(store, 'chat')
})
