/** An index that several processes write to, and one whose maker is killed: a search is right afterwards. */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { createSession, user } from 'indelible'
import { indexStore, searchStore } from 'indelible/search'
import { sqliteStore } from 'indelible/store/sqlite'
import { root } from '../../scripts/run.ts'
import { all, places } from './cases.ts'
import { rounds } from '../rounds.ts'
import { program } from '../programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-search-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const kills = rounds(2, 50)

const startProcess = (...args: readonly string[]): ChildProcess =>
  spawn(process.execPath, [program('test/search/search-process.ts'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE: join(root, '.cache/compiled') },
  })
const exitOf = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) => void child.on('close', (code) => resolve(code)))

it('the index has everything that two processes append while it is rebuilt repeatedly', async () => {
  const path = join(folder, 'together.db')
  const store = await sqliteStore({ path, durability: 'os', wait: 60_000 })
  await indexStore(store)
  const each = rounds(12, 500)
  const state = { appending: true }
  const appended = Promise.all(['a', 'b'].map((id) => exitOf(startProcess('append', path, id, String(each))))).then(
    (codes) => {
      state.appending = false
      return codes
    },
  )
  while (state.appending) {
    await indexStore(store, { rebuild: true })
    await searchStore(store, 'word')
  }
  expect(await appended).toEqual([0, 0])
  const hits = places(await all(store, 'word', { limit: 50 }))
  expect(hits).toHaveLength(2 * each)
  expect(new Set(hits).size).toBe(2 * each)
  for (const id of ['a', 'b']) expect(places(await all(store, `${id}x${each - 1}`))).toEqual([`${id}:${each - 1}`])
  const page = await searchStore(store, 'word')
  expect(page).toMatchObject({ indexed: true })
  expect(page).not.toHaveProperty('behind')
  expect(await store.check()).toEqual([])
  await store.close()
})

it('the index is correct after its builder was killed', async () => {
  const path = join(folder, 'killed.db')
  const store = await sqliteStore({ path, durability: 'os', wait: 60_000 })
  const count = 800
  await createSession(store, { id: 'a', messages: Array.from({ length: count }, (_, n) => user(`the word x${n} ${'and '.repeat(n % 50)}`)) }) // oxfmt-ignore
  for (let kill = 0; kill < kills; kill++) {
    const maker = startProcess('rebuild', path)
    // At any moment after it began: nothing waits for it.
    maker.stdout?.once('data', () => setTimeout(() => maker.kill('SIGKILL'), (kill * 37) % 120))
    await exitOf(maker)
    expect(await store.check()).toEqual([])
    expect(places(await all(store, `x${count - 1}`))).toEqual([`a:${count - 1}`])
    expect(await all(store, 'word', { limit: 1000 })).toHaveLength(count)
  }
  await indexStore(store)
  expect(await searchStore(store, 'x0')).toMatchObject({ indexed: true, hits: [{ position: 0 }] })
  expect(await indexStore(store)).toBe(0)
  await store.close()
})
