/** Each call of a store: what becomes of it if its driver throws, if the store is closed, or its id is none; and who hears of it. */
import { describe, expect, it } from 'vitest'
import { orThrow } from 'indelible'
import { memoryStore, type Row, type Store, type StoreFault } from 'indelible/store'
import { memoryDriver, storeOf, type StoreDriver } from 'indelible/store/driver'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { storeNoticeText, type StoreNotice } from '../../src/store/port/notice.ts'
import { left, right } from '../../src/json/index.ts'
import { Signals } from '../../src/store/port/signals.ts'
import { ledgerContent, ledgerId, ownStore, sameBlocks, storeTask } from '../../src/store/internal.ts'
import { followLog } from '../../src/store/rules/follow.ts'
import { ok } from '../task-results.ts'

const root = 'ab'.repeat(32)
const block = 'cd'.repeat(32) as never
const rows: readonly Row[] = [{ kind: 'entry', body: '{}' }]
const expected = { size: 0, root }

type Task = TaskEither<StoreFault, unknown>
/** Each call, with the operation that its faults name, and whether it may have changed something. */
const calls: readonly (readonly [
  name: string,
  operation: string,
  changes: boolean,
  call: (store: Store, id: string) => Task,
])[] = [
  // oxfmt-ignore
  ['create', 'create a log', true, (store, id) => store.create({ id, encrypt: false })],
  ['info', 'read a log', false, (store, id) => store.info(id)],
  ['identities', 'read a log', false, (store, id) => store.identities(id)],
  ['update', 'read a log', false, (store, id) => store.update(id, { expected: 0, meta: {} })],
  ['append', 'append', true, (store, id) => store.append(id, { expected, rows })],
  ['read', 'read rows', false, (store, id) => store.read(id)],
  ['nodes', 'read nodes', false, (store, id) => store.nodes(id, [0])],
  ['fork', 'read a log', false, (store, id) => store.fork(id, { id: 'f', at: 0 })],
  ['remove', 'read a log', false, (store, id) => store.remove(id)],
  ['sharing', 'look for forks', false, (store, id) => store.sharing(id)],
  ['watch', 'watch a log', false, (store, id) => store.watch(id, () => undefined)],
  ['lease', 'take a lease', true, (store, id) => store.lease(id, { holder: 'ann', ttl: 1000 })],
  ['renew', 'renew a lease', true, (store, id) => store.renew(id, { number: 1, ttl: 1000 })],
  ['release', 'release a lease', true, (store, id) => store.release(id, 1)],
  ['requestStop', 'ask a holder to stop', true, (store, id) => store.requestStop(id)],
  ['leaseOf', 'read a lease', false, (store, id) => store.leaseOf(id)],
]
const others: readonly (readonly [name: string, operation: string, changes: boolean, call: (store: Store) => Task])[] =
  [
    ['list', 'list logs', false, (store) => store.list()],
    ['erase', 'read a log', false, (store) => store.erase({ logs: [{ id: 's', expected, rows: [] }] })],
    ['containing', 'look for texts', false, (store) => store.containing(['x'])],
    ['putBlocks', 'put blocks', true, (store) => store.putBlocks([new Uint8Array(1)])],
    ['getBlocks', 'get blocks', false, (store) => store.getBlocks([block])],
    ['hasBlocks', 'look for blocks', false, (store) => store.hasBlocks([block])],
    ['check', 'check the store', false, (store) => store.check()],
    ['repair', 'repair the store', false, (store) => store.repair()],
    ['scopes', 'list the scopes', false, (store) => store.scopes()],
    [
      'index.find',
      'search the index',
      false,
      (store) => (store.index as never as { find: (query: object) => Task }).find({}),
    ],
    ['index.findIn', 'search the index', false, (store) => (store.index as never as { findIn: (logs: string[], term: string) => Task }).findIn([], 'x')], // oxfmt-ignore
    ['index.encrypted', 'list encrypted logs', false, (store) => (store.index as never as { encrypted: () => Task }).encrypted()], // oxfmt-ignore
    ['index.make', 'make the index', false, (store) => (store.index as never as { make: () => Task }).make()],
    ['index.add', 'add to the index', false, (store) => (store.index as never as { add: (terms: unknown, most: number) => Task }).add(() => [], 1)], // oxfmt-ignore
    ['index.drop', 'drop the index', false, (store) => (store.index as never as { drop: () => Task }).drop()],
  ]
