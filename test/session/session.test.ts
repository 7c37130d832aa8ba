/** The session on a store in memory: what it promises whatever the store. */
import { isRight, left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  createSession,
  faultMessage,
  forkSession,
  file,
  image,
  listSessions,
  memoryStore,
  openSession,
  readSession,
  system,
  toolCall,
  toolResult,
  user,
  verifySession,
  type Message,
  type Session,
  type Store,
} from 'indelible'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { updateLedger } from '@indelible/evidence'
import { createRefHistory, hydratePartial } from '@indelible/workflows/refs'
import {
  createFork,
  describeSession,
  findMessages,
  listUnfinished,
  readRange,
  pending,
  eraseMessages,
} from 'indelible/session'
import { adapterSession, adapterSessions, idOfParts, removeMarked } from '../../src/session/internal.ts'
import { isPlaceholder } from '../../src/entry/internal.ts'
import { placeOf, rangeDigest } from '../../src/notes/internal.ts'
import { treeRoot, type BlockId } from '../../src/proof/internal.ts'
import { storeTask, rowLeaf } from '../../src/store/internal.ts'
import { attachment, conversation, everyPart } from '../messages.ts'
import { mustBeFrozen } from '../../packages/testing/src/check.ts'
import type { Task } from '../../src/task/index.ts'
import { fault, ok } from '../task-results.ts'
import { timesIn } from './times.ts'
import type { MetadataDraft } from '../../src/session/session.ts'

const startSession = async (
  messages: readonly Message[] = [],
  store: Store = memoryStore(),
): Promise<{ store: Store; session: Session }> => {
  const session = await ok(createSession(store, { id: 's' }))
  if (messages.length > 0) await ok(session.append(messages))
  return { store, session }
}

const mustNot = (): never => {
  throw new Error('this was not to happen')
}

const texts = (messages: Iterable<unknown>): string[] => [...messages].map((message) => JSON.stringify(message))

describe('session.append', () => {
  it('records messages in order, which exist after reopening', async () => {
    const { store, session } = await startSession()
    expect(await ok(session.append(conversation()[0] as Message))).toMatchObject({ from: 0, to: 1 })
    expect(await ok(session.append(conversation().slice(1)))).toMatchObject({ from: 1, to: 6, head: session.head() })
    expect(session.view().toArray()).toEqual(conversation())
    const again = await ok(openSession(store, 's'))
    expect(texts(again.view())).toEqual(texts(session.view()))
    expect(again.view().pages.toArray()).toEqual(session.view().pages.toArray())
    expect(again.head()).toEqual(session.head())
    await ok(verifySession(store, 's'))
  })
  it('records the time of each message, for this handle and any other', async () => {
    let now = 1000
    const store = memoryStore({ now: () => now })
    const session = await ok(createSession(store, { id: 's', messages: [user('a')] }))
    const other = await ok(openSession(store, 's'))
    for (const time of [2000, 3000]) {
      now = time
      await ok(session.append([user('b'), user('c')]))
      await ok(session.note({ type: 'pin', position: 0 }))
    }
    await ok(other.refresh())
    const again = await ok(openSession(store, 's'))
    for (const one of [session, other, again]) expect(timesIn(one)).toEqual([1000, 2000, 2000, 3000, 3000])
  })
  it('a message in place of a list is a list of one, wherever untyped code passes it', async () => {
    const store = memoryStore()
    const session = await ok(createSession(store, { id: 's', messages: user('a') as never }))
    expect(await ok(session.append({ messages: user('b') as never }))).toMatchObject({ from: 1, to: 2 })
    await ok(session.append(user('c')))
    expect(texts(session.view())).toEqual(texts([user('a'), user('b'), user('c')]))
    await fault('InvalidMessage', createSession(store, { messages: 'a' as never }))
    await fault('InvalidMessage', session.append({ messages: {} as never }))
    expect(session.len).toBe(3)
  })
  it('returns every part byte-identical', async () => {
    const there = memoryStore()
    await ok(there.putBlocks([attachment]))
    const { store } = await startSession(
      [everyPart, { meta: { z: { b: 1, a: [null] } }, content: [], role: 'user' }],
      there,
    )
    const again = await ok(openSession(store, 's'))
    expect(texts(again.view())).toEqual([
      JSON.stringify(everyPart),
      '{"meta":{"z":{"b":1,"a":[null]}},"content":[],"role":"user"}',
    ])
  })
  it('distinguishes a given tag from a classification', async () => {
    const { store, session } = await startSession()
    await ok(
      session.append([user('never push'), user('hi'), system('x')], { page: ['constraint', undefined, 'preference'] }),
    )
    await ok(session.append(user('plan'), { page: 'plan' }))
    expect((await ok(openSession(store, 's'))).view().pages.toArray()).toEqual([
      'constraint',
      'conversation',
      'preference',
      'plan',
    ])
    const bodies = (await ok(store.read('s'))).map(({ body }) => body.slice(0, 20))
    expect(bodies).toEqual([
      '{"tag":"constraint",',
      '{"page":"conversatio',
      '{"tag":"preference",',
      '{"tag":"plan","messa',
    ])
  })
  it('copies its input: later changes are not recorded', async () => {
    const { session } = await startSession()
    const mine = { role: 'user' as const, content: [{ type: 'text' as const, text: 'a' }] }
    const going = session.append(mine)()
    mine.content[0] = { type: 'text', text: 'b' }
    await going
    expect(session.view().at(0)).toEqual(user('a'))
  })
  it('starts when called and keeps its place in the order', async () => {
    const { session } = await startSession()
    const [first, second] = [session.append(user('x')), session.append(user('y'))]
    await ok(session.refresh())
    expect(session.view().toArray()).toEqual([user('x'), user('y')])
    expect([(await second).from, (await first).from]).toEqual([1, 0])
  })
  it('refuses a placeholder for missing content in every way of appending', async () => {
    const partial = await ok(
      hydratePartial(
        memoryStore(),
        createRefHistory({ from: [{ blockIds: ['a'.repeat(64) as BlockId], role: 'user' }] }),
      ),
    )
    const placeholder = partial.view().at(0) as Message
    expect(isPlaceholder(placeholder)).toBe(true)
    const { store, session } = await startSession([user('a')])
    const head = session.head()
    for (const call of [
      () => session.append(placeholder),
      () => session.append([user('b'), placeholder]),
      () => session.append(JSON.parse(JSON.stringify(placeholder)) as Message),
      () => session.rebase(() => placeholder),
    ])
      expect(faultMessage(await fault('InvalidMessage', call()))).toContain(
        'a placeholder of content that was not found is never stored',
      )
    expect(isPlaceholder(user('the content of this message is not there'))).toBe(false)
    expect((await ok(store.info('s'))).head).toEqual(head)
    await ok(session.append(user('b')))
  })
  it('refuses an invalid message by position and records none of the others', async () => {
    const { session } = await startSession()
    const bad = await fault('InvalidMessage', session.append([user('a'), { role: 'king', content: [] } as never]))
    expect(faultMessage(bad)).toMatch(
      /^message 1 of the append: role should be one of .*, found "king"; nothing was appended$/,
    )
    expect(session.len).toBe(0)
    const gossip = await fault('InvalidPage', session.append(user('a'), { page: 'gossip' as never }))
    expect(faultMessage(gossip)).toMatch(
      /^the page kind of message 0 of the append is "gossip", which is unknown; expected one of bootstrap, .*; nothing was appended$/,
    )
  })
  it('computes the head of the rows', async () => {
    const { store, session } = await startSession(conversation())
    const rows = await ok(store.read('s'))
    expect(session.head()).toEqual({
      size: 6,
      root: Buffer.from(
        treeRoot(
          rows.map((row) => rowLeaf(row, store.hash)),
          store.hash,
        ),
      ).toString('hex'),
    })
  })
  it('keeps the order of tasks that are not awaited', async () => {
    const { store, session } = await startSession()
    const answers = await Promise.all(Array.from({ length: 200 }, (_, index) => session.append(user(`m${index}`))()))
    expect(answers.map((answer) => isRight(answer) && answer.right.from)).toEqual(
      Array.from({ length: 200 }, (_, index) => index),
    )
    expect((await ok(openSession(store, 's'))).view().toArray()).toEqual(
      Array.from({ length: 200 }, (_, index) => user(`m${index}`)),
    )
  })
})

