/** Numbers in the options of stores, of what records and hosts runs, and of who vouches for them. */
import { createSession, memoryStore } from 'indelible'
import { historyActivities } from '@indelible/workflows/activities'
import { chatStreams } from '@indelible/ai-sdk'
import { witnessLedger } from '@indelible/evidence'
import { sessionHandler } from 'indelible/run'
import { postgresStore } from '@indelible/postgres'
import { sqliteStore } from 'indelible/store/sqlite'
import { expect, it } from 'vitest'

it.each([NaN, -1, '5' as unknown as number])('%s milliseconds are refused', async (wrong) => {
  expect(() => sqliteStore({ path: 'never made', wait: wrong })).toThrow(/wait/)
  expect(() => postgresStore({ connectionString: 'postgres://nowhere/x', timeout: wrong })).toThrow(/timeout/)
  for (const option of ['heartbeatEvery', 'publishWithin'])
    expect(() => historyActivities({ store: memoryStore(), registry: {}, [option]: wrong })).toThrow(option)
  const publish = chatStreams(memoryStore()).publish('chat', new ReadableStream(), { ttl: wrong })
  await expect(publish).rejects.toThrow(/^ttl is /)
  expect(() => witnessLedger(memoryStore(), [], { timeout: wrong })).toThrow(/^timeout is /)
  const session = await createSession(memoryStore())
  expect(() => sessionHandler(session, { journalEvery: { ms: wrong } })).toThrow(/journalEvery\.ms/)
})