const all = [...calls, ...others.map(([name, operation, changes, call]) => [name, operation, changes, (store: Store) => call(store)] as const)] // oxfmt-ignore

const cause = new Error('gone')
const throwing = (): never => {
  throw cause
}
/** The driver of a store in memory, of which every method throws. */
const throwingDriver = (): StoreDriver => {
  const driver = memoryDriver()
  const names = ['create', 'info', 'list', 'update', 'append', 'read', 'nodes', 'fork', 'remove', 'lease', 'putBlocks', 'getBlocks', 'hasBlocks', 'check', 'repair', 'scopes', 'watch'] // oxfmt-ignore
  const methods = (some: readonly string[]): object => Object.fromEntries(some.map((name) => [name, throwing]))
  return {
    ...{ ...driver, ...methods(names) },
    erasing: methods(['erase', 'sharing', 'containing', 'erased']) as never,
    index: methods(['find', 'findIn', 'encrypted', 'make', 'add', 'drop']) as never,
  }
}

it.each(all)(
  '%s of a driver that throws is Io with the operation "%s" and the cause (may have changed: %s)',
  async (_, operation, changes, call) => {
    // oxfmt-ignore
    const store = orThrow(storeOf(throwingDriver()))
    expect(await call(store, 's')()).toStrictEqual(
      left({ _tag: 'Io', operation, cause, ...(changes && { outcome: 'unknown' }) }),
    )
  },
)

it.each(all)('%s of a closed store is Closed', async (_, _operation, _changes, call) => {
  const open = orThrow(storeOf({ ...throwingDriver(), close: async () => {} }))
  const scoped = orThrow(open.scoped('other'))
  await ok(scoped.close()) // by itself
  expect(await call(scoped, 's')()).toStrictEqual(left({ _tag: 'Closed' }))
  expect(await open.list()()).toMatchObject({ left: { _tag: 'Io' } })
  await ok(open.close())
  expect(await call(open, 's')()).toStrictEqual(left({ _tag: 'Closed' }))
  expect(await call(orThrow(open.scoped('third')), 's')()).toStrictEqual(left({ _tag: 'Closed' }))
})

it.each(calls)('%s needs the id of a log', async (_, _operation, _changes, call) => {
  const store = orThrow(storeOf(throwingDriver()))
  for (const id of ['', 'a\n', 'x'.repeat(256), 7 as never])
    expect(await call(store, id)()).toMatchObject({ left: { _tag: 'InvalidId', what: 'log' } })
})

it('a driver without a method has none of its calls, or their plain answers', async () => {
  const { check: _, repair: __, scopes: ___, erasing: ____, index: _____, pieces: ______, ...driver } = memoryDriver() // oxfmt-ignore
  const store = orThrow(storeOf(driver))
  for (const name of ['index', 'pieces', 'turn']) expect(store).not.toHaveProperty(name)
  expect(await ok(store.check())).toEqual([])
  expect(await ok(store.repair())).toEqual([])
  expect(await ok(store.scopes())).toBeUndefined()
  for (const call of [store.sharing('s'), store.containing(['x']), store.erase({ logs: [] })])
    expect(await (call as Task)()).toEqual(left({ _tag: 'CannotErase' }))
  const erased: Row = { kind: 'entry', body: '{}', erased: root }
  const refused = { _tag: 'InvalidRow', index: 1, reason: "was erased, and this store can't store erased rows" }
  expect(await store.create({ id: 's', encrypt: false, rows: [...rows, erased] })()).toEqual(left(refused))
})