describe('large parts', () => {
  const bytes = Uint8Array.from({ length: 3000 }, (_, index) => (index * 7919) % 256)
  const data = Buffer.from(bytes).toString('base64')
  const long = 'line of a file\n"quoted"\u2028🙂\ufeff'.repeat(400)

  it('are stored once as bytes and come back unchanged', async () => {
    const store = memoryStore()
    const message = user('see', image({ type: 'base64', data, mediaType: 'image/png' }))
    const answer = toolResult('c', long)
    for (const id of ['a', 'b']) {
      const session = await ok(createSession(store, { id }))
      await ok(session.append([message, answer, message]))
      expect(texts((await ok(openSession(store, id))).view())).toEqual(texts([message, answer, message]))
    }
    const rows = await ok(store.read('a'))
    expect(rows.every(({ body }) => body.length < 500)).toBe(true)
    const [id] = /[0-9a-f]{64}/.exec(rows[0]?.body ?? '') ?? []
    expect((await ok(store.getBlocks([id as never])))[0]).toEqual(bytes)
  })
  it('stay in their row if small or if their base64 is not canonical', async () => {
    const { store, session } = await startSession()
    const odd = `${'A'.repeat(1998)}B=` // bits beyond the last byte
    await ok(
      session.append([
        user(image({ type: 'base64', data: 'aGk=', mediaType: 'image/png' })),
        user(odd),
        user('x'.repeat(4095 - 2) + ' !'),
      ]),
    )
    expect((await ok(store.read('s'))).some(({ body }) => body.includes('"blocks"'))).toBe(false)
    expect((await ok(openSession(store, 's'))).view().at(1)).toEqual(user(odd))
  })
  it('are extracted anywhere, also under `__proto__`', async () => {
    const raw = JSON.parse(`{"__proto__":{"a":["${'y '.repeat(3000)}"]},"1":"${'z'.repeat(5000)}","":""}`) as null
    const message: Message = {
      role: 'assistant',
      content: [{ type: 'provider', provider: 'p', raw }],
      meta: { m: 'w w'.repeat(3000) },
    }
    const { store } = await startSession([message])
    expect((await ok(store.read('s')))[0]?.body.length).toBeLessThan(700)
    expect(texts((await ok(openSession(store, 's'))).view())).toEqual([JSON.stringify(message)])
  })
})

describe('two writers of a session', () => {
  it('the second gets the missed rows in its view and can retry', async () => {
    const { store, session } = await startSession(conversation())
    const other = await ok(openSession(store, 's'))
    await ok(session.append([user('first'), user('second')]))
    const late = await fault('SessionConflict', other.append(user('late')))
    expect([late.expectedLen, late.len, late.missed.toArray()]).toEqual([6, 8, [user('first'), user('second')]])
    expect(texts(other.view())).toEqual(texts(session.view()))
    expect(faultMessage(late)).toContain('it has 8 messages, and 6 were expected')
    await ok(other.append(user('late')))
    expect((await ok(session.refresh())).messages.toArray()).toEqual([user('late')])
    expect(session.head()).toEqual(other.head())
  })
  it('appends queued after a refused one are refused and store nothing', async () => {
    const { store, session } = await startSession([user('0')])
    const other = await ok(openSession(store, 's'))
    await ok(session.append(user('1')))
    const answers = await Promise.all([
      other.append(user('a'))(),
      other.append(user('b'))(),
      other.append([user('c'), user('d')])(),
    ])
    expect(answers.map((answer) => (isRight(answer) ? 'stored' : answer.left._tag))).toEqual([
      'SessionConflict',
      'SessionConflict',
      'SessionConflict',
    ])
    expect(other.view().toArray()).toEqual([user('0'), user('1')])
    await ok(other.append(user('2')))
    expect((await ok(openSession(store, 's'))).view().toArray()).toEqual([user('0'), user('1'), user('2')])
  })
  it('a note of another writer is not a conflict, and a note follows any rows', async () => {
    const { store, session } = await startSession([user('0')])
    const other = await ok(openSession(store, 's'))
    await ok(session.note({ type: 'pin', position: 0 }))
    expect(await ok(other.append(user('1')))).toMatchObject({ from: 1, to: 2 })
    await ok(session.note({ type: 'application', namespace: 'test', content: 1 }))
    expect(session.view().toArray()).toEqual([user('0'), user('1')])
    await ok(other.refresh())
    expect(other.notes().toArray()).toEqual(session.notes().toArray())
    await ok(verifySession(store, 's'))
  })
  it("rebase calls again with the other writer's rows", async () => {
    const { store, session } = await startSession()
    const other = await ok(openSession(store, 's'))
    await ok(session.append(user('0')))
    const seen: number[] = []
    const done = await ok(other.rebase((view) => (seen.push(view.length), user(`after ${view.length}`))))
    expect([seen, done.from, other.view().at(-1)]).toEqual([[0, 1], 1, user('after 1')])
  })
  it('a conflict carries the missed rows, so the store is not asked for them', async () => {
    const { store, session } = await startSession()
    let asked = 0
    const asking: Store = {
      ...store,
      info: (id) => ((asked += 1), store.info(id)),
      read: (id, range) => ((asked += 1), store.read(id, range)),
      nodes: (id, positions) => ((asked += 1), store.nodes(id, positions)),
    }
    const other = await ok(openSession(asking, 's'))
    await ok(session.append([user('0'), user('1')]))
    await ok(session.note({ type: 'pin', position: 1 }))
    asked = 0
    await fault('SessionConflict', other.append(user('late')))
    expect([asked, other.head(), other.view().toArray(), other.notes().length]).toEqual([
      0,
      session.head(),
      [user('0'), user('1')],
      1,
    ])
    await ok(other.append(user('2')))
    await ok(verifySession(store, 's'))
  })
  it('four concurrently rebasing handles lose nothing', async () => {
    const { store } = await startSession()
    const handles = await Promise.all([0, 1, 2, 3].map(() => ok(openSession(store, 's'))))
    await Promise.all(
      handles.flatMap((handle, writer) =>
        Array.from({ length: 25 }, (_, n) => ok(handle.rebase(() => user(`${writer}:${n}`)))),
      ),
    )
    const all = texts((await ok(openSession(store, 's'))).view())
    expect([all.length, new Set(all).size]).toEqual([100, 100])
  })
})

