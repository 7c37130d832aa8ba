/** Long operations whose signal is aborted, at each place where they look at it. */
import { describe, expect, it } from 'vitest'
import {
  createSession,
  listSessions,
  memoryStore,
  openOrCreateSession,
  openSession,
  readSession,
  user,
  verifySession,
  type Store,
} from 'indelible'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { withLedger } from '@indelible/evidence'
import { copySession, eraseMessages, exportSession, findMessages, importRecord, readRange } from 'indelible/session'
import { searchStore } from 'indelible/search'
import { verifyLog, withSignal } from 'indelible/store'

type Signal = NonNullable<NonNullable<Parameters<typeof exportSession>[2]>['signal']>
type Outcome = { readonly _tag: 'Left'; readonly left: { readonly _tag: string } } | { readonly _tag: 'Right' }

const reason = new Error('the user left')

/** A signal that is aborted once it was looked at this often. */
const abortedAfter = (looks: number): Signal => {
  let left = looks
  return { get aborted() { return left-- <= 0 }, reason, addEventListener: () => {}, removeEventListener: () => {} } // oxfmt-ignore
}

const ring = keyRing([newHostKey()])
const openers: Readonly<Record<string, () => Store>> = {
  memory: memoryStore,
  'memory with keys': () => withKeys(memoryStore(), ring),
}

/** Two slices of rows. */
const withSession = async (store: Store): Promise<void> => {
  const session = await createSession(store, { id: 's' })
  for (let from = 0; from < 300; from += 100)
    await session.append(Array.from({ length: 100 }, (_, index) => user(`message ${from + index}`)))
  await session.note({ type: 'application', namespace: 'a', content: 'a note of message 7' })
}

interface Operation {
  readonly run: (store: Store, to: Store, signal: Signal) => PromiseLike<unknown> & (() => Promise<Outcome>)
  /** Whether what it began stays, to be continued. */
  readonly continues?: true
}
const operations: Readonly<Record<string, Operation>> = {
  openSession: { run: (store, _, signal) => openSession(store, 's', { signal }) },
  verifySession: { run: (store, _, signal) => verifySession(store, 's', { signal }) },
  exportSession: { run: (store, _, signal) => exportSession(store, 's', { signal }) },
  findMessages: { run: (store, _, signal) => findMessages(store, 's', { matching: /7/, signal }) },
  eraseMessages: { run: (store, _, signal) => eraseMessages(store, 's', [7], { reason: 'asked to', signal }) },
  copySession: { run: (store, to, signal) => copySession(store, to, 's', { signal }), continues: true },
}

const contentOf = async (store: Store): Promise<unknown> => {
  const { logs } = await store.list({ limit: 100 })
  return Promise.all(logs.map(async ({ id, head }) => [id, head, await store.read(id)]))
}

describe.each(Object.entries(openers))('in %s', (_, open) => {
  it.each(Object.entries(operations))(
    '%s ends with Cancelled, changes nothing, and succeeds when called again',
    async (_, { run, continues }) => {
      let cancelled = 0
      for (let looks = 0; ; looks++) {
        const [store, to] = [open(), open()]
        await withSession(store)
        const before = await contentOf(store)
        const outcome = await run(store, to, abortedAfter(looks))()
        if (outcome._tag === 'Right') break
        cancelled += 1
        expect(outcome.left).toEqual({ _tag: 'Cancelled', cause: reason })
        expect(await contentOf(store)).toEqual(before)
        expect((await listSessions(to)).sessions).toEqual([])
        if (continues !== true) expect(await contentOf(to)).toEqual([])
        expect((await run(store, to, abortedAfter(Infinity))())._tag).toBe('Right')
        await verifySession(store, 's')
        if (continues === true) await verifySession(to, 's')
      }
      expect(cancelled).toBeGreaterThan(2)
    },
  )

  it('an import that is ended keeps nothing', async () => {
    const store = open()
    await withSession(store)
    const record = await exportSession(store, 's')
    for (let looks = 0; ; looks++) {
      const to = open()
      const outcome = await importRecord(to, record, { signal: abortedAfter(looks) })()
      if (outcome._tag === 'Right') {
        expect(looks).toBeGreaterThan(3)
        break
      }
      expect(outcome.left).toEqual({ _tag: 'Cancelled', cause: reason })
      expect((await to.list({ limit: 100 })).logs.filter(({ id }) => !id.startsWith('indelible.key'))).toEqual([])
    }
  })
})