it('scopes are listed once each, in order', async () => {
  const store = orThrow(storeOf({ ...memoryDriver(), scopes: async () => right(['b', 'a']) }))
  expect(await ok(store.scopes())).toEqual(['a', 'b'])
})

it.each([
  [{}, 100],
  [{ limit: 5 }, 5],
  [{ limit: 0 }, 1],
  [{ limit: -3 }, 1],
  [{ limit: NaN }, 1],
  [{ limit: 2.9 }, 2],
  [{ limit: 1000 }, 1000],
  [{ limit: 1001 }, 1000],
])('a search of the index with %j asks for %d rows', async (query, limit) => {
  let asked: unknown
  const index = { find: async (_: string, value: unknown) => ((asked = value), right(undefined)) } as never
  const store = orThrow(storeOf({ ...memoryDriver(), index }))
  await ok((store.index as never as { find: (query: object) => Task }).find(query) as never)
  expect(asked).toEqual({ limit })
})

describe('who watches a log', () => {
  const watched = async () => {
    const driver = memoryDriver()
    const store = orThrow(storeOf(driver))
    const { head } = await ok(store.create({ id: 's', encrypt: false }))
    let wakes = 0
    const stop = await ok(store.watch('s', () => void wakes++))
    /** How often this call wakes. */
    const during = async (work: () => Task): Promise<number> => {
      wakes = 0
      await work()()
      return wakes
    }
    return { driver, store, head, stop, during }
  }

  it('is woken by each change of it, and by a change that failed, and by no other call', async () => {
    const { store, head, during } = await watched()
    const lease = { holder: 'ann', ttl: 60_000 }
    for (const [name, wakes, work] of [
      ['append', 1, () => store.append('s', { expected: head, rows })],
      ['an append that comes late', 1, () => store.append('s', { expected: head, rows })],
      ['update', 1, () => store.update('s', { expected: 0, meta: {} })],
      ['lease', 1, () => store.lease('s', lease)],
      ['requestStop', 1, () => store.requestStop('s')],
      ['renew', 0, () => store.renew('s', { number: 1, ttl: 60_000 })],
      ['release', 1, () => store.release('s', 1)],
      ['fork', 1, () => store.fork('s', { id: 'f', at: 0 })],
      ['fork into it', 1, () => store.fork('f', { id: 's', at: 0 })],
      ['erase', 1, () => store.erase({ logs: [{ id: 's', expected: head, rows: [] }] })],
      ['remove', 1, () => store.remove('s')],
      ['create', 1, () => store.create({ id: 's', encrypt: false })],
      ['read', 0, () => store.read('s')],
      ['info', 0, () => store.info('s')],
      ['another log', 0, () => store.create({ id: 't', encrypt: false })],
    ] as const)
      expect([name, await during(work as () => Task)]).toEqual([name, wakes])
  })

  it('is woken by another handle of the driver, in its own scope only, until it stops or its handle is closed', async () => {
    const { driver, store, stop, during } = await watched()
    const other = orThrow(storeOf({ ...driver, close: async () => {} }))
    const same = orThrow(storeOf(driver))
    const elsewhere = orThrow(store.scoped('other'))
    const update = (of: Store) => () => of.update('s', { expected: -1, meta: {} }) as Task
    expect(await during(update(elsewhere))).toBe(0)
    expect(await during(update(same))).toBe(1)
    expect(await during(update(other))).toBe(0) // another driver, as far as anybody can tell
    stop()
    stop()
    expect(await during(update(store))).toBe(0)
    let wakes = 0
    const scoped = orThrow(store.scoped('default'))
    await ok(scoped.watch('s', () => void wakes++))
    await ok(scoped.close())
    expect(wakes).toBe(1)
    await ok(scoped.close())
    expect(wakes).toBe(1)
  })

  it('does not break a call by throwing', async () => {
    const { store, head } = await watched()
    await ok(
      store.watch('s', () => {
        throw new Error('no')
      }),
    )
    expect((await ok(store.append('s', { expected: head, rows }))).from).toBe(0)
  })
})

