import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import {
  createSession,
  exportSession,
  image,
  importRecord,
  listSessions,
  memoryStore,
  openSession,
  readSession,
  user,
  verifySession,
  type Store,
} from 'indelible'
import { copySession, describeSession, eraseMessages, type RecordExport } from 'indelible/session'
import { exportLines, importTranscript, readTranscript, type Transcript } from '@indelible/transcripts'
import { attachment, conversation, everyPart } from '../messages.ts'
import { oneIn } from '../rounds.ts'
import { itShared, realConversations } from '../real-transcripts.ts'
import { fault, ok } from '../task-results.ts'
import type { ExportedRow } from '../../src/session/record/exported.ts'

const transcriptOf = (text: string, pick = 0): Transcript => {
  const read = readTranscript(text, { pick })
  if (isLeft(read)) throw new Error(read.left._tag)
  return read.right
}

/** A store that has what `everyPart` names. */
const withAttachment = async (): Promise<Store> => {
  const store = memoryStore()
  await ok(store.putBlocks([attachment]))
  return store
}

/** A session with everything that an export has to carry. */
const exported = async (): Promise<string> => {
  const store = await withAttachment()
  const session = await ok(createSession(store, { id: 'all of it', metadata: { a: [1, { b: null }] } }))
  await ok(session.append(conversation()))
  await ok(session.note({ type: 'pin', position: 1 }))
  await ok(
    session.append(
      [everyPart, user('never'), user(image({ type: 'base64', data: 'QUJD'.repeat(1000), mediaType: 'image/png' }))],
      { page: ['plan', 'constraint', undefined] },
    ),
  )
  await ok(session.note({ type: 'summary', from: 0, to: 3, text: 'in short' }))
  await ok(session.seal())
  return [...exportLines(await exportSession(store, 'all of it'))].join('')
}

