/** A store that maintains its ledger: what it records, when, and what becomes of an append or a removal if it can't. */
import { createSession, FaultError, memoryStore, orThrow, user, type Store } from 'indelible'
import {
  evidenceFaultMessage,
  holdSession,
  readLedger,
  updateLedger,
  withLedger,
  type AnyEvidenceFault,
  type WithLedgerOptions,
} from '@indelible/evidence'
import { ledgerId } from '../src/internal.ts'
import { sameBlocks, storeTask } from '../../../src/store/internal.ts'
import { left } from '../../../src/json/index.ts'
import { expect, it } from 'vitest'
import { fault } from '../../../test/task-results.ts'

const io = { _tag: 'Io', operation: 'append', cause: new Error('the disk is gone') } as const
/** The same store, but its ledger can't be written. */
const withoutDisk = (store: Store, why: unknown = io): Store => ({
  ...store,
  create: (log) => (log.id === ledgerId ? storeTask(async () => left(why as typeof io), 'create') : store.create(log)),
  append: (id, append) =>
    id === ledgerId ? storeTask(async () => left(why as typeof io), 'append') : store.append(id, append),
})
/** The heads that the ledger records, in order. */
const recorded = async (store: Store): Promise<readonly string[]> => {
  const rows = await store.read(ledgerId)()
  return rows._tag === 'Left'
    ? []
    : rows.right.map(({ body }) => {
        const { type, id, size } = JSON.parse(body) as Readonly<Record<string, unknown>>
        return `${String(type)} ${String(id)} ${String(size)}`
      })
}

it.each([0, -1, 1.5, NaN, Infinity, 2 ** 53, '3', null])('%j is no number of appends', (every) => {
  expect(() => withLedger(memoryStore(), { every } as unknown as WithLedgerOptions)).toThrow(
    new TypeError(`withLedger: every is ${String(every)}; expected a whole number of appends above 0`),
  )
})

it('withLedger has no other options, and needs a store', () => {
  expect(() => withLedger(memoryStore(), { evry: 1 } as never)).toThrow(/no option "evry"/)
  expect(() => withLedger({} as Store)).toThrow(/^withLedger takes a store/)
})

it('without a number of appends only removals are recorded', async () => {
  const plain = memoryStore()
  const store = withLedger(plain)
  expect([Object.isFrozen(store), sameBlocks(store, plain)]).toEqual([true, true])
  const session = await createSession(store, { id: 's' })
  for (const text of ['a', 'b']) await session.append(user(text))
  expect(await recorded(plain)).toEqual([])
  await store.remove('s')
  expect(await recorded(plain)).toEqual(['removed s 2'])
})

it('appends are counted for each session, and from 0 again after its head is recorded or it is removed', async () => {
  const plain = memoryStore()
  const store = withLedger(plain, { every: 2 })
  const [a, b] = [await createSession(store, { id: 'a' }), await createSession(store, { id: 'b' })]
  await a.append(user('1'))
  await b.append(user('1'))
  expect(await recorded(plain)).toEqual([])
  await a.append(user('2'))
  expect(await recorded(plain)).toEqual(['head a 2'])
  await a.append(user('3'))
  await b.append(user('2'))
  expect(await recorded(plain)).toEqual(['head a 2', 'head b 2'])
  await store.remove('a')
  const again = await createSession(store, { id: 'a' })
  await again.append(user('1'))
  expect(await recorded(plain)).toEqual(['head a 2', 'head b 2', 'removed a 3'])
  await again.append(user('2'))
  expect((await recorded(plain)).slice(3)).toEqual(['head a 2'])
})

it('every append can be recorded, and one that failed is not counted', async () => {
  const plain = memoryStore()
  const store = withLedger(plain, { every: 1 })
  const session = await createSession(store, { id: 's' })
  const stale = { expected: session.head(), rows: [{ kind: 'note', body: '{}' }] } as const
  await session.append(user('1'))
  const two = withLedger(plain, { every: 2 })
  for (let count = 0; count < 2; count++) await fault('Conflict', two.append('s', stale))
  expect(await recorded(plain)).toEqual(['head s 1'])
  await session.append(user('2'))
  expect(await recorded(plain)).toEqual(['head s 1', 'head s 2'])
})

