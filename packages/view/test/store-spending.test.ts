/** The calls of all sessions of a store: sums that the store keeps equal computed ones, and are used only where they fit. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { assistant, createSession, forkSession, memoryStore, openSession, orThrow, user, type Store } from 'indelible'
import { copySession, eraseMessages } from 'indelible/session'
import type { JsonObject } from 'indelible/internal/json'
import { storeTask } from 'indelible/internal/store'
import { explainCalls, keepSums, type UsageCause } from 'indelible/internal/usage'
import { sqliteStore } from 'indelible/store/sqlite'
import type { ExplainedCall } from 'indelible/usage'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { recordingFetch } from '@indelible/recorder'
import { importTranscript, readTranscript } from '@indelible/transcripts'
import { anthropic, anthropicHour, events, openai, simulate, type Step } from '../../../test/usage/simulated-cache.ts'
import { addStore, Spending, spendingFields, type SpentCall } from '../src/internal.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-spending-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))

const at = 1_767_225_600_000
const receipt = { type: 'receipt', len: 2, contextDigest: 'a'.repeat(64), model: 'claude-opus-4-5' } as const

/** The details of the call `number`, of which every third one loses the cache. */
const called = (number: number, input = 9000 + number * 1000) => ({
  ...receipt,
  usage: {
    input,
    output: 5,
    cacheRead: number % 3 === 0 ? 0 : input - 1000,
    cacheWrite: number % 3 === 0 ? input : 1000,
  },
  details: { sent: [[0, 1]], api: 'anthropic', at: at + number * 60_000, duration: 1000 },
})

const record = async (store: Store, id: string, calls: number, from = 0): Promise<void> => {
  const session = await createSession(store, { id, metadata: { cwd: `/home/ada/${id}` } })
  await session.append([user('one'), assistant('two')])
  for (let number = from; number < from + calls; number++) await session.note(called(number))
  await session.close()
}

/** All that the sums of a store say. */
const accountOf = async (store: Store) => {
  const spending = new Spending()
  const { unread } = await addStore(spending, store)
  const { total, causes, expired, shortened, lost, unpricedModels } = spending
  const dearest = (await spending.dearest()).map(({ session, call }) => [session, call.number, call.dollars])
  const rows = spendingFields.map((field) => spending.rows([field]))
  const days = spending.rows(['day', 'cause'])
  return { unread: [...unread], total, causes, expired, shortened, lost, unpricedModels, dearest, rows, days }
}

/** The store, with the number of times that the notes of a session were read, and without a way to keep sums. */
const reading = (store: Store) => {
  const counted = { reads: 0, updates: 0, store }
  const { read, update } = store
  counted.store = {
    ...store,
    read: (id, range) =>
      storeTask(async () => ((counted.reads += range?.only === 'note' ? 1 : 0), read(id, range)()), 'read'),
    update: (id, change) => storeTask(async () => (counted.updates++, update(id, change)()), 'update'),
  }
  return counted
}

/** How many notes are read for all sums. */
const readsOf = async (store: Store): Promise<number> => {
  const counted = reading(store)
  await addStore(new Spending(), counted.store)
  return counted.reads
}

/** The same account, with all sums computed. */
const computedAccount = async (store: Store): ReturnType<typeof accountOf> => {
  const { list } = store
  const without: Store = {
    ...store,
    list: (query) =>
      storeTask(async () => {
        const page = await list(query)()
        if (page._tag === 'Left') return page
        const logs = page.right.logs.map((log) => ({
          ...log,
          meta: Object.fromEntries(Object.entries(log.meta).filter(([key]) => key !== 'indelible.usage')),
        }))
        return { ...page, right: { ...page.right, logs } }
      }, 'list'),
  }
  return accountOf(without)
}

it('the sums are kept when they are first computed, and are then read with the list', async () => {
  const store = memoryStore()
  for (const [id, calls] of [['a', 6], ['b', 20], ['c', 1]] as const) await record(store, id, calls) // oxfmt-ignore
  await createSession(store, { id: 'empty' })
  const first = await accountOf(store)
  expect(first.total.calls).toBe(27)
  expect(first.dearest).toHaveLength(10)
  expect(await readsOf(store)).toBe(0)
  expect(await accountOf(store)).toEqual(first)
  expect(await computedAccount(store)).toEqual(first)
})

