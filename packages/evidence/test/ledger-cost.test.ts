/** What an update of a ledger for one session costs beside many others. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { createSession, forkSession, memoryStore, openSession, user } from 'indelible'
import { readLedger, removeRecorded, updateLedger } from '@indelible/evidence'
import type { Store } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'
import { rounds } from '../../../test/rounds.ts'

afterEach(() => vi.restoreAllMocks())

it('updating one grown session copies no map of all sessions and leaves earlier results unchanged', async () => {
  const sessions = rounds(500, 2000)
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

describe('a ledger update of all sessions', () => {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-ledger-cost-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('lists only sessions created near a changed one and finds every change', async () => {
    const opened = await sqliteStore({ path: join(folder, 'ledger.db'), durability: 'os' })
    let [lists, infos] = [0, 0]
    const list: Store['list'] = (query) => {
      lists += 1
      return opened.list(query)
    }
    const info: Store['info'] = (id) => {
      infos += 1
      return opened.info(id)
    }
    const store: Store = { ...opened, list, info }
    for (let from = 0; from < 2000; from += 500)
      await Promise.all(Array.from({ length: 500 }, (_, index) => createSession(store, { id: `s${from + index}` })))
    const updated = async (): Promise<readonly [lists: number, recorded: number, mismatches: string]> => {
      lists = 0
      const { recorded, mismatches } = await updateLedger(store)
      return [lists, recorded, mismatches.map(({ id, what }) => `${id} ${what}`).join()]
    }
    const grow = async (id: string): Promise<void> => void (await (await openSession(store, id)).append(user('more')))
    expect(await updated()).toEqual([3, 2000, '']) // the keys begin with 1
    expect(await updated()).toEqual([1, 0, '']) // of the ledger itself, which was made after them
    expect(await updated()).toEqual([0, 0, ''])
    await grow('s77')
    infos = 0
    expect(await updated()).toEqual([1, 1, ''])
    expect(infos).toBeLessThan(10) // no session is looked up by its id
    await grow('s78')
    await updateLedger(store, ['s78'])
    await grow('s1500')
    await createSession(store, { id: 'new' })
    await forkSession(store, 's5', { id: 'fork' })
    expect(await updated()).toEqual([3, 3, '']) // of s78, of s1500, of the new ones and the ledger
    expect(await updated()).toEqual([1, 0, ''])
    await removeRecorded(store, 's2')
    expect((await updated()).slice(1)).toEqual([0, ''])
    await store.remove('s3')
    expect(await updated()).toEqual([1, 0, 's3 missing'])
    expect((await updated())[2]).toBe('s3 missing') // again, as long as it is
    await removeRecorded(store, 'new')
    await createSession(store, { id: 's3' })
    await grow('s3')
    expect((await updated()).slice(1)).toEqual([1, ''])
    await store.remove('s4')
    await createSession(store, { id: 's4', messages: [user('another')] })
    expect((await updated())[2]).toBe('')
    await store.remove('s1500')
    await createSession(store, { id: 's1500' })
    expect((await updated())[2]).toBe('s1500 cut')
    await store.close()
  })
})

/** The same store, of which nothing was read yet. */
const unreadOf = (store: ReturnType<typeof memoryStore>): typeof store => ({ ...store })
