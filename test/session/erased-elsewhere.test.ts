/** A session with erased messages, in everything that reads messages. */
import { describe, expect, it } from 'vitest'
import {
  assistant,
  createSession,
  memoryStore,
  mend,
  openCalls,
  openSession,
  orThrow,
  settle,
  toolCall,
  toolResult,
  user,
  verifySession,
  type Message,
} from 'indelible'
import { allCodecs } from '@indelible/codecs'
import { deriveContext } from 'indelible/context'
import { encodeThread } from 'indelible/thread'
import { createPendingHistory, hydrate, persist } from '@indelible/workflows/refs'
import { searchStore } from 'indelible/search'
import { copySession, eraseMessages, exportSession, findMessages, forkSession } from 'indelible/session'
import { exportLines, readTranscript, importTranscript } from '@indelible/transcripts'
import type { Codec } from '../../src/codecs/codec.ts'

const said: readonly Message[] = [
  user('My name is Grace Hopper.'),
  assistant(
    'I look.',
    toolCall('call_1', 'find_person', '{"name":"Grace Hopper"}'),
    toolCall('call_2', 'find_house', '{}'),
  ),
  toolResult('call_1', 'Grace Hopper, 12 Main Street'),
  toolResult('call_2', '12 Main Street'),
  assistant('Found.'),
  user('Thanks.'),
]
const because = { reason: 'asked to', by: 'ann' }

const erased = async (positions: readonly number[]) => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's', messages: said, erasable: true })
  await session.note({ type: 'summary', from: 0, to: 3, text: 'about Grace Hopper' })
  await eraseMessages(session, positions, because)
  return { store, session: await openSession(store, 's') }
}

const every = [0, 1, 2, 3, 4]
const some: readonly (readonly number[])[] = [[0], [1], [2], [3], [1, 2, 3], [2, 4], every]

describe.each(some.map((positions) => [positions]))('with messages %j erased', (positions) => {
  it('calls stay answered, and every format encodes completely', async () => {
    const { session } = await erased(positions)
    const settled = orThrow(settle(session.conversation()))
    expect(openCalls(session.view())).toEqual([])
    for (const [format, codec] of Object.entries(allCodecs) as unknown as readonly (readonly [
      string,
      Codec<unknown>,
    ])[]) {
      const { wire, losses } = orThrow(codec.encode(settled))
      const text = JSON.stringify(wire)
      expect([format, text.includes('[erased]') || positions.every((at) => at === 1)]).toEqual([format, true])
      expect([format, text.includes('"erased"') && !positions.includes(1) && !text.includes('[erased]')]).toEqual([
        format,
        false,
      ])
      expect([
        format,
        new Set(losses.filter(({ reason }) => reason.includes('erased')).map(({ position }) => position)),
      ]).toEqual([format, new Set(positions)])
      const back = orThrow(codec.decode(JSON.parse(text)))
      expect([format, openCalls(back.messages)]).toEqual([format, []])
    }
    expect(JSON.stringify(encodeThread(session.view()))).toContain(positions.includes(0) ? '[erased]' : 'Grace')
  })
  it('contexts of any budget are settled and shorter than without erasure', async () => {
    const { session } = await erased(positions)
    for (const budget of [200, 1000]) {
      const context = orThrow(deriveContext(session.view(), { budget }))
      expect(settle(context.messages)._tag).toBe('Right')
      if (positions.length === every.length) expect(JSON.stringify(context.messages)).not.toContain('Grace')
    }
  })
  it('a damaged conversation can be mended', async () => {
    const { session } = await erased(positions)
    const cut = [...session.view()].filter((_, at) => at !== 2)
    const { messages } = mend(cut)
    expect(settle(messages)._tag).toBe('Right')
  })
  it('an export and its import are the same record, and a copy keeps the reason', async () => {
    const { store, session } = await erased(positions)
    const lines = [...exportLines(await exportSession(store, 's'))].join('')
    const other = memoryStore()
    await importTranscript(other, orThrow(readTranscript(lines)), { id: 'imported' })
    expect((await verifySession(other, 'imported')).head).toEqual(session.head())
    expect((await verifySession(other, 'imported')).erased).toEqual([...positions])
    expect([...exportLines(await exportSession(other, 'imported'))].join('').replace('"imported"', '"s"')).toBe(lines)
    await copySession(store, other, 's')
    expect((await verifySession(other, 's')).erased).toEqual([...positions])
    await forkSession(other, 's', { id: 'fork', at: 6 })
    expect((await verifySession(other, 'fork')).erased).toEqual([...positions])
  })
  it('references are stored and read', async () => {
    const { store, session } = await erased(positions)
    const stored = await persist(store, createPendingHistory({ from: session.view() }))
    const refs = stored.refHistory()
    expect([...(await hydrate(store, refs)).view()]).toEqual([...session.view()])
  })
  it('search finds nothing erased', async () => {
    const { store } = await erased(positions)
    const { hits } = await searchStore(store, 'grace')
    expect(hits.map((hit) => hit.position).toSorted()).toEqual([0, 1, 2].filter((at) => !positions.includes(at)))
    expect(await findMessages(store, 's', { matching: /grace/i })).toEqual(
      [0, 1, 2].filter((at) => !positions.includes(at)),
    )
  })
})

