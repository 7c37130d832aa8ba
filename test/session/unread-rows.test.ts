/**
 * An opened session parses messages when they are read. Rows that were altered are found when it is opened; a row of
 * another writer whose text is no message is found when a message near it is read.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isLeft, right } from 'fp-ts/lib/Either.js'
import { afterAll, describe, expect, it } from 'vitest'
import {
  assistant,
  createSession,
  FaultError,
  file,
  memoryStore,
  openSession,
  readSession,
  text,
  textOf,
  toolCall,
  toolResult,
  user,
  verifySession,
  type Message,
  type Session,
} from 'indelible'
import { scriptedModel, turn } from 'indelible/run'
import { createFork, exportSession } from 'indelible/session'
import { sqliteStore } from 'indelible/store/sqlite'
import type { Store } from 'indelible/store'
import { rangeDigest } from '../../src/notes/internal.ts'
import { storeTask } from '../../src/store/internal.ts'
import { ok } from '../task-results.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-unread-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const messageAt = (position: number): Message =>
  [
    user(`question ${position}, ünï 🙂`),
    assistant(toolCall(`c${position}`, 'f', { position })),
    toolResult(`c${position - 1}`, position % 9 === 2 ? `${position} `.repeat(2000) : 'done'),
    assistant(
      text('as it is'),
      file({ type: 'base64', data: Buffer.from(`${position}`.repeat(900)).toString('base64'), mediaType: 'a/b' }),
    ),
  ][position % 4] as Message
const conversation = (from: number, to: number): readonly Message[] =>
  Array.from({ length: to - from }, (_, index) => messageAt(from + index))

/** A pin after each 50 messages: the message at a position is this row. */
const rowOf = (position: number): number => position + Math.floor(position / 50)
const record = async (session: Session, from: number, to: number): Promise<void> => {
  for (let at = from; at < to;) {
    const end = Math.min(to, at - (at % 50) + 50)
    await ok(session.append(conversation(at, end)))
    if (end % 50 === 0) await ok(session.note({ type: 'pin', position: end - 1 }))
    at = end
  }
}

describe('a long session that is opened', () => {
  it('has the appended messages, page kinds, times and notes at every length', async () => {
    for (const len of [127, 128, 129, 256, 257, 400]) {
      const store = memoryStore()
      const session = await ok(createSession(store, { id: 's', erasable: true }))
      await record(session, 0, len)
      await ok(session.append([user('tagged')], { page: 'constraint' }))
      const opened = await ok(openSession(store, 's'))
      expect(opened.len).toBe(len + 1)
      await ok(opened.append([messageAt(len)]))
      expect(opened.view().toArray()).toEqual([...conversation(0, len), user('tagged'), messageAt(len)])
      expect(opened.view().slice(0, -1)).toEqual(session.view())
      expect(opened.notes().toArray()).toEqual(session.notes().toArray())
      expect(opened.at().pages.at(len)).toBe('constraint')
      await ok(session.refresh())
      expect([...opened.at().rows()]).toEqual([...session.at().rows()])
    }
  })
  it('does not open with an altered row anywhere: the fault names the row', async () => {
    const path = join(folder, 'altered.db')
    const store = await ok(sqliteStore({ path }))
    await record(await ok(createSession(store, { id: 's' })), 0, 300)
    const db = new DatabaseSync(path)
    const bodyOf = db.prepare('select body from row where id & 4294967295 = ?')
    const change = db.prepare('update row set body = ? where id & 4294967295 = ?')
    for (const position of [0, 1, 127, 128, 200, 299])
      for (const altered of [
        (body: string) => body.replace('e', 'E'),
        () => '{',
        (body: string) => body.slice(0, -2),
      ]) {
        const row = rowOf(position)
        const body = bodyOf.get(row)?.['body'] as string
        change.run(altered(body), row)
        const opened = await openSession(store, 's')()
        expect([position, isLeft(opened) && opened.left]).toMatchObject([
          position,
          { _tag: 'DamagedLog', position: row },
        ])
        expect(await verifySession(store, 's')()).toMatchObject({ left: { _tag: 'DamagedLog', position: row } })
        change.run(body, row)
      }
    db.close()
    await ok(verifySession(store, 's'))
    await ok(store.close())
  })
})

