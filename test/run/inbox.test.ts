/** The inbox in memory, in SQLite, and with keys. PostgreSQL runs the same cases in its package. */
import { afterAll, describe, expect, it } from 'vitest'
import { assistant, createSession, memoryStore, toolCall } from 'indelible'
import { listWaiting, scriptedModel, tool, turn } from 'indelible/run'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { inFiles, inMemory } from '../session/adapter-stores.ts'
import { ok } from '../task-results.ts'
import { inboxCases } from './inbox-cases.ts'

const files = inFiles()
afterAll(() => files.leave())

describe('the inbox, in memory', () => inboxCases(inMemory))
describe('the inbox, in SQLite', () => inboxCases(files))
describe('the inbox, with keys', () =>
  inboxCases({ name: 'keys', fresh: async () => withKeys(memoryStore(), keyRing([newHostKey('host')])) }))

it('lists sessions whose record can not be read, beside those that can', async () => {
  const bare = memoryStore()
  const keyed = withKeys(bare, keyRing([newHostKey('host')]))
  const pay = tool({ name: 'pay', parameters: {}, needsApproval: true, run: () => 'paid' })
  for (const [store, id] of [
    [keyed, 'hidden'],
    [bare, 'plain'],
  ] as const)
    await turn(await ok(createSession(store, { id })), 'Pay.', {
      model: scriptedModel([assistant(toolCall('a', 'pay', '{}'))]),
      tools: [pay],
    }).result()
  const { calls, unread } = await ok(listWaiting(bare))
  expect([calls.map(({ session }) => session), unread?.map(({ session }) => session)]).toEqual([['plain'], ['hidden']])
  expect(unread?.[0]?.reason).toContain('key')
})
