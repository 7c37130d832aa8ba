/** What a page of a list costs: it reads the logs that it gives, and those of one tenth of a second, however many there are. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { createSession, memoryStore } from 'indelible'
import { listSessions } from 'indelible/session'
import type { ListQuery, Store } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'

const folder = mkdtempSync(join(tmpdir(), 'indelible-list-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
afterEach(() => vi.restoreAllMocks())

const logs = 1000
const limit = 20
const orders = ['created', 'appended'] as const

/** Sessions 40 ms apart, in an order of last use that is not that of their creation, and logs of another scope. */
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
    await store.append(id, { expected: head, rows: [{ kind: 'note', body: '{}', at: (time += 40) }] })
  }
  return store
}

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
  it.each(orders)('by %s reads the logs that it gives, by an index, and sorts no others', async (by) => {
    const path = join(folder, `${by}.db`)
    const store = await filled(async (now) => sqliteStore({ path, now, durability: 'os' }))
    const ran: (readonly [sql: string, parameters: readonly (string | number)[]])[] = []
    const real = StatementSync.prototype.iterate as (...given: unknown[]) => NodeJS.Iterator<unknown>
    vi.spyOn(StatementSync.prototype, 'iterate').mockImplementation(function (
      this: StatementSync,
      ...given: unknown[]
    ) {
      ran.push([this.sourceSQL, given as (string | number)[]])
      return real.apply(this, given) as never
    })
    await pagesOf(store, by)
    await store.close()
    vi.restoreAllMocks()
    expect(ran).toHaveLength(logs / limit)
    const db = new DatabaseSync(path)
    let visited = 0
    db.function('visited', () => ++visited)
    for (const [sql, parameters] of ran) {
      const plan = db.prepare(`explain query plan ${sql}`).all(...parameters)
      const steps = plan.map(({ detail }) => String(detail))
      expect(steps[0]).toContain(
        by === 'created'
          ? 'USING INDEX log_created (scope=? AND rowid<?)'
          : 'USING INDEX log_used (scope=? AND used<?)',
      )
      expect(steps).not.toContain('USE TEMP B-TREE FOR ORDER BY')
      visited = 0
      let given = 0
      for (const _ of db.prepare(sql.replace(' where ', ' where visited() and ')).iterate(...parameters))
        if (++given > limit) break
      // Those of the tenths of a second that the page begins and ends in are read as a whole.
      expect(visited).toBeLessThanOrEqual(limit + 1 + 6)
    }
    db.close()
  })

  it('an append writes to the index of last use once in a tenth of a second', async () => {
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
  it.each(orders)('by %s sort and copy the logs once, as long as nothing is appended', async (by) => {
    const store = await filled(async (now) => memoryStore({ now }))
    const sort = vi.spyOn(Array.prototype, 'sort')
    const filter = vi.spyOn(Array.prototype, 'filter')
    const walked = (): number =>
      [...sort.mock.contexts, ...filter.mock.contexts].filter((array) => (array as unknown[]).length >= logs).length
    await pagesOf(store, by)
    expect(walked()).toBeLessThanOrEqual(3)
  })
})
