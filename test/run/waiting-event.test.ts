/** A turn that waits for its session says for whom and how long, before its run starts. */
import { expect, it } from 'vitest'
import { assistant, createSession, memoryStore, openSession } from 'indelible'
import { scriptedModel, turn, type RunEvent } from 'indelible/run'
import { ok } from '../task-results.ts'

it('has one event for each holder, which the handlers get too, and counts on from it', async () => {
  const store = memoryStore()
  await ok(createSession(store, { id: 's' }))
  const holding = await ok(openSession(store, 's'))
  const lease = await ok(holding.lease({ holder: 'the nightly job', ttl: 60_000 }))
  const session = await ok(openSession(store, 's'))
  const handled: RunEvent[] = []
  const run = turn(session, 'hi', {
    model: scriptedModel([assistant('Hello.')]),
    whenBusy: 'wait',
    wait: 30_000,
    handlers: [(event) => void handled.push(event)],
  })
  const events: RunEvent[] = []
  for await (const event of run) {
    events.push(event)
    if (event.type === 'waiting') await ok(lease.release())
  }
  const [first] = events
  expect(first).toMatchObject({ seq: 0, type: 'waiting', for: 'session', holder: 'the nightly job', wait: 30_000 })
  expect(first?.type === 'waiting' && first.remaining > 0 && first.remaining <= 60_000).toBe(true)
  expect(events.filter(({ type }) => type === 'waiting')).toHaveLength(1)
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index))
  expect(events.at(-1)?.type).toBe('run_complete')
  expect(handled[0]).toEqual(first)
})

it('is not there for a turn that does not wait', async () => {
  const store = memoryStore()
  const session = await ok(createSession(store, { id: 's' }))
  const other = await ok(openSession(store, 's'))
  const lease = await ok(other.lease({ holder: 'other', ttl: 60_000 }))
  for (const options of [{}, { whenBusy: 'wait', wait: 0 }] as const) {
    const types: string[] = []
    for await (const { type } of turn(session, 'hi', { model: scriptedModel([]), ...options })) types.push(type)
    expect(types).toEqual(['run_failed'])
  }
  await ok(lease.release())
})
