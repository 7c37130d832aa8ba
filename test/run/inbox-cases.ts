/** The inbox: which calls wait for a person, over all sessions of a scope, on every store. */
import { expect, it } from 'vitest'
import { assistant, createSession, faultMessage, openSession, toolCall, user, type Store } from 'indelible'
import {
  inputsOf,
  listWaiting,
  resume,
  run,
  scriptedModel,
  sessionHandler,
  tool,
  turn,
  type InboxCall,
} from 'indelible/run'
import { eraseMessages } from 'indelible/session'
import type { Place } from '../session/adapter-stores.ts'
import { fault, ok } from '../task-results.ts'

const ran: string[] = []
const tools = [
  tool({ name: 'pay', parameters: {}, needsApproval: true, run: () => (ran.push('pay'), 'paid') }),
  tool({ name: 'locate', description: 'Where the user is.', parameters: {} }),
]

type Call = readonly [id: string, name: string]

/** A session whose run waits for these calls. */
const waitsFor = async (store: Store, id: string, ...calls: readonly Call[]): Promise<void> => {
  const session = await ok(createSession(store, { id }))
  const answer = assistant(...calls.map(([call, name]) => toolCall(call, name, '{}')))
  await turn(session, `Please, ${id}.`, { model: scriptedModel([answer]), tools, id: `input ${id}` }).result()
}

const done = () => ({ model: scriptedModel([assistant('Done.')]), tools })

const named = (calls: readonly InboxCall[]): readonly string[] =>
  calls.map(({ session, id, name, needs }) => `${session} ${id} ${name} ${needs}`)

const allNamed = async (store: Store): Promise<readonly string[]> => named((await ok(listWaiting(store))).calls)

