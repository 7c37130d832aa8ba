import { design } from '../../src/context/internal.ts'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isLeft, isRight, left, type Either } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import {
  faultMessage,
  assistant,
  settle,
  textOf,
  toolCall,
  user,
  type Message,
  type Settled,
  type View,
} from 'indelible'
import { rangeDigest } from '../../src/notes/internal.ts'
import { deriveContext } from 'indelible/context'
import { run, scriptedModel, sessionHandler, tool, type ModelRequest, type RunEvent } from 'indelible/run'
import { createSession, openSession, verifySession, type Session, pending } from 'indelible/session'
import { memoryStore, type Store } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'
import { storeTask } from '../../src/store/internal.ts'
import { programUrl } from '../programs.ts'
import type { ModelContext } from '../../src/run/loop/context-for.ts'

const done = async <T>(task: () => Promise<Either<unknown, T>>): Promise<T> => {
  const answer = await task()
  if (isLeft(answer)) throw new Error(JSON.stringify(answer.left))
  return answer.right
}

const startSession = async (store: Store): Promise<Session> => {
  const session = await done(createSession(store, { id: 's' }))
  await done(session.append(user('go')))
  return session
}

const settledView = (session: Session): Settled<View<Message>> => {
  const found = settle(session.view())
  if (isLeft(found)) throw new Error('not settled')
  return found.right
}

const textIn = ({ content }: Message): string =>
  content.map((part) => textOf({ role: 'user', content: part.type === 'tool_result' ? part.content : [part] })).join('')

const deploy = tool({ name: 'deploy', parameters: {}, run: () => 'deployed' })
const calling = assistant('Deploying.', toolCall('c1', 'deploy', '{}'))