describe('expected lengths and operations', () => {
  it('an append below the current length is a conflict, beyond the end a gap', async () => {
    const { session } = await startSession(conversation())
    const late = await fault('SessionConflict', session.append(user('x'), { expectedLen: 4 }))
    expect(late.missed.toArray()).toEqual(conversation().slice(4))
    expect(await fault('SessionGap', session.append(user('x'), { expectedLen: 7 }))).toMatchObject({
      expectedLen: 7,
      len: 6,
    })
    expect(await ok(session.append(user('x'), { expectedLen: 6 }))).toMatchObject({ from: 6 })
  })
  it('a length reached by another writer is looked up', async () => {
    const { store, session } = await startSession()
    const other = await ok(openSession(store, 's'))
    await ok(session.append(conversation()))
    expect(await ok(other.append(user('x'), { expectedLen: 6 }))).toMatchObject({ from: 6, to: 7 })
  })
  it('a retried operation returns its first result wherever the record is by then', async () => {
    const { store, session } = await startSession([user('0')])
    const delta = { operation: 'step-1', expectedLen: 1 }
    const first = await ok(session.append([user('1'), user('2')], delta))
    await ok(session.append(user('3')))
    expect(await ok(session.append([user('1'), user('2')], delta))).toEqual(first)
    expect(await ok(session.append([user('1'), user('2')], { operation: 'step-1' }))).toEqual(first)
    const again = await ok(openSession(store, 's'))
    expect(await ok(again.append([user('1'), user('2')], delta))).toEqual(first)
    expect(again.len).toBe(4)
    await ok(session.append(user('4')))
    expect(await ok(again.append([user('1'), user('2')], { operation: 'step-1' }))).toEqual(first)
    expect(again.view().toArray()).toEqual(session.view().toArray())
    await fault('OperationMismatch', session.append(user('other'), delta))
    await fault('OperationMismatch', session.append(user('other'), { operation: 'step-1' }))
    expect(session.len).toBe(5)
  })
  it('a retry among others does not disturb them', async () => {
    const { session } = await startSession()
    await ok(session.append(user('0'), { operation: 'a' }))
    const answers = await Promise.all([
      session.append(user('1'))(),
      session.append(user('0'), { operation: 'a' })(),
      session.append(user('2'))(),
    ])
    expect(answers.map((answer) => (isRight(answer) ? answer.right.from : answer.left._tag))).toEqual([1, 0, 2])
    expect(session.view().toArray()).toEqual([user('0'), user('1'), user('2')])
  })
})

describe('a session on a failing store', () => {
  /** A store whose appends fail as long as `failing` says how: before or after they are stored. */
  const flaky = (): { store: Store; failing: { how: 'before' | 'after' | 'not'; info?: boolean } } => {
    const inner = memoryStore()
    const failing: { how: 'before' | 'after' | 'not'; info?: boolean } = { how: 'not' }
    const io = left({ _tag: 'Io' as const, operation: 'append', cause: new Error('disk on fire') })
    const store: Store = {
      ...inner,
      info: (id) => storeTask(async () => (failing.info === true ? io : inner.info(id)()), 'store.info'),
      append: (id, append) =>
        storeTask(async () => {
          const { how } = failing
          if (how === 'before') return io
          const answer = await inner.append(id, append)()
          return how === 'after' ? io : answer
        }, 'store.append'),
    }
    return { store, failing }
  }
  it('memory equals the store, whether or not the append arrived', async () => {
    for (const how of ['before', 'after'] as const) {
      const { store, failing } = flaky()
      const { session } = await startSession([user('0')], store)
      failing.how = how
      await fault('Io', session.append(user('1'), { operation: 'o' }))
      failing.how = 'not'
      const stored = (await ok(openSession(store, 's'))).view().toArray()
      expect(session.view().toArray()).toEqual(stored)
      expect(stored.length).toBe(how === 'before' ? 1 : 2)
      expect(await ok(session.append(user('1'), { operation: 'o' }))).toMatchObject({ from: 1, to: 2 })
      expect(session.view().toArray()).toEqual([user('0'), user('1')])
    }
  })
  it('an unresponsive store blocks appends, which work afterwards', async () => {
    const { store, failing } = flaky()
    const { session } = await startSession([user('0')], store)
    Object.assign(failing, { how: 'after', info: true })
    const answers = await Promise.all([session.append(user('1'))(), session.append(user('2'))()])
    expect(answers.map((answer) => (isRight(answer) ? 'stored' : answer.left._tag))).toEqual(['Io', 'Io'])
    await fault('Io', session.append(user('3')))
    Object.assign(failing, { how: 'not', info: false })
    await ok(session.refresh())
    await ok(session.append(user('4')))
    expect(session.view().toArray()).toEqual((await ok(openSession(store, 's'))).view().toArray())
    await ok(verifySession(store, 's'))
  })
})