describe('a notice', () => {
  const damage = { _tag: 'DamagedLog', id: 's', position: 0, reason: 'a row is missing' } as const

  it.each<readonly [StoreNotice, string]>([
    [
      { _tag: 'OpenedReadOnly', path: 'a.db', reason: { _tag: 'Closed' } },
      'a.db was opened read-only: the store is closed; open it again',
    ],
    [
      { _tag: 'NetworkFileSystem', path: 'a.db', type: 'nfs' },
      'a.db is on a network file system (nfs): SQLite files are not supported there, and can be damaged; use a disk of this machine, or PostgreSQL',
    ],
    [
      { _tag: 'LogGrows', path: 'a.db', bytes: 5, readers: [] },
      'a.db-wal has grown to 5 bytes, because an earlier state of the file is still read: end that read',
    ],
    [
      { _tag: 'LogGrows', path: 'a.db', bytes: 5, readers: [7, 8] },
      'a.db-wal has grown to 5 bytes, because an earlier state of the file is still read by process 7, 8: end that read',
    ],
    [
      { _tag: 'DamageFound', scope: 'a', fault: damage },
      'scope "a": "s" is damaged at row 0: a row is missing; the rows before it are intact: keep the store as it is, and restore the log from a backup',
    ],
  ])('has a sentence: %o', (notice, text) => {
    expect(storeNoticeText(notice)).toBe(text)
  })

  it('is sent for damage that a call found, and for no other fault', async () => {
    const notices: StoreNotice[] = []
    const faultOf = async (fault: StoreFault): Promise<unknown> => {
      const driver = { ...memoryDriver(), info: async () => left(fault) } as StoreDriver
      return orThrow(storeOf(driver, 'mine', (notice) => void notices.push(notice))).info('s')()
    }
    const blocks = { _tag: 'DamagedBlock', ids: [block] } as const
    for (const fault of [damage, blocks, { _tag: 'NoSuchLog', id: 's' } as const])
      expect(await faultOf(fault)).toEqual(left(fault))
    expect(notices).toEqual([damage, blocks].map((fault) => ({ _tag: 'DamageFound', scope: 'mine', fault })))
  })

  it('is sent for each damaged log of a list, and breaks no call by throwing', async () => {
    const notices: StoreNotice[] = []
    const page = { logs: [], damaged: [{ id: 's', reason: 'its metadata can not be read' }] }
    const driver: StoreDriver = { ...memoryDriver(), list: async () => right(page as never) }
    const store = orThrow(
      storeOf(driver, 'mine', (notice) => {
        notices.push(notice)
        throw new Error('no')
      }),
    )
    expect(orThrow(await store.list()())).toEqual(page)
    const fault = { _tag: 'DamagedLog', id: 's', position: 0, reason: 'its metadata can not be read' }
    expect(notices).toEqual([{ _tag: 'DamageFound', scope: 'mine', fault }])
  })
})

it('a store is made of a driver, for a scope with a valid name, and lists logs by known orders and limits', () => {
  expect(() => storeOf({} as never)).toThrow(/^storeOf takes a driver, such as memoryDriver\(\), found /)
  expect(storeOf(memoryDriver(), '')).toMatchObject({ left: { _tag: 'InvalidId', what: 'scope' } })
  const store = memoryStore()
  expect(store.scoped('a\n')).toMatchObject({ left: { _tag: 'InvalidId', what: 'scope' } })
  expect(() => store.list({ by: 'size' as never })).toThrow(
    new TypeError('store.list: by is "size"; expected one of created, appended, entries, tokens, id'),
  )
  for (const limit of [0, 1001, 1.5, NaN, '5'])
    expect(() => store.list({ limit: limit as never })).toThrow(/^store\.list: limit is /)
  for (const limit of [1, 1000]) expect(() => store.list({ limit })).not.toThrow()
})