export const inboxCases = ({ fresh }: Place): void => {
  it('lists the waiting calls of all sessions, the longest waiting first, and each until it is decided', async () => {
    const store = await fresh()
    const before = store.now()
    await waitsFor(store, 'z', ['c1', 'pay'], ['c2', 'locate'])
    await ok(createSession(store, { id: 'm', messages: [user('hi'), assistant('hello')] }))
    await waitsFor(store, 'a', ['c1', 'pay'])
    const { calls, next } = await ok(listWaiting(store))
    expect([named(calls), next]).toEqual([['z c1 pay approval', 'z c2 locate result', 'a c1 pay approval'], undefined])
    expect(calls.every(({ since }) => since >= Math.floor(before) && since <= store.now())).toBe(true)

    ran.length = 0
    const z = await ok(openSession(store, 'z'))
    const [pay, locate] = calls.map(({ approval }) => approval) as [string, string]
    const half = await resume(z, { ...done(), approve: [pay] }).result()
    expect([half.stopReason, ran, await allNamed(store)]).toEqual([
      'approval',
      ['pay'],
      ['z c2 locate result', 'a c1 pay approval'],
    ])
    const ended = await resume(z, { ...done(), results: [{ approval: locate, output: 'Oslo' }] }).result()
    expect([ended.stopReason, await allNamed(store)]).toEqual(['end_turn', ['a c1 pay approval']])
    // The same decision again is no error; another one is.
    const again = await resume(z, { ...done(), results: [{ approval: locate, output: 'Oslo' }] }).result()
    expect([again.stopReason, again.response]).toEqual(['end_turn', assistant('Done.')])
    expect(await fault('NotWaiting', resume(z, { ...done(), deny: [pay] }).result())).toMatchObject({
      _tag: 'NotWaiting',
    })

    await turn(await ok(openSession(store, 'a')), 'Never mind.', done()).result()
    expect(await allNamed(store)).toEqual([])
  })

  it('is listed in pages, which a decision between them does not disturb', async () => {
    const store = await fresh()
    for (const id of ['s3', 's1', 's2']) await waitsFor(store, id, ['a', 'pay'], ['b', 'pay'])
    const pages: string[][] = []
    let after: string | undefined
    do {
      const { calls, next }: Awaited<ReturnType<typeof listWaiting>> = await ok(
        listWaiting(store, { limit: 3, ...(after !== undefined && { after }) }),
      )
      pages.push([...named(calls)])
      after = next
      const [first] = calls
      if (first === undefined) continue
      await resume(await ok(openSession(store, first.session)), { ...done(), deny: [first.approval] }).result()
    } while (after !== undefined)
    expect(pages.flat()).toEqual([
      ...['s3 a pay approval', 's3 b pay approval', 's1 a pay approval', 's1 b pay approval'],
      ...['s2 a pay approval', 's2 b pay approval'],
    ])
    expect(() => listWaiting(store, { after: 'elsewhere' })).toThrow('expected the `next` of another page')
    expect(() => listWaiting(store, { limit: 0 })).toThrow('limit')
  })

  it('has no call of a session that was cancelled, rewound, erased, sealed or removed', async () => {
    const store = await fresh()
    for (const id of ['cancelled', 'rewound', 'erased', 'sealed', 'removed', 'waiting'])
      await waitsFor(store, id, ['a', 'pay'])
    const cancelled = await ok(openSession(store, 'cancelled'))
    await turn(cancelled, 'Please, cancelled.', {
      ...done(),
      id: 'input cancelled',
      signal: AbortSignal.abort(),
    }).result()
    await resume(cancelled, done()).result()
    expect(inputsOf(cancelled).map(({ state }) => state)).toEqual(['cancelled'])
    await ok((await ok(openSession(store, 'rewound'))).rewind(0))
    await ok(eraseMessages(store, 'erased', { all: true }))
    await ok((await ok(openSession(store, 'sealed'))).seal())
    await ok(store.remove('removed'))
    expect(await allNamed(store)).toEqual(['waiting a pay approval'])
  })

  it('has the calls of a run with `sessionHandler`, and those that a dead run had started', async () => {
    const store = await fresh()
    const session = await ok(createSession(store, { id: 's', messages: [user('Pay.')] }))
    const model = scriptedModel([assistant(toolCall('a', 'pay', '{}'))])
    await run({ model, tools, view: session.conversation(), handlers: [sessionHandler(session)] }).result()
    expect(await allNamed(store)).toEqual(['s a pay approval'])
    // A run with that approval died after it had started the call.
    const [call] = (await ok(listWaiting(store))).calls
    const step = [...session.notes()].findLast((note) => note.type === 'journal')?.step ?? ''
    await ok(session.note({ type: 'journal', step, started: ['a'] }))
    expect(await allNamed(store)).toEqual([])
    const runResult = await resume(session, { ...done(), unfinished: 'ask', approve: [call?.approval ?? ''] }).result()
    expect(runResult.stopReason).toBe('approval')
    const [again] = (await ok(listWaiting(store))).calls
    expect([again?.started, again?.approval === runResult.open?.calls[0]?.approval]).toEqual([true, true])
  })

  it('a token of another session, and one that nobody gave, is an error, and nothing is run', async () => {
    const store = await fresh()
    await waitsFor(store, 'one', ['a', 'pay'])
    await waitsFor(store, 'two', ['a', 'pay'])
    const [one] = (await ok(listWaiting(store))).calls
    const session = await ok(openSession(store, 'two'))
    ran.length = 0
    for (const token of [one?.approval ?? '', `approval_${'0'.repeat(64)}`]) {
      const refused = await fault('NotWaiting', resume(session, { ...done(), approve: [token] }).result())
      expect(refused).toEqual({ _tag: 'NotWaiting', session: 'two', tokens: [token] })
      expect(faultMessage(refused)).toContain(`the call ${token} of a decision doesn't wait in session "two"`)
    }
    expect([ran, await allNamed(store)]).toEqual([[], ['one a pay approval', 'two a pay approval']])
  })
}