it('copying again applies erasures made since', async () => {
  const [from, to] = [memoryStore(), memoryStore()]
  await createSession(from, { id: 's', messages: said })
  await copySession(from, to, 's')
  await eraseMessages(from, 's', [0, 2], because)
  await copySession(from, to, 's')
  expect((await verifySession(to, 's')).erased).toEqual([0, 2])
  const rows = await to.read('indelible.ledger')
  expect(rows.map(({ body }) => JSON.parse(body) as object)).toMatchObject([
    { type: 'erased', id: 's', copied: because },
  ])
})

it('an import with a row that only claims to be erased is refused', async () => {
  const { store } = await erased([0])
  const lines = [...exportLines(await exportSession(store, 's'))].join('')
  const forged = orThrow(readTranscript(lines.replace(/,"erased":"[0-9a-f]{64}"/, '')))
  expect(await importTranscript(memoryStore(), forged)()).toMatchObject({ left: { _tag: 'InvalidMessage' } })
  const other = orThrow(readTranscript(lines.replace(/"erased":"[0-9a-f]{64}"/, `"erased":"${'ab'.repeat(32)}"`)))
  expect(await importTranscript(memoryStore(), other)()).toMatchObject({ left: { _tag: 'OtherHead' } })
})

it('a receipt lists the rows of every sharing session, whatever the clock does', async () => {
  let now = 1_000
  const store = memoryStore({ now: () => now++ })
  await createSession(store, { id: 's', messages: said })
  const fork = await forkSession(store, 's', { at: 4, id: 'fork' })
  await fork.note({ type: 'summary', from: 0, to: 3, text: 'about Grace Hopper' })
  const { rows } = await eraseMessages(store, 's', [0], because)
  expect(rows.map(({ session, kind }) => `${session} ${kind}`).toSorted()).toEqual(['fork note', 's entry'])
})

it('a waiting call stays known when another call of the same tool is erased', async () => {
  const store = memoryStore()
  const session = await createSession(store, {
    id: 's',
    messages: [user('Pay.'), assistant(toolCall('c1', 'send_money_to', '{"a":1}')), toolResult('c1', 'done')],
  })
  await session.note({ type: 'tool_started', callId: 'c2', name: 'send_money_to', arguments: '{"a":1}' })
  await eraseMessages(session, [1, 2], because)
  expect([...(await openSession(store, 's')).notes()].filter(({ type }) => type === 'tool_started')).toMatchObject([
    { callId: 'c2' },
  ])
})