it('a store closes its driver once, after pending removals; a scope of it closes only itself', async () => {
  const inner = memoryDriver()
  const events: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const driver: StoreDriver = {
    ...inner,
    remove: async (...given) => {
      await promise
      events.push('removed')
      return inner.remove(...given)
    },
    close: async () => void events.push('closed'),
  }
  const store = orThrow(storeOf(driver))
  await ok(store.create({ id: 's', encrypt: false }))
  await ok(orThrow(store.scoped('other')).close())
  expect(events).toEqual([])
  const removing = store.remove('s')()
  const closing = [store.close()(), store.close()()]
  expect(events).toEqual([])
  resolve()
  await Promise.all(closing)
  expect(events).toEqual(['removed', 'closed'])
  expect(await removing).toMatchObject({ _tag: 'Right' })
})

it('a log is watched once while it is followed, and no longer', async () => {
  const store = memoryStore()
  const { head } = await ok(store.create({ id: 's', encrypt: false }))
  await ok(store.append('s', { expected: head, rows: [...rows, ...rows] }))
  let [watches, ends] = [0, 0]
  const watch: Store['watch'] = (id, wake) => {
    watches += 1
    return storeTask(async () => {
      const stop = await orThrow(store.watch(id, wake))
      return right(() => {
        ends += 1
        stop()
      })
    }, 'store.watch')
  }
  for await (const { position } of followLog({ ...store, watch }, 's')) if (position === 1) break
  expect([watches, ends]).toEqual([1, 1])
  const abort = new AbortController()
  for await (const { position } of followLog({ ...store, watch }, 's', { signal: abort.signal }))
    if (position === 1) abort.abort()
  expect([watches, ends]).toEqual([2, 2])
})

it('signals are sent to those who wait for a key or for all, until none is left', () => {
  const signals = new Signals()
  const output: string[] = []
  const stops = ['a', 'a', 'b'].map((key, index) => signals.add(key, () => void output.push(`${key}${index}`)))
  expect(signals.empty).toBe(false)
  signals.send('a')
  expect(output.splice(0)).toEqual(['a0', 'a1'])
  signals.send()
  expect(output.splice(0)).toEqual(['a0', 'a1', 'b2'])
  stops[0]?.()
  stops[0]?.()
  signals.send('a')
  expect([output.splice(0), signals.empty]).toEqual([['a1'], false])
  for (const stop of stops) stop()
  expect(signals.empty).toBe(true)
  signals.send('a')
  signals.send()
  expect(output).toEqual([])
})

it('two stores of one driver have the same blocks, in the same scope', () => {
  const driver = memoryDriver()
  const [a, b] = [orThrow(storeOf(driver)), orThrow(storeOf(driver))]
  expect(sameBlocks(a, b)).toBe(true)
  expect(sameBlocks(a, orThrow(a.scoped('default')))).toBe(true)
  expect(sameBlocks(a, orThrow(a.scoped('other')))).toBe(false)
  expect(sameBlocks(a, orThrow(storeOf(memoryDriver())))).toBe(false)
})

it('a row of a ledger that a newer version wrote is skipped', async () => {
  const store = memoryStore()
  const head = { type: 'head', id: 's', size: 1, root }
  await ok(
    ownStore(store).create({
      ...{ id: ledgerId, meta: { [ledgerId]: 1 }, encrypt: false },
      rows: [{ type: 'later', more: 1 }, head].map((said) => ({ kind: 'note', body: JSON.stringify(said) })),
    }),
  )
  const { sessions } = orThrow(await ledgerContent(store))
  expect([...sessions.values()]).toMatchObject([{ id: 's', row: 1, head: { size: 1, root } }])
})