describe('session notes', () => {
  it('have their places among the messages, also in a session that is opened again', async () => {
    const store = memoryStore()
    const session = await ok(createSession(store, { id: 'placed', messages: [user('a')] }))
    await ok(session.note({ type: 'pin', position: 0 }))
    await ok(session.append([user('b'), user('c')]))
    const sourceDigest = rangeDigest(session.view().slice(0, 2))
    const summary = { type: 'summary', from: 0, to: 2, sourceDigest, text: 'a, b', model: 'm' } as const
    await ok(session.note({ ...summary, promptDigest: sourceDigest }))
    await ok(session.note({ type: 'application', namespace: 'test', content: 1 }))
    for (const each of [session, await ok(openSession(store, 'placed'))])
      expect([...each.notes()].map((note) => [note.type, placeOf(note)])).toEqual([
        ['pin', 1],
        ['summary', 3],
        ['application', 0], // no context depends on it
      ])
  })
  it('set the current page kinds and change no message', async () => {
    const { store, session } = await startSession(conversation())
    const before = session.view()
    await ok(session.note({ type: 'pin', position: 1 }))
    await ok(session.note({ type: 'page', position: 3, kind: 'plan' }))
    await ok(session.note({ type: 'pin', position: 5 }))
    await ok(session.note({ type: 'unpin', position: 5 }))
    expect(session.at().pages).toEqual(['bootstrap', 'constraint', 'conversation', 'plan', 'evidence', 'conversation'])
    expect(session.at().pages).toBe(session.at().pages)
    expect(session.view()).toBe(before)
    expect(before.pages.toArray()).toEqual([
      'bootstrap',
      'conversation',
      'conversation',
      'evidence',
      'evidence',
      'conversation',
    ])
    const again = await ok(openSession(store, 's'))
    expect(again.at().pages).toEqual(session.at().pages)
    expect(again.notes().toArray()).toEqual(session.notes().toArray())
    expect([again.len, again.head().size]).toEqual([6, 10])
  })
  it('are copied with the messages beside them, before an append that has to wait', async () => {
    const { session } = await startSession(conversation())
    const content = { list: [1] }
    const note = { type: 'application', namespace: 'n', content } as const
    const refreshed = session.refresh()()
    const appended = session.append({ messages: [user('x')], notes: [note] }, { expectedHead: session.head() })()
    content.list.push(2)
    await Promise.all([refreshed, appended])
    expect(session.notes().at(0)).toMatchObject({ content: { list: [1] } })
  })
  it('refer only to existing messages', async () => {
    const { session } = await startSession(conversation())
    const beyond = await fault('InvalidNote', session.note({ type: 'pin', position: 6 }))
    expect(faultMessage(beyond)).toBe('nothing was written: the note needs 7 messages, and the session has 6')
    const other = { type: 'summary', from: 0, to: 2, text: 'x', sourceDigest: '0'.repeat(64) } as const
    for (const options of [{}, { expectedHead: { ...session.head(), size: 1 } }])
      await fault('InvalidNote', session.note(other, options))
    await fault('InvalidNote', session.note({ type: 'receipt', len: 9, contextDigest: '0'.repeat(64), model: 'm' }))
    await fault('InvalidNote', session.note({ type: 'seal' } as never))
    await fault('InvalidNote', session.note({ type: 'page', position: 1, kind: 'gossip' as never }))
    expect(session.notes().length).toBe(0)
    await ok(session.note({ type: 'summary', from: 0, to: 2, text: 'it began' }))
    await ok(session.note(session.notes().at(0) as never))
    await ok(
      session.note({
        type: 'receipt',
        len: 6,
        contextDigest: '0'.repeat(64),
        model: 'm',
        usage: { input: 1, output: 2 },
      }),
    )
    expect(session.notes().length).toBe(3)
  })
  it('may refer to messages still being appended', async () => {
    const { session } = await startSession()
    const answers = await Promise.all([
      session.append(user('0'))(),
      session.note({ type: 'pin', position: 0 })(),
      session.append(user('1'))(),
      session.note({ type: 'summary', from: 0, to: 2, text: 'x' })(),
    ])
    expect(answers.every(isRight)).toBe(true)
    expect(session.at().pages).toEqual(['constraint', 'conversation'])
  })
})

