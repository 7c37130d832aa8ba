/** What a page of a list costs: it reads the logs that it gives and those that its order's index has at one place, however many there are. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { createSession, memoryStore } from 'indelible'
import { listSessions } from 'indelible/session'
import type { ListQuery, Store } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'
import { isFull } from '../rounds.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-list-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
afterEach(() => vi.restoreAllMocks())

const logs = isFull ? 1000 : 400
const limit = 20
const orders = ['created', 'appended', 'entries', 'tokens', 'id'] as const

/** Sessions 40 ms apart, in an order of last use that is not that of their creation, of many sizes; and logs of another scope. */
const filled = async (open: (now: () => number) => Promise<Store>): Promise<Store> => {
  let time = 1_700_000_000_000
  const store = await open(() => (time += 40))
  const other = await store.scoped('other')
  for (let index = 0; index < logs; index++) {
    await createSession(store, { id: `s${index}` })
    if (other._tag === 'Right') await other.right.create({ id: `s${index}`, encrypt: false })
  }
  for (let index = 0; index < logs; index += 3) {
    const id = `s${(index * 7) % logs}`
    const { head } = await store.info(id)
    const body = `{"type":"receipt","usage":{"input":${(index * 7) % 90},"output":0}}`
    await store.append(id, { expected: head, rows: [{ kind: 'note', body, at: (time += 40) }] })
  }
  for (let index = 0; index < logs; index++) {
    const id = `s${(index * 11) % logs}`
    const { head, appended: at } = await store.info(id)
    // Most are short, no two of the long ones have the same number.
    const rows = Array.from(
      { length: Math.max(1, index - logs + 120) },
      () => ({ kind: 'entry', body: 'x', at }) as const,
    )
    await store.append(id, { expected: head, rows })
  }
  return store
}

const indexOf = {
  created: /USING INDEX log_created \(scope=\? AND rowid<\?\)/,
  appended: /USING INDEX log_used \(scope=\? AND used<\?\)/,
  entries: /USING INDEX log_sized \(scope=\? AND sized(<\?|>\? AND sized<\?|=\? AND rowid<\?)\)/,
  tokens: /USING INDEX log_tokens \(scope=\? AND <expr>(<\?|=\? AND rowid<\?)\)/,
  id: /USING INDEX sqlite_autoindex_log_1 \(scope=\? AND id>\?\)/,
} as const

/** How many more logs a page reads: of a tenth of a second, or of the numbers with the same first bits. */
const sorted = { created: 0, appended: 6, entries: 32, tokens: 0, id: 0 } as const

/** All pages: how many logs each gives. */
const pagesOf = async (store: Store, by: NonNullable<ListQuery['by']>, each: () => void = () => {}) => {
  const ids = new Set<string>()
  let after: string | undefined
  do {
    const page = await listSessions(store, { by, limit, ...(after !== undefined && { after }) })
    for (const { id } of page.sessions) ids.add(id)
    each()
    after = page.next
  } while (after !== undefined)
  expect(ids.size).toBe(logs)
}

