/** The members of a session, and the functions that take a session in place of a method. */
import { expect, it } from 'vitest'
import { createSession, forkSession, memoryStore, openSession, pending, readSession, user } from 'indelible'
import { eraseMessages } from 'indelible/session'
import { fault, ok } from '../task-results.ts'

it('a session has at most 22 members', async () => {
  const session = await createSession(memoryStore())
  expect(Object.keys(session).length).toBeLessThanOrEqual(22)
})

it('a fork names the session that it was forked from', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's', messages: [user('a'), user('b')] })
  expect(session.forkedFrom).toBeUndefined()
  const fork = await forkSession(store, 's', { at: 1, id: 'f' })
  expect([fork.forkedFrom, (await readSession(store, 'f')).forkedFrom]).toEqual([
    { id: 's', at: 1 },
    { id: 's', at: 1 },
  ])
})

it('`at` without a head is the record now, until the next append', async () => {
  const session = await createSession(memoryStore(), { messages: [user('a'), user('b')] })
  const now = session.at()
  expect(session.at()).toBe(now)
  await session.append(user('c'))
  await session.note({ type: 'pin', position: 0 })
  expect([now.view.length, now.pages, [...now.rows()].length]).toEqual([2, ['conversation', 'conversation'], 2])
  expect([session.at().view.length, session.at().pages[0], [...session.at().rows()].length]).toEqual([
    3,
    'constraint',
    4,
  ])
  expect(session.at({ size: 2 })?.pages).toEqual(now.pages)
  expect(session.at({ size: 5 })).toBeUndefined()
  expect(() => session.at(undefined as never)).toThrow(TypeError)
})

it('eraseMessages takes an open session, and waits for the appends of its handle', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's', messages: [user('keep this')] })
  const appended = session.append(user('a secret of somebody'))()
  const receipt = await eraseMessages(session, [1], { reason: 'asked to' })
  expect([(await appended)._tag, receipt.messages]).toEqual(['Right', [1]])
  expect(JSON.stringify(await store.read('s'))).not.toContain('secret')
})

it('eraseMessages of an open session carries its lease', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's', messages: [user('a'), user('b')] })
  await session.lease({ holder: 'mine' })
  const other = await openSession(store, 's')
  await fault('SessionBusy', eraseMessages(other, [0], { respectLease: true }))
  expect((await ok(eraseMessages(session, [0], { respectLease: true }))).messages).toEqual([0])
  await session.close()
  await fault('SessionClosed', eraseMessages(session, [0]))
})

it('eraseMessages takes a sealed session, and none that was opened to read or only looks like one', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's', messages: [user('a'), user('b')] })
  const reading = await readSession(store, 's')
  expect(() => eraseMessages(reading as never, [0])).toThrow(/opened to read/)
  expect(() => eraseMessages({ ...session } as never, [0])).toThrow(TypeError)
  const sealed = await session.seal()
  expect((await eraseMessages(sealed, [0])).messages).toEqual([0])
  await fault('BeyondEnd', eraseMessages(sealed, [2]))
})

it('pending takes sessions only', async () => {
  const session = await createSession(memoryStore())
  for (const wrong of [undefined, null, {}, session.view(), Object.create(session)])
    expect(() => pending(wrong as never)).toThrow(TypeError)
  expect(() => pending(session, { because: 'x' } as never)).toThrow(/because/)
})

it('a summary without a digest gets that of its messages when it is written', async () => {
  const session = await createSession(memoryStore(), { messages: [user('a'), user('b')] })
  const late = session.append(user('c'))()
  await session.note({ type: 'summary', from: 0, to: 3, text: 'three letters' })
  await late
  const [note] = session.notes()
  await ok(session.note(note as never)) // its digest is right
  await ok(session.append({ notes: [{ type: 'summary', from: 0, to: 2, text: 'two letters' }] }))
  const zeros = '0'.repeat(64)
  await fault('InvalidNote', session.note({ type: 'summary', from: 0, to: 2, text: 'x', sourceDigest: zeros }))
})
