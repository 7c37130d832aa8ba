/** The remedies of docs/errors.md: each fault is provoked, the page's advice is followed, and then it works. */
import { left, right, type Either, type Left } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import {
  applyDelta,
  assistant,
  createHistory,
  createSession,
  decodeMessage,
  exportSession,
  type FaultError,
  forkSession,
  importRecord,
  memoryStore,
  mend,
  openSession,
  orThrow,
  pending,
  restoreHistory,
  settle,
  system,
  textOf,
  toolCall,
  toolResult,
  user,
  verifySession,
  type Fault,
  type Message,
  type Store,
} from 'indelible'
import {
  checkErased,
  checkGrowth,
  checkProof,
  copySession,
  eraseMessages,
  listUnfinished,
  proveEntry,
  proveErased,
  proveGrowth,
  removeUnfinished,
  type Session,
} from 'indelible/session'
import {
  inputsOf,
  listWaiting,
  modelFor,
  resume,
  run,
  scriptedModel,
  sessionHandler,
  tool,
  turn,
  type Model,
  type ModelRegistry,
} from 'indelible/run'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { readLedger } from '@indelible/evidence'
import { errorRows } from './error-rows.ts'
import { fault, ok } from './task-results.ts'

/** The fault of an outcome, which must have this tag. */
const leftOf = <F extends { readonly _tag: string }, Tag extends F['_tag']>(
  tag: Tag,
  outcome: Either<F, unknown>,
): Extract<F, { readonly _tag: Tag }> => {
  expect(outcome).toMatchObject({ left: { _tag: tag } })
  return (outcome as Left<Extract<F, { readonly _tag: Tag }>>).left // its tag was compared
}

const answering = (...answers: readonly Message[]): Model => scriptedModel(answers)
const down: Model = { name: 'down', stream: () => { throw Object.assign(new Error('overloaded'), { status: 529 }) } } // oxfmt-ignore

const startSession = async (messages: readonly Message[] = [user('a')]): Promise<[Session, Store]> => {
  const store = memoryStore({ now: () => 1 }) // no lease expires, however slow the machine is
  return [await ok(createSession(store, { id: 's', messages })), store]
}

const textsOf = (session: Session): readonly string[] => session.conversation().toArray().map(textOf)

/** The conversation with a defect, what the page says to do about it by hand, and the defect. */
const expectSettles = (tag: string, wrong: readonly Message[], right: readonly Message[], mends = true): void => {
  const { problems } = leftOf('Unsettled', settle(wrong))
  expect(problems.map(({ _tag }) => _tag)).toContain(tag)
  expect(settle(right)._tag).toBe('Right')
  if (mends) expect(settle(mend(wrong).messages)._tag).toBe('Right')
}

const call = (id = 'c1'): Message => assistant(toolCall(id, 'f', '{}'))
const result = (id = 'c1'): Message => toolResult(id, 'r')