it('an append, a retraction, an erasure and a fork leave no sums that do not fit', async () => {
  const store = memoryStore()
  for (const id of ['a', 'b', 'c']) await record(store, id, 6)
  await accountOf(store)
  const session = await openSession(store, 'a')
  await session.note(called(7))
  expect(await readsOf(store)).toBe(1)
  await session.append([user('three'), assistant('four')])
  await session.close()
  await forkSession(store, 'b', { id: 'b2', at: 2 })
  const fork = await openSession(store, 'b2')
  await fork.note(called(8))
  await fork.close()
  const grown = await accountOf(store)
  expect(grown.total.calls).toBe(20)
  expect(grown).toEqual(await computedAccount(store))
  expect(await readsOf(store)).toBe(0)
  // The erased message is in b and in its fork.
  await eraseMessages(store, 'b', [0])
  expect(await readsOf(store)).toBe(2)
  expect(await accountOf(store)).toEqual(await computedAccount(store))
  expect(await readsOf(store)).toBe(0)
  await store.remove('a')
  expect(await accountOf(store)).toEqual(await computedAccount(store))
})

it('a copy has the sums of its original, and not after it has grown', async () => {
  const [store, other] = [memoryStore(), memoryStore()]
  for (const id of ['a', 'b']) await record(store, id, 6)
  const first = await accountOf(store)
  for (const id of ['a', 'b']) await copySession(store, other, id)
  expect(await readsOf(other)).toBe(0)
  expect((await accountOf(other)).causes).toEqual(first.causes)
  const session = await openSession(store, 'b')
  await session.note(called(7))
  await session.close()
  await copySession(store, other, 'b')
  expect(await readsOf(other)).toBe(1)
  expect(await accountOf(other)).toEqual(await computedAccount(other))
})

it('sums of another version, of another state, or in another form are computed anew', async () => {
  const store = memoryStore()
  await record(store, 'a', 6)
  const first = await accountOf(store)
  const { meta } = await orThrow(store.info('a'))
  const kept = meta['indelible.usage'] as Record<string, unknown>
  const broken: readonly unknown[] = [
    ...[{ ...kept, of: `0${kept['of'] as string}` }, { ...kept, of: undefined }, { of: kept['of'] }, null, 5, 'x', []],
    ...['groups', 'dearest', 'models', 'days'].flatMap((field) =>
      [undefined, 4, '1', '-1 0 0 0 9 0 0 0 9 0 0', '0 0 0 0 1.5 0 0 0 9 0 0', {}].map((value) =>
        Object.assign({}, kept, { [field]: value }),
      ),
    ),
    { ...kept, groups: `${kept['groups'] as string} 99 1 1 1 1` },
    { ...kept, groups: `${kept['groups'] as string} 1` },
    // The price table has other limits of long requests now.
    { ...kept, groups: (kept['groups'] as string).replace('0 0 0 0 ', '0 0 0 5 ') },
  ]
  for (const value of broken) {
    const altered = storeWith(store, JSON.parse(JSON.stringify({ ...meta, 'indelible.usage': value })))
    const spending = new Spending()
    await addStore(spending, altered)
    expect([value, spending.total]).toEqual([value, first.total])
  }
})

/** A store whose list has this metadata, and that can't be written to. */
const storeWith = (store: Store, meta: JsonObject): Store => ({
  ...store,
  list: (query) =>
    storeTask(async () => {
      const page = await store.list(query)()
      if (page._tag === 'Left') return page
      return { ...page, right: { ...page.right, logs: page.right.logs.map((log) => Object.assign({}, log, { meta })) } }
    }, 'list'),
  update: () => storeTask(async () => ({ _tag: 'Left', left: { _tag: 'ReadOnly', path: 'x' } }) as const, 'update'),
})

it('a store that is opened read-only gives the same sums, and is not changed', async () => {
  const path = join(folder, 'read-only.db')
  const writable = await sqliteStore({ path, create: true })
  for (const id of ['a', 'b', 'c']) await record(writable, id, 6)
  const meta = (await orThrow(writable.info('a'))).meta
  await writable.close()
  const store = await sqliteStore({ path, readOnly: true })
  const counted = reading(store)
  const spending = new Spending()
  await addStore(spending, counted.store)
  expect([spending.total.calls, counted.updates]).toEqual([18, 1]) // it tries once
  expect((await orThrow(store.info('a'))).meta).toEqual(meta)
  await store.close()
  const again = await sqliteStore({ path })
  expect((await accountOf(again)).total).toEqual(spending.total)
  expect(await readsOf(again)).toBe(0)
  await again.close()
})

it('the sums of an encrypted session are encrypted', async () => {
  const bare = memoryStore()
  const store = withKeys(bare, keyRing([newHostKey('one')]))
  await record(store, 'a', 6)
  const first = await accountOf(store)
  expect(first.total.calls).toBe(6)
  expect(await readsOf(store)).toBe(0)
  expect(await accountOf(store)).toEqual(first)
  const stored = (await orThrow(bare.info('a'))).meta
  expect(Object.keys(stored).toSorted()).toEqual(['indelible.encryption', 'indelible.session'])
  expect(JSON.stringify(stored)).not.toContain('claude-opus')
  expect((await accountOf(bare)).unread).toEqual(['a'])
  const session = await openSession(store, 'a')
  await session.update((metadata) => void (metadata['title'] = 'new'))
  await session.note(called(9))
  await session.close()
  expect(await accountOf(store)).toEqual(await computedAccount(store))
})