it.each([...Object.entries(openers), ['memory with a ledger', () => withLedger(memoryStore())] as const])(
  'in %s, a removal that is ended has removed nothing, and succeeds when called again',
  async (_, open) => {
    for (let looks = 0; ; looks++) {
      const store = open()
      await withSession(store)
      const before = await store.read('s')
      const outcome = await store.remove('s', { signal: abortedAfter(looks) })()
      if (outcome._tag === 'Right') {
        expect(looks).toBeGreaterThan(1)
        break
      }
      expect(outcome.left).toEqual({ _tag: 'Cancelled', cause: reason })
      expect(await store.read('s')).toEqual(before)
      await withSignal(store, abortedAfter(Infinity)).remove('s')
      expect((await listSessions(store)).sessions).toEqual([])
    }
  },
)

it.each(Object.entries(openers))('in %s, a signal ends calls with many blocks', async (_, open) => {
  const blocks = Array.from({ length: 600 }, (__, index) => new TextEncoder().encode(`block ${index}`))
  const store = open()
  const endsLater = async (run: (store: Store) => () => Promise<Outcome>): Promise<void> => {
    for (const looks of [0, 1])
      expect(await run(withSignal(store, abortedAfter(looks)))()).toMatchObject({ left: { _tag: 'Cancelled' } })
  }
  await endsLater((store) => store.putBlocks(blocks))
  const ids = await withSignal(store, abortedAfter(Infinity)).putBlocks(blocks)
  expect(ids).toEqual(await store.putBlocks(blocks))
  await endsLater((store) => store.getBlocks(ids))
  await endsLater((store) => store.hasBlocks(ids))
  const one = withSignal(store, abortedAfter(Infinity))
  expect(await one.getBlocks(ids)).toEqual(blocks)
  expect(await one.hasBlocks(ids)).toEqual(ids.map(() => true))
  const large = new Uint8Array(1 << 20)
  expect(await withSignal(store, abortedAfter(2)).putBlocks([large, large, large])()).toMatchObject({ _tag: 'Left' })
  expect(() => one.putBlocks(5 as never)).toThrow('putBlocks takes a list')
})

it('a signal of the runtime ends an operation between two slices', async () => {
  const store = memoryStore()
  await withSession(store)
  const abort = new AbortController()
  const copied = copySession(store, memoryStore(), 's', { signal: abort.signal, progress: () => abort.abort(reason) })
  expect(await copied()).toMatchObject({ left: { _tag: 'Cancelled', cause: reason } })
})

it('a store with a signal ends functions that have no option for one', async () => {
  const store = memoryStore()
  await withSession(store)
  const operations = {
    readRange: (store: Store) => readRange(store, 's'),
    verifyLog: (store: Store) => verifyLog(store, 's'),
    listSessions: (one: Store) => listSessions(one),
    searchStore: (one: Store) => searchStore(one, 'message'),
    check: (one: Store) => one.check(),
    openOrCreateSession: (one: Store) => openOrCreateSession(one, 's'),
    readSession: (one: Store) => readSession(one, 's'),
  }
  for (const [name, run] of Object.entries(operations)) {
    expect([name, (await run(withSignal(store, abortedAfter(0)))())._tag]).toEqual([name, 'Left'])
    expect([name, (await run(withSignal(store, abortedAfter(Infinity)))())._tag]).toEqual([name, 'Right'])
  }
  expect(withSignal(store, undefined)).toBe(store)
  expect(() => withSignal({} as Store, undefined)).toThrow('withSignal takes a store')
  expect(() => withSignal(store, 5 as never)).toThrow('withSignal takes a signal')
})

it.each(Object.entries(openers))('in %s, a signal ends reading, searching and opening or creating', async (_, open) => {
  const store = open()
  await withSession(store)
  const signal = abortedAfter(1)
  const cancelled = { _tag: 'Left', left: { _tag: 'Cancelled', cause: reason } }
  expect(await readSession(store, 's', { signal })()).toEqual(cancelled)
  expect(await openOrCreateSession(store, 's', { signal })()).toEqual(cancelled)
  expect(await openOrCreateSession(store, 'new', { signal })()).toEqual(cancelled)
  expect(await searchStore(store, 'message', { signal })()).toMatchObject(cancelled)
  expect(await searchStore(store, { question: 'which message', signal })()).toMatchObject(cancelled)
  expect(await store.check({ signal })()).toEqual(cancelled)
  expect((await listSessions(store)).sessions.map(({ id }) => id)).toEqual(['s'])
})