/** What each row says to do, done: `entry tag`. */
const remedies: Readonly<Record<string, () => void | Promise<void>>> = {
  'indelible/message UnexpectedShape': () => {
    const wrong = { role: 'user', content: [{ type: 'text', text: 5 }] }
    const { path } = leftOf('UnexpectedShape', decodeMessage(wrong))
    expect(path).toEqual(['content', 0, 'text'])
    expect(decodeMessage({ ...wrong, content: [{ type: 'text', text: '5' }] })).toEqual(right(user('5')))
  },
  'indelible/message NotPlainJson': () => {
    const date = new Date(0)
    const message = (at: unknown): unknown => ({ ...user('a'), meta: { app: { at } } })
    expect(leftOf('NotPlainJson', decodeMessage(message(date))).path).toEqual(['meta', 'app', 'at'])
    expect(decodeMessage(message(date.toISOString()))._tag).toBe('Right')
  },
  'indelible/message Unsettled': async () => {
    const [session] = await startSession([user('a'), call()])
    leftOf('Unsettled', settle(session.conversation()))
    const mended = mend(session.conversation()).messages
    expect(settle(mended)._tag).toBe('Right')
    await ok(session.append(pending(session).messages))
    expect(settle(session.conversation())._tag).toBe('Right')
  },
  'indelible/message UnansweredCall': () =>
    expectSettles('UnansweredCall', [user('a'), call()], [user('a'), call(), result()]),
  'indelible/message DuplicateCallId': () => {
    const wrong = [user('a'), call(), result(), call(), result()]
    expectSettles('DuplicateCallId', wrong, [user('a'), call(), result(), call('c2'), result('c2')])
  },
  'indelible/message OrphanResult': () =>
    expectSettles('OrphanResult', [user('a'), result(), assistant('b')], [user('a'), assistant('b')]),
  'indelible/message DuplicateResult': () =>
    expectSettles('DuplicateResult', [user('a'), call(), result(), result()], [user('a'), call(), result()]),
  'indelible/message ResultBeforeCall': () => {
    const wrong = [user('a'), result(), call()]
    expectSettles('ResultBeforeCall', wrong, [user('a'), call(), result()])
    const mended = [...mend(wrong).messages]
    expect(mended).toHaveLength(3)
    expect(mended[2]?.content).toMatchObject([{ type: 'tool_result', callId: 'c1', isError: true }])
  },
  'indelible/message ResultNotAdjacent': () => {
    const wrong = [user('a'), call(), user('b'), result()]
    expectSettles('ResultNotAdjacent', wrong, [user('a'), call(), result(), user('b')])
    expect([...mend(wrong).messages]).toMatchObject([user('a'), call(), result(), user('b')])
  },

  'indelible/history NotSavedHistory': () => {
    const { history } = orThrow(restoreHistory({ messages: [user('a')] }, decodeMessage))
    const saved = { messages: history.view().toArray(), pages: history.view().pages.toArray() }
    leftOf('NotSavedHistory', restoreHistory(saved.messages as never, decodeMessage))
    expect(orThrow(restoreHistory(saved, decodeMessage)).history.len).toBe(1)
  },
  'indelible/history UndecodableMessage': () => {
    const saved = { messages: [1, 'two'] }
    const numbers = (value: unknown) => (typeof value === 'number' ? right(value) : left('expected a number'))
    const { cause, position } = leftOf('UndecodableMessage', restoreHistory(saved, numbers))
    expect([cause, position]).toEqual(['expected a number', 1])
    expect(orThrow(restoreHistory(saved, (value) => right(value as number | string))).history.len).toBe(2)
  },
  'indelible/history UnrecordableMessage': () => {
    const dates = (convert: (date: Date) => unknown) =>
      restoreHistory({ messages: ['a'] }, () => right({ at: convert(new Date(0)) } as { readonly at: string }))
    expect(
      leftOf(
        'UnrecordableMessage',
        dates((date) => date),
      ).path,
    ).toEqual(['at'])
    expect(dates((date) => date.toISOString())._tag).toBe('Right')
  },
  'indelible/history TooManyPages': () => {
    const messages = [user('a'), user('b')]
    const pages = ['plan', 'plan']
    leftOf('TooManyPages', restoreHistory({ messages: messages.slice(1), pages }, decodeMessage))
    expect(restoreHistory({ messages, pages }, decodeMessage)._tag).toBe('Right')
  },
  'indelible/history UnknownPage': () => {
    const messages = [user('a')]
    leftOf('UnknownPage', restoreHistory({ messages, pages: ['gossip'] }, decodeMessage))
    expect(restoreHistory({ messages, pages: ['evidence'] }, decodeMessage)._tag).toBe('Right')
  },
  'indelible/history NotADelta': () => {
    const history = createHistory<Message>()
    leftOf('NotADelta', applyDelta(history, { id: 'd', append: [user('a')] } as never))
    expect(applyDelta(history, { id: 'd', expectedLen: 0, append: [user('a')] })).toEqual(right('applied'))
  },
  'indelible/history DeltaGap': () => {
    const history = createHistory<Message>()
    const [first, second] = [
      { id: 'd1', expectedLen: 0, append: [user('a')] },
      { id: 'd2', expectedLen: 1, append: [user('b')] },
    ]
    leftOf('DeltaGap', applyDelta(history, second))
    orThrow(applyDelta(history, first))
    expect(applyDelta(history, second)).toEqual(right('applied'))
  },
  'indelible/history DeltaMismatch': () => {
    const history = createHistory<Message>({ from: [user('a'), user('b')] })
    const delta = { id: 'd', expectedLen: 1, append: [user('other')] }
    const { position } = leftOf('DeltaMismatch', applyDelta(history, delta))
    const fork = createHistory<Message>({ from: history.view().slice(0, position) })
    expect(applyDelta(fork, delta)).toEqual(right('applied'))
    expect(applyDelta(history, { ...delta, expectedLen: history.len })).toEqual(right('applied'))
  },

  'indelible/session SessionConflict': async () => {
    const [session, store] = await startSession()
    const other = await ok(openSession(store, 's'))
    await ok(other.append(user('theirs')))
    const conflict = await fault('SessionConflict', session.append(user('mine'), { expectedLen: 1 }))
    expect(conflict.missed.toArray()).toEqual([user('theirs')])
    expect(textsOf(session)).toEqual(['a', 'theirs'])
    await ok(session.append(user('mine'), { expectedLen: session.len }))
    await ok(other.rebase((view) => user(`after ${view.length}`)))
    expect(textsOf(other)).toEqual(['a', 'theirs', 'mine', 'after 3'])
  },
  'indelible/session SessionGap': async () => {
    const [session] = await startSession()
    await fault('SessionGap', session.append(user('c'), { expectedLen: 2 }))
    await ok(session.append(user('b')))
    await ok(session.append(user('c'), { expectedLen: 2 }))
  },
  'indelible/session SessionSealed': async () => {
    const [session, store] = await startSession()
    await ok(session.seal())
    await fault('SessionSealed', session.append(user('b')))
    const fork = await ok(forkSession(store, 's', { id: 'fork' }))
    await ok(fork.append(user('b')))
    expect(textsOf(fork)).toEqual(['a', 'b'])
  },
  'indelible/session SessionClosed': async () => {
    const [session, store] = await startSession()
    await ok(session.close())
    await fault('SessionClosed', session.append(user('b')))
    await ok((await ok(openSession(store, 's'))).append(user('b')))
  },
  'indelible/session SessionBusy': async () => {
    const [session, store] = await startSession([])
    const other = await ok(openSession(store, 's'))
    const model = answering(...Array.from({ length: 4 }, () => assistant('yes')))
    const lease = await ok(session.lease({ holder: 'one', ttl: 60 }))
    expect(await fault('SessionBusy', turn(other, 'x', { model }).result())).toMatchObject({ id: 's', holder: 'one' })
    const queued = await turn(other, 'queued', { model, id: 'q', whenBusy: 'queue', wait: 0 }).result()
    expect(queued.stopReason).toBe('queued')
    const waiting = turn(other, 'waits', { model, whenBusy: 'wait' }).result()
    await ok(store.requestStop('s'))
    await expect.poll(() => lease.signal.aborted).toBe(true)
    await ok(lease.release())
    expect((await waiting).stopReason).toBe('end_turn')
    expect(inputsOf(other)).toMatchObject([{ id: 'q', state: 'answered' }])
    expect(textsOf(other)).toEqual(['queued', 'yes', 'waits', 'yes'])
  },
  'indelible/session StopRequested': async () => {
    const [session, store] = await startSession()
    const lease = await ok(session.lease({ holder: 'one', ttl: 30 }))
    await ok(store.requestStop('s'))
    await expect.poll(() => lease.signal.aborted).toBe(true)
    expect((lease.signal.reason as FaultError<Fault>).fault).toEqual({ _tag: 'StopRequested', id: 's' })
    await ok(session.append(user('the end')))
    await ok(lease.release())
    const next = await ok((await ok(openSession(store, 's'))).lease({ holder: 'two' }))
    await ok(next.release())
  },
  'indelible/session InvalidMessage': async () => {
    const [session] = await startSession()
    const messages = [user('b'), { role: 'sytem', content: [] } as never, user('c')]
    const { index } = await fault('InvalidMessage', session.append(messages))
    expect([index, session.len]).toEqual([1, 1])
    await ok(session.append(messages.with(index, system('d'))))
    expect(textsOf(session)).toEqual(['a', 'b', 'd', 'c'])
  },
  'indelible/session InvalidPage': async () => {
    const [session] = await startSession()
    const { index } = await fault('InvalidPage', session.append(user('b'), { page: 'gossip' as never }))
    expect(index).toBe(0)
    await ok(session.append(user('b'), { page: 'evidence' }))
    expect(session.view().pages.at(1)).toBe('evidence')
  },
  'indelible/session InvalidNote': async () => {
    const [session] = await startSession()
    await fault('InvalidNote', session.note({ type: 'pin', position: 1 }))
    await ok(session.note({ type: 'pin', position: 0 }))
  },
  'indelible/session NotASession': async () => {
    const store = memoryStore()
    await ok(store.create({ id: 's', encrypt: false }))
    await fault('NotASession', openSession(store, 's'))
    await ok(createSession(store, { id: 'another' }))
    await ok(openSession(store, 'another'))
  },
  'indelible/session UnfinishedSession': async () => {
    const from = memoryStore()
    const messages = Array.from({ length: 600 }, (_, at) => user(`m${at}`))
    await ok(createSession(from, { id: 's', messages }))
    const to = memoryStore()
    // The copying process dies after its first append.
    const dying: Store = { ...to, append: () => Promise.reject(new Error('killed')) as never }
    const interrupt = async (): Promise<void> => void (await copySession(from, dying, 's')().catch(() => undefined))
    await interrupt()
    await fault('UnfinishedSession', openSession(to, 's'))
    await ok(copySession(from, to, 's'))
    expect((await ok(openSession(to, 's'))).len).toBe(600)
    await ok(to.remove('s'))
    await interrupt()
    for (const { id } of await ok(listUnfinished(to))) await ok(removeUnfinished(to, id))
    await fault('NoSuchLog', openSession(to, 's'))
  },
  'indelible/session BadProof': async () => {
    const [session, store] = await startSession()
    const proof = await ok(proveEntry(store, 's', 0))
    leftOf('BadProof', checkProof({ ...proof, body: proof.body.replace('"a"', '"b"') }, session.head()))
    const again = await ok(proveEntry(store, 's', 0))
    expect(checkProof(again, session.head())._tag).toBe('Right')
  },
  'indelible/session MessageErased': async () => {
    const store = memoryStore()
    const session = await ok(createSession(store, { id: 's', erasable: true, messages: [user('a'), user('b')] }))
    await ok(eraseMessages(session, [0]))
    await fault('MessageErased', proveEntry(store, 's', 0))
    const trusted = { head: session.head(), ledger: (await ok(readLedger(store))).head }
    expect(checkErased(await ok(proveErased(store, 's', 0)), trusted)._tag).toBe('Right')
  },
  'indelible/session MessageEncrypted': async () => {
    const store = withKeys(memoryStore(), keyRing([newHostKey('one')]))
    const session = await ok(createSession(store, { id: 's', messages: [user('a')] }))
    const earlier = session.head()
    await ok(session.append(user('b')))
    await fault('MessageEncrypted', proveEntry(store, 's', 0))
    expect(checkGrowth(await ok(proveGrowth(store, 's', earlier)), session.head())._tag).toBe('Right')
  },
  'indelible/session NoSuchInput': async () => {
    const store = memoryStore()
    const session = await ok(createSession(store, { id: 's', erasable: true }))
    await turn(session, 'a', { model: answering(assistant('b')), id: 'order-1' }).result()
    await fault('NoSuchInput', eraseMessages(session, { inputs: ['order 1'] }))
    const ids = inputsOf(session).map(({ id }) => id)
    expect(ids).toEqual(['order-1'])
    await ok(eraseMessages(session, { inputs: ids }))
  },
  'indelible/session OtherHead': async () => {
    const [, store] = await startSession()
    const exported = await ok(exportSession(store, 's'))
    const to = memoryStore()
    const changed = { ...exported, head: { ...exported.head, root: 'ab'.repeat(32) } }
    await fault('OtherHead', importRecord(to, changed))
    await ok(importRecord(to, await ok(exportSession(store, 's'))))
    await ok(verifySession(to, 's'))
  },

  'indelible/run ModelFailed': async () => {
    const [session] = await startSession([])
    expect(await fault('ModelFailed', turn(session, 'a', { model: down }).result())).toMatchObject({ status: 529 })
    const resumed = await resume(session, { model: answering(assistant('b')) }).result()
    expect([resumed.stopReason, textsOf(session)]).toEqual(['end_turn', ['a', 'b']])
  },
  'indelible/run StreamEndedEarly': async () => {
    const broken: Model = {
      name: 'broken',
      async *stream() {
        yield { type: 'block_start', index: 0, block: 'text' }
        yield { type: 'text_delta', index: 0, block: 'text', text: 'half' }
      },
    }
    for (const again of [
      resume,
      (session: Session, options: { readonly model: Model }) => turn(session, 'b', options),
    ]) {
      const [session] = await startSession([])
      const early = await fault('StreamEndedEarly', turn(session, 'a', { model: broken }).result())
      expect(early.partialText).toBe('half')
      const ended = await again(session, { model: answering(assistant('whole')) }).result()
      expect(ended.stopReason).toBe('end_turn')
      expect(textsOf(session).at(-1)).toBe('whole')
    }
  },
  'indelible/run InvalidAnswer': async () => {
    const [session] = await startSession([])
    const wrong: Model = {
      name: 'wrong',
      async *stream() {
        const message = { role: 'assistant', content: [{ type: 'text', text: 5 }] } as never
        yield { type: 'finish', message, reason: 'end_turn', usage: { input: 0, output: 0 } }
      },
    }
    const { reason } = await fault('InvalidAnswer', turn(session, 'a', { model: wrong }).result())
    expect(reason).toContain('text')
    const ended = await resume(session, { model: answering(assistant('b')) }).result()
    expect(ended.stopReason).toBe('end_turn')
  },
  'indelible/run NoContext': async () => {
    const [session] = await startSession([])
    const options = { model: answering(assistant('b'), assistant('c')), instructions: 'Long. '.repeat(20_000) }
    const { cause } = await fault('NoContext', turn(session, 'a', { ...options, budget: 12_000 }).result())
    expect(cause).toMatchObject({ _tag: 'MinimumDoesNotFit' })
    const larger = await resume(session, { ...options, budget: 500_000 }).result()
    const shorter = await turn(session, 'again', { ...options, instructions: 'Short.', budget: 12_000 }).result()
    expect([larger.stopReason, shorter.stopReason]).toEqual(['end_turn', 'end_turn'])
  },
  'indelible/run HandlerFailed': async () => {
    const [session] = await startSession([])
    let isFull = true
    const keep = (event: { readonly type: string }): Either<unknown, undefined> =>
      isFull && event.type === 'history_delta' ? left('the table is full') : right(undefined)
    const model = answering(assistant('b'), assistant('c'))
    const { cause } = await fault('HandlerFailed', turn(session, 'a', { model, handlers: [keep] }).result())
    expect(cause).toBe('the table is full')
    isFull = false
    const ended = await resume(session, { model, handlers: [keep] }).result()
    expect(ended.stopReason).toBe('end_turn')
    expect(textsOf(session).slice(0, 2)).toEqual(['a', 'b'])
  },
  'indelible/run StopWhenThrew': async () => {
    const [session] = await startSession([])
    const model = answering(call(), assistant('b'))
    const tools = [tool({ name: 'f', parameters: {}, run: () => 'r' })]
    const stopWhen = (): boolean => { throw new Error('a typo') } // oxfmt-ignore
    await fault('StopWhenThrew', turn(session, 'a', { model, tools, limits: { stopWhen } }).result())
    expect(session.len).toBe(3)
    const ended = await resume(session, { model, tools, limits: { stopWhen: () => false } }).result()
    expect([ended.stopReason, textsOf(session).at(-1)]).toEqual(['end_turn', 'b'])
  },
  'indelible/run NothingToAnswer': async () => {
    const [session] = await startSession([])
    const once = () => {
      const model = answering(assistant('b'))
      return run({ model, view: session.conversation(), handlers: [sessionHandler(session)] }).result()
    }
    await fault('NothingToAnswer', once())
    await ok(session.append(user('a')))
    expect((await once()).stopReason).toBe('end_turn')
  },
  'indelible/run UnspecifiedModel': () => {
    leftOf('UnspecifiedModel', modelFor({ type: 'openai' }, { openai: provider }))
    expect(orThrow(modelFor({ name: 'gpt-5' }, { openai: provider })).name).toBe('gpt-5')
  },
  'indelible/run UnknownModelType': () => {
    leftOf('UnknownModelType', modelFor({ name: 'house-model' }, { openai: provider }))
    expect(orThrow(modelFor({ name: 'house-model', type: 'openai' }, { openai: provider })).name).toBe('house-model')
  },
  'indelible/run UnconfiguredModel': () => {
    leftOf('UnconfiguredModel', modelFor({ name: 'claude-x' }, { openai: provider }))
    const registry = { openai: provider, anthropic: provider }
    expect(orThrow(modelFor({ name: 'claude-x' }, registry)).name).toBe('claude-x')
  },
  'indelible/run MissingKey': () => {
    const environment: Record<string, string> = {}
    const choose = () => {
      const apiKey = environment['OPENAI_API_KEY']
      return modelFor({ name: 'gpt-5' }, { openai: { ...provider, apiKey, keyFrom: 'OPENAI_API_KEY' } })
    }
    const { keyFrom = '' } = leftOf('MissingKey', choose())
    environment[keyFrom] = ''
    leftOf('MissingKey', choose())
    environment[keyFrom] = 'k'
    expect(choose()._tag).toBe('Right')
  },
  'indelible/run NotWaiting': async () => {
    const [session, store] = await startSession([])
    const pay = tool({ name: 'f', parameters: {}, needsApproval: true, run: () => 'paid' })
    const options = { model: answering(call(), call('c2'), assistant('b')), tools: [pay] }
    const first = await turn(session, 'a', options).result()
    // A later input denies the first call.
    expect((await turn(session, 'no, wait', options).result()).stopReason).toBe('approval')
    const approve = (first.open?.calls ?? []).map(({ approval }) => approval)
    expect((await fault('NotWaiting', resume(session, { ...options, approve }).result())).tokens).toEqual(approve)
    const { calls } = await ok(listWaiting(store))
    expect(calls).toHaveLength(1)
    const ended = await resume(session, { ...options, approve: calls.map(({ approval }) => approval) }).result()
    expect(ended.stopReason).toBe('end_turn')
  },
  'indelible/run InputMismatch': async () => {
    const [session] = await startSession([])
    const model = answering(assistant('b'), assistant('c'))
    await turn(session, 'one', { model, id: 'i' }).result()
    await fault('InputMismatch', turn(session, 'two', { model, id: 'i' }).result())
    await turn(session, 'two', { model, id: 'j' }).result()
    expect(textsOf(session)).toEqual(['one', 'b', 'two', 'c'])
  },
}

const provider: NonNullable<ModelRegistry['openai']> = { apiKey: 'k', model: (name) => scriptedModel([], { name }) }

/** The rows of these entries that are not tried here, and why. */
const untried: Readonly<Record<string, string>> = {
  'indelible/session NewerSession':
    'the remedy is a later version of the library; the fault is in session/session.test.ts',
}

const entries = new Set(['indelible/message', 'indelible/history', 'indelible/session', 'indelible/run'])

describe('what docs/errors.md says to do', () => {
  it('is tried for each fault of messages, histories, sessions and runs, or the reason is named', () => {
    const rows = errorRows.filter(({ entry }) => entries.has(entry)).map(({ entry, tag }) => `${entry} ${tag}`)
    expect([...Object.keys(remedies), ...Object.keys(untried)].toSorted()).toEqual(rows.toSorted())
  })
  it.each(Object.entries(remedies))('%s', async (_, remedy) => remedy())
})