describe('sessionHandler', () => {
  it('stores each delta before the next step, and notes a tool call before it runs', async () => {
    const store = memoryStore()
    const session = await startSession(store)
    const seen: [string, number, number][] = []
    const ended = await run({
      model: scriptedModel([
        calling,
        () => (seen.push(['asked', session.len, session.notes().length]), assistant('Done.')),
      ]),
      view: settledView(session),
      tools: [
        tool({
          ...deploy,
          schema: undefined,
          timeout: 1000,
          run: () => (seen.push(['ran', session.len, session.notes().length]), 'deployed'),
        }),
      ],
      handlers: [sessionHandler(session)],
    }).result()()
    expect(isRight(ended) && ended.right.messages).toEqual(session.view().toArray())
    // The answer, then that its tool was started; then the messages, and that the journal is closed.
    expect(seen).toEqual([
      ['ran', 1, 2],
      ['asked', 3, 3],
    ])
    const lease = expect.any(Number) as number
    const step = expect.stringMatching(/:0$/) as string
    expect(session.notes().toArray()).toEqual([
      { type: 'journal', step, lease, said: expect.any(Array) as unknown, answer: { role: 'assistant' } },
      { type: 'journal', step, lease, started: ['c1'] },
      { type: 'journal', step, lease, closed: true },
    ])
    expect([pending(session).steps, pending(session).started, pending(session).messages]).toEqual([[], [], []])
    const again = await done(openSession(store, 's'))
    expect(again.view().toArray()).toEqual(session.view().toArray())
    expect(isRight(await verifySession(store, 's')())).toBe(true)
  })

  it('writes the receipt of an answer in the append of its messages; an interrupted one has its own', async () => {
    const session = await startSession(memoryStore())
    const writes: string[] = []
    const counted = Object.create(session, {
      append: { value: (...args: Parameters<Session['append']>) => (writes.push('append'), session.append(...args)) },
      note: {
        value: (...args: Parameters<Session['note']>) => (writes.push(`note ${args[0].type}`), session.note(...args)),
      },
    }) as Session
    const handlers = [sessionHandler(counted, { journalEvery: { ms: Infinity } })]
    const model = scriptedModel([calling, assistant('done')])
    await run({ model, view: session.view(), tools: [deploy], receipts: true, handlers }).result()
    // Each append has the receipt of its answer: no write of its own.
    expect(writes).toEqual(['note journal', 'note journal', 'append', 'append'])
    expect([...session.notes()].filter(({ type }) => type === 'receipt').length).toBe(2)
    writes.length = 0
    await done(session.append(user('and now?')))
    const stream = run({ model: scriptedModel([assistant('one two')]), view: session.view(), receipts: true, handlers })
    for await (const event of stream)
      if (event.type === 'model_event' && event.event.type === 'text_delta') stream.interrupt()
    expect(writes).toEqual(['note receipt', 'append'])
  })

  it('writes a receipt for each call, from which its context can be derived again', async () => {
    const session = await startSession(memoryStore())
    await done(session.append([assistant(`long ago ${'x '.repeat(2000)}`), user('and now?')]))
    const requests: ModelRequest[] = []
    const heard =
      (answer: Message) =>
      (request: ModelRequest): Message => (requests.push(request), answer)
    const context = (view: View<Message>, previous?: ModelContext) => deriveContext(view, { budget: 400, previous })
    const stream = run({
      model: scriptedModel([heard(calling), heard(assistant('one two three four five six'))], { name: 'm', pause: 2 }),
      view: settledView(session),
      tools: [deploy],
      context,
      parameters: { temperature: 0 },
      receipts: true,
      handlers: [sessionHandler(session)],
    })
    for await (const event of stream)
      if (event.type === 'model_event' && event.step === 1 && event.event.type === 'text_delta')
        stream.interrupt({ behavior: 'savePartial' })
    const receipts = [...session.notes()].filter((note) => note.type === 'receipt')
    const derived = { policy: 'paged', version: design.version, budget: 400, reserved: 0, recall: true }
    const details = { derived }
    expect(receipts).toEqual([
      {
        type: 'receipt',
        head: { size: 3, root: expect.any(String) as string },
        len: 3,
        contextDigest: rangeDigest(requests[0]?.messages as never),
        model: 'm',
        parameters: { temperature: 0 },
        details,
        usage: expect.any(Object) as object,
      },
      {
        type: 'receipt',
        head: { size: expect.any(Number) as number, root: expect.any(String) as string }, // behind some journal notes
        len: 5,
        contextDigest: rangeDigest(requests[1]?.messages as never),
        model: 'm',
        parameters: { temperature: 0 },
        details,
      },
    ])
    let previous: ModelContext | undefined
    for (const { len, head, contextDigest } of receipts) {
      expect(session.at({ size: head?.size ?? 0 })?.view.length).toBe(len)
      const again = context(session.view().slice(0, len), previous)
      if (isLeft(again)) throw new Error(again.left._tag)
      expect(again.right.digest).toBe(contextDigest)
      previous = again.right
    }
    expect(JSON.stringify(requests[0]?.messages).length).toBeLessThan(2000) // not all was sent

    const silent = await startSession(memoryStore())
    await run({
      model: scriptedModel([assistant('x')]),
      view: settledView(silent),
      handlers: [sessionHandler(silent)],
    }).result()()
    expect(silent.notes().length).toBe(0)
  })

  it('stores a repeated delta once and refuses one that does not continue the record', async () => {
    const session = await startSession(memoryStore())
    const handle = sessionHandler(session)
    const delta: RunEvent = {
      type: 'history_delta',
      seq: 0,
      step: 0,
      id: 'r:0',
      expectedLen: 1,
      append: [assistant('a')],
    }
    expect(isRight(await handle(delta))).toBe(true)
    expect(isRight(await handle(delta))).toBe(true)
    expect(session.len).toBe(2)
    expect(await handle({ ...delta, append: [assistant('b')] })).toMatchObject(left({ _tag: 'OperationMismatch' }))
    expect(await handle({ ...delta, id: 'r:1' })).toMatchObject(left({ _tag: 'SessionConflict' }))
    expect(await handle({ ...delta, id: 'r:2', expectedLen: 9 })).toMatchObject(left({ _tag: 'SessionGap' }))
    expect(session.len).toBe(2)
  })

  it('ends a run whose session has another writer, without partial or duplicate rows', async () => {
    const store = memoryStore()
    const session = await startSession(store)
    const other = await done(openSession(store, 's'))
    const stream = run({
      model: scriptedModel([assistant('mine'), assistant('never')]),
      view: settledView(session),
      handlers: [sessionHandler(session)],
    })
    await done(other.append(user('theirs')))
    const ended = await stream.result()()
    expect(isLeft(ended) && faultMessage(ended.left)).toBe(
      'step 0: a handler refused the event history_delta: another writer appended to session "s" first: it has 2 messages, and 1 were expected; nothing was appended: read `fault.missed` and append again, or fork the session at 1',
    )
    expect(isLeft(ended) && ended.left.partial.messages).toEqual([user('go'), assistant('mine')])
    expect(session.view().toArray()).toEqual([user('go'), user('theirs')])
  })

  it('records a run in a session object that has no leases, without one', async () => {
    const session = await startSession(memoryStore())
    const without = Object.create(session, { lease: { value: undefined } }) as Session
    const ended = await run({
      model: scriptedModel([assistant('Done.')]),
      view: settledView(session),
      handlers: [sessionHandler(without)],
    }).result()()
    expect(isRight(ended)).toBe(true)
    expect(session.view().toArray()).toEqual([user('go'), assistant('Done.')])
  })

  it('keeps the results of a step that another writer got ahead of, before the run ends', async () => {
    const memory = memoryStore()
    const append: Store['append'] = (id, append) =>
      storeTask(async () => {
        for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
        return memory.append(id, append)()
      }, 'store.append')
    const session = await startSession({ ...memory, append })
    const other = await done(openSession(memory, 's'))
    const meddling = async (): Promise<string> => (await done(other.refresh()), await done(other.append(user('theirs'))), 'deployed') // oxfmt-ignore
    const ended = await run({
      model: scriptedModel([calling]),
      view: settledView(session),
      tools: [tool({ name: 'deploy', parameters: {}, run: meddling })],
      handlers: [sessionHandler(session)],
    }).result()()
    expect(isLeft(ended)).toBe(true)
    expect(pending(await done(openSession(memory, 's'))).messages.map(textIn)).toContain('deployed')
  })

  it('distinguishes a running run from a dead one, which leaves its answer and call states', async () => {
    let now = 1_000_000
    const store = memoryStore({ now: () => now })
    const session = await startSession(store)
    // The process ends while the tool runs: as far as the store is concerned, nothing more ever comes.
    const dying = run({
      model: scriptedModel([calling]),
      view: settledView(session),
      tools: [tool({ name: 'deploy', parameters: {}, run: () => new Promise(() => undefined) })],
      handlers: [sessionHandler(session)],
    })
    const reader = dying[Symbol.asyncIterator]() // not a loop: leaving one would cancel the run
    while ((await reader.next()).value?.type !== 'tool_call_start');
    const resumed = await done(openSession(store, 's'))
    expect(pending(resumed).started).toEqual([{ callId: 'c1', name: 'deploy', arguments: '{}' }])
    expect([pending(resumed).messages, pending(session).messages]).toEqual([[], []]) // it lives
    expect(isRight(settle(resumed.conversation()))).toBe(true)
    now += 10_001
    expect(pending(resumed).messages).toEqual([])
    await done(resumed.refresh())
    const [answer, ...results] = pending(resumed).messages
    expect([answer?.role, answer?.content]).toEqual([calling.role, calling.content])
    expect(results.map(textIn)).toEqual([
      'The run was interrupted while this tool was running. The tool may have had side effects.',
    ])
    expect(pending(resumed, { reason: 'Nobody knows' }).messages.map(textIn)).toEqual(['Deploying.', 'Nobody knows'])

    await done(resumed.append(pending(resumed).messages))
    expect([pending(resumed).messages, pending(resumed).started, pending(resumed).steps]).toEqual([[], [], []])
    const again = await done(openSession(store, 's'))
    expect([pending(again).messages, pending(again).steps]).toEqual([[], []])
    const ended = await run({
      model: scriptedModel([assistant('Then I look first.')]),
      view: settledView(resumed),
      handlers: [sessionHandler(resumed)],
    }).result()()
    expect(isRight(ended) && ended.right.stopReason).toBe('end_turn')
    expect(resumed.view().at(-1)).toEqual(assistant('Then I look first.'))
  })

  it('after a kill during a tool, keeps finished work and tells the model which calls may have had effects', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'indelible-killed-'))
    const path = join(folder, 's.db')
    const code = `
      const { assistant, createSession, run, scriptedModel, sessionHandler, settle, sqliteStore, tool, toolCall, user } =
        await import(${JSON.stringify(programUrl('test/library.ts'))})
      const store = (await sqliteStore({ path: ${JSON.stringify(path)} })()).right
      const session = (await createSession(store, { id: 's' })()).right
      await session.append(user('deploy it'))()
      const calls = assistant('At once.', toolCall('d1', 'look', '{}'), toolCall('d2', 'deploy', '{"to":"production"}'))
      const die = () => process.kill(process.pid, 'SIGKILL')
      const tools = [tool({ name: 'look', parameters: {}, run: () => 'ok' }), tool({ name: 'deploy', parameters: {}, run: die })]
      await run({ model: scriptedModel([calls]), view: settle(session.view()).right, tools, toolConcurrency: 1, handlers: [sessionHandler(session, { lease: { ttl: 500 } })] }).result()()`
    const { signal } = spawnSync(process.execPath, ['--input-type=module', '-e', code])
    expect(signal).toBe('SIGKILL')

    const store = await done(sqliteStore({ path }))
    const session = await done(openSession(store, 's'))
    expect(session.view().toArray()).toEqual([user('deploy it')])
    expect(pending(session).started).toEqual([{ callId: 'd2', name: 'deploy', arguments: '{"to":"production"}' }])
    // Until the lease of the dead one ends.
    while (pending(session).messages.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      await done(session.refresh())
    }
    await done(session.append(pending(session).messages))
    expect([pending(session).started, pending(session).messages]).toEqual([[], []])
    expect(session.view().toArray().slice(1).map(textIn)).toEqual([
      'At once.',
      'ok',
      'The run was interrupted while this tool was running. The tool may have had side effects.',
    ])
    const derived = deriveContext(session.view(), { budget: 1000 })
    expect(isRight(derived) && derived.right.residency.at(0)).toBe('full')
    const ended = await run({
      model: scriptedModel([assistant('I look what is deployed.')]),
      view: settledView(session),
      handlers: [sessionHandler(session)],
    }).result()()
    expect(isRight(ended) && ended.right.stopReason).toBe('end_turn')
    expect(pending(session).started).toEqual([])
    expect(isRight(await verifySession(store, 's')())).toBe(true)
    await done(store.close())
    rmSync(folder, { recursive: true })
  })
})
