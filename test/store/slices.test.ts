/** Check, repair and compaction of a SQLite file: in slices, ended by a signal, and SQLite's own long statements in a thread. */
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSession, openSession, user, type Store } from 'indelible'
import { eraseMessages } from 'indelible/session'
import { backupSqlite, compactSqlite, sqliteStore } from 'indelible/store/sqlite'
import { findingText } from '../../src/store/internal.ts'
import { ok } from '../task-results.ts'

type Signal = NonNullable<NonNullable<Parameters<Store['check']>[0]>['signal']>

const folder = mkdtempSync(join(tmpdir(), 'indelible-slices-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))

const rows = 2560
const original = join(folder, 'original.db')
/** Long rows, so that the file is larger than one slice. */
const bodyOf = (index: number): string => JSON.stringify(`row ${index} ${'x'.repeat(500)}`)

beforeAll(async () => {
  const store = await ok(sqliteStore({ path: original, durability: 'os' }))
  const session = await ok(createSession(store, { id: 's' }))
  await ok(session.append([user('my name is Grace Hopper'), user('something else '.repeat(400))]))
  const log = await ok(store.create({ id: 'log', encrypt: false }))
  let { head } = log
  for (let start = 0; start < rows; start += 256) {
    const some = Array.from(
      { length: 256 },
      (_, index) => ({ kind: 'entry', body: bodyOf(start + index), at: 5 }) as const,
    )
    head = (await ok(store.append('log', { expected: head, rows: some }))).head
  }
  await ok(store.close())
})

let copies = 0
/** A copy of the file, changed by SQL. */
const copyOf = (sql = 'select 1'): string => {
  const path = join(folder, `copy-${copies++}.db`)
  copyFileSync(original, path)
  const db = new DatabaseSync(path)
  db.exec(sql)
  db.close()
  return path
}
/** Damage in the first and in the last part of a check. */
const damage = `drop index segment_parent; update row set node = zeroblob(32) where id & 4294967295 = 2000; update log set used = 1`

/** What this thread does in each turn of the event loop: rows and bytes read, and the statements that it prepares or runs. */
const watched = async (
  work: () => PromiseLike<unknown>,
): Promise<{
  readonly turns: number
  readonly rows: number
  readonly bytes: number
  readonly sql: readonly string[]
}> => {
  let [turns, read, bytes, mostRows, mostBytes, isOver] = [0, 0, 0, 0, 0, false]
  const sql: string[] = []
  const count = (row: unknown): void => {
    read += 1
    for (const column of Object.values(row as object)) bytes += Number((column as string | null)?.length ?? 0)
    mostRows = Math.max(mostRows, read)
    mostBytes = Math.max(mostBytes, bytes)
  }
  const { all, iterate } = StatementSync.prototype
  const { exec, prepare } = DatabaseSync.prototype
  StatementSync.prototype.all = function (this: StatementSync, ...given) {
    const found = all.apply(this, given as never)
    for (const row of found) count(row)
    return found
  }
  StatementSync.prototype.iterate = function* (this: StatementSync, ...given: unknown[]) {
    for (const row of iterate.apply(this, given as never)) {
      count(row)
      yield row
    }
    return undefined
  } as never
  DatabaseSync.prototype.exec = function (this: DatabaseSync, text) {
    sql.push(text)
    return exec.call(this, text)
  }
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, text, ...options) {
    sql.push(text)
    return prepare.call(this, text, ...options)
  }
  const turn = (): void => {
    ;[turns, read, bytes] = [turns + 1, 0, 0]
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  try {
    await work()
  } finally {
    Object.assign(StatementSync.prototype, { all, iterate })
    Object.assign(DatabaseSync.prototype, { exec, prepare })
    isOver = true
  }
  return { turns, rows: mostRows, bytes: mostBytes, sql }
}

const long = /^(?:vacuum|pragma integrity_check)/

describe('in slices', () => {
  it.each(['check', 'repair'] as const)('a %s reads at most 256 rows between two turns', async (call) => {
    for (const sql of ['select 1', damage]) {
      const store = await ok(sqliteStore({ path: copyOf(sql), durability: 'os' }))
      const { turns, rows: most, bytes, sql: statements } = await watched(() => ok<unknown>(store[call]()))
      expect(turns).toBeGreaterThanOrEqual(rows / 256)
      expect(most).toBeLessThanOrEqual(512) // the end of one slice, and the read of the next one
      expect(bytes).toBeLessThan(2 << 20)
      expect(statements.filter((text) => long.test(text))).toEqual([])
      if (call === 'repair') expect((await ok(store.check())).map(findingText)).toEqual([])
      await ok(store.close())
    }
  })

  it('a check reads at most 1 MiB of long rows between two turns', async () => {
    const path = join(folder, 'long.db')
    const store = await ok(sqliteStore({ path, durability: 'os' }))
    let { head } = await ok(store.create({ id: 'log', encrypt: false }))
    const body = JSON.stringify('y'.repeat(100_000))
    for (let index = 0; index < 60; index++)
      head = (await ok(store.append('log', { expected: head, rows: [{ kind: 'entry', body, at: 5 }] }))).head
    const { bytes, turns } = await watched(() => ok<unknown>(store.check()))
    expect(bytes).toBeLessThan(2.5 * (1 << 20))
    expect(turns).toBeGreaterThanOrEqual(5)
    await ok(store.close())
  })

  it.each([
    [12_000, 256],
    [300_000, 9],
    [2_000_000, 2],
  ])('a read of rows of %i bytes reads at most 1 MiB, or one row, between two turns', async (length, count) => {
    const store = await ok(sqliteStore({ path: join(folder, `long-${length}.db`), durability: 'os' }))
    const { head } = await ok(store.create({ id: 'log', encrypt: false }))
    const body = JSON.stringify('y'.repeat(length))
    const rows = Array.from({ length: count }, () => ({ kind: 'entry', body, at: 5 }) as const)
    await ok(store.append('log', { expected: head, rows }))
    let read = 0
    const { bytes } = await watched(async () => void (read = (await ok(store.read('log'))).length))
    expect(read).toBe(count)
    expect(bytes).toBeLessThan(Math.max(1 << 20, length) + 10_000) // the other columns
    await ok(store.close())
  })

  it('a compaction and an erasure rewrite a large file in a thread', async () => {
    const path = copyOf()
    const { sql } = await watched(() => ok<unknown>(compactSqlite({ path })))
    expect(sql.filter((text) => long.test(text))).toEqual([])
    const store = await ok(sqliteStore({ path, durability: 'os' }))
    const receipt = await ok(eraseMessages(store, 's', [0], { reason: 'asked to' }))
    expect(receipt.residue).toEqual([])
    for (const end of ['', '-wal'])
      expect(existsSync(path + end) && readFileSync(path + end).includes('Grace Hopper')).toBe(false)
    await ok(store.remove('log'))
    const before = statSync(path).size
    const removed = await watched(() => ok(eraseMessages(store, 's', [1], { reason: 'asked to' })))
    expect(removed.sql.filter((text) => long.test(text))).toEqual([])
    await ok(store.close())
    await ok(compactSqlite({ path }))
    expect(statSync(path).size).toBeLessThan(before)
  })
})

/** A signal that is aborted once it was looked at this often. */
const abortedAfter = (looks: number): Signal => {
  let left = looks
  return { get aborted() { return left-- <= 0 }, reason: 'enough', addEventListener: () => {}, removeEventListener: () => {} } // oxfmt-ignore
}
const never = abortedAfter(Infinity)

describe('a signal', () => {
  it.each(['check', 'repair'] as const)('ends a %s wherever it is, and nothing is changed', async (call) => {
    const path = copyOf(damage)
    const store = await ok(sqliteStore({ path, durability: 'os' }))
    const before = (await ok(store.check())).map(findingText)
    expect(before.length).toBeGreaterThan(2)
    let looks = 0
    for (; ; looks++) {
      const outcome = await store[call]({ signal: abortedAfter(looks) })()
      if (outcome._tag === 'Right') break
      expect(outcome.left).toEqual({ _tag: 'Cancelled', cause: 'enough' })
      if (looks % 8 === 0) expect((await ok(store.check())).map(findingText)).toEqual(before)
    }
    expect(looks).toBeGreaterThan(10)
    expect((await ok(store.check())).map(findingText)).toEqual(call === 'repair' ? [] : before)
    await ok(store.close())
  })

  it('ends a check while SQLite reads the file', async () => {
    const store = await ok(sqliteStore({ path: copyOf(), durability: 'os' }))
    const abort = new AbortController()
    const checking = store.check({ signal: abort.signal })()
    setImmediate(() => abort.abort('enough'))
    expect(await checking).toMatchObject({ left: { _tag: 'Cancelled', cause: 'enough' } })
    expect(await ok(store.check({ signal: new AbortController().signal }))).toEqual([])
    await ok(store.close())
  })

  it('ends a compaction before it rewrites the file, and a backup without a file', async () => {
    const path = copyOf()
    const to = join(folder, 'ended.db')
    const { size } = statSync(path)
    for (let looks = 0; ; looks++) {
      const outcome = await compactSqlite({ path, signal: abortedAfter(looks) })()
      if (outcome._tag === 'Right') break
      expect(outcome.left).toEqual({ _tag: 'Cancelled', cause: 'enough' })
      expect(statSync(path).size).toBeGreaterThanOrEqual(size)
    }
    for (let looks = 0; ; looks++) {
      const outcome = await backupSqlite({ path, to, signal: abortedAfter(looks) })()
      if (outcome._tag === 'Right') break
      expect(outcome.left).toEqual({ _tag: 'Cancelled', cause: 'enough' })
      expect(readdirSync(folder).filter((name) => name.startsWith('ended.db'))).toEqual([])
    }
    expect(existsSync(to)).toBe(true)
  })

  it('that is not aborted changes nothing, and a wrong option is refused', async () => {
    const store = await ok(sqliteStore({ path: copyOf(), durability: 'os' }))
    expect(await ok(store.check({ signal: never }))).toEqual([])
    expect(() => store.check({ sginal: never } as never)).toThrow(TypeError)
    expect(() => store.repair({ sginal: never } as never)).toThrow(TypeError)
    await ok(store.close())
  })
})

it('the writes of its handle wait for a repair, and reads do not', async () => {
  const path = copyOf(damage)
  const store = await ok(sqliteStore({ path, durability: 'os', wait: 1 }))
  const other = await ok(sqliteStore({ path, durability: 'os', wait: 1 }))
  const session = await ok(openSession(store, 's'))
  const over = new AbortController()
  const repairing = store
    .repair()()
    .finally(() => over.abort())
  const appended: Promise<unknown>[] = []
  while (!over.signal.aborted) {
    expect((await ok(other.read('s', { to: 2 }))).length).toBe(2)
    appended.push(ok(session.append(user('written meanwhile'))))
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect((await repairing)._tag).toBe('Right')
  await Promise.all(appended)
  expect((await ok(openSession(other, 's'))).len).toBe(appended.length + 2)
  expect((await ok(store.check())).map(findingText)).toEqual([])
  await ok(other.close())
  await ok(store.close())
})
