/** A handle of a SQLite file knows the logs that it appended to last. Whatever changes in the file, no append trusts what it knew. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { isLeft } from 'fp-ts/lib/Either.js'
import { afterAll, expect, it, vi } from 'vitest'
import { createSession, openSession, user } from 'indelible'
import { verifyLog, type Head, type Store } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'

const folder = mkdtempSync(join(tmpdir(), 'indelible-known-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let count = 0
const fresh = (): string => join(folder, `${count++}.db`)
const open = (path: string): Promise<Store> => Promise.resolve(sqliteStore({ path, durability: 'os' }))
const row = (body: string) => ({ kind: 'entry' as const, body })
const append = async (store: Store, expected: Head, body: string): Promise<string | Head> => {
  const answer = await store.append('log', { expected, rows: [row(body)] })()
  return isLeft(answer) ? answer.left._tag : answer.right.head
}
const bodies = async (store: Store): Promise<string> => (await store.read('log')).map(({ body }) => body).join('')

/** A store whose handle knows its log: it has appended `b` to `a`. */
const known = async (path: string): Promise<{ readonly store: Store; readonly head: Head }> => {
  const store = await open(path)
  const { head } = await store.create({ id: 'log', rows: [row('a')], encrypt: false })
  return { store, head: (await append(store, head, 'b')) as Head }
}

it('two handles that append in turn and at once see what the other appended, and lose nothing', async () => {
  const path = fresh()
  const { store: one, head } = await known(path)
  const other = await open(path)
  let last = head
  for (const [turn, store] of [other, one, other, other, one, one].entries()) {
    const stale = last
    last = (await append(store, last, `${turn}`)) as Head
    expect(await Promise.all([append(one, stale, 'x'), append(other, stale, 'x')])).toEqual(['Conflict', 'Conflict'])
  }
  const race = await Promise.all(['y', 'z'].map((body, which) => append(which === 0 ? one : other, last, body)))
  expect(race.filter((answer) => answer === 'Conflict')).toHaveLength(1)
  expect(await bodies(one)).toMatch(/^ab012345[yz]$/)
  expect(isLeft(await verifyLog(one, 'log')())).toBe(false)
  const sessions = await Promise.all([createSession(one, { id: 's' }), undefined])
  const again = await openSession(other, 's')
  for (let turn = 0; turn < 20; turn++) await (turn % 2 === 0 ? sessions[0] : again).rebase(() => user(`${turn}`))
  await sessions[0].refresh()
  expect(sessions[0].view().toArray()).toEqual(Array.from({ length: 20 }, (_, turn) => user(`${turn}`)))
  for (const store of [one, other]) await store.close()
})

it.each([
  ['size = 1', 'Diverged'],
  ['size = 3', 'DamagedLog'],
  ['entries = 1', 'DamagedLog'],
  ['root = zeroblob(32)', 'Diverged'],
  ['peaks = zeroblob(32)', 'DamagedLog'],
  ['segment = segment + 1', 'DamagedLog'],
  ['sum = sum + 1', 'DamagedLog'],
  ["id = 'other'", 'NoSuchLog'],
])('an append after `%s` is a fault, and nothing is stored', async (change, fault) => {
  const path = fresh()
  const { store, head } = await known(path)
  const db = new DatabaseSync(path)
  db.exec(`update log set ${change}`)
  const rows = db.prepare('select count(*) as rows from row').get()
  expect(await append(store, head, 'c')).toBe(fault)
  expect(db.prepare('select count(*) as rows from row').get()).toEqual(rows)
  db.close()
  await store.close()
})

it.each(['tokens = 7', 'used = 1', 'sized = 99', 'changes = 5', 'appended = null'])(
  'an append after `%s` reads the log again, and stores its row',
  async (change) => {
    const path = fresh()
    const { store, head } = await known(path)
    const db = new DatabaseSync(path)
    db.exec(`update log set ${change}`)
    expect(await append(store, head, 'c')).toMatchObject({ size: 3 })
    expect(db.prepare('select tokens, sized, changes from log').get()).toEqual({
      tokens: change.startsWith('tokens') ? 7 : 0,
      sized: 3,
      changes: change.startsWith('changes') ? 5 : 1,
    })
    expect(await bodies(store)).toBe('abc')
    db.close()
    await store.close()
  },
)

it('an append to a log that was removed, or made again under its id, is refused', async () => {
  const path = fresh()
  const { store, head } = await known(path)
  const other = await open(path)
  await other.remove('log')
  expect(await append(store, head, 'c')).toBe('NoSuchLog')
  await other.create({ id: 'log', rows: [row('x'), row('y')], encrypt: false })
  expect(await append(store, head, 'c')).toBe('Diverged')
  expect(await bodies(store)).toBe('xy')
  for (const one of [store, other]) await one.close()
})

it('a log is known no longer after a thousand others, and logs of one id in two scopes are two', async () => {
  const path = fresh()
  const store = await open(path)
  const get = StatementSync.prototype.get
  let reads = 0
  vi.spyOn(StatementSync.prototype, 'get').mockImplementation(function (this: StatementSync, ...given) {
    if (this.sourceSQL.startsWith('select key, scope')) reads += 1
    return Reflect.apply(get, this, given)
  })
  try {
    const heads: Head[] = []
    for (let log = 0; log <= 1000; log++)
      heads.push((await store.create({ id: `${log}`, rows: [row('a')], encrypt: false })).head)
    const readsOf = async (log: number): Promise<number> => {
      const before = reads
      const expected = heads[log] as Head
      heads[log] = (await store.append(`${log}`, { expected, rows: [row('b')] })).head
      return reads - before
    }
    const turn = async (): Promise<readonly number[]> => [await readsOf(0), await readsOf(0), await readsOf(1)]
    expect(await turn()).toEqual([1, 0, 1])
    for (let log = 2; log <= 1000; log++) await readsOf(log)
    expect(await turn()).toEqual([1, 0, 1])
  } finally {
    vi.restoreAllMocks()
  }
  const scoped = await Promise.all(['a', 'b'].map((scope) => sqliteStore({ path, durability: 'os', scope })))
  for (const [which, store] of scoped.entries()) {
    const { head } = await store.create({ id: 'log', rows: [row('a')], encrypt: false })
    await append(store, (await append(store, head, `${which}`)) as Head, 'c')
  }
  expect(await Promise.all(scoped.map(bodies))).toEqual(['a0c', 'a1c'])
  for (const one of [store, ...scoped]) await one.close()
})

it('an append that fails after it has written stores nothing, and the next one goes on', async () => {
  const path = fresh()
  const { store, head } = await known(path)
  const run = StatementSync.prototype.get
  vi.spyOn(StatementSync.prototype, 'get').mockImplementation(function (this: StatementSync, ...given) {
    return this.sourceSQL.startsWith('select count(node) as there') ? { there: 0 } : Reflect.apply(run, this, given)
  })
  try {
    expect(await append(store, head, 'lost')).toBe('DamagedLog')
  } finally {
    vi.restoreAllMocks()
  }
  expect(await bodies(store)).toBe('ab')
  expect(await append(store, head, 'c')).toMatchObject({ size: 3 })
  expect(await bodies(store)).toBe('abc')
  expect(isLeft(await verifyLog(store, 'log')())).toBe(false)
  await store.close()
})
