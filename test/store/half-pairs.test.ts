/**
 * Half of a surrogate pair is no U+FFFD, although UTF-8 makes it that, and digests are of UTF-8. A name with one is refused, or
 * is another than the one with U+FFFD: in every public call that takes a name.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSession, forkSession, memoryStore, openSession, user, verifySession } from 'indelible'
import { eventsInStore } from '@indelible/workflows/activities'
import { chatStreams } from '@indelible/ai-sdk'
import { destroyKey, hostKeyOf, keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { holdSession, listHolds, newKey, proveHead, releaseSession, removeRecorded } from '@indelible/evidence'
import { openCallLog } from '@indelible/records'
import {
  copySession,
  describeSession,
  eraseMessages,
  exportSession,
  findMessages,
  proveEntry,
  proveErased,
  readRange,
  removeUnfinished,
} from 'indelible/session'
import { readTranscript, importTranscript } from '@indelible/transcripts'
import { sqliteStore } from 'indelible/store/sqlite'
import { orThrow, type Store } from 'indelible'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { afterAll, describe, expect, it } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'indelible-half-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const half = 'a\ud800'
const other = 'a\ufffd'
const ring = keyRing([newHostKey('one')])

const stores: readonly (readonly [string, () => Promise<Store>])[] = [
  ['memory', async () => memoryStore()],
  ['SQLite', async () => sqliteStore({ path: join(folder, 'plain.db'), durability: 'os' })],
  [
    'SQLite with keys',
    async () => withKeys(await sqliteStore({ path: join(folder, 'keys.db'), durability: 'os' }), ring),
  ],
]

describe.each(stores)('names in a %s store', (_, open) => {
  it('with a lone surrogate are refused', async () => {
    const store = await open()
    const text = JSON.stringify({ messages: [{ role: 'user', content: 'hello' }] })
    await createSession(store, { id: other, messages: [user('hello')] })
    await store.append('log', {
      expected: (await store.create({ id: 'log', encrypt: false })).head,
      rows: [],
      operation: other,
    })
    await createSession(store, { id: 'held' })
    await holdSession(store, 'held')
    const there = memoryStore()
    await createSession(there, { id: other })
    const calls: { readonly [name: string]: () => TaskEither<{ readonly _tag: string }, unknown> } = {
      create: () => createSession(store, { id: half }),
      open: () => openSession(store, half),
      fork: () => forkSession(store, half, { id: 'fork' }),
      forkTo: () => forkSession(store, other, { id: half }),
      describe: () => describeSession(store, half),
      verify: () => verifySession(store, half),
      range: () => readRange(store, half),
      export: () => exportSession(store, half),
      import: () => importTranscript(store, orThrow(readTranscript(text)), { id: half }),
      copy: () => copySession(there, store, half),
      erase: () => eraseMessages(store, half, [0]),
      find: () => findMessages(store, half, {}),
      prove: () => proveEntry(store, half, 0),
      proveErased: () => proveErased(store, half, 0),
      unfinished: () => removeUnfinished(store, half),
      hold: () => holdSession(store, half),
      holds: () => listHolds(store, half),
      release: () => releaseSession(store, half),
      removeRecorded: () => removeRecorded(store, half),
      proveHead: () => proveHead(store, half),
      destroyKey: () => destroyKey(store, half, ring),
      callLog: () => openCallLog({ store, id: half }),
      storeInfo: () => store.info(half),
      storeRead: () => store.read(half),
      storeRemove: () => store.remove(half),
      storeLease: () => store.lease(half, { holder: 'h', ttl: 1000 }),
      storeHolder: () => store.lease(other, { holder: half, ttl: 1000 }),
      storeWatch: () => store.watch(half, () => {}),
      storeOperation: () => store.append(other, { expected: { size: 0, root: '' }, rows: [], operation: half }),
      storeMeta: () => store.create({ id: 'meta', meta: { [half]: 1 }, encrypt: false }),
    }
    const went: string[] = []
    for (const [name, call] of Object.entries(calls)) if ((await call()())._tag === 'Right') went.push(name)
    expect(went).toEqual([])
    expect(store.scoped(half)).toMatchObject({ left: { _tag: 'InvalidId' } })
    expect(await verifySession(store, other)).toMatchObject({ len: 1 })
    const session = await openSession(store, other)
    await session.note({ type: 'input', id: other, state: 'queued', message: { role: 'user', content: [] } })
    expect(await eraseMessages(session, { inputs: [half] })()).toMatchObject({ left: { _tag: 'NoSuchInput' } })
    await store.close()
  })

  it('with a lone surrogate stay distinct where any text is a name', async () => {
    const store = await open()
    const streams = chatStreams(store)
    const endless = new ReadableStream({ start: (control) => control.enqueue({ type: 'start' }) })
    await (await streams.publish(other, endless)).cancel()
    expect(await streams.resume(half)).toBeUndefined()
    const events = eventsInStore(store, { topicOf: ({ action }) => action })
    const event = { attempt: 1, seq: 0, type: 'stream_start', model: 'm' } as const
    await events.publish({ ...event, action: other })
    await expect(events.publish({ ...event, action: half })).rejects.toMatchObject({ fault: { _tag: 'InvalidMeta' } })
    await events.remove(half)
    for await (const { sequence } of events.read(other)) {
      expect(sequence).toBe(0)
      break
    }
    await store.close()
  })
})

it('key names with a lone surrogate are refused', () => {
  expect(() => newKey(half)).toThrow(TypeError)
  expect(() => newHostKey(half)).toThrow(TypeError)
  expect(() => hostKeyOf(`${half}:AAAA`)).toThrow(TypeError)
})
