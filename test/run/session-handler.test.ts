import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isLeft, isRight, left, type Either } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import {
  faultMessage,
  assistant,
  openCalls,
  settle,
  textOf,
  toolCall,
  user,
  type Message,
  type Settled,
  type View,
} from 'indelible'
import { rangeDigest } from 'indelible/notes'
import { toolResultsOf } from 'indelible/message'
import { deriveContext, isSubstantive } from 'indelible/context'
import {
  run,
  scriptedModel,
  sessionHandler,
  tool,
  type ModelContext,
  type ModelRequest,
  type RunEvent,
} from 'indelible/run'
import { createSession, openSession, verifySession, type Session } from 'indelible/session'
import { memoryStore, type Store } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'

const done = async <T>(task: () => Promise<Either<unknown, T>>): Promise<T> => {
  const answer = await task()
  if (isLeft(answer)) throw new Error(JSON.stringify(answer.left))
  return answer.right
}

const begun = async (store: Store): Promise<Session> => {
  const session = await done(createSession(store, { id: 's' }))
  await done(session.append(user('go')))
  return session
}

const settledView = (session: Session): Settled<View<Message>> => {
  const found = settle(session.view())
  if (isLeft(found)) throw new Error('not settled')
  return found.right
}

const deploy = tool({ name: 'deploy', parameters: {}, run: () => 'deployed' })
const calling = assistant('Deploying.', toolCall('c1', 'deploy', '{}'))