it("the appends to the library's own logs are not counted", async () => {
  const plain = memoryStore()
  await updateLedger(plain)
  let faults = 0
  const store = withLedger(plain, { every: 1, onFault: () => void faults++ })
  await createSession(store, { id: 's', messages: [user('a')] })
  expect((await updateLedger(store)).recorded).toBe(1)
  expect([await recorded(plain), faults]).toEqual([['head s 1'], 0])
})

it('a head that can not be recorded is reported, and the append is stored', async () => {
  const plain = memoryStore()
  await updateLedger(plain)
  const faults: AnyEvidenceFault[] = []
  const report = (one: AnyEvidenceFault): void => void faults.push(one)
  const session = await createSession(withLedger(withoutDisk(plain), { every: 1, onFault: report }), { id: 's' })
  await session.append(user('a'))
  expect(faults).toEqual([io])
  // A session that was replaced: the ledger keeps its row.
  await updateLedger(plain)
  const expected = { size: 1, root: session.head().root }
  await plain.remove('s')
  const other = await createSession(withLedger(plain, { every: 1, onFault: report }), { id: 's' })
  await other.append(user('b'))
  expect(faults.slice(1)).toEqual([
    { _tag: 'LedgerMismatch', mismatches: [{ id: 's', what: 'replaced', expected, found: other.head() }] },
  ])
  await other.append(user('c'))
  expect(faults).toHaveLength(3)
  // A callback that throws, and none.
  for (const onFault of [
    () => {
      throw new Error('the log is full')
    },
    undefined,
  ]) {
    const options = { every: 1, ...(onFault && { onFault }) }
    const id = `t${String(onFault === undefined)}`
    const third = await createSession(withLedger(withoutDisk(plain), options), { id })
    await third.append(user('a'))
    expect((await plain.info(id)).head).toEqual(third.head())
  }
  // A head that is recorded is not reported.
  await (await createSession(withLedger(plain, { every: 1, onFault: report }), { id: 'u' })).append(user('a'))
  expect(faults).toHaveLength(3)
})

it('a removal that can not be recorded removes nothing: its fault is that of the session, or Io with the cause', async () => {
  const plain = memoryStore()
  await createSession(plain, { id: 's', messages: [user('a')] })
  const failed = await withLedger(withoutDisk(plain)).remove('s')()
  expect(failed).toEqual(
    left({ _tag: 'Io', operation: 'record a removal in the ledger', cause: expect.any(FaultError) }),
  )
  const { cause } = (failed as { readonly left: { readonly cause: FaultError<AnyEvidenceFault> } }).left
  expect([cause.fault, cause.message]).toEqual([io, evidenceFaultMessage(io)])
  const store = withLedger(plain)
  await holdSession(plain, 's', { reason: 'case 14' })
  expect(await fault('LogHeld', store.remove('s'))).toEqual({ _tag: 'LogHeld', id: 's', reason: 'case 14' })
  expect(await fault('NoSuchLog', store.remove('none'))).toEqual({ _tag: 'NoSuchLog', id: 'none' })
  expect(await store.remove(ledgerId)()).toEqual(await plain.remove(ledgerId)())
  expect(await fault('InvalidId', store.remove(ledgerId))).toMatchObject({ what: 'log' })
  expect((await plain.info('s')).head.size).toBe(1)
  await plain.close()
  await fault('Closed', store.remove('s'))
})

it('the reason and the person of a removal are recorded, each if given', async () => {
  for (const because of [{}, { reason: 'Art. 17' }, { by: 'ann' }, { reason: 'Art. 17', by: 'ann' }]) {
    const plain = memoryStore()
    const { head } = await createSession(plain, { id: 's', messages: [user('a')] })
    await withLedger(plain, because).remove('s')
    const entry = (await readLedger(plain)).sessions.get('s')
    expect(entry).toEqual({ id: 's', row: 0, at: expect.any(Number), head: head(), removed: true, ...because })
  }
})

it('each scope has its own ledger, with the same options', async () => {
  const plain = memoryStore()
  const store = withLedger(plain, { every: 1, by: 'ann' })
  const scoped = orThrow(store.scoped('other'))
  await (await createSession(scoped, { id: 's' })).append(user('a'))
  await scoped.remove('s')
  expect(await recorded(plain)).toEqual([])
  expect(await recorded(orThrow(plain.scoped('other')))).toEqual(['head s 1', 'removed s 1'])
  expect((await readLedger(scoped)).sessions.get('s')?.by).toBe('ann')
  expect(store.scoped('')).toEqual(plain.scoped(''))
  expect(store.scoped('')._tag).toBe('Left')
})