describe('export and import', () => {
  it('throws a TypeError for a value that is not a transcript or store', () => {
    expect(() => importTranscript(memoryStore(), null as never)).toThrow('importTranscript expects a transcript')
    expect(() => importRecord(null as never, null as never)).toThrow('importRecord takes a store')
    expect(() => importRecord(memoryStore(), {} as never)).toThrow('importRecord takes a record')
  })
  it('copies from store to store without a file', async () => {
    const from = await withAttachment()
    const session = await ok(createSession(from, { id: 's', messages: [everyPart] }))
    await ok(session.note({ type: 'summary', from: 0, to: 1, text: 'in short' }))
    const record = await exportSession(from, 's')
    const to = await withAttachment()
    const info = await ok(importRecord(to, record, { id: 'elsewhere' }))
    expect(info).toMatchObject({ id: 'elsewhere', len: 1, head: session.head() })
    expect([...(await exportSession(to, 'elsewhere')).rows]).toEqual([...record.rows])
    const once = { ...record, rows: record.rows[Symbol.iterator]() as IterableIterator<ExportedRow> } // gives its rows one time
    expect((await ok(importRecord(to, once, { id: 'again' }))).head).toEqual(session.head())
  })
  it('refuses a row that is neither message nor note, and stores nothing', async () => {
    const store = memoryStore()
    const record = (row: unknown): RecordExport => ({
      id: 's',
      metadata: {},
      rows: [row as ExportedRow],
      head: { size: 1 },
    })
    await fault('InvalidMessage', importRecord(store, record({ message: { role: 'user' }, page: 'conversation' })))
    await fault('InvalidMessage', importRecord(store, record({ message: user('a'), page: 'secret' })))
    await fault('InvalidNote', importRecord(store, record({ note: { type: 'pin' } })))
    expect((await ok(store.list())).logs).toEqual([])
  })
  it('preserves the record: the same bytes on re-export and the same head', async () => {
    const text = await exported()
    const store = await withAttachment()
    const info = await ok(importTranscript(store, transcriptOf(text)))
    expect(info).toMatchObject({ id: 'all of it', len: 9, metadata: { a: [1, { b: null }] } })
    expect([...exportLines(await exportSession(store, 'all of it'))].join('')).toBe(text)
    await ok(verifySession(store, 'all of it', { head: info.head }))
    await fault('SessionSealed', openSession(store, 'all of it'))
    expect(text.trimEnd().split('\n').at(-1)).toBe(JSON.stringify({ head: info.head }))
  })
  it('refuses a changed file by its head and stores nothing', async () => {
    const store = await withAttachment()
    const changed = transcriptOf((await exported()).replace('Why does the build fail?', 'Why does the build pass?'))
    const refused = await fault('OtherHead', importTranscript(store, changed))
    expect(refused.found).not.toBe(refused.expected)
    await fault('NoSuchLog', describeSession(store, 'all of it'))
  })
  it('brings back no text that was erased since: not from an export, and not from a copy in another store', async () => {
    const [store, other] = [memoryStore(), memoryStore()]
    const session = await createSession(store, { id: 's', erasable: true, messages: [user('a'), user('Grace Hopper')] })
    await session.note({ type: 'tool_started', callId: 'c', name: 'find', arguments: '{"of":"Grace Hopper"}' })
    const record = await exportSession(store, 's')
    await copySession(store, other, 's')
    await eraseMessages(session, [1], { reason: 'asked to' })
    await store.remove('s')
    const reason = expect.stringMatching(/^has a text that was erased in this store at .* \(asked to\)/) as string
    for (const call of [
      () => importRecord(store, record)(),
      () => importRecord(store, record, { id: 'as a copy' })(),
      () => copySession(other, store, 's')(),
    ])
      expect(await call()).toEqual({ _tag: 'Left', left: { _tag: 'InvalidRow', index: 1, reason } })
    expect((await listSessions(store)).sessions).toEqual([])
    await eraseMessages(other, 's', [1])
    expect((await copySession(other, store, 's')).head).toEqual(session.head())
    expect(JSON.stringify([...(await readSession(store, 's')).view()])).not.toContain('Grace')
  })
  it('refuses a placeholder and stores nothing', async () => {
    const store = memoryStore()
    const lines = (await exported()).replace(
      '"meta":{"com.example":',
      '"meta":{"indelible":{"missing":["x"]},"com.example":',
    )
    const { index, cause } = await fault('InvalidMessage', importTranscript(store, transcriptOf(lines)))
    expect([index, cause.path]).toEqual([6, ['meta', 'indelible', 'missing']])
    await fault('NoSuchLog', describeSession(store, 'all of it'))
  })
  it('records the origin of a conversation in another format', async () => {
    const store = memoryStore()
    const seen: number[] = []
    const info = await ok(
      importTranscript(store, transcriptOf('[{"role":"user","content":"hi"}]'), {
        id: 'x',
        progress: (rows) => seen.push(rows),
      }),
    )
    expect(info).toMatchObject({ id: 'x', len: 1, metadata: { from: { format: 'openai-chat' } } })
    expect(seen).toEqual([1])
    await fault('LogExists', importTranscript(store, transcriptOf('[{"role":"user","content":"hi"}]'), { id: 'x' }))
    expect((await ok(openSession(store, 'x'))).len).toBe(1)
  })
  itShared('real conversations come back message by message, and their exports byte by byte', async () => {
    let count = 0
    for (const [, , transcript] of realConversations(1)) {
      const store = memoryStore()
      const { id } = await ok(importTranscript(store, transcript))
      const session = await openSession(store, id)()
      expect(isRight(session) && JSON.stringify(session.right.view())).toBe(JSON.stringify(transcript.messages))
      const text = [...exportLines(await exportSession(store, id))].join('')
      if (count++ % oneIn(2) !== 0) continue
      const again = memoryStore()
      await ok(importTranscript(again, transcriptOf(text)))
      expect([...exportLines(await exportSession(again, id))].join('')).toBe(text)
    }
  })
})