describe('a page of a SQLite store', () => {
  const path = join(folder, 'pages.db')
  beforeAll(async () => {
    const store = await filled(async (now) => sqliteStore({ path, now, durability: 'os' }))
    await store.close()
  })
  it.each(orders)('by %s reads only its own logs, by an index, without sorting others', async (by) => {
    const store = await sqliteStore({ path })
    const ran: { of: number; sql: string; parameters: readonly (string | number)[]; rows: number }[] = []
    let page = 0
    const real = StatementSync.prototype.iterate as (...given: unknown[]) => Iterator<unknown>
    vi.spyOn(StatementSync.prototype, 'iterate').mockImplementation(function* (
      this: StatementSync,
      ...given: unknown[]
    ) {
      const one = { of: page, sql: this.sourceSQL, parameters: given as (string | number)[], rows: 0 }
      ran.push(one)
      const rows = real.apply(this, given)
      for (let row = rows.next(); row.done !== true; row = rows.next()) {
        one.rows += 1
        yield row.value
      }
      return undefined
    } as never)
    await pagesOf(store, by, () => (page += 1))
    await store.close()
    vi.restoreAllMocks()
    expect(ran.length).toBeLessThanOrEqual((logs / limit) * (by === 'entries' || by === 'tokens' ? 2 : 1)) // of the cursor's value, and smaller
    const db = new DatabaseSync(path)
    const visited: number[] = []
    db.function('visited', () => (visited[page] = (visited[page] ?? 0) + 1))
    for (const { of, sql, parameters, rows } of ran) {
      page = of
      const plan = db.prepare(`explain query plan ${sql}`).all(...parameters)
      const steps = plan.map(({ detail }) => String(detail)).filter((step) => !step.startsWith('CO-ROUTINE'))
      expect(steps[0]).toMatch(indexOf[by])
      expect(steps).not.toContain('USE TEMP B-TREE FOR ORDER BY')
      const replayed = db.prepare(sql.replace(' where ', ' where visited() and ')).iterate(...parameters)
      for (let row = 0; row < rows; row++) replayed.next()
      replayed.return?.()
    }
    expect(visited).toHaveLength(logs / limit)
    // Those of the tenths of a second, or of the number, that the page begins and ends in are read as a whole.
    for (const rows of visited) expect(rows).toBeLessThanOrEqual(limit + 1 + sorted[by])
    db.close()
  })

  it('an append writes the index of sizes only when the first three bits of the count change, and that of tokens only for a receipt', async () => {
    const store = await sqliteStore({ path: join(folder, 'sizes.db'), now: () => 1_700_000_000_000, durability: 'os' })
    let { head } = await store.create({ id: 'a', encrypt: false })
    const moves: number[] = []
    let entries = 0
    const real = StatementSync.prototype.run as (...given: unknown[]) => never
    vi.spyOn(StatementSync.prototype, 'run').mockImplementation(function (this: StatementSync, ...given: unknown[]) {
      if (/update log set .*\b(sized|tokens)\b/.test(this.sourceSQL)) moves.push(entries)
      return real.apply(this, given)
    })
    while (entries < 130) {
      entries += 1
      head = (await store.append('a', { expected: head, rows: [{ kind: 'entry', body: 'x' }] })).head
      head = (await store.append('a', { expected: head, rows: [{ kind: 'note', body: '{}' }] })).head
    }
    const exact = [1, 2, 3, 4, 5, 6, 7, 8]
    expect(moves).toEqual([...exact, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128])
    await store.close()
  })

  it('an append writes the last-use index once per tenth of a second', async () => {
    let time = 1_700_000_000_000
    const store = await sqliteStore({ path: join(folder, 'append.db'), now: () => time, durability: 'os' })
    let { head } = await store.create({ id: 'a', encrypt: false })
    let moves = 0
    const real = StatementSync.prototype.run as (...given: unknown[]) => never
    vi.spyOn(StatementSync.prototype, 'run').mockImplementation(function (this: StatementSync, ...given: unknown[]) {
      if (/update log set .*\bused\b/.test(this.sourceSQL)) moves += 1
      return real.apply(this, given)
    })
    for (let index = 0; index < 100; index++) {
      time += 10
      head = (await store.append('a', { expected: head, rows: [{ kind: 'entry', body: 'x' }] })).head
    }
    expect(moves).toBe(10)
    await store.close()
  })
})

describe('pages of a memory store', () => {
  let store: Store
  beforeAll(async () => {
    store = await filled(async (now) => memoryStore({ now }))
  })
  it.each(orders)('by %s sort and copy the logs once while nothing is appended', async (by) => {
    const sort = vi.spyOn(Array.prototype, 'sort')
    const filter = vi.spyOn(Array.prototype, 'filter')
    const walked = (): number =>
      [...sort.mock.contexts, ...filter.mock.contexts].filter((array) => (array as unknown[]).length >= logs).length
    await pagesOf(store, by)
    expect(walked()).toBeLessThanOrEqual(3)
  })
})