describe('an invalid row by another writer', () => {
  const bad = 70
  const notJson = '{"page":"conversation","message":{"role":"user"}'
  const noMessage = '{"page":"conversation","message":{"role":"robot","content":[]}}'
  const made = async (body: string, len: number): Promise<Store> => {
    const store = memoryStore()
    const session = await ok(createSession(store, { id: 's' }))
    await record(session, 0, bad)
    await ok(store.append('s', { expected: session.head(), rows: [{ kind: 'entry', body }] }))
    for (let at = bad + 1; at < len; at++)
      await ok(
        store.append('s', {
          expected: (await ok(store.info('s'))).head,
          rows: [{ kind: 'entry', body: `{"page":"plan","message":${JSON.stringify(user(`${at}`))}}` }],
        }),
      )
    return store
  }
  const damage = (reason: string) => ({
    _tag: 'DamagedLog',
    id: 's',
    position: rowOf(bad),
    reason: expect.stringContaining(reason),
  })

  it.each([
    ['is no JSON', notJson, 'is not JSON text'],
    ['has another role', noMessage, 'role'],
  ])('is found on open if it is among the last: it %s', async (_, body, reason) => {
    const store = await made(body, 128)
    expect(await openSession(store, 's')()).toMatchObject({ left: damage(reason) })
    expect(await readSession(store, 's')()).toMatchObject({ right: { damaged: [{ row: rowOf(bad), position: bad }] } })
  })
  it.each([
    ['is no JSON', notJson, 'is not JSON text'],
    ['has another role', noMessage, 'role'],
  ])('is found when it or its chunk is read otherwise: it %s', async (_, body, reason) => {
    const store = await made(body, 300)
    await ok(verifySession(store, 's')) // it is what was appended
    const session = await ok(openSession(store, 's'))
    const reading = session.rebase((conversation) => user(`${conversation.toArray().length}`))
    expect(await reading()).toMatchObject({ left: damage(reason) })
    const mine = session.rebase(() => {
      throw new FaultError({ _tag: 'DamagedLog', id: 'another' }, 'of another session')
    })
    expect(await mine()).toMatchObject({ left: { _tag: 'CallbackThrew', callback: 'make' } })
    for (const read of [
      () => session.view().at(bad),
      () => session.view().toArray(),
      () => [...session.conversation()],
      () => [...session.at().rows()],
      () => JSON.stringify(session.view()),
    ])
      for (let again = 0; again < 2; again++) {
        let thrown: unknown
        try {
          read()
        } catch (error) {
          thrown = error
        }
        expect(thrown).toBeInstanceOf(FaultError)
        expect((thrown as FaultError).fault).toEqual(damage(reason))
        expect((thrown as FaultError).message).toContain(`${rowOf(bad)}`)
      }
    // All that does not read it goes on.
    expect([session.len, session.view().pages.at(bad), session.conversation().length]).toEqual([
      300,
      'conversation',
      300,
    ])
    expect(session.view().slice(128).toArray()).toEqual(Array.from({ length: 172 }, (_each, at) => user(`${at + 128}`)))
    await ok(session.append(user('on')))
    await ok(session.note({ type: 'pin', position: bad }))
    expect(session.view().at(-1)).toEqual(user('on'))
    expect((await ok(openSession(store, 's'))).len).toBe(301)
    await ok(createFork(store, 's', { id: 'fork' }))
  })
  it('is the fault of the call that reads it', async () => {
    const store = await made(noMessage, 300)
    const session = await ok(openSession(store, 's'))
    const summary = { type: 'summary', from: 0, to: 80, text: 'all', sourceDigest: rangeDigest([]) } as const
    expect(await session.note(summary)()).toMatchObject({ left: damage('role') })
    await ok(session.append(user('on')))
    let asked = 0
    const model = scriptedModel([() => (asked++, assistant('answer'))])
    const result = await turn(session, 'and now?', { model }).result()()
    expect([result, asked]).toMatchObject([{ left: damage('role') }, 0])
  })
  it('is the fault of the queued call that reads it, and the session continues', async () => {
    const store = await made(noMessage, 300)
    const session = await ok(openSession(store, 's'))
    const answers: unknown[] = []
    const answered = (answer: unknown): unknown => answers.push(answer)
    void session.append(user('on'))().then(answered)
    void session.note({ type: 'summary', from: 0, to: 301, text: 'all' })().then(answered)
    void session.rewind(100)().then(answered) // the last message is one of the first chunk then
    void session.pop()().then(answered)
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate) // one without an answer never gets it
    expect(answers).toMatchObject([
      { right: { from: 300 } },
      { left: damage('role') },
      { right: {} },
      { left: damage('role') },
    ])
    await ok(session.append(user('further')))
    await ok(session.close())
  })
  it('is found on open if the steps of a run are open', async () => {
    const store = await made(noMessage, 300)
    const session = await ok(openSession(store, 's'))
    await ok(session.note({ type: 'journal', step: 'x', started: [] } as never))
    expect(await openSession(store, 's')()).toMatchObject({ left: damage('role') })
  })
  it('has a marker in its place, and is not exported as a message', async () => {
    const store = await made(noMessage, 300)
    const read = await ok(readSession(store, 's'))
    expect(read.damaged).toMatchObject([{ row: rowOf(bad), position: bad }])
    expect(textOf(read.view().at(bad) as Message)).toContain(`[message ${bad} is damaged`)
    expect(read.view().slice(0, bad).toArray()).toEqual(conversation(0, bad))
    expect((await ok(exportSession(store, 's'))).damaged).toHaveLength(1)
  })
})

