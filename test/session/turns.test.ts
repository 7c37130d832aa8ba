/** Long operations let other work run: at most 256 rows are read between two turns of the event loop. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StatementSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { createSession, memoryStore, user, type Store } from 'indelible'
import type { BlockId } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'
import { numberedMessages, operationsInSlices } from './operations-in-slices.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-turns-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0
const messages = 2560

/** The turns of the event loop while work runs, and the most rows that statements read in one. */
const turnsOf = async (
  work: () => PromiseLike<unknown>,
): Promise<{ readonly turns: number; readonly rows: number }> => {
  let [turns, rows, most, isOver] = [0, 0, 0, false]
  const { all } = StatementSync.prototype
  StatementSync.prototype.all = function (this: StatementSync, ...given) {
    const found = all.apply(this, given as never)
    rows += found.length
    most = Math.max(most, rows)
    return found
  }
  const count = (): void => {
    ;[turns, rows] = [turns + 1, 0]
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  try {
    await work()
  } finally {
    StatementSync.prototype.all = all
    isOver = true
  }
  return { turns, rows: most }
}

const stores: readonly (readonly [string, () => Promise<Store>])[] = [
  ['memory', async () => memoryStore()],
  ['SQLite', async () => sqliteStore({ path: join(folder, `${files++}.db`), durability: 'os' })],
]

describe.each(stores)('in a %s store', (kind, open) => {
  it('blocks are hashed with a turn for every MiB', async () => {
    const store = await open()
    const given = Array.from({ length: 8 }, (__, index) => new Uint8Array(1 << 20).fill(index))
    let ids: readonly BlockId[] = []
    expect((await turnsOf(async () => (ids = await store.putBlocks(given)))).turns).toBeGreaterThanOrEqual(8)
    expect((await turnsOf(() => store.getBlocks(ids))).turns).toBeGreaterThanOrEqual(8)
    expect((await store.getBlocks(ids)).map((bytes) => bytes?.[0])).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    await store.close()
  })

  it('each operation of a session has a turn for every 256 rows', async () => {
    const [store, other] = [await open(), await open()]
    const operations = await operationsInSlices(store, other, numberedMessages(messages))
    for (const [name, work] of Object.entries(operations)) {
      if (name === 'repair' && kind === 'memory') continue // it has nothing to repair
      const { turns, rows } = await turnsOf(work)
      // A read of 256 rows may be followed by one of their nodes.
      expect([name, turns >= messages / 256 - 1, rows <= 1024 || rows]).toEqual([name, true, true])
    }
    await Promise.all([store.close(), other.close()])
  })
})

it('a SQLite store looks for blocks and removes a session in slices', async () => {
  const store = await sqliteStore({ path: join(folder, `${files++}.db`), durability: 'os' })
  const bytes = Array.from({ length: messages }, (_, index) => new TextEncoder().encode(`block ${index}`))
  const ids = await store.putBlocks(bytes)
  const session = await createSession(store, { id: 's' })
  for (let start = 0; start < messages; start += 512)
    await session.append(Array.from({ length: 512 }, (_, index) => user(`message ${start + index}`)))
  await session.close()
  const looked = await turnsOf(() => store.hasBlocks(ids))
  const removed = await turnsOf(() => store.remove('s'))
  for (const [name, { turns }] of Object.entries({ looked, removed }))
    expect([name, turns >= messages / 256 - 1 || turns]).toEqual([name, true])
  expect(await store.hasBlocks(ids)).toEqual(ids.map(() => true))
  await store.close()
})
