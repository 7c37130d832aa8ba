/** What an update of a ledger for one session costs beside many others. */
import { afterEach, expect, it, vi } from 'vitest'
import { createSession, memoryStore, user } from 'indelible'
import { readLedger, updateLedger } from '@indelible/evidence'

afterEach(() => vi.restoreAllMocks())

it('an update for one session that has grown copies no map of all sessions, and what was read before stays', async () => {
  const sessions = 2000
  const store = memoryStore()
  const all = []
  for (let index = 0; index < sessions; index++) all.push(await createSession(store, { id: `s${index}` }))
  await updateLedger(store)
  const before = await readLedger(store)
  const set = vi.spyOn(Map.prototype, 'set')
  let sets = 0
  const updates = 30
  for (let index = 0; index < updates; index++) {
    await all[index]?.append(user('more'))
    set.mockClear()
    expect(await updateLedger(store, [`s${index}`])).toMatchObject({ recorded: 1, mismatches: [] })
    expect(await updateLedger(store, [`s${index}`])).toMatchObject({ recorded: 0 })
    sets += set.mock.calls.length
  }
  expect(sets).toBeLessThan(updates * 60)
  set.mockRestore()
  expect([before.sessions.size, before.sessions.get('s0')?.head.size]).toEqual([sessions, 0])
  const after = await readLedger(store)
  expect([after.sessions.size, after.sessions.get('s0')?.head.size, after.sessions.get('s99')?.head.size]).toEqual([
    sessions,
    1,
    0,
  ])
  const again = await readLedger(unreadOf(store))
  expect([...after.sessions]).toEqual([...again.sessions])
})

/** The same store, of which nothing was read yet. */
const unreadOf = (store: ReturnType<typeof memoryStore>): typeof store => ({ ...store })