describe('a note row by another writer', () => {
  it.each([
    ['is no JSON', 'no note', 'the row is not a note'],
    ['is no object', '5', 'note'],
    ['has no position', '{"type":"pin"}', 'position'],
  ])('is named on open and by verifySession, and has a marker: it %s', async (_, body, reason) => {
    const store = memoryStore()
    const session = await ok(createSession(store, { id: 's', messages: [user('a')] }))
    await ok(store.append('s', { expected: session.head(), rows: [{ kind: 'note', body }] }))
    const damage = { _tag: 'DamagedLog', id: 's', position: 1, reason: expect.stringContaining(reason) }
    expect(await openSession(store, 's')()).toMatchObject({ left: damage })
    expect(await verifySession(store, 's')()).toMatchObject({ left: damage })
    const read = await ok(readSession(store, 's'))
    expect(read.damaged).toEqual([{ row: 1, reason: damage.reason }])
    expect([...read.notes()]).toMatchObject([{ namespace: 'indelible.damaged', content: { reason: damage.reason } }])
    expect([read.len, read.view().toArray()]).toEqual([1, [user('a')]])
  })
})

describe('a head that does not match its rows', () => {
  const other = 'f'.repeat(64)
  const withOtherHead = (memory: Store): Store => {
    const info: Store['info'] = (id) =>
      storeTask(async () => {
        const found = await memory.info(id)()
        return isLeft(found) ? found : right({ ...found.right, head: { ...found.right.head, root: other } })
      }, 'store.info') as never
    return { ...memory, info }
  }
  it('is named at the end where all rows are good', async () => {
    const memory = memoryStore()
    await ok(createSession(memory, { id: 's', messages: [user('a'), user('b')] }))
    const store = withOtherHead(memory)
    expect(await openSession(store, 's')()).toMatchObject({ left: { _tag: 'DamagedLog' } })
    const read = await ok(readSession(store, 's'))
    expect(read.damaged).toEqual([{ row: 2, reason: 'the head does not match the rows' }])
    expect([read.view().toArray(), read.head().root]).toEqual([[user('a'), user('b')], other])
  })
  it('is not named beside a row that is damaged', async () => {
    const memory = memoryStore()
    const session = await ok(createSession(memory, { id: 's', messages: [user('a')] }))
    await ok(memory.append('s', { expected: session.head(), rows: [{ kind: 'entry', body: '{}' }] }))
    const read = await ok(readSession(withOtherHead(memory), 's'))
    expect(read.damaged.map(({ row }) => row)).toEqual([1])
  })
})
