/** One append: messages and notes at a head, a session with its first messages, and what its rows say beside their text. */
import { expect, it } from 'vitest'
import {
  assistant,
  createSession,
  exportSession,
  forkSession,
  listSessions,
  memoryStore,
  openSession,
  user,
  verifySession,
} from 'indelible'
import type { Note } from '../../src/notes/internal.ts'
import { copySession, describeSession, readRange } from 'indelible/session'
import { exportLines, importTranscript, readTranscript } from '@indelible/transcripts'
import { fault } from '../task-results.ts'

it('messages and notes in one append: messages come first, and the notes may refer to them', async () => {
  const store = memoryStore({ now: () => 7 })
  const session = await createSession(store, { id: 's' })
  const recorded = await session.append({
    messages: [user('a'), assistant('b')],
    notes: [
      { type: 'pin', position: 0 },
      { type: 'page', position: 1, kind: 'plan' },
    ],
  })
  expect(recorded).toEqual({ from: 0, to: 2, head: session.head() })
  expect(session.head().size).toBe(4)
  expect((await store.read('s')).map(({ kind, at }) => [kind, at])).toEqual([
    ['entry', 7],
    ['entry', 7],
    ['note', 7],
    ['note', 7],
  ])
  expect(session.at().pages).toEqual(['constraint', 'plan'])
  const again = await openSession(store, 's')
  expect([again.head(), again.at().pages, again.view().toArray()]).toEqual([
    session.head(),
    session.at().pages,
    session.view().toArray(),
  ])
  await session.append({ notes: [{ type: 'unpin', position: 0 }] })
  await verifySession(store, 's')
})

it('an append of messages and notes records nothing if one cannot be recorded', async () => {
  const session = await createSession(memoryStore())
  for (const note of [
    { type: 'pin', position: 1 },
    { type: 'seal' },
    { type: 'summary', from: 0, to: 1, sourceDigest: 'x', text: 't' },
  ] as unknown as readonly Exclude<Note, { type: 'seal' }>[])
    await fault('InvalidNote', session.append({ messages: [user('a')], notes: [{ type: 'pin', position: 0 }, note] }))
  expect(session.head().size).toBe(0)
})

it('a repeated append of messages and notes returns the first result', async () => {
  let now = 1
  const store = memoryStore({ now: () => now++ })
  const session = await createSession(store, { id: 's' })
  const both = { messages: [user('a')], notes: [{ type: 'pin', position: 0 }] } as const
  const first = await session.append(both, { operation: 'o', expectedLen: 0 })
  const other = await openSession(store, 's')
  expect(await other.append(both, { operation: 'o', expectedLen: 0 })).toEqual(first)
  expect(await session.append(both, { operation: 'o', expectedHead: { size: 0, root: headOfNothing } })).toEqual(first)
  expect(session.head().size).toBe(2)
  const noted = await session.note({ type: 'unpin', position: 0 }, { operation: 'n' })
  expect(await other.note({ type: 'unpin', position: 0 }, { operation: 'n' })).toEqual(noted)
  expect((await store.info('s')).head.size).toBe(3)
})

const headOfNothing = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

it('an append at a head fails after an unseen note', async () => {
  for (let round = 0; round < 20; round++) {
    const store = memoryStore()
    const one = await createSession(store, { id: 's', messages: [user('a')] })
    const other = await openSession(store, 's')
    const expectedHead = one.head()
    const answers = await Promise.all([
      one.append({ notes: [{ type: 'application', namespace: 'pop', content: 1 }] }, { expectedHead })(),
      other.append({ notes: [{ type: 'application', namespace: 'pop', content: 2 }] }, { expectedHead })(),
      other.note({ type: 'pin', position: 0 }, { expectedHead })(),
      one.append(user('b'), { expectedHead })(),
    ])
    expect(answers.filter(({ _tag }) => _tag === 'Right').length).toBe(1)
    expect(answers.flatMap((answer) => (answer._tag === 'Left' ? [answer.left._tag] : []))).toEqual(
      Array.from({ length: 3 }, () => 'SessionConflict'),
    )
    expect((await store.info('s')).head.size).toBe(2)
  }
})

it('a note at a length is refused after unseen messages', async () => {
  const store = memoryStore()
  const one = await createSession(store, { id: 's', messages: [user('a')] })
  const other = await openSession(store, 's')
  await other.append(user('b'))
  await fault('SessionConflict', one.note({ type: 'pin', position: 0 }, { expectedLen: 1 }))
  await one.note({ type: 'pin', position: 0 }, { expectedLen: 2 })
})

it('a session is created with its first messages or not at all', async () => {
  const store = memoryStore({ now: () => 5 })
  const session = await createSession(store, { id: 's', messages: [user('a'), assistant('b')] })
  expect(await describeSession(store, session.id)).toMatchObject({ len: 2, created: 5, appended: 5 })
  await session.append(user('c'))
  expect((await openSession(store, 's')).view().toArray()).toEqual(session.view().toArray())
  await fault('InvalidMessage', createSession(store, { id: 't', messages: [{ role: 'x' } as never] }))
  await fault('NoSuchLog', describeSession(store, 't'))
  await verifySession(store, 's')
})