describe('an interrupted turn', () => {
  it('offers error results for open calls and marks those that may have had effects', async () => {
    const { store, session } = await startSession([
      user('go'),
      assistant('on it', toolCall('a', 'read', {}), toolCall('b', 'write', {}), toolCall('c', 'run', {})),
    ])
    await ok(session.append(toolResult('a', 'done')))
    await ok(session.note({ type: 'tool_started', callId: 'b', name: 'write' }))
    const again = await ok(openSession(store, 's'))
    expect(pending(again).calls.map(({ id, position }) => [id, position])).toEqual([
      ['b', 1],
      ['c', 1],
    ])
    const results = pending(again).messages
    expect(texts(results)).toEqual([
      expect.stringContaining('may have had side effects'),
      expect.stringContaining('before this tool gave a result'),
    ])
    await ok(again.append(results))
    expect([pending(again).calls, pending(again).messages]).toEqual([[], []])
    expect(texts(pending(await ok(openSession(store, 's')), { reason: 'x' }).messages)).toEqual([])
  })
  it('offers the open steps of its journal: answers, whole or cut, and a result for each of their calls', async () => {
    const { store, session } = await startSession([user('go'), assistant('of before', toolCall('c', 'look', {}))])
    await ok(session.append(toolResult('c', 'seen')))
    const call = (id: string, name: string): object => ({ type: 'tool_call', id, name, arguments: '{}' })
    const said = (...parts: readonly (readonly [index: number, part: string | object, after?: number])[]): object => ({
      said: parts.map(([index, part, after = 0]) =>
        typeof part === 'string' ? { index, text: part } : { index, part, after },
      ),
    })
    const note = (step: string, more: object): Promise<unknown> =>
      ok(session.note({ type: 'journal', step, ...more } as never))
    await note('cut', said([1, 'Hel'], [0, { type: 'reasoning', text: 'I think' }]))
    await note('whole', {
      answer: { role: 'assistant' },
      together: true,
      ...said([0, 'one two'], [1, call('a', 'read')]),
    })
    await note('cut', {
      ...said([1, 'lo'], [2, call('c', 'run')], [3, { type: 'nonsense' }]),
    })
    const result = { type: 'tool_result', callId: 'a', content: [{ type: 'text', text: 'of a' }] }
    const late = said(
      [0, { type: 'text', text: '!' }, 3],
      [2, call('b', 'write')],
      [3, call('d', 'ask')],
      [4, call('e', 'late')],
    )
    await note('whole', { ...late, started: ['a', 'b'], waiting: ['d', 'b'], results: [result] })
    await note('whole', { started: ['b'] })
    await note('gone', said([0, 'never']))
    await note('gone', { closed: true })
    await note('empty', { said: [] })

    const why = 'The run was interrupted while this tool was running. The tool may have had side effects.'
    const failed = (callId: string, name: string, text: string): object => ({
      ...{ type: 'tool_result', callId, name, isError: true, content: [{ type: 'text', text }] },
    })
    const own = { ...call('c_2', 'run'), meta: { indelible: { callId: 'c' } } }
    const cut = {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'I think' },
        { type: 'text', text: 'Hello' },
        { type: 'text', text: ' [interrupted]' },
        own,
      ],
    }
    const whole = {
      role: 'assistant',
      content: [
        { type: 'text', text: 'one!' },
        call('a', 'read'),
        call('b', 'write'),
        call('d', 'ask'),
        call('e', 'late'),
      ],
    }
    const again = await ok(openSession(store, 's'))
    for (const one of [session, again]) {
      expect(pending(one).messages).toEqual([
        { ...cut, meta: { indelible: { interrupted: true, step: 'cut' } } },
        {
          role: 'tool',
          content: [failed('c_2', 'run', 'Not run: the run was interrupted before the answer was complete.')],
        },
        { ...whole, meta: { indelible: { step: 'whole' } } },
        {
          role: 'tool',
          content: [
            result,
            failed('b', 'write', why),
            failed('d', 'ask', 'Not run: the call was waiting for approval when the run ended.'),
            failed('e', 'late', 'Not run: the run was interrupted before this tool started.'),
          ],
        },
      ])
      expect(pending(one).started).toEqual([{ callId: 'b', name: 'write', arguments: '{}' }])
      expect(pending(one).steps.map(({ step, together, waiting }) => [step, together, [...waiting]])).toEqual([
        ['cut', false, []],
        ['whole', true, ['d']],
        ['empty', false, []],
      ])
      const { started, steps, calls } = pending(one)
      const told = [started, steps, calls, one.at().pages]
      for (const each of [...told, ...one.at().rows(), one.at(one.head())]) mustBeFrozen(each)
      expect(Object.isFrozen(pending(one).messages)).toBe(true)
    }
    expect(JSON.stringify(pending(session, { reason: 'stopped' }).messages).split('"stopped"').length - 1).toBe(4)
    await ok(again.append({ ...whole, meta: { indelible: { step: 'whole' } } } as never))
    expect(pending(again).steps.map(({ step }) => step)).toEqual(['cut', 'empty'])
    await ok(again.rewind(3))
    expect(pending(again).steps).toEqual([]) // they are retracted with the turn
  })
  it('that ended inside an answer offers a message after it, so that the model continues', async () => {
    const { session } = await startSession([user('go')])
    await ok(session.note({ type: 'journal', step: 's', said: [{ index: 0, text: 'Let me' }] }))
    for (const reason of [undefined, 'Stopped by the user']) {
      const [cut, notice, ...none] = pending(session, { reason }).messages
      expect([cut?.role, notice?.role, none]).toEqual(['assistant', 'developer', []])
      expect(notice?.content).toEqual([
        { type: 'text', text: `[${reason ?? 'The run was interrupted here'}. The answer above is incomplete.]` },
      ])
      expect(notice?.meta).toEqual({ indelible: { interrupted: true } })
    }
  })
  it('offers nothing if another message followed', async () => {
    const { session } = await startSession([assistant(toolCall('a', 'read', {})), user('never mind')])
    expect(pending(session).messages).toEqual([])
  })
})

describe('an invalid argument', () => {
  it('fails only its own call', async () => {
    const { session } = await startSession([user('a')])
    for (const expectedLen of [Symbol('x'), 1n, 'x', { valueOf: mustNot }, NaN] as never[])
      await fault('SessionGap', session.append(user('x'), { expectedLen }))
    await session
      .rewind(0, { instead: user('x'), expectedHead: null as never })()
      .then(mustNot, () => undefined)
    expect((await ok(session.append(user('b')))).to).toBe(2)
    const answers: string[] = []
    const answered = (): unknown => answers.push('appended')
    void session.append(user('c')).then(answered)
    void session.rewind(0, { expectedHead: null as never }).catch((error) => answers.push((error as Error).name))
    void session.append(user('d')).then(answered)
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate) // one without an answer never gets it
    expect(answers.toSorted()).toEqual(['TypeError', 'appended', 'appended'])
  })
})

it('a log marked as both a session and an unfinished import hides no session from a list', async () => {
  const { store } = await startSession([user('a')])
  await ok(
    store.create({ id: 'both', meta: { 'indelible.session': 1, 'indelible.partial': 'import' }, encrypt: false }),
  )
  const { sessions } = await ok(listSessions(store))
  expect(sessions.map(({ id }) => id)).toEqual(['s'])
  expect((await ok(listUnfinished(store))).map(({ id }) => id)).toEqual(['both'])
  expect(await ok(updateLedger(store))).toMatchObject({ recorded: 1, mismatches: [] })
})

