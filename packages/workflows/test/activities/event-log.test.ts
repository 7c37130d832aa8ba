/** Events for people: numbered, kept, and read from any number on. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { assistant, memoryStore, user, type Store } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import {
  eventsInMemory,
  eventsInStore,
  historyActivities,
  type EventLog,
  type StreamEvent,
} from '@indelible/workflows/activities'
import { begun, registry, wanted } from './engine.ts'
import type { SequencedEvent } from '../../src/activities/event-log.ts'

const event = (attempt: number, seq: number, rest: object = {}, action = 'a'): StreamEvent =>
  ({ action, attempt, seq, type: 'stream_start', model: 'm', ...rest }) as StreamEvent
const end = { type: 'stream_end', outcome: 'answered' }

const take = async (events: AsyncIterable<SequencedEvent>, count: number): Promise<readonly SequencedEvent[]> => {
  const taken: SequencedEvent[] = []
  for await (const next of events) {
    taken.push(next)
    if (taken.length === count) break
  }
  return taken
}

const kinds: readonly (readonly [string, (topicOf?: (event: StreamEvent) => string) => Promise<EventLog>])[] = [
  ['in memory', async (topicOf) => eventsInMemory(topicOf && { topicOf })],
  ['on a store', async (topicOf) => eventsInStore(memoryStore(), topicOf && { topicOf })],
  [
    'on SQLite',
    async (topicOf) =>
      eventsInStore(
        await sqliteStore({ path: join(mkdtempSync(join(folder, 'log-')), 'events.db') }),
        topicOf && { topicOf },
      ),
  ],
]

const folder = mkdtempSync(join(tmpdir(), 'indelible-events-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.each(kinds)('workflow events %s', (_, open) => {
  it('reach readers who came before the first event and later ones', async () => {
    const log = await open()
    const early = take(log.read('a'), 3)
    await new Promise((resolve) => setTimeout(resolve, 5))
    for (const seq of [0, 1]) await log.publish(event(1, seq))
    await log.publish(event(1, 2, end))
    const late = await take(log.read('a'), 3)
    expect(await early).toEqual(late)
    expect(late.map(({ sequence }) => sequence)).toEqual([0, 1, 2])
    expect(late.at(-1)?.event).toEqual(event(1, 2, end))
    for (const one of late) expect(Object.isFrozen(one)).toBe(true)
  })
  it("continue at a reader's position", async () => {
    const log = await open()
    for (const seq of [0, 1, 2, 3]) await log.publish(event(1, seq))
    const before = await take(log.read('a'), 2)
    const rest = take(log.read('a', { after: before.at(-1)?.sequence ?? -1 }), 3)
    await log.publish(event(1, 4, end))
    expect([...before, ...(await rest)].map(({ event }) => event.seq)).toEqual([0, 1, 2, 3, 4])
  })
  it('omit events of earlier attempts and all after an end', async () => {
    const log = await open()
    for (const [attempt, seq] of [
      [1, 0],
      [2, 0],
      [1, 1],
      [2, 1],
    ] as const)
      await log.publish(event(attempt, seq))
    await log.publish(event(2, 2, end))
    await log.publish(event(3, 0, end))
    await log.publish(event(1, 2, end))
    await log.publish(event(1, 0, end, 'b'))
    const stop = new AbortController()
    const output: string[] = []
    for await (const { event } of log.read('a', { signal: stop.signal })) {
      output.push(`${event.attempt}:${event.seq}`)
      if (event.type === 'stream_end') setTimeout(() => stop.abort(), 20)
    }
    expect(output).toEqual(['1:0', '2:0', '2:1', '2:2'])
    expect((await take(log.read('a', { after: 2 }), 2)).map(({ event }) => `${event.attempt}:${event.seq}`)).toEqual([
      '2:1',
      '2:2',
    ])
    expect((await take(log.read('b'), 1)).length).toBe(1)
  })
  it('of a chat are one topic', async () => {
    const log = await open(({ action }) => action.split('/')[0] ?? '')
    const store = memoryStore()
    const activities = historyActivities({
      store,
      registry: registry([assistant('one'), assistant('two')]),
      events: log,
    })
    const history = (await begun(store, [user('u')])).toJSON()
    for (const action of ['chat/1', 'chat/2']) await activities.stream({ action, model: wanted, history })
    const ends: string[] = []
    for await (const { event } of log.read('chat')) {
      if (event.type === 'stream_end') ends.push(event.action)
      if (ends.length === 2) break
    }
    expect(ends).toEqual(['chat/1', 'chat/2'])
    await log.remove('chat')
    await log.remove('chat')
    await log.publish(event(1, 0, {}, 'chat/3'))
    expect((await take(log.read('chat'), 1)).map(({ sequence }) => sequence)).toEqual([0])
  })
  it('are read on when their topic is removed and begun again', async () => {
    const log = await open()
    for (const seq of [0, 1]) await log.publish(event(1, seq))
    const reader = log.read('a', { after: 0 })[Symbol.asyncIterator]()
    const read = [await reader.next()]
    const next = reader.next()
    await log.remove('a')
    for (const seq of [0, 1, 2]) await log.publish(event(1, seq))
    read.push(await next, await reader.next())
    expect(read.map(({ value }) => (value as SequencedEvent).sequence)).toEqual([1, 0, 1])
  })
  it('end on abort, also while idle', async () => {
    const log = await open()
    const stop = new AbortController()
    const reading = take(log.read('nothing', { signal: stop.signal }), 1)
    setTimeout(() => stop.abort(), 10)
    expect(await reading).toEqual([])
  })
})

it('several workers write one topic, and readers get each end once', async () => {
  const store: Store = memoryStore()
  const topicOf = (): string => 'all'
  const workers = Array.from({ length: 4 }, () => eventsInStore(store, { topicOf }))
  await Promise.all(
    workers.map(async (log, worker) => {
      for (let index = 0; index < 10; index++) await log.publish(event(1, index, {}, `own ${worker}`))
      await log.publish(event(worker + 1, 0, end, 'shared'))
    }),
  )
  const all = await take(eventsInStore(store, { topicOf }).read('all'), 41)
  expect(all.filter(({ event }) => event.type === 'stream_end').length).toBe(1)
  expect(all.length).toBe(41)
  expect((await store.list()).logs.map(({ head }) => head.size)).toEqual([41])
})