describe('sessionHandler', () => {
  it('makes each delta durable before the next step, and says before a tool runs that it does', async () => {
    const store = memoryStore()
    const session = await begun(store)
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
    expect(seen).toEqual([
      ['ran', 1, 1],
      ['asked', 3, 1],
    ])
    expect(session.notes().at(0)).toEqual({ type: 'tool_started', callId: 'c1', name: 'deploy', arguments: '{}' })
    const again = await done(openSession(store, 's'))
    expect(again.view().toArray()).toEqual(session.view().toArray())
    expect(isRight(await verifySession(store, 's')())).toBe(true)
  })

  it('leaves a receipt of each call that a run tells it of, by which what was sent can be derived again', async () => {
    const session = await begun(memoryStore())
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
    expect(receipts).toEqual([
      {
        type: 'receipt',
        head: { size: 3, root: expect.any(String) as string },
        len: 3,
        contextDigest: rangeDigest(requests[0]?.messages as never),
        model: 'm',
        parameters: { temperature: 0 },
        usage: expect.any(Object) as object,
      },
      {
        type: 'receipt',
        head: { size: 7, root: expect.any(String) as string },
        len: 5,
        contextDigest: rangeDigest(requests[1]?.messages as never),
        model: 'm',
        parameters: { temperature: 0 },
      },
    ])
    let previous: ModelContext | undefined
    for (const { len, contextDigest } of receipts) {
      const again = context(session.view().slice(0, len), previous)
      if (isLeft(again)) throw new Error(again.left._tag)
      expect(again.right.digest).toBe(contextDigest)
      previous = again.right
    }
    expect(requests[0]?.messages.length === 3 && JSON.stringify(requests[0].messages).length).toBeLessThan(2000) // not all was sent

    const silent = await begun(memoryStore())
    await run({
      model: scriptedModel([assistant('x')]),
      view: settledView(silent),
      handlers: [sessionHandler(silent)],
    }).result()()
    expect(silent.notes().length).toBe(0)
  })

  it('stores a delta that comes twice once, and refuses one that continues something else', async () => {
    const session = await begun(memoryStore())
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

  it('ends a run whose session has another writer, with nothing of the step recorded twice or half', async () => {
    const store = memoryStore()
    const session = await begun(store)
    const other = await done(openSession(store, 's'))
    const stream = run({
      model: scriptedModel([assistant('mine'), assistant('never')]),
      view: settledView(session),
      handlers: [sessionHandler(session)],
    })
    await done(other.append(user('theirs')))
    const ended = await stream.result()()
    expect(isLeft(ended) && faultMessage(ended.left)).toBe(
      'step 0: a handler refused the event history_delta: SessionConflict (id "s", expectedLen 1, len 2)',
    )
    expect(isLeft(ended) && ended.left.partial.messages).toEqual([user('go')])
    expect(session.view().toArray()).toEqual([user('go'), user('theirs')])
  })

  it('a run that died while a tool ran is resumed: nothing of its step is there but the note that the tool was started', async () => {
    const store = memoryStore()
    const session = await begun(store)
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
    expect(resumed.notes().at(0)).toEqual({ type: 'tool_started', callId: 'c1', name: 'deploy', arguments: '{}' })
    expect(resumed.unfinished()).toEqual([{ callId: 'c1', name: 'deploy', arguments: '{}' }])
    expect(resumed.interrupted().map(textOf)).toEqual([
      '[The run was interrupted while tools were running. Their results are unknown, and they may have had effects: deploy({})]',
    ])
    expect(resumed.interrupted('Nobody knows').map(textOf)).toEqual(['[Nobody knows: deploy({})]'])

    // One that died after its calls were recorded leaves them open, and the results say which of them had been started.
    await done(resumed.append(calling))
    expect(openCalls(resumed.view()).map(({ id }) => id)).toEqual(['c1'])
    await done(resumed.append(resumed.interrupted()))
    const results = resumed
      .view()
      .toArray()
      .flatMap((message) => toolResultsOf(message))
    expect(JSON.stringify(results.at(-1))).toMatch(/c1/)
    const ended = await run({
      model: scriptedModel([assistant('Then I look first.')]),
      view: settledView(resumed),
      handlers: [sessionHandler(resumed)],
    }).result()()
    expect(isRight(ended) && ended.right.stopReason).toBe('end_turn')
    expect(resumed.view().at(-1)).toEqual(assistant('Then I look first.'))
  })

  it('a process that is killed while its tool runs: whoever resumes is told which calls may have had effects, and so is the model', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'indelible-killed-'))
    const path = join(folder, 's.db')
    const source = (entry: string): string =>
      JSON.stringify(new URL(`../../src/${entry}/index.ts`, import.meta.url).href)
    const code = `
      const { createSession } = await import(${source('session')})
      const { sqliteStore } = await import(${source('store/sqlite')})
      const { assistant, settle, toolCall, user } = await import(${source('message')})
      const { run, scriptedModel, sessionHandler, tool } = await import(${source('run')})
      const store = (await sqliteStore({ path: ${JSON.stringify(path)} })()).right
      const session = (await createSession(store, { id: 's' })()).right
      await session.append(user('deploy it'))()
      const calls = assistant('At once.', toolCall('d1', 'look', '{}'), toolCall('d2', 'deploy', '{"to":"production"}'))
      const die = () => process.kill(process.pid, 'SIGKILL')
      const tools = [tool({ name: 'look', parameters: {}, run: () => 'ok' }), tool({ name: 'deploy', parameters: {}, run: die })]
      await run({ model: scriptedModel([calls]), view: settle(session.view()).right, tools, toolConcurrency: 1, handlers: [sessionHandler(session)] }).result()()`
    const { signal } = spawnSync(process.execPath, ['--input-type=module', '-e', code])
    expect(signal).toBe('SIGKILL')

    const store = await done(sqliteStore({ path }))
    const session = await done(openSession(store, 's'))
    expect(session.view().toArray()).toEqual([user('deploy it')])
    expect(session.unfinished()).toEqual([
      { callId: 'd1', name: 'look', arguments: '{}' },
      { callId: 'd2', name: 'deploy', arguments: '{"to":"production"}' },
    ])
    await done(session.append(session.interrupted()))
    expect([session.unfinished(), session.interrupted()]).toEqual([[], []])
    expect(textOf(session.view().at(-1) as Message)).toContain(
      'they may have had effects: look({}), deploy({"to":"production"})',
    )
    const derived = deriveContext(session.view(), { budget: 1000 })
    expect(isRight(derived) && derived.right.residency.at(0)).toBe('full')
    expect(isSubstantive(session.view().at(1) as Message)).toBe(false) // the user's own request is still what is being done
    const ended = await run({
      model: scriptedModel([assistant('I look what is deployed.')]),
      view: settledView(session),
      handlers: [sessionHandler(session)],
    }).result()()
    expect(isRight(ended) && ended.right.stopReason).toBe('end_turn')
    expect(session.unfinished()).toEqual([])
    expect(isRight(await verifySession(store, 's')())).toBe(true)
    await done(store.close())
    rmSync(folder, { recursive: true })
  })
})