describe('session metadata', () => {
  it('is updated by a recipe at its version', async () => {
    const store = memoryStore()
    const session = await ok(createSession(store, { id: 's', metadata: { user: 'ada', tags: ['x'] } }))
    const other = await ok(openSession(store, 's'))
    expect(await ok(session.update((draft) => void (draft['tags'] as string[]).push('y')))).toEqual({
      user: 'ada',
      tags: ['x', 'y'],
    })
    const seen: unknown[] = []
    await ok(
      other.update((draft) => {
        seen.push(draft['tags'] && [...(draft['tags'] as string[])])
        draft['user'] = 'bob'
      }),
    )
    expect(seen).toEqual([['x'], ['x', 'y']]) // again, with what the other writer left
    await ok(session.refresh())
    expect((await ok(describeSession(store, 's'))).metadata).toEqual({ user: 'bob', tags: ['x', 'y'] })
    expect(() => ((session.metadata() as { user: string }).user = 'eve')).toThrow('read only')
    await fault(
      'InvalidMeta',
      session.update((draft) => void (draft['indelible.session'] = 7)),
    )
    await fault(
      'InvalidMeta',
      session.update((draft) => void (draft['at'] = new Date() as never)),
    )
    await fault('InvalidMeta', createSession(store, { metadata: { 'indelible.x': 1 } }))
  })
  it("is not replaced by an arrow function's incidental return value", async () => {
    for (const recipe of [
      (draft: MetadataDraft) => (draft['title'] = 'T') as never, // as it is already: Immer takes the 'T' for the new metadata
      (draft: MetadataDraft) => (delete draft['missing'], null as never),
      () => null as never,
      () => ['T'] as never,
      () => new Date() as never,
    ]) {
      const session = await ok(createSession(memoryStore(), { id: 's', metadata: { title: 'T' } }))
      await fault('InvalidMeta', session.update(recipe))
      expect(session.metadata()).toEqual({ title: 'T' })
    }
    for (const metadata of [null, 'abc', ['a'], new Date()] as never[])
      await fault('InvalidMeta', createSession(memoryStore(), { metadata }))
    const { session } = await startSession()
    expect(await ok(session.update(() => ({ title: 'new' })))).toEqual({ title: 'new' })
  })
  it('is updated by concurrent recipes one after the other', async () => {
    const { session } = await startSession()
    await Promise.all(
      Array.from({ length: 10 }, () => ok(session.update((draft) => void (draft['n'] = Number(draft['n'] ?? 0) + 1)))),
    )
    expect(session.metadata()).toEqual({ n: 10 })
  })
  it('updated elsewhere since: a fault of reading it, or of what it became, is the answer', async () => {
    const { store: inner, session: other } = await startSession()
    let answer: Awaited<ReturnType<ReturnType<Store['info']>>> | undefined
    const store: Store = {
      ...inner,
      info: (id) => (answer === undefined ? inner.info(id) : storeTask(async () => answer as never, 'store.info')),
    }
    const session = await ok(openSession(store, 's'))
    await ok(other.update((draft) => void (draft['user'] = 'bob')))
    const log = await ok(inner.info('s'))
    const title = (draft: MetadataDraft): void => void (draft['title'] = 'T')
    for (const [tag, given] of [
      ['Io', left({ _tag: 'Io', operation: 'read', cause: new Error('gone') } as const)],
      ['NewerSession', right({ ...log, meta: { ...log.meta, 'indelible.session': 99 } })],
      ['NotASession', right({ ...log, meta: {} })],
    ] as const) {
      answer = given
      await fault(tag, session.update(title) as Task<{ readonly _tag: string }, unknown>)
      expect(session.metadata()).toEqual({ user: 'bob', title: 'T' }) // the note is stored; only lists do not know it yet
      expect((await ok(inner.info('s'))).meta).not.toHaveProperty('title')
    }
    answer = undefined
    expect(await ok(session.update(title))).toEqual({ user: 'bob', title: 'T' })
  })
  it('of an encrypted session has only `clear` for those without the key', async () => {
    const bare = memoryStore()
    const store = withKeys(bare, keyRing([newHostKey('host')]))
    const metadata = { title: 'secret', clear: { tenant: 7 } }
    await ok(createSession(store, { id: 's', metadata }))
    expect((await ok(describeSession(store, 's'))).metadata).toEqual(metadata)
    expect((await ok(describeSession(bare, 's'))).metadata).toEqual({ clear: metadata.clear })
    expect((await ok(listSessions(bare))).sessions[0]?.metadata).toEqual({ clear: metadata.clear })
  })
  it('is unchanged by a recipe that throws, which is a fault', async () => {
    const { session } = await startSession()
    const mine = new Error('mine')
    const throwing = session.update(() => {
      throw mine
    })
    expect(await fault('CallbackThrew', throwing)).toMatchObject({ callback: 'update', cause: mine })
    await expect(async () => await throwing).rejects.toThrow('`update` threw: mine; nothing was changed')
    await fault(
      'CallbackThrew',
      session.rebase(() => {
        throw mine
      }),
    )
    await ok(session.append(user('still works')))
  })
})

describe('seal and close', () => {
  it('a repeated operation has its earlier result, also once the session is sealed', async () => {
    const { store, session } = await startSession([user('a')])
    const late = await ok(openSession(store, 's'))
    const appended = await ok(session.append(user('b'), { operation: 'o' }))
    await ok(session.append(user('c'), { operation: 'p', expectedLen: 2 }))
    await ok(session.seal())
    expect(await ok(session.append(user('c'), { operation: 'p' }))).toMatchObject({ from: 2, to: 3 })
    expect(await ok(session.append(user('c'), { operation: 'p', expectedLen: 2 }))).toMatchObject({ from: 2, to: 3 })
    expect(await ok(late.append(user('b'), { operation: 'o', expectedLen: 1 }))).toEqual(appended)
    await fault('SessionSealed', session.append(user('d'), { operation: 'q' }))
    await fault('SessionSealed', session.append(user('d')))
  })
  it('a sealed session accepts nothing from any handle, and can be read and forked', async () => {
    const { store, session } = await startSession(conversation())
    const other = await ok(openSession(store, 's'))
    const sealed = await ok(session.seal())
    expect([sealed.state, 'append' in sealed, 'note' in sealed, sealed.len]).toEqual(['sealed', false, false, 6])
    for (const call of [
      () => session.append(user('x')),
      () => other.append(user('x')),
      () => session.note({ type: 'pin', position: 0 }),
      () => other.note({ type: 'pin', position: 0 }),
      () => openSession(store, 's'),
      () => session.seal(),
    ])
      await fault('SessionSealed', call())
    const read = await ok(readSession(store, 's'))
    expect([read.state, read.len, read.head()]).toEqual(['sealed', 6, sealed.head()])
    const fork = await ok(forkSession(store, 's', { id: 'f' }))
    await ok(fork.append(user('on we go')))
    expect([fork.len, fork.notes().length]).toEqual([7, 0])
    await ok(verifySession(store, 's'))
  })
  it('calls before the seal are stored, later ones are refused', async () => {
    const { session } = await startSession()
    const answers = await Promise.all([session.append(user('in'))(), session.seal()(), session.append(user('out'))()])
    expect(answers.map((answer) => ('left' in answer ? answer.left._tag : 'done'))).toEqual([
      'done',
      'done',
      'SessionSealed',
    ])
    expect(session.len).toBe(1)
  })
  it('close waits for pending calls, and then the handle does nothing', async () => {
    const { store, session } = await startSession()
    const going = session.append(user('x'))
    await ok(session.close())
    await ok(going)
    const calls = [
      () => session.append(user('y')),
      session.refresh,
      () => session.note({ type: 'pin', position: 0 }),
      () => session.update(() => {}),
    ]
    for (const call of calls) await fault('SessionClosed', call())
    expect((await ok(openSession(store, 's'))).len).toBe(1)
  })
  it('a readonly handle reads what others appended when it refreshes, and has no write methods', async () => {
    const { store, session } = await startSession()
    await ok(session.append(user('x')))
    const elsewhere = await ok(readSession(store, 's'))
    expect([elsewhere.len, 'append' in elsewhere, Object.isFrozen(elsewhere)]).toEqual([1, false, true])
    await ok(session.append(user('y')))
    expect(elsewhere.len).toBe(1)
    if (elsewhere.state === 'readonly') expect((await ok(elsewhere.refresh())).messages.toArray()).toEqual([user('y')])
  })
})

