/** Files of older versions: what opening one writes, and what is left where the process is killed meanwhile. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, it } from 'vitest'
import { verifyLog, type Head } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'
import { root } from '../../scripts/run.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-migrate-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0
const copyOf = (version: string): string => {
  const path = join(folder, `${files++}.db`)
  copyFileSync(new URL(`../fixtures/store-${version}.db`, import.meta.url), path)
  return path
}
const soak = process.env['INDELIBLE_SOAK'] !== undefined

/** What is in a file, whatever its version. */
const contentOf = async (path: string, readOnly: boolean): Promise<unknown> => {
  const store = await sqliteStore({ path, readOnly })
  const heads: Head[] = []
  for (const id of ['conversation', 'fork']) heads.push((await verifyLog(store, id)).head)
  const rows = [await store.read('conversation'), await store.read('fork')]
  expect(await store.check()).toEqual([])
  await store.close()
  return [heads, rows]
}

it.each(['v1', 'v2'])(
  'a process that is killed at any step of opening a file of %s leaves it whole',
  async (version) => {
    const before = await contentOf(copyOf(version), true)
    const formats = new Set<unknown>()
    let killed = 0
    for (let step = 1; ; step += soak ? 1 : 9) {
      const path = copyOf(version)
      const { status, signal, stderr } = spawnSync(
        process.execPath,
        [join(root, 'test/store/migrate-process.ts'), path, String(step)],
        { encoding: 'utf8', env: { ...process.env, NODE_COMPILE_CACHE: join(root, '.cache/compiled') } },
      )
      expect([status, signal, stderr]).toEqual(signal === null ? [0, null, ''] : [null, 'SIGKILL', ''])
      const db = new DatabaseSync(path)
      formats.add(db.prepare('pragma user_version').get()?.['user_version'])
      db.close()
      expect(await contentOf(path, true)).toEqual(before)
      expect(await contentOf(path, false)).toEqual(before)
      if (signal === null) break
      killed += 1
    }
    expect(killed).toBeGreaterThan(soak ? 30 : 3)
    expect([...formats]).toEqual([Number(version[1]), 4])
  },
)

it('what opening writes does not depend on how many rows there are', async () => {
  const written = async (version: string, rows: number): Promise<number> => {
    const path = copyOf(version)
    const db = new DatabaseSync(path)
    // Of a log that is there no more: nobody looks at them.
    const insert = db.prepare('insert into row (id, place, node, body) values ((1000 << 32) + ?, 0, zeroblob(32), ?)')
    db.exec('begin')
    for (let row = 0; row < rows; row++) insert.run(row, `{"text":"${'x'.repeat(200)}"}`)
    db.exec('commit')
    db.close()
    const { size } = statSync(path)
    const store = await sqliteStore({ path })
    const wal = statSync(`${path}-wal`).size
    await store.close()
    expect(statSync(path).size - size).toBeLessThan(200_000)
    return wal
  }
  for (const version of ['v1', 'v2']) {
    const [few, many] = [await written(version, 10), await written(version, soak ? 1_000_000 : 20_000)]
    expect(many).toBeLessThanOrEqual(few + 20 * 4096)
  }
})

it('bookkeeping of version 1 has no check sums, until it changes or the store is repaired', async () => {
  const path = copyOf('v1')
  const sums = (): unknown => {
    const db = new DatabaseSync(path, { readOnly: true })
    const found = ['scope', 'segment', 'log', 'operation', 'block', 'mention'].map(
      (table) => db.prepare(`select count(*) as n from ${table} where sum = -1`).get()?.['n'],
    )
    db.close()
    return found
  }
  const store = await sqliteStore({ path })
  const none = sums()
  expect(none).toMatchObject({ 0: 1, 1: 2, 2: 2 })
  expect(await store.check()).toEqual([])
  expect(await store.repair()).toEqual([])
  expect(sums()).toEqual([0, 0, 0, 0, 0, 0])
  expect(await store.check()).toEqual([])
  const { head } = await store.info('conversation')
  await store.append('conversation', { expected: head, rows: [{ kind: 'entry', body: 'on' }] })
  await store.remove('fork')
  expect(await store.check()).toEqual([])
  await store.close()
})

it('a file of v3 opens, is erased from, and goes on', async () => {
  const path = copyOf('v3')
  const before = await contentOf(path, true)
  expect(await contentOf(path, false)).toEqual(before)
  const store = await sqliteStore({ path })
  const { head } = await store.info('conversation')
  await store.erase({ logs: [{ id: 'conversation', expected: head, rows: [{ position: 1, stub: '"gone"' }] }] })
  await store.append('conversation', { expected: head, rows: [{ kind: 'entry', body: '"more"' }] })
  for (const id of ['conversation', 'fork']) {
    expect((await verifyLog(store, id)).head.size).toBe(id === 'fork' ? 3 : 5)
    expect((await store.read(id))[1]?.body).toBe('"gone"')
  }
  expect(await store.check()).toEqual([])
  await store.close()
})
