/** Runs of recorders: what a killed one left is marked, but not while another one records it. */
import { hostname } from 'node:os'
import { expect, it, vi } from 'vitest'
import { assistant, createSession, listSessions, memoryStore, openSession, user, type Store } from 'indelible'
import { sentMessages } from '@indelible/recorder'
import { beginRun } from '../../src/proxy/internal.ts'
import { Recorders } from '../../../cli/src/record/recorders.ts'
import type { Call } from '../../../cli/src/terminal/command.ts'
import { ownStore } from '../../../../src/store/internal.ts'
import { ok } from '../../../../test/task-results.ts'

const mark = 'indelible.recorder.run'
const runs = async (store: Store): Promise<number> =>
  (await ok(store.list({ limit: 10, where: { [mark]: 1 } }))).logs.length

/** A run whose process is gone, and a question behind it that has no receipt. */
const killed = async (store: Store): Promise<void> => {
  const holder = `${hostname()}:4194304` // above the largest process id of Linux
  await ok(ownStore(store).create({ id: `${mark}.killed`, meta: { [mark]: 1, holder }, encrypt: false }))
  await ok(store.lease(`${mark}.killed`, { holder, ttl: 600_000 }))
}
const asked = (store: Store): Promise<unknown> =>
  ok(createSession(store, { metadata: { recorder: 'openai-chat' }, messages: [user('asked')] }))

it('an unanswered question of a killed recorder is marked unless a replayed spool has just asked it', async () => {
  let now = 1000
  const store = memoryStore({ now: () => now++ })
  await killed(store)
  const replaying = beginRun(store, false)
  expect(await replaying.marked).toBe(0)
  await asked(store)
  const other = beginRun(store)
  expect(await other.marked).toBe(0)
  await other.end()
  await replaying.end()
  const last = beginRun(store)
  expect(await last.marked).toBe(1) // it was killed, too
  await last.end()
  expect(await runs(store)).toBe(0)
})

it('a question older than the killed recorder is not marked', async () => {
  let now = 1000
  const store = memoryStore({ now: () => now++ })
  await asked(store)
  await killed(store)
  const run = beginRun(store)
  expect(await run.marked).toBe(0)
  await run.end()
})

it('only the questions of recorded sessions are marked, as a call that the recorder was killed in', async () => {
  let now = 1000
  const store = memoryStore({ now: () => now++ })
  await killed(store)
  const metadata = { recorder: 'openai-chat' }
  await ok(createSession(store, { id: 'answered', metadata, messages: [user('asked'), assistant('answered')] }))
  await ok(createSession(store, { id: 'empty', metadata }))
  await ok(createSession(store, { id: 'of no recorder', messages: [user('asked')] }))
  await ok(createSession(store, { id: 'asked', metadata: { ...metadata, model: 'm' }, messages: [user('asked')] }))
  const run = beginRun(store)
  expect(await run.marked).toBe(1)
  await run.end()
  const receipts: unknown[] = []
  for (const { id } of (await listSessions(store)).sessions)
    for (const note of (await ok(openSession(store, id))).notes())
      receipts.push([
        id,
        note,
        note.type === 'receipt' && (await sentMessages(store, await openSession(store, id), note)),
      ])
  const details = {
    api: 'openai-chat',
    sent: [[0, 1]],
    duration: 0,
    error: expect.stringContaining('was killed') as string,
  }
  expect(receipts).toMatchObject([['asked', { type: 'receipt', len: 1, model: 'm', details }, [user('asked')]]])
})

it('a question that has a receipt is not marked again', async () => {
  const store = memoryStore({ now: () => 1000 })
  await asked(store)
  for (const marked of [1, 0]) {
    await killed(store)
    const run = beginRun(store)
    expect(await run.marked).toBe(marked)
    await run.end()
  }
})

it('a killed recorder may leave more questions in one millisecond than fit a page', async () => {
  const store = memoryStore({ now: () => 1000 })
  await killed(store)
  const others = Array.from({ length: 1000 }, (_, index) =>
    ok(createSession(store, { id: `m${index}`, messages: [user('x')] })),
  )
  await Promise.all(others)
  const metadata = { recorder: 'openai-chat' }
  for (const id of ['a', 'z']) await ok(createSession(store, { id, metadata, messages: [user('asked')] }))
  const run = beginRun(store)
  expect(await run.marked).toBe(2)
  await run.end()
})

it('replaying a spool holds a run', async () => {
  const store = memoryStore()
  const call = { values: {}, positionals: [], terminal: { tell: () => undefined } } as unknown as Call
  const recorders = new Recorders(store, call, { sample: 100, now: Date.now, marks: false })
  recorders.of(store.scope)
  await expect.poll(() => runs(store)).toBe(1)
  await recorders.settled()
  expect(await runs(store)).toBe(0)
})

it('a run renews its lease until it ends', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  try {
    const real = memoryStore()
    let renewed = 0
    const run = beginRun({ ...real, renew: (id, lease) => ((renewed += 1), real.renew(id, lease)) })
    await run.marked
    vi.advanceTimersByTime(60_000)
    expect(renewed).toBe(3)
    await run.end()
    vi.advanceTimersByTime(60_000)
    expect(renewed).toBe(3)
  } finally {
    vi.useRealTimers()
  }
})

it("a run whose own lease fails still marks a killed run's questions", async () => {
  const real = memoryStore()
  await killed(real)
  await asked(real)
  const isOwn = (id: string): boolean => id.startsWith(mark) && id !== `${mark}.killed`
  const run = beginRun({ ...real, lease: (id, lease) => real.lease(isOwn(id) ? 'is not there' : id, lease) })
  expect(await run.marked).toBe(1)
  await run.end()
})