describe('session forks', () => {
  it('share messages and notes before the fork point, and then diverge', async () => {
    const { store, session } = await startSession(conversation().slice(0, 3))
    await ok(session.note({ type: 'pin', position: 1 }))
    await ok(session.append(conversation().slice(3)))
    await ok(session.note({ type: 'pin', position: 4 }))
    for (let at = 0; at <= 6; at++) {
      const fork = await ok(forkSession(store, 's', { at, id: `f${at}`, metadata: { at } }))
      expect([fork.len, fork.metadata(), fork.forkedFrom]).toEqual([at, { at }, { id: 's', at }])
      expect(await ok(createFork(store, 's', { at, id: `g${at}` }))).toMatchObject({ len: at, head: fork.head() })
      expect(fork.view().toArray()).toEqual(conversation().slice(0, at))
      expect(fork.notes().length).toBe(at < 3 ? 0 : at < 6 ? 1 : 2)
      await ok(fork.append(user('mine')))
      await ok(verifySession(store, `f${at}`))
    }
    expect(session.len).toBe(6)
    await fault('BeyondEnd', forkSession(store, 's', { at: 7 }))
    await fault('BeyondEnd', forkSession(store, 's', { at: -1 }))
    await fault('NoSuchLog', forkSession(store, 'nowhere'))
    await fault('LogExists', forkSession(store, 's', { id: 'f1' }))
  })
})

it('only the rows of an erasable session have a salt, whichever handle appends them', async () => {
  for (const erasable of [true, false]) {
    const store = memoryStore()
    const created = await ok(createSession(store, { id: 's', messages: [user('a')], erasable }))
    await ok(created.append(user('b')))
    await ok((await ok(openSession(store, 's'))).append(user('c')))
    expect((await ok(store.read('s'))).map(({ salt }) => salt !== undefined)).toEqual([erasable, erasable, erasable])
  }
})

it('a fork redacts what is appended to it, and its metadata, if it was made so', async () => {
  const { store } = await startSession([user('go')])
  const secret = `sk-or-v1-${'0123456789abcdef'.repeat(4)}`
  const shown: boolean[][] = []
  for (const options of [{ redact: true }, {}] as const) {
    const fork = await ok(forkSession(store, 's', { metadata: { secret }, ...options }))
    await ok(fork.append(user(`the key is ${secret}`)))
    shown.push([fork.metadata(), fork.view().at(-1)].map((said) => JSON.stringify(said).includes(secret)))
  }
  expect(shown).toEqual([
    [false, false],
    [true, true],
  ])
})

describe('reading ranges and listing', () => {
  it('readRange matches slice on messages', async () => {
    const { store, session } = await startSession()
    const all = Array.from({ length: 30 }, (_, index) => user(`m${index}`))
    for (const message of all) {
      await ok(session.append(message))
      await ok(session.note({ type: 'pin', position: 0 }))
    }
    for (const [from, to] of [
      [-5, undefined],
      [0, 3],
      [undefined, undefined],
      [28, 99],
      [10, 10],
      [-4, -2],
      [40, undefined],
    ] as const) {
      const range = await ok(readRange(store, 's', from, to))
      const expected = all.slice(from, to)
      expect(range.view.toArray()).toEqual(expected)
      if (expected.length > 0) expect(range.view.at(0)).toEqual(all[range.from])
    }
  })
  it('lists only sessions, by metadata, newest first', async () => {
    const store = memoryStore()
    await ok(store.create({ id: 'a log of something else', encrypt: false }))
    for (const id of ['a', 'b', 'c']) await ok(createSession(store, { id, metadata: { odd: id !== 'b' } }))
    expect((await ok(listSessions(store))).sessions.map(({ id }) => id)).toEqual(['c', 'b', 'a'])
    expect(await ok(listSessions(store, { where: { odd: true }, limit: 1 }))).toMatchObject({
      sessions: [{ id: 'c', len: 0 }],
      next: expect.any(String) as string,
    })
    await fault('NotASession', openSession(store, 'a log of something else'))
    await fault('NewerSession', openSession(await withNewer(store), 'newer'))
  })
  const withNewer = async (store: Store): Promise<Store> => {
    await ok(store.create({ id: 'newer', meta: { 'indelible.session': 2 }, encrypt: false }))
    return store
  }
})

