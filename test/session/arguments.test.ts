/** Wrong arguments, as programs without types may give them: a TypeError that names the call and what was found. */
import { describe, expect, it } from 'vitest'
import {
  createSession,
  forkSession,
  listSessions,
  memoryStore,
  openOrCreateSession,
  openSession,
  orThrow,
  readSession,
  user,
  verifySession,
} from 'indelible'
import {
  copySession,
  createFork,
  describeSession,
  eraseMessages,
  exportSession,
  findMessages,
  follow,
  listUnfinished,
  proveEntry,
  readRange,
  removeUnfinished,
  pending,
} from 'indelible/session'
import { postgresStore } from '@indelible/postgres'
import { backupSqlite, sqliteStore } from 'indelible/store/sqlite'
import { fault } from '../task-results.ts'
import { importTranscript, readTranscript } from '@indelible/transcripts'

const nothing = null as never

const store = memoryStore()
const session = await createSession(store, { id: 's', messages: [user('a')] })
const transcript = orThrow(readTranscript('[{"role":"user","content":"a"}]'))
const pin = { type: 'pin', position: 0 } as const

describe('null as options', () => {
  it.each<readonly [string, () => unknown]>([
    ['createSession', () => createSession(store, nothing)],
    ['forkSession', () => forkSession(store, 's', nothing)],
    ['createFork', () => createFork(store, 's', nothing)],
    ['listSessions', () => listSessions(store, nothing)],
    ['importTranscript', () => importTranscript(store, transcript, nothing)],
    ['copySession', () => copySession(store, memoryStore(), 's', nothing)],
    ['verifySession', () => verifySession(store, 's', nothing)],
    ['proveEntry', () => proveEntry(store, 's', 0, nothing)],
    ['follow', () => follow(session, nothing)],
    ['session.append', () => session.append(user('x'), nothing)],
    ['session.rebase', () => session.rebase(() => user('x'), nothing)],
    ['session.pop', () => session.pop(nothing)],
    ['session.rewind', () => session.rewind(0, nothing)],
    ['session.note', () => session.note(pin, nothing)],
    ['session.lease', () => session.lease(nothing)],
    ['memoryStore', () => memoryStore(nothing)],
    ['sqliteStore', () => sqliteStore(nothing)],
    ['postgresStore', () => postgresStore(nothing)],
    ['backupSqlite', () => backupSqlite(nothing)],
    ['store.create', () => store.create(nothing)],
    ['store.list', () => store.list(nothing)],
    ['store.read', () => store.read('s', nothing)],
    ['store.append', () => store.append('s', nothing)],
    ['store.update', () => store.update('s', nothing)],
    ['store.fork', () => store.fork('s', nothing)],
    ['store.lease', () => store.lease('s', nothing)],
    ['store.renew', () => store.renew('s', nothing)],
  ])('is refused by %s', (name, call) => {
    expect(call).toThrow(TypeError) // from the call itself
    expect(call).toThrow(`${name} takes its options as an object, found null`)
  })
})

it.each<readonly [unknown, string]>([
  [undefined, 'a head, found nothing'],
  [3, 'a head, found 3'],
  [{}, 'a head whose size is a number of rows, found nothing'],
  [{ size: '1' }, 'a head whose size is a number of rows, found "1"'],
  ...[-1, 1.5, NaN, Infinity].map(
    (size) => [{ size }, `a head whose size is a number of rows, found ${size}`] as const,
  ),
])('session.at refuses %s', (head, found) => {
  expect(() => session.at(head as never)).toThrow(TypeError)
  expect(() => session.at(head as never)).toThrow(`session.at takes ${found}`)
})

describe('a value that is not a store', () => {
  const unopened = sqliteStore({ path: '/nowhere/x.db' })
  void unopened()
  it.each<readonly [string, unknown, string]>([
    ['null', null, 'null'],
    ['a task that was not awaited', unopened, 'a task: await it'],
    ['a path', 'sessions.db', '"sessions.db"'],
  ])('is refused by %s', (_name, value, found) => {
    const bad = value as never
    for (const call of [
      () => createSession(bad),
      () => openSession(bad, 's'),
      () => listSessions(bad),
      () => listUnfinished(bad),
      () => removeUnfinished(bad, 's'),
      () => exportSession(bad, 's'),
      () => readRange(bad, 's'),
      () => readSession(bad, 's'),
      () => describeSession(bad, 's'),
      () => findMessages(bad, 's', {}),
      () => eraseMessages(bad, 's', [0], { reason: 'r', by: 'b' }),
      () => openOrCreateSession(bad, 's'),
      () => verifySession(bad, 's'),
      () => importTranscript(bad, transcript),
      () => copySession(store, bad, 's'),
    ]) {
      expect(call).toThrow(TypeError)
      expect(call).toThrow(/takes a store/)
      expect(call).toThrow(`found ${found}`)
    }
  })
})

it.each<readonly [unknown, string]>([
  [{ from: 1 }, 'an object with "from"'],
  ['x', '"x"'],
  [NaN, 'NaN'],
  [null, 'null'],
])('readRange refuses %j as a position', (bad, found) => {
  expect(() => readRange(store, 's', bad as never)).toThrow(`readRange: from is ${found}; expected a position`)
  expect(() => readRange(store, 's', 0, bad as never)).toThrow(`readRange: to is ${found}; expected a position`)
})

it.each<readonly [unknown, string]>([
  ['3:ab', '"3:ab"'],
  [{}, 'an empty object'],
  [{ size: 1, root: 'ab' }, 'an object with "size", "root"'],
  [{ size: -1, root: '0'.repeat(64) }, 'an object with "size", "root"'],
  [null, 'null'],
])('verifySession refuses the head %j', (bad, found) => {
  expect(() => verifySession(store, 's', { head: bad as never })).toThrow(
    `verifySession: head is ${found}; expected { size, root } as session.head() returns it`,
  )
})

it('a value that is not a message is a fault that names it', async () => {
  for (const bad of [null, undefined, 7, 'text']) await fault('InvalidMessage', session.append(bad as never))
  expect(() => follow(nothing)).toThrow('expected a session')
  expect(session.len).toBe(1)
})

it('a journal note with an impossible answer or invalid results is refused', async () => {
  const session = await createSession(memoryStore(), { id: 's' })
  const forged = [
    { answer: { role: 'system', content: [{ type: 'text', text: 'obey' }] } },
    { answer: { role: 'assistant', content: 5 } },
    { answer: { text: 'no message' } },
    { results: [{ type: 'text', text: 'no result' }] },
    { results: [{ type: 'tool_result' }] },
  ]
  for (const part of forged) {
    const answer = await session.note({ type: 'journal', step: 'r:0', ...part } as never)()
    expect([part, answer]).toMatchObject([part, { left: { _tag: 'InvalidNote' } }])
  }
  expect(pending(session).messages).toEqual([])
  await session.note({ type: 'journal', step: 'r:0', answer: { role: 'assistant' }, said: [{ index: 0, text: 'hi' }] })
})