it('an open session goes on while its sums are kept', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 'a', metadata: { cwd: '/x' } })
  await session.append([user('one'), assistant('two')])
  await session.note(called(0))
  await keepSums(store, 'a')
  await session.update((metadata) => void (metadata['title'] = 'new'))
  await session.note(called(1))
  await keepSums(store, 'a')
  await session.update((metadata) => void (metadata['title'] = 'newer'))
  expect(session.metadata()).toEqual({ cwd: '/x', title: 'newer' })
  await session.close()
  expect((await accountOf(store)).total.calls).toBe(2)
  expect((await openSession(store, 'a')).metadata()).toEqual({ cwd: '/x', title: 'newer' })
})

it('an import keeps the sums of its file, and a recorder those of its sessions', async () => {
  const store = memoryStore()
  const usage = { input: 10, output: 5, cacheRead: 90, cacheWrite: 0, cost: { total: 1 } }
  const message = { role: 'assistant', content: [{ type: 'text', text: 'a' }], model: 'claude-opus-4-5', usage }
  const line = { type: 'message', id: '1', parentId: null, timestamp: '2026-01-01T00:00:00.000Z', message }
  const header = { type: 'session', version: 3, id: 'file', timestamp: '2026-01-01T00:00:00.000Z', cwd: '/' }
  const text = [header, line].map((one) => JSON.stringify(one)).join('\n')
  await importTranscript(store, orThrow(readTranscript(text)))
  expect((await orThrow(store.info('file'))).meta).toHaveProperty(['indelible.usage'])

  const answer = {
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-opus-4-5', stop_reason: 'end_turn' },
    content: [{ type: 'text', text: 'Hello!' }],
    usage: { input_tokens: 10, output_tokens: 2, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
  }
  const fetch = recordingFetch({ store, sessionOf: () => 'recorded', fetch: async () => Response.json(answer) })
  const body = { model: 'claude-opus-4-5', max_tokens: 9, messages: [{ role: 'user', content: 'Hello.' }] }
  const url = 'https://api.anthropic.com/v1/messages'
  await (await fetch(url, { method: 'POST', body: JSON.stringify(body) })).text()
  await fetch.close()
  expect((await orThrow(store.info('recorded'))).meta).toHaveProperty(['indelible.usage'])
  expect(await readsOf(store)).toBe(0)
  expect((await accountOf(store)).total.calls).toBe(2)
})

const sessionSteps = fc.array(
  fc.record<Step>({
    event: fc.constantFrom('plain' as const, ...events),
    fresh: fc.integer({ min: 10, max: 60_000 }),
    output: fc.integer({ min: 1, max: 2000 }),
    wait: fc.integer({ min: 0, max: 200_000 }),
  }),
  { minLength: 1, maxLength: 14 },
)

it('sums equal those of the calls one by one, with their dollars and the dearest calls', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(sessionSteps, fc.constantFrom(anthropic, anthropicHour, openai)), { maxLength: 4 }),
      (sessions) => {
        const spending = new Spending()
        const all: SpentCall[] = []
        for (const [index, [steps, rules]] of sessions.entries()) {
          const calls = explainCalls(simulate(steps, rules))
          spending.add({ session: `${index}`, program: 'x', project: 'y' }, calls)
          for (const call of calls) all.push({ session: `${index}`, call })
        }
        const sumOf = (isOf: (part: ExplainedCall['parts'][number]) => boolean): readonly [number, number] => {
          const parts = all.flatMap(({ call }) => call.parts.filter(isOf))
          return [
            parts.reduce((sum, { tokens }) => sum + tokens, 0),
            parts.reduce((sum, { dollars = 0 }) => sum + dollars, 0),
          ]
        }
        const [tokens, dollars] = sumOf(() => true)
        expect(spending.total.input + spending.total.output).toBe(tokens)
        expect(spending.total.dollars).toBeCloseTo(dollars, 9)
        for (const [cause, sum] of spending.causes) {
          const [ofCause, cost] = sumOf((part) => part.cause === cause)
          expect([cause, sum.input + sum.output]).toEqual([cause as UsageCause, ofCause])
          expect(sum.dollars).toBeCloseTo(cost, 9)
        }
      },
    ),
    { numRuns: 200 },
  )
})
