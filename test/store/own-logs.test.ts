/** Logs whose ids begin with `indelible.`: the library's own, which no public call changes. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSession, forkSession, memoryStore, openSession, orThrow, user, type Store } from 'indelible'
import { chatStreams } from '@indelible/ai-sdk'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { holdSession, removeRecorded, updateLedger, withLedger } from '@indelible/evidence'
import { openCallLog } from '@indelible/records'
import { copySession, exportSession } from 'indelible/session'
import { sqliteStore } from 'indelible/store/sqlite'
import { exportLines, readTranscript, importTranscript } from '@indelible/transcripts'
import { afterAll, describe, expect, it } from 'vitest'
import { fault, ok } from '../task-results.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-own-logs-'))
afterAll(() => rmSync(folder, { recursive: true }))

const ring = keyRing([newHostKey()])
let files = 0
const places: readonly (readonly [string, () => Promise<Store>])[] = [
  ['memory', async () => memoryStore()],
  ['SQLite', async () => sqliteStore({ path: join(folder, `${files++}.db`), durability: 'os' })],
  ['keys', async () => withKeys(memoryStore(), ring)],
  ['a ledger', async () => withLedger(memoryStore(), { every: 1 })],
]

describe.each(places)('a store with %s', (_, open) => {
  it('lets no public call create, change or remove an internal log', async () => {
    const store = await open()
    await ok(createSession(store, { id: 's', messages: [user('0')] }))
    await ok(store.putBlocks([new TextEncoder().encode('a contract')]))
    await updateLedger(store)
    const own = (await ok((store.encryption?.bare ?? store).list({ limit: 100 }))).logs.filter(({ id }) => id.startsWith('indelible.')) // oxfmt-ignore
    expect(own.length).toBeGreaterThan(0)
    const rows = [{ kind: 'note' as const, body: '{}' }]
    for (const place of [store, store.encryption?.bare ?? store])
      for (const { id, head, version, meta } of [...own, { ...(own[0] as (typeof own)[0]), id: 'indelible.other' }]) {
        const other = `${id}.x`
        await fault('InvalidId', place.create({ id, rows, encrypt: false }))
        await fault('InvalidId', createSession(place, { id }))
        await fault('InvalidId', place.append(id, { expected: head, rows }))
        await fault('InvalidId', place.update(id, { expected: version, meta }))
        await fault('InvalidId', place.fork(id, { id: 'mine', at: 0 }))
        await fault('InvalidId', place.fork('s', { id: other, at: 0 }))
        if (place === store) await fault('InvalidId', forkSession(place, 's', { id: other }))
        await fault('InvalidId', place.remove(id))
        await fault('InvalidId', removeRecorded(place, id))
        await fault('InvalidId', place.erase({ logs: [{ id, expected: head, rows: [{ position: 0, stub: '{}' }] }] }))
        await fault('InvalidId', copySession(memoryStore(), place, id))
        await fault('InvalidId', openCallLog({ store: place, id }))
      }
    const after = (await ok((store.encryption?.bare ?? store).list({ limit: 100 }))).logs
    expect(after.filter(({ id }) => id.startsWith('indelible.'))).toEqual(own)
    await store.close()
  })
  it('imports no session under an internal id', async () => {
    const store = await open()
    await ok(createSession(store, { id: 's', messages: [user('0')] }))
    const text = [...exportLines(await exportSession(store, 's'))].join('')
    const transcript = orThrow(readTranscript(text))
    await fault('InvalidId', importTranscript(store, transcript, { id: 'indelible.ledger' }))
    await store.close()
  })
  it('lets no public update change internal session metadata', async () => {
    const store = await open()
    const session = await ok(createSession(store, { id: 's', messages: [user('kept')], metadata: { title: 'one' } }))
    for (const place of [store, store.encryption?.bare ?? store]) {
      const { version, meta } = await ok(place.info('s'))
      await fault('InvalidMeta', place.update('s', { expected: version, meta: {} }))
      await fault('InvalidMeta', place.update('s', { expected: version, meta: { ...meta, 'indelible.partial': 'copy' } })) // oxfmt-ignore
      await fault('MetaConflict', place.update('s', { expected: version + 1, meta: {} }))
    }
    await ok(session.update((metadata) => void (metadata['title'] = 'two')))
    const { version, meta } = await ok(store.info('s'))
    await ok(store.update('s', { expected: version, meta: { ...meta, title: 'three' } }))
    expect((await ok(openSession(store, 's'))).metadata()).toEqual({ title: 'three' })
    await store.close()
  })
})

it('a chat stream replaces no session, whatever its id', async () => {
  const store = memoryStore()
  await fault('InvalidId', createSession(store, { id: 'indelible.stream.1' }))
  const source = new ReadableStream({ start: (controller) => controller.close() })
  await (await chatStreams(store).publish('1', source)).pipeTo(new WritableStream())
  await fault('InvalidId', store.remove('indelible.stream.1'))
})

it("no id removes a held session's key or the scope's secret", async () => {
  const bare = memoryStore()
  const store = withKeys(bare, ring)
  const [block] = await ok(store.putBlocks([new TextEncoder().encode('a contract')]))
  await ok(createSession(store, { id: 's', messages: [user('evidence')] }))
  await ok(holdSession(store, 's', { reason: 'court' }))
  for (const { id } of (await ok(bare.list({ limit: 100 }))).logs.filter(({ id }) => id.startsWith('indelible.')))
    for (const place of [bare, store]) await fault('InvalidId', place.remove(id))
  const again = withKeys(bare, ring)
  expect((await ok(openSession(again, 's'))).len).toBe(1)
  expect(new TextDecoder().decode((await ok(again.getBlocks([block as never])))[0])).toBe('a contract')
})