it('copies, exports and imports carry times and salts, so heads stay equal', async () => {
  let now = 1_700_000_000_000
  const clock = (): number => (now += 1000)
  const store = memoryStore({ now: clock })
  const session = await createSession(store, { id: 's', erasable: true, messages: [user('a')] })
  await session.append({ messages: [assistant('b')], notes: [{ type: 'pin', position: 0 }] })
  await session.update((metadata) => void (metadata['title'] = 't'))
  await session.append(user('c'))
  const rows = await store.read('s')
  expect(new Set(rows.map(({ salt }) => salt)).size).toBe(5)
  expect(rows.every(({ salt }) => /^[0-9a-f]{32}$/.test(salt ?? ''))).toBe(true)
  const copied = memoryStore({ now: clock })
  expect((await copySession(store, copied, 's')).head).toEqual(session.head())
  expect(await copied.read('s')).toEqual(rows)
  expect((await describeSession(copied, 's')).erasable).toBe(true)
  const text = [...exportLines(await exportSession(store, 's'))].join('')
  const transcript = readTranscript(new TextEncoder().encode(text))
  if (transcript._tag === 'Left') throw new Error(transcript.left._tag)
  const imported = await importTranscript(copied, transcript.right, { id: 'i' })
  expect(imported.head).toEqual(session.head())
  expect(await copied.read('i')).toEqual(rows)
  expect((await describeSession(copied, 'i')).erasable).toBe(true)
  await (await openSession(copied, 'i')).append(user('later'))
  expect((await copied.read('i', { from: -1 }))[0]?.salt).toMatch(/^[0-9a-f]{32}$/)
  await importTranscript(copied, transcript.right, { id: 'j' })
  const again = [...exportLines({ ...(await exportSession(copied, 'j')), id: 's' })].join('')
  expect(again).toBe(text)
  const fork = await forkSession(store, 's', { id: 'f' })
  await fork.append(user('d'))
  expect((await store.read('f', { from: -1 }))[0]?.salt).toMatch(/^[0-9a-f]{32}$/)
})

it('equal content has equal heads at equal times and different ones otherwise', async () => {
  const headAt = async (at: number): Promise<unknown> =>
    (await createSession(memoryStore({ now: () => at }), { messages: [user('a')] })).head()
  expect(await headAt(1)).toEqual(await headAt(1))
  expect(await headAt(1)).not.toEqual(await headAt(2))
})

it('sessions are listed by last append', async () => {
  let now = 0
  const store = memoryStore({ now: () => ++now })
  const sessions = []
  for (const id of ['a', 'b', 'c']) sessions.push(await createSession(store, { id, metadata: { user: { id } } }))
  await sessions[0]?.append(user('x'))
  const listed = await listSessions(store, { by: 'appended' })
  expect(listed.sessions.map(({ id }) => id)).toEqual(['a', 'c', 'b'])
  expect((await listSessions(store, { where: { user: { id: 'b' } } })).sessions.map(({ id }) => id)).toEqual(['b'])
})

it("a session reports when each message and note was written, and each note's place among the messages", async () => {
  let now = 100
  const store = memoryStore({ now: () => ++now })
  const session = await createSession(store, { id: 's' })
  await session.note({ type: 'application', namespace: 'test', content: 1 })
  await session.append([user('a'), assistant('b')])
  await session.note({ type: 'pin', position: 1 })
  await session.pop()
  await session.append({ messages: [user('c')], notes: [{ type: 'pin', position: 2 }] })
  const times = (await store.read('s')).map(({ at }) => at)
  expect(new Set(times).size).toBe(5)
  const said = [
    { row: 0, kind: 'note', after: -1 },
    { row: 1, kind: 'entry', position: 0, message: user('a'), page: 'conversation' },
    { row: 2, kind: 'entry', position: 1, message: assistant('b'), page: 'conversation' },
    { row: 3, kind: 'note', after: 1, note: { type: 'pin', position: 1 } },
    { row: 4, kind: 'note', after: 1, note: { type: 'retraction', from: 1, to: 2 } },
    { row: 5, kind: 'entry', position: 2, message: user('c') },
    { row: 6, kind: 'note', after: 2, note: { type: 'pin', position: 2 } },
  ]
  expect([...session.at().rows()].map(({ at }) => at)).toEqual(times)
  for (const one of [session, await openSession(store, 's')]) {
    expect([...one.at().rows()]).toMatchObject(said)
    expect([...one.at().rows(-2)]).toMatchObject(said.slice(-2))
    expect([...one.at().rows(2, 5)]).toMatchObject(said.slice(2, 5))
  }
  const rows = session.at().rows()
  await session.append(user('later'))
  expect([...rows].length).toBe(7)
  const part = await readRange(store, 's', 1, 3)
  expect([part.view.length, part.times]).toEqual([2, [times[2], times[5]]])
})
