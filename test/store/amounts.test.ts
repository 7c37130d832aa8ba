/** Numbers in the options of stores, and of what records runs. */
import { createSession, memoryStore } from 'indelible'
import { sessionHandler } from 'indelible/run'
import { postgresStore } from 'indelible/store/postgres'
import { sqliteStore } from 'indelible/store/sqlite'
import { expect, it } from 'vitest'

it.each([NaN, -1, '5' as unknown as number])('%s milliseconds are a mistake', async (wrong) => {
  expect(() => sqliteStore({ path: 'never made', wait: wrong })).toThrow(/wait/)
  expect(() => postgresStore({ connectionString: 'postgres://nowhere/x', timeout: wrong })).toThrow(/timeout/)
  const session = await createSession(memoryStore())
  expect(() => sessionHandler(session, { journalEvery: { ms: wrong } })).toThrow(/journalEvery\.ms/)
})