describe('messages of a session', () => {
  it('are found by a pattern and an age, also in arguments, and not once they are erased', async () => {
    let now = 1000
    const store = memoryStore({ now: () => now })
    const session = await ok(createSession(store, { id: 's', messages: [user('I am Grace.')] }))
    await ok(session.note({ type: 'pin', position: 0 }))
    now = 2000
    await ok(session.append([user('hello'), assistant('on it', toolCall('c', 'find', '{"who":["GRACE"]}'))]))
    await ok(session.note({ type: 'pin', position: 1 }))
    now = 3000
    await ok(session.append(toolResult('c', 'grace is here')))
    const find = (query: object): Promise<readonly number[]> => ok(findMessages(store, 's', query))
    expect(await find({})).toEqual([0, 1, 2, 3])
    for (const flags of ['i', 'gi', 'iy'])
      expect(await find({ matching: new RegExp('grace', flags) })).toEqual([0, 2, 3])
    expect(await find({ matching: /^GRACE$/ })).toEqual([2])
    expect(await find({ matching: /nobody/ })).toEqual([])
    expect([await find({ before: 2000 }), await find({ before: 2001 }), await find({ before: 1000 })]).toEqual([
      ...[[0], [0, 1, 2], []],
    ])
    expect(await find({ before: 3000, matching: /grace/i })).toEqual([0, 2])
    const low = Buffer.from('\ufeffI am Ada, 中文.', 'utf16le')
    const files = [
      low,
      low.subarray(2),
      Buffer.from(low).swap16(),
      Buffer.from(low.subarray(2)).swap16(),
      Buffer.from('Ada, 中文'),
    ]
    for (const bytes of files) {
      const source = { type: 'base64', data: bytes.toString('base64'), mediaType: 'text/plain' } as const
      await ok(session.append({ role: 'user', content: [file(source)] }))
    }
    for (const matching of [/Ada/, /中文/]) expect(await find({ matching })).toEqual([4, 5, 6, 7, 8])
    await ok(eraseMessages(session, [4, 5, 6, 7, 8]))
    await ok(eraseMessages(session, [0]))
    expect([await find({}), await find({ matching: /grace/i })]).toEqual([
      [1, 2, 3],
      [2, 3],
    ])
  })

  it('belong to an id made of any parts, which no other parts have', () => {
    const store = memoryStore()
    const id = (...parts: readonly string[]): string => idOfParts(parts, store)
    expect([id('a', 'b c/d'), id('a'), id('a', ''), id('\ud800', 'ä🙂')]).toEqual([
      ...['a/b%20c%2Fd', 'a', 'a/', '#d800/%C3%A4%F0%9F%99%82'],
    ])
    const long = id('a', 'x'.repeat(253))
    expect([long.length, id('a', 'x'.repeat(254))]).toEqual([255, expect.stringMatching(/^a\/#[0-9a-f]{64}$/)])
    expect(new Set([id('a', 'x'.repeat(254)), id('a', 'x'.repeat(255)), id('a', 'y'.repeat(254))]).size).toBe(3)
  })

  it('are those of an adapter, whose session is made on its first change and only opened with its mark', async () => {
    const store = memoryStore()
    const mark = { kind: 'mine', of: ['x'] }
    const sessions = adapterSessions(store)
    const adapter = sessions('s', mark)
    expect([sessions('s', mark), await adapter.read()]).toEqual([adapter, undefined])
    let seen: number[] = []
    const add = (text: string) => (session: Session) => {
      seen.push(session.len)
      return { messages: [user(text)] }
    }
    const [first] = await Promise.all([adapter.change(add('a')), adapter.change(add('b'))])
    expect([seen, texts(first.view()), first.metadata()]).toEqual([[0, 1], texts([user('a'), user('b')]), mark])
    const other = await ok(openSession(store, 's'))
    await ok(other.append(user('of another')))
    seen = []
    await adapter.change(add('c'))
    expect([seen, (await adapter.read())?.len]).toEqual([[2, 3], 4]) // once more after the conflict
    await ok(other.refresh())
    await ok(other.append(user('again')))
    const lens: number[] = []
    const last = await adapter.change((session) => void lens.push(session.len))
    expect([lens, last.len]).toEqual([[4, 5], 5]) // nothing to change, also in what others appended
    await ok(store.remove('s'))
    expect(await adapter.read()).toBeUndefined()
    expect((await adapter.change(add('anew'))).len).toBe(1)

    const theirs = { _tag: 'OtherLog', id: 's' }
    for (const wrong of [{ kind: 'other' }, { kind: 'mine', of: ['y'] }, { toString: 1 }]) {
      for (const call of [
        () => adapterSession(store, 's', wrong).read(),
        () => adapterSession(store, 's', wrong).change(add('x')),
        () => removeMarked(store, 's', wrong),
      ])
        await expect(call()).rejects.toMatchObject({ fault: theirs })
    }
    await expect(adapterSession(store, 'a\nb', mark).read()).rejects.toMatchObject({ fault: { _tag: 'InvalidId' } })
    await expect(adapter.change(() => ({ messages: [{} as never] }))).rejects.toMatchObject({
      fault: { _tag: 'InvalidMessage' },
    })
    expect((await adapter.read())?.len).toBe(1) // a failed change does not stop the next one
    await removeMarked(store, 's', mark)
    await removeMarked(store, 's', mark)
    await fault('NoSuchLog', openSession(store, 's'))
    for (let index = 0; index < 64; index++) sessions(`other ${index}`, mark)
    expect(sessions('s', mark)).not.toBe(adapter)
    expect(sessions('other 63', mark)).toBe(sessions('other 63', mark))
  })

  it('are described with their fork, and only if the log is a session of this version', async () => {
    const { store } = await startSession([user('a'), user('b')])
    await ok(forkSession(store, 's', { id: 'f', at: 1 }))
    await ok(createSession(store, { id: 'e', erasable: true, metadata: { a: 1 } }))
    const described = async (id: string): Promise<object> => ok(describeSession(store, id))
    expect(await described('s')).toMatchObject({ len: 2, metadata: {}, forkedFrom: undefined, erasable: undefined })
    expect(await described('f')).toMatchObject({ len: 1, forkedFrom: { id: 's', at: 1 }, encrypted: undefined })
    expect(await described('e')).toMatchObject({ erasable: true, metadata: { a: 1 } })
    for (const [meta, expected] of [
      [{}, { _tag: 'NotASession' }],
      [{ 'indelible.session': 'x' }, { _tag: 'NotASession' }],
      [{ 'indelible.session': 2 }, { _tag: 'NewerSession', found: 2, supported: 1 }],
      [
        { 'indelible.session': 1, 'indelible.partial': 'copy' },
        { _tag: 'UnfinishedSession', rows: 0 },
      ],
    ] as const) {
      await ok(store.create({ id: 'other', meta, encrypt: false }))
      expect(await describeSession(store, 'other')()).toMatchObject({ left: { id: 'other', ...expected } })
      await ok(store.remove('other'))
    }
    await ok(store.create({ id: 'odd', meta: { 'indelible.session': 1, 'indelible.erasable': 1 }, encrypt: false }))
    expect(await described('odd')).toMatchObject({ erasable: undefined, metadata: {} })
  })
})
