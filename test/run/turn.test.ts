/** Turns: one input on a session, answered and recorded; busy sessions, queues, runs that died, approvals. */
import { isLeft, isRight, left } from 'fp-ts/lib/Either.js'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { assistant, createHistory, orThrow, settle, textOf, toolCall, user, type Message, type View } from 'indelible'
import type { Sequence, Settled } from 'indelible/message'
import {
  historyHandler,
  inputsOf,
  resume,
  run,
  scriptedModel,
  sessionHandler,
  settleOpen,
  tool,
  turn,
  type Model,
  type ModelEvent,
  type RunEvent,
  type RunHandler,
  type RunOptions,
  type RunStream,
  type TurnFault,
} from 'indelible/run'
import {
  createSession,
  forkSession,
  openSession,
  verifySession,
  type Note,
  type Session,
  pending,
  eraseMessages,
} from 'indelible/session'
import { memoryStore, type Store } from 'indelible/store'
import { storeTask } from '../../src/store/internal.ts'
import { thawed } from '../thawed.ts'
import { leaseOfSession } from '../../src/session/internal.ts'

const never = (): Promise<never> => new Promise(() => undefined)

/** Answers each request with what the last user said. */
const echo: Model = scriptedModel(
  (function* () {
    for (;;)
      yield ({ messages }) =>
        assistant(`re: ${textOf([...messages].findLast(({ role }) => role === 'user') as Message)}`)
  })(),
)

const down: Model = { name: 'down', stream: () => { throw new Error('the provider is down') } } // oxfmt-ignore

it('a call whose provider reported no tokens has a receipt without counts, not one that says 0', async () => {
  const session = orThrow(await createSession(memoryStore(), { id: 's' })())
  const silent: Model = {
    name: 'silent',
    stream: async function* () {
      yield { type: 'finish', message: assistant('a'), reason: 'end_turn', usage: { input: 0, output: 0 } }
    },
  }
  await turn(session, 'q', { model: silent }).result()
  await turn(session, 'q', { model: echo }).result()
  const receipts = Array.from(session.notes()).flatMap((note) =>
    note.type === 'receipt' ? [note.usage !== undefined] : [],
  )
  expect(receipts).toEqual([false, true])
})

const textIn = ({ content }: Message): string =>
  content
    .map((part) =>
      part.type === 'tool_call'
        ? `${part.name}()`
        : textOf({ role: 'user', content: part.type === 'tool_result' ? part.content : [part] }),
    )
    .join(' ')
const messageTexts = (session: Session): readonly string[] =>
  session
    .conversation()
    .toArray()
    .map((message) => `${message.role}: ${textIn(message)}`)

/** Read a run up to an event, and leave it there, as a process that is stopped leaves it. */
const upTo = async (
  stream: RunStream<never> | AsyncIterable<RunEvent>,
  stop: (event: RunEvent) => boolean,
): Promise<RunEvent> => {
  const reader = stream[Symbol.asyncIterator]()
  for (;;) {
    const { value, done } = await reader.next()
    if (done === true) throw new Error('the run ended before')
    if (stop(value)) return value
  }
}

const gate = () => {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open }
}

describe('turn', () => {
  it('records the input and its answer and releases the session', async () => {
    const store = memoryStore()
    const session = await createSession(store, { id: 's' })
    const first = await turn(session, 'one', { model: echo }).result()
    const second = await turn(session, user('two'), { model: echo, budget: 10_000 }).result()
    expect([first.stopReason, textOf(first.response as Message), textOf(second.response as Message)]).toEqual([
      'end_turn',
      're: one',
      're: two',
    ])
    expect(messageTexts(session)).toEqual(['user: one', 'assistant: re: one', 'user: two', 'assistant: re: two'])
    expect([...session.notes()].map(({ type }) => type)).toEqual(['receipt', 'receipt'])
    expect(await store.leaseOf(session.id)).toBeUndefined()
    expect(isRight(await verifySession(store, 's')())).toBe(true)
    expect(() => turn(session, { role: 'user', content: 'x' } as never, { model: echo })).toThrow(
      'turn: the input is not a message',
    )
  })

  it('refuses amounts and choices that are none, by the name of the option', async () => {
    const session = await createSession(memoryStore(), { messages: [user('one')] })
    const model = echo
    const settled = orThrow(settle(session.view()))
    const amounts: readonly (readonly [string, (value: never) => unknown])[] = [
      ['turn: wait', (wait) => turn(session, 'x', { model, wait })],
      ['lease.wait', (wait) => sessionHandler(session, { lease: { holder: 'h', wait } })],
      ['journalEvery.ms', (ms) => sessionHandler(session, { journalEvery: { ms } })],
      ['journalEvery.bytes', (bytes) => sessionHandler(session, { journalEvery: { bytes } })],
      ['pause', (pause) => scriptedModel([], { pause })],
      ['tool "look": timeout', (timeout) => tool({ name: 'look', parameters: {}, run: () => '', timeout })],
      ['toolConcurrency', (toolConcurrency) => run({ model, view: settled, toolConcurrency })],
      ['buffer', (buffer) => run({ model, view: settled, buffer })],
    ]
    for (const [name, call] of amounts)
      for (const value of [NaN, -1, '1', {}])
        expect(() => call(value as never)).toThrow(new RegExp(`^${name} is .*; expected a (?:whole )?number of `))
    const choices: readonly (readonly [string, (value: never) => unknown])[] = [
      ['turn: whenBusy', (whenBusy) => turn(session, 'x', { model, whenBusy })],
      ['resume: whenBusy', (whenBusy) => resume(session, { model, whenBusy })],
      ['lease.whenBusy', (whenBusy) => sessionHandler(session, { lease: { holder: 'h', whenBusy } })],
    ]
    for (const [name, call] of choices)
      for (const value of ['never', 1, null]) expect(() => call(value as never)).toThrow(name)
    expect([session.len, session.notes().length]).toEqual([1, 0])
  })

  it('refuses other values of wrong types at the call, and leaves the session free', async () => {
    const store = memoryStore()
    const session = await createSession(store, { id: 's' })
    const wrong: readonly (readonly [RegExp, object])[] = [
      [/^journalEvery\.ms is -1; expected/, { journalEvery: { ms: -1 } }],
      [/^journalEvery has no option "seconds"/, { journalEvery: { seconds: 1 } }],
      [/^onQueuedRun is 5; expected a function/, { onQueuedRun: 5 }],
      [/`handlers` is 5; expected an array/, { handlers: 5 }],
      [/handlers\[0\] is null; expected a function/, { handlers: [null] }],
      [/`tools` is 5; expected an array/, { tools: 5 }],
      [/tools\[0\] is null; expected a tool/, { tools: [null] }],
      [/tools\[0\] is .*; expected a tool/, { tools: [{ name: 'x', parameters: {}, run: 5 }] }],
      [/^limits takes its options as an object, found 5/, { limits: 5 }],
      [/^limits takes its options as an object, found null/, { limits: null }],
      [/^limits has no option "steps"/, { limits: { steps: 1 } }],
      [/`signal` is 5; expected an AbortSignal/, { signal: 5 }],
      [/^clock is .*; expected an object with the methods now and after/, { clock: { now: () => 0 } }],
    ]
    for (const [message, options] of wrong) {
      expect(() => turn(session, 'x', { model: echo, id: 'a', ...options })).toThrow(message)
      expect(() => resume(session, { model: echo, ...options })).toThrow(message)
    }
    expect(() => session.lease({ holder: 'h', clock: 5 as never })).toThrow(/^clock is 5;/)
    expect([session.len, session.notes().length, await store.leaseOf('s')]).toEqual([0, 0, undefined])
  })

  it('whose start throws something that is no fault releases the session, ends its events and throws it', async () => {
    const store = memoryStore()
    const session = await createSession(store, { id: 's' })
    const get = () => {
      throw new Error('no look')
    }
    const handler = Object.defineProperty(() => undefined, 'lookAhead', { get })
    const going = turn(session, 'x', { model: echo, id: 'a', handlers: [handler] })
    const events: string[] = []
    for await (const { type } of going) events.push(type)
    await expect(going.result()()).rejects.toThrow('no look')
    expect([events, await store.leaseOf('s')]).toEqual([[], undefined])
    expect((await turn(session, 'x', { model: echo, id: 'a' }).result()).response).toEqual(assistant('re: x'))
  })

  it.each(['cancel', 'interrupt', 'requestStop', 'signal', 'timeout'] as const)(
    'that is stopped while its answer is recorded ends with the answer, as its input says (%s)',
    async (how) => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
      onTestFinished(() => void vi.useRealTimers())
      const memory = memoryStore()
      const [recording, recorded] = [gate(), gate()]
      const append: Store['append'] = (id, batch) =>
        batch.rows.some(({ body }) => body.includes('"answered"'))
          ? storeTask(async () => {
              recording.open()
              await recorded.opened
              return memory.append(id, batch)()
            }, 'append')
          : memory.append(id, batch)
      const session = await createSession({ ...memory, append }, { id: 's' })
      const abort = new AbortController()
      const options = { model: echo, id: 'a', ttl: 3000, signal: abort.signal, limits: { timeout: 60_000 } }
      const going = turn(session, 'x', options)
      await Promise.all([recording.opened, vi.advanceTimersByTimeAsync(500)])
      if (how === 'cancel') expect(going.cancel()).toBe(false)
      if (how === 'interrupt') expect(going.interrupt()).toBe(false)
      if (how === 'requestStop') expect((await memory.requestStop('s'))?.stopRequested).toBe(true)
      if (how === 'signal') abort.abort()
      await vi.advanceTimersByTimeAsync(how === 'timeout' ? 60_001 : 1001)
      recorded.open()
      const [{ stopReason, response }] = await Promise.all([going.result(), vi.advanceTimersByTimeAsync(500)])
      expect([stopReason, response, inputsOf(session).map(({ state }) => state)]).toEqual([
        'end_turn',
        assistant('re: x'),
        ['answered'],
      ])
      expect(await memory.leaseOf('s')).toBeUndefined()
    },
  )

  it('whose end the store did not take runs no more, although its input waits for an answer', async () => {
    const memory = memoryStore()
    let isDown = false
    const append: Store['append'] = (id, batch) =>
      isDown && batch.rows.some(({ body }) => body.includes('"cancelled"'))
        ? storeTask(async () => left({ _tag: 'Io', operation: 'append', cause: new Error('no disk') }), 'append')
        : memory.append(id, batch)
    const session = await createSession({ ...memory, append }, { id: 's' })
    let calls = 0
    const model: Model = { ...echo, stream: (...given) => ((calls += 1), echo.stream(...given)) }
    const asked = gate()
    const slow: Model = { name: 'slow', stream: () => ((calls += 1), asked.open(), { [Symbol.asyncIterator]: () => ({ next: never }) }) as never } // oxfmt-ignore
    const queued: string[] = []
    const going = turn(session, 'x', { model: slow, id: 'a', onQueuedRun: (_, id) => queued.push(id) })
    await asked.opened
    isDown = true
    going.cancel()
    expect(await going.result()()).toMatchObject({ left: { _tag: 'Io' } })
    while ((await memory.leaseOf('s')) !== undefined) await new Promise((resolve) => setImmediate(resolve))
    expect([calls, queued, inputsOf(session).map(({ state }) => state)]).toEqual([1, [], ['taken']])
    isDown = false
    expect((await turn(session, 'x', { model, id: 'a' }).result()).response).toEqual(assistant('re: x'))
  })

  it('under a lease of the application that was asked to stop ends as cancelled, as `run` does, until there is another lease', async () => {
    const store = memoryStore()
    const session = await createSession(store, { id: 's', messages: [user('one')] })
    const lease = await session.lease({ holder: 'app', ttl: 30 })
    await store.requestStop('s')
    while (!lease.signal.aborted) await new Promise((resolve) => setImmediate(resolve))
    const stopped = await turn(session, 'x', { model: echo, id: 'a' }).result()
    const view = orThrow(settle(session.view()))
    const same = await run({ model: echo, view, handlers: [sessionHandler(session)] }).result()
    expect([stopped.stopReason, same.stopReason, session.len]).toEqual(['cancelled', 'cancelled', 1])
    await lease.release()
    await session.lease({ holder: 'app', ttl: 30 })
    expect((await turn(session, 'x', { model: echo, id: 'a' }).result()).response).toEqual(assistant('re: x'))
  })

  it('runs with a clock that passes its delays to `setTimeout`, which fires at once after an infinite one', async () => {
    const session = await createSession(memoryStore())
    const clock = {
      now: () => performance.now(),
      after: (milliseconds: number, work: () => void) => {
        const timer = setTimeout(work, milliseconds)
        return { cancel: () => clearTimeout(timer) }
      },
    }
    const slow = scriptedModel([assistant('at last')], { pause: 5 })
    expect((await turn(session, 'x', { model: slow, clock }).result()).stopReason).toBe('end_turn')
  })

  it.each(['fail', 'wait', 'queue'] as const)(
    'goes one at a time under a lease of the application, too (%s)',
    async (whenBusy) => {
      const store = memoryStore()
      const session = await createSession(store, { id: 's' })
      const lease = await session.lease({ holder: 'app' })
      const going = ['a', 'b', 'c'].map((id) => turn(session, id, { model: echo, id, whenBusy }).result()())
      const answers = await Promise.all(going)
      const others = whenBusy === 'fail' ? [{ left: { _tag: 'SessionBusy', holder: 'app' } }, { left: { _tag: 'SessionBusy' } }] : ['b', 'c'].map((id) => ({ right: { response: assistant(`re: ${id}`) } })) // oxfmt-ignore
      expect(answers).toMatchObject([{ right: { response: assistant('re: a') } }, ...others])
      expect(messageTexts(session).toSorted()).toEqual(
        (whenBusy === 'fail' ? ['a'] : ['a', 'b', 'c'])
          .flatMap((id) => [`user: ${id}`, `assistant: re: ${id}`])
          .toSorted(),
      )
      expect([lease.held, isRight(await turn(session, 'd', { model: echo }).result()())]).toEqual([true, true])
      await lease.release()
    },
  )

  it('reports a store failure while appending the input, without a retry', async () => {
    const real = memoryStore()
    let failures = 0
    const store: Store = {
      ...real,
      append: (id, append) =>
        failures++ === 0
          ? storeTask(async () => left({ _tag: 'Io', operation: 'append', cause: new Error('no disk') }), 'append')
          : real.append(id, append),
    }
    const session = await createSession(store, { id: 's' })
    expect(await turn(session, 'one', { model: echo }).result()()).toMatchObject({ left: { _tag: 'Io' } })
    expect(messageTexts(await openSession(store, 's'))).toEqual([])
  })

  it('reports a store failure while an unanswered input is taken again, and asks no model', async () => {
    const real = memoryStore()
    let isFull = false
    const append: Store['append'] = (...given) =>
      isFull
        ? storeTask(async () => left({ _tag: 'Io', operation: 'append', cause: new Error('no disk') }), 'append')
        : real.append(...given)
    const session = await createSession({ ...real, append }, { id: 's' })
    expect(isLeft(await turn(session, 'one', { model: down, id: 'a' }).result()())).toBe(true)
    isFull = true
    const again = turn(session, 'one', { model: echo, id: 'a' }).result()
    expect(await again()).toMatchObject({ left: { _tag: 'Io' } })
    expect(await resume(session, { model: echo }).result()()).toMatchObject({ left: { _tag: 'Io' } })
    isFull = false
    const last = await turn(session, 'one', { model: echo, id: 'a' }).result()
    expect([last.stopReason, messageTexts(await openSession(real, 's'))]).toEqual([
      'end_turn',
      ['user: one', 'assistant: re: one'],
    ])
  })

  it('with nothing to continue appends nothing, so a sealed session says so, too', async () => {
    const session = await createSession(memoryStore(), { id: 's', messages: [user('one'), assistant('done')] })
    await session.seal()
    const { stopReason, response } = await resume(session, { model: down }).result()
    expect([stopReason, response]).toEqual(['end_turn', assistant('done')])
  })

  it('offers recall with a budget, unless a tool has its name', async () => {
    const session = await createSession(memoryStore())
    const offered: string[][] = []
    const model = scriptedModel(
      Array.from(
        { length: 4 },
        () =>
          ({ tools }: { readonly tools: readonly { readonly name: string }[] }) => (
            offered.push(tools.map(({ name }) => name)),
            assistant('ok')
          ),
      ),
    )
    const own = tool({ name: 'recall', parameters: {}, run: () => '' })
    for (const options of [{}, { budget: 9999 }, { budget: 9999, recall: false }, { budget: 9999, tools: [own] }])
      await turn(session, 'x', { model, ...options }).result()
    expect(offered).toEqual([[], ['recall'], [], ['recall']])
  })

  it('refuses a second turn as SessionBusy, without loss for the first', async () => {
    const store = memoryStore()
    const [a, b] = [await createSession(store, { id: 's' }), await openSession(store, 's')]
    const { opened, open } = gate()
    const first = turn(a, 'deploy', {
      model: scriptedModel([assistant(toolCall('c', 'deploy', '{}')), assistant('done')]),
      tools: [tool({ name: 'deploy', parameters: {}, run: () => opened.then(() => 'deployed') })],
    })
    await upTo(first, ({ type }) => type === 'tool_call_start')
    const second = await turn(b, 'and?', { model: echo }).result()()
    expect(isLeft(second) && second.left._tag).toBe('SessionBusy')
    await b.refresh()
    expect([pending(b).messages, messageTexts(b)]).toEqual([[], ['user: deploy']])
    const plain = settle(b.conversation())
    if (isLeft(plain)) throw new Error('not settled')
    const third = await run({ model: echo, view: plain.right, handlers: [sessionHandler(b)] }).result()()
    expect(isLeft(third) && [third.left._tag, third.left.partial.stopReason]).toEqual(['SessionBusy', 'error'])
    open()
    expect((await first.result()).stopReason).toBe('end_turn')
    await turn(b, 'and?', { model: echo }).result()
    expect(messageTexts(b)).toEqual([
      'user: deploy',
      'assistant: deploy()',
      'tool: deployed',
      'assistant: done',
      'user: and?',
      'assistant: re: and?',
    ])
  })

  it('that is queued or cancelled before its run has no response, although the conversation has an earlier answer', async () => {
    const store = memoryStore()
    const session = await createSession(store, { id: 's' })
    await turn(session, 'before', { model: echo }).result()
    await store.lease('s', { holder: 'another', ttl: 600_000 })
    const queued = await turn(session, 'later', { model: echo, whenBusy: 'queue', wait: 0 }).result()
    const waiting = turn(session, 'never', { model: echo, whenBusy: 'wait' })
    waiting.cancel()
    const cancelled = await waiting.result()
    expect([queued, cancelled].map(({ stopReason, response }) => [stopReason, response])).toEqual([
      ['queued', undefined],
      ['cancelled', undefined],
    ])
  })

  it('whose signal is aborted cancels its own input, and none that waits behind it', async () => {
    const store = memoryStore()
    const [a, b] = [await createSession(store, { id: 's' }), await openSession(store, 's')]
    const { opened, open } = gate()
    const slow: Model = { name: 'slow', async *stream(request, signal) { await opened; yield* echo.stream(request, signal) } } // oxfmt-ignore
    const abort = new AbortController()
    const first = turn(a, 'a', { model: slow, id: 'a', signal: abort.signal })
    await upTo(first, ({ type }) => type === 'step_start')
    await turn(b, 'b', { model: echo, id: 'b', whenBusy: 'queue', wait: 0 }).result()
    abort.abort()
    open()
    expect((await first.result()).stopReason).toBe('cancelled')
    const answer = await turn(b, 'b', { model: echo, id: 'b', whenBusy: 'queue' }).result()
    expect([answer.response, inputsOf(b).map(({ state }) => state)]).toEqual([assistant('re: b'), ['cancelled', 'answered']]) // oxfmt-ignore
  })

  it('that waits in the queue withdraws its input at once when it is stopped, also while it asks for the session', async () => {
    const memory = memoryStore()
    const one = await createSession(memory, { id: 's' })
    const { opened, open } = gate()
    let asked = 0
    const lease: Store['lease'] = (...given) =>
      storeTask(async () => {
        if (++asked > 1) await opened // the first attempt ends, and the input is queued
        return memory.lease(...given)()
      }, 'store.lease')
    const other = await openSession({ ...memory, lease }, 's')
    const slow: Model = { name: 'slow', async *stream(request, signal) { await opened; yield* echo.stream(request, signal) } } // oxfmt-ignore
    const first = turn(one, 'a', { model: slow, id: 'a' })
    await upTo(first, ({ type }) => type === 'step_start')
    const abort = new AbortController()
    const second = turn(other, 'b', { model: echo, id: 'b', whenBusy: 'queue', signal: abort.signal })
    await vi.waitFor(() => expect(asked).toBe(2), 60_000)
    abort.abort()
    await vi.waitFor(async () => expect((await one.refresh(), inputsOf(one)).map(({ state }) => state)).toEqual(['taken', 'cancelled']), 60_000) // oxfmt-ignore
    open()
    expect([(await first.result()).stopReason, (await second.result()).stopReason]).toEqual(['end_turn', 'cancelled'])
    await vi.waitFor(async () => expect(await memory.leaseOf('s')).toBeUndefined(), 60_000)
    expect(messageTexts(await openSession(memory, 's'))).toEqual(['user: a', 'assistant: re: a'])
  })

  it('that is cancelled reads what others wrote of its input first: it withdraws it, or has its answer', async () => {
    const store = memoryStore()
    const [a, b] = [await createSession(store, { id: 's' }), await openSession(store, 's')]
    const cancelled = { model: echo, signal: AbortSignal.abort() }
    await turn(b, 'a', { model: echo, id: 'a' }).result()
    expect((await turn(a, 'a', { ...cancelled, id: 'a' }).result()).response).toEqual(assistant('re: a'))
    await store.lease('s', { holder: 'another', ttl: 600_000 })
    await turn(b, 'b', { model: echo, id: 'b', whenBusy: 'queue', wait: 0 }).result()
    expect(await turn(a, 'not b', { ...cancelled, id: 'b' }).result()()).toMatchObject({
      left: { _tag: 'InputMismatch' },
    })
    expect((await turn(a, 'b', { ...cancelled, id: 'b' }).result()).stopReason).toBe('cancelled')
    await b.refresh()
    expect(inputsOf(b).map(({ state }) => state)).toEqual(['answered', 'cancelled'])
  })

  it('has the end of its input in the record before run_complete', async () => {
    const ends = [
      [echo, 'answered'],
      [down, 'failed'],
    ] as const
    for (const [model, how] of ends) {
      const session = await createSession(memoryStore())
      const found: unknown[] = []
      const handler: RunHandler = ({ type }) =>
        void (type === 'run_complete' && found.push(inputsOf(session)[0]?.state))
      await turn(session, 'a', { model, id: 'a', handlers: [handler] }).result()()
      expect(found).toEqual([how])
    }
  })

  it('whose end the store did not take is not reported as cancelled', async () => {
    const memory = memoryStore()
    const noEnd: Store['append'] = (id, batch) =>
      batch.rows.some(({ body }) => body.includes('"cancelled"'))
        ? storeTask(async () => left({ _tag: 'Io', operation: 'append', cause: new Error('no disk') }), 'append')
        : memory.append(id, batch)
    const session = await createSession({ ...memory, append: noEnd }, { id: 's' })
    const abort = new AbortController()
    const going = turn(session, 'a', { model: { name: 'slow', stream: () => (abort.abort(), echo.stream) as never }, id: 'a', signal: abort.signal }) // oxfmt-ignore
    expect(await going.result()()).toMatchObject({ left: { _tag: 'Io' } })
    expect(inputsOf(session).map(({ state }) => state)).toEqual(['taken'])
  })

  it('that was queued and is erased does not come back, not by a holder that had read it, nor by its own turn or in a fork', async () => {
    const store = memoryStore()
    const [a, b] = [await createSession(store, { id: 's' }), await openSession(store, 's')]
    const { opened, open } = gate()
    const slow: Model = { name: 'slow', async *stream(request, signal) { await opened; yield* echo.stream(request, signal) } } // oxfmt-ignore
    const first = turn(a, 'a', { model: slow, id: 'a' })
    await upTo(first, ({ type }) => type === 'step_start')
    const waiting = turn(b, 'the second', { model: echo, id: 'b', whenBusy: 'queue' })
    await vi.waitFor(async () => expect((await a.refresh()).notes.length).toBe(1), 60_000)
    await turn(b, 'c', { model: echo, id: 'c', whenBusy: 'queue', wait: 0 }).result()
    await a.refresh()
    const fork = await forkSession(store, 's', { id: 'fork' })
    await eraseMessages(await openSession(store, 's'), { inputs: ['b'] })
    open()
    await first.result()
    expect((await waiting.result()).stopReason).toBe('cancelled')
    await turn(fork, 'd', { model: echo, id: 'd' }).result()
    const answers = (ids: string) => ['a', ...ids].flatMap((id) => [`user: ${id}`, `assistant: re: ${id}`])
    await vi.waitFor(async () => expect(await store.leaseOf('s')).toBeUndefined(), 60_000)
    expect(messageTexts(await openSession(store, 's'))).toEqual(answers('c'))
    expect(messageTexts(await openSession(store, 'fork'))).toEqual(answers('cd'))
    for (const session of [a, await openSession(store, 's')])
      expect(inputsOf(session).map(({ id, state }) => `${id} ${state}`).toSorted()).toEqual(['a answered', 'b cancelled', 'c answered']) // oxfmt-ignore
  })

  it.each([
    ['after other inputs', ['a', 'b', 'c']],
    ['with no other input', ['a', 'c']],
  ])('that is queued just when the session is released, %s, is answered under a lease again', async (_, ids) => {
    const memory = memoryStore()
    await createSession(memory, { id: 's' })
    const other = await openSession(memory, 's')
    let isQueued = false
    const release: Store['release'] = (...given) =>
      storeTask(async () => {
        if (!isQueued) {
          isQueued = true
          await turn(other, 'c', { model: echo, id: 'c', whenBusy: 'queue', wait: 0 }).result()
        }
        return memory.release(...given)()
      }, 'store.release')
    const fences: boolean[] = []
    const append: Store['append'] = (id, append) => (fences.push(append.lease !== undefined), memory.append(id, append))
    const one = await openSession({ ...memory, release, append }, 's')
    const { opened, open } = gate()
    const slow: Model = { name: 'slow', async *stream(request, signal) { await opened; yield* echo.stream(request, signal) } } // oxfmt-ignore
    const first = turn(one, 'a', { model: slow, id: 'a' })
    await upTo(first, ({ type }) => type === 'step_start')
    // A background run answers it, and releases.
    if (ids.includes('b')) await turn(other, 'b', { model: echo, id: 'b', whenBusy: 'queue', wait: 0 }).result()
    open()
    await first.result()
    const answers = ids.flatMap((id) => [`user: ${id}`, `assistant: re: ${id}`])
    await vi.waitFor(async () => expect(messageTexts(await openSession(memory, 's'))).toEqual(answers), 60_000)
    expect(fences).not.toContain(false)
  })

  it('that was cancelled or failed stays so when it is erased: no later run answers it', async () => {
    const store = memoryStore()
    const session = await createSession(store, { id: 's' })
    await turn(session, 'the first', { model: down, id: 'failed' }).result()()
    const abort = new AbortController()
    const aborts: Model = { name: 'aborts', stream: (...given) => (abort.abort(), echo.stream(...given)) }
    await turn(session, 'the second', { model: aborts, id: 'cancelled', signal: abort.signal }).result()
    await eraseMessages(session, { inputs: ['failed', 'cancelled'] })
    const later = await openSession(store, 's')
    await turn(later, 'd', { model: echo }).result()
    expect(inputsOf(later).map(({ state }) => state)).toEqual(['failed', 'cancelled'])
    expect(messageTexts(later).slice(-2)).toEqual(['user: d', 'assistant: re: d'])
    expect(JSON.stringify([...later.at().rows()])).not.toContain('the first')
  })

  it('that is taken just when its note is erased is erased, too', async () => {
    const memory = memoryStore()
    const holder = await createSession(memory, { id: 's', messages: [user('first'), assistant('yes')] })
    const queued = { type: 'input', id: 'b', state: 'queued', message: { role: 'user', content: [{ type: 'text', text: 'a secret' }] } } as const // oxfmt-ignore
    for (const id of ['b', 'c']) await holder.note({ ...queued, id })
    const erase: Store['erase'] = (request) =>
      storeTask(async () => {
        const done = await memory.erase(request)()
        if (holder.len === 2)
          await holder.append({
            messages: [user('a secret')],
            notes: [{ type: 'input', id: 'b', state: 'taken', at: 2 }],
          })
        return done
      }, 'store.erase')
    await eraseMessages(await openSession({ ...memory, erase }, 's'), { inputs: ['b', 'c'] })
    const read = await openSession(memory, 's')
    expect(JSON.stringify([...read.at().rows()])).not.toContain('secret')
    await holder.refresh()
    expect(inputsOf(holder).map(({ id, state }) => `${id} ${state}`)).toEqual(['b taken', 'c cancelled'])
    await verifySession(memory, 's')
  })

  it('waits or queues in order, each input once, even if its caller does not wait', async () => {
    const store = memoryStore()
    const [a, b] = [await createSession(store, { id: 's' }), await openSession(store, 's')]
    const { opened, open } = gate()
    const slow: Model = { name: 'slow', async *stream(request, signal) { await opened; yield* echo.stream(request, signal) } } // oxfmt-ignore
    const first = turn(a, '0', { model: slow })
    await upTo(first, ({ type }) => type === 'step_start')
    const left = await turn(b, '1', { model: echo, whenBusy: 'queue', wait: 0 }).result()
    expect([left.stopReason, left.response]).toEqual(['queued', undefined])
    const queued = turn(b, '2', { model: echo, whenBusy: 'queue', id: 'two' })
    while ((await b.refresh(), [...b.notes()].filter(({ type }) => type === 'input').length < 2))
      await new Promise((resolve) => setTimeout(resolve, 1))
    const again = turn(a, '2', { model: echo, whenBusy: 'queue', id: 'two' }) // the same input, tried again
    const waiting = turn(await openSession(store, 's'), '3', { model: echo, whenBusy: 'wait' })
    open()
    expect((await first.result()).stopReason).toBe('end_turn')
    for (const stream of [queued, again]) {
      const { stopReason, response } = await stream.result()
      expect([stopReason, textOf(response as Message)]).toEqual(['answered', 're: 2'])
    }
    await waiting.result()
    await b.refresh()
    expect(messageTexts(b)).toEqual(['0', '1', '2', '3'].flatMap((text) => [`user: ${text}`, `assistant: re: ${text}`]))
    const known = await turn(b, '2', { model: echo, id: 'two' }).result()
    expect([known.stopReason, textOf(known.response as Message), b.len]).toEqual(['answered', 're: 2', 8])
  })

  it('gives the failure of a queued input to `onQueuedRun` and to its state, and it can be asked again', async () => {
    const store = memoryStore()
    const [a, b] = [await createSession(store, { id: 's' }), await openSession(store, 's')]
    const { opened, open } = gate()
    const down: Model = {
      name: 'down',
      async *stream(request, signal) {
        await opened
        if (a.len > 1) throw new Error('no quota')
        yield* echo.stream(request, signal)
      },
    }
    const runs: (readonly [string, RunStream<TurnFault>])[] = []
    const first = turn(a, '0', { model: down, id: 'zero', onQueuedRun: (run, input) => runs.push([input, run]) })
    await upTo(first, ({ type }) => type === 'step_start')
    await turn(b, '1', { model: echo, whenBusy: 'queue', wait: 0, id: 'one' }).result()
    const states = () => inputsOf(b).map(({ id, state, reason }) => [id, state, reason])
    expect(states()).toEqual([['zero', 'taken', undefined], ['one', 'queued', undefined]]) // oxfmt-ignore
    open()
    expect((await first.result()).stopReason).toBe('end_turn')
    await expect.poll(() => b.refresh().then(states)).toEqual([['zero', 'answered', undefined], ['one', 'failed', 'error']]) // oxfmt-ignore
    const [[input, failed]] = runs as [(typeof runs)[0]]
    expect([input, await failed.result()()]).toMatchObject([
      'one',
      { left: { _tag: 'ModelFailed', reason: 'no quota' } },
    ])
    await turn(b, '1', { model: echo, id: 'one', whenBusy: 'wait' }).result()
    expect(states()).toEqual([['zero', 'answered', undefined], ['one', 'answered', undefined]]) // oxfmt-ignore
    expect(inputsOf(b).map(({ at, end }) => messageTexts(b).slice(at, end))).toEqual(
      ['0', '1'].map((text) => [`user: ${text}`, `assistant: re: ${text}`]),
    )
    expect(runs.length).toBe(1)
  })

  it('gives `onQueuedRun` a store fault that keeps the run of a queued input from starting', async () => {
    const store = memoryStore()
    const [a, b] = [await createSession(store, { id: 's' }), await openSession(store, 's')]
    const { opened, open } = gate()
    const failures: Promise<unknown>[] = []
    const first = turn(a, '0', {
      model: echo,
      handlers: [
        ({ type }) => (type === 'step_start' ? opened : undefined),
        async ({ type }) => void (type === 'history_delta' && (await store.remove('s'))),
      ],
      onQueuedRun: (run, input) =>
        failures.push(
          run
            .result()()
            .then((ended) => [input, ended]),
        ),
    })
    await expect.poll(() => a.refresh().then(() => a.len)).toBe(1)
    await turn(b, '1', { model: echo, whenBusy: 'queue', wait: 0, id: 'one' }).result()
    open()
    await first.result()
    await expect.poll(() => failures.length).toBe(1)
    expect(await failures[0]).toMatchObject(['one', { left: { _tag: 'NoSuchLog' } }])
  })

  it('never answers an input cancelled while waiting', async () => {
    const store = memoryStore()
    const [a, b] = [await createSession(store, { id: 's' }), await openSession(store, 's')]
    const held = await a.lease({ holder: 'me' })
    const queued = turn(b, 'no', { model: echo, whenBusy: 'queue' })
    while ((await a.refresh(), a.notes().length === 0)) await new Promise((resolve) => setTimeout(resolve, 1))
    queued.cancel()
    expect((await queued.result()).stopReason).toBe('cancelled')
    await held.release()
    await turn(a, 'yes', { model: echo }).result()
    expect(messageTexts(a)).toEqual(['user: yes', 'assistant: re: yes'])
  })

  it('lets another process ask its run to stop', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const store = memoryStore()
    const [a, b] = [await createSession(store, { id: 's' }), await openSession(store, 's')]
    const going = turn(a, 'for ever', {
      model: scriptedModel([assistant('At once.', toolCall('c', 'hang', '{}'))]),
      tools: [tool({ name: 'hang', parameters: {}, run: never })],
      ttl: 3000,
    })
    await Promise.all([upTo(going, ({ type }) => type === 'tool_call_start'), vi.advanceTimersByTimeAsync(500)])
    expect((await store.requestStop(b.id))?.holder).toBe('run')
    await vi.advanceTimersByTimeAsync(500) // the run renews its lease, and sees it
    expect((await going.result()).stopReason).toBe('cancelled')
    expect(messageTexts(a)).toEqual([
      'user: for ever',
      'assistant: At once. hang()',
      'tool: Somebody asked the run to stop. The tool may have had side effects.',
    ])
  })
})

const dead = async (
  store: Store,
  model: Model,
  tools: Parameters<typeof turn>[2]['tools'],
  stop: (event: RunEvent) => boolean,
): Promise<void> => {
  const session = await createSession(store, { id: 's' })
  await upTo(turn(session, 'go', { model, tools: tools ?? [] }), stop)
  await leaseOfSession(session)?.release() // as when its lease has expired; nothing that it does later is told to anybody
}

describe('resume', () => {
  const calls = scriptedModel.bind(undefined, [
    assistant('Both.', toolCall('a', 'charge', '{}'), toolCall('b', 'mail', '{}')),
    ({ messages }) => assistant(`read ${textIn([...messages].at(-1) as Message)}`),
  ])
  const charge = (ran: string[]) =>
    tool({ name: 'charge', parameters: {}, run: () => (ran.push('charge'), 'receipt 4711') })
  const mail = (ran: string[], idempotent: boolean) =>
    tool({ name: 'mail', parameters: {}, idempotent, run: () => (ran.push('mail'), 'sent') })
  const hanging = tool({ name: 'mail', parameters: {}, run: never })
  const charged = (event: RunEvent): boolean => event.type === 'tool_result'

  it('uses stored results and tells the model which calls may have had effects', async () => {
    const store = memoryStore()
    const ran: string[] = []
    await dead(store, calls(), [charge(ran), hanging], charged)
    const session = await openSession(store, 's')
    expect(pending(session).started.map(({ name }) => name)).toEqual(['mail'])
    const again = { model: scriptedModel([assistant('I see.')]), tools: [charge(ran), mail(ran, true)] }
    expect((await resume(session, again).result()).stopReason).toBe('end_turn')
    const whole = [
      'user: go',
      'assistant: Both. charge() mail()',
      'tool: receipt 4711',
      'tool: The run was interrupted while this tool was running. The tool may have had side effects.',
      'assistant: I see.',
    ]
    expect([messageTexts(session), ran]).toEqual([whole, ['charge']])
    expect((await resume(session, again).result()).stopReason).toBe('end_turn') // a repeated one does nothing
    expect(messageTexts(session)).toEqual(whole)
    expect([pending(session).steps, pending(session).messages]).toEqual([[], []])
  })

  it('settles a cut answer whose model reuses call ids, each call under an id of its own', async () => {
    const store = memoryStore()
    const call = toolCall('call_0', 'charge', '{}')
    const cut: Model = {
      name: 'cut',
      async *stream() {
        yield { type: 'block_start', index: 0, block: 'tool_call', callId: call.id, name: call.name }
        yield { type: 'arguments_delta', index: 0, block: 'tool_call', text: call.arguments }
        yield { type: 'block_end', index: 0, block: 'tool_call', part: call }
        await never()
      },
    }
    const session = await createSession(store, { id: 's' })
    await turn(session, 'go', {
      model: scriptedModel([assistant(call), assistant('Done.')]),
      tools: [charge([])],
    }).result()
    await upTo(
      turn(session, 'again', { model: cut, tools: [charge([])] }),
      (event) => event.type === 'model_event' && event.event.type === 'block_end',
    )
    await leaseOfSession(session)?.release()
    const next = await openSession(store, 's')
    await turn(next, 'and now?', { model: echo, tools: [] }).result()
    const calls = next
      .view()
      .toArray()
      .flatMap(({ content }) => content.filter((part) => part.type === 'tool_call'))
    expect([calls.length, new Set(calls.map(({ id }) => id)).size]).toEqual([2, 2])
    expect(messageTexts(next).slice(-2)).toEqual(['user: and now?', 'assistant: re: and now?'])
  })

  it('runs tools again if they are marked as repeatable', async () => {
    for (const idempotent of [true, false]) {
      const store = memoryStore()
      const ran: string[] = []
      await dead(store, calls(), [charge(ran), hanging], charged)
      const session = await openSession(store, 's')
      await resume(session, {
        model: scriptedModel([assistant('I see.')]),
        tools: [charge(ran), mail(ran, idempotent)],
        unfinished: 'retry',
      }).result()
      expect(ran).toEqual(idempotent ? ['charge', 'mail'] : ['charge'])
      expect(messageTexts(session).length).toBe(5)
    }
  })

  it('asks the host to approve or deny', async () => {
    const store = memoryStore()
    const ran: string[] = []
    await dead(store, calls(), [charge(ran), hanging], charged)
    const options = {
      model: scriptedModel([assistant('I see.')]),
      tools: [charge(ran), mail(ran, false)],
      unfinished: 'ask',
    } as const
    const runResult = await resume(await openSession(store, 's'), options).result()
    expect([runResult.stopReason, runResult.open?.calls.map(({ id }) => id), runResult.open?.started]).toEqual([
      'approval',
      ['b'],
      ['b'],
    ])
    const session = await openSession(store, 's')
    const approve = runResult.open?.calls.map(({ approval }) => approval) ?? []
    await session.note({ type: 'journal', step: runResult.open?.step ?? '', started: ['b'] }) // by a run with that approval, which died
    const again = await resume(session, { ...options, approve }).result()
    expect([again.stopReason, ran]).toEqual(['approval', ['charge']])
    const ended = await resume(session, {
      ...options,
      approve: again.open?.calls.map(({ approval }) => approval) ?? [],
    }).result()
    expect([ended.stopReason, ran, messageTexts(session).at(-2)]).toEqual([
      'end_turn',
      ['charge', 'mail'],
      'tool: sent',
    ])
  })

  it('tells the model that a call had started when the host denies it or says something else, or nobody answers', async () => {
    const mayHave = 'The run was interrupted while this tool was running. The tool may have had side effects.'
    const left = async () => {
      const store = memoryStore()
      await dead(store, calls(), [charge([]), hanging], charged)
      return openSession(store, 's')
    }
    const asked = async () => {
      const session = await left()
      const options = { model: echo, tools: [charge([]), mail([], false)], unfinished: 'ask' } as const
      return { session, options, open: (await resume(session, options).result()).open }
    }
    const denied = await asked()
    const deny = (denied.open?.calls ?? []).map(({ approval }) => ({ approval, reason: 'Too late.' }))
    await resume(denied.session, { ...denied.options, deny }).result()
    expect(messageTexts(denied.session).join('\n')).toContain(
      `Not run again: this call was denied. Reason: Too late.\n${mayHave}`,
    )
    const other = await asked()
    await turn(other.session, 'never mind', other.options).result()
    expect(messageTexts(other.session).join('\n')).toContain(mayHave)
    expect(messageTexts(other.session).join('\n')).not.toContain('Not run')
    const approved = await asked()
    const approve = (approved.open?.calls ?? []).map(({ approval }) => approval)
    const again = [
      [approved.session, { ...approved.options, approve }],
      [await left(), { ...approved.options, tools: [charge([]), mail([], true)], unfinished: 'retry' }],
    ] as const
    for (const [session, options] of again) {
      const going = resume(session, options)
      for await (const { type } of going) if (type === 'tool_call_start') break // leaving the loop cancels the run
      await going.result()
      expect(messageTexts(session).join('\n')).toContain(`Not run again. The run was cancelled.\n${mayHave}`)
    }
    const waits = await asked()
    expect(pending(waits.session).messages.map(textIn).join('\n')).toContain(mayHave)
  })

  it('finishes a step whose run a handler ended: no result is lost, and no call is reported as not run', async () => {
    const session = await createSession(memoryStore())
    const ran: string[] = []
    const step = (name: string) => tool({ name, parameters: {}, run: () => (ran.push(name), `${name} done`) })
    const options = {
      model: scriptedModel([
        assistant(toolCall('a', 'first', '{}'), toolCall('b', 'second', '{}')),
        assistant('Done.'),
      ]),
      tools: [step('first'), step('second')],
      toolConcurrency: 1,
    }
    const observer = (event: RunEvent): void => {
      if (event.type === 'tool_result') throw new Error('the disk of the log is full')
    }
    const ended = await turn(session, 'go', { ...options, handlers: [observer] }).result()()
    expect(isLeft(ended) && ended.left._tag).toBe('HandlerFailed')
    expect(ran).toEqual(['first'])
    expect((await resume(session, options).result()).stopReason).toBe('end_turn')
    expect([ran, messageTexts(session)]).toEqual([
      ['first', 'second'],
      ['user: go', expect.stringContaining('assistant:'), 'tool: first done', 'tool: second done', 'assistant: Done.'],
    ])
  })

  it('records a cut-off answer as such and calls the model again', async () => {
    const store = memoryStore()
    const broken: Model = {
      name: 'broken',
      async *stream() {
        yield { type: 'block_start', index: 0, block: 'text' }
        yield { type: 'text_delta', index: 0, block: 'text', text: 'I was going to ' }
        throw new Error('connection reset')
      },
    }
    const session = await createSession(store, { id: 's' })
    const ended = await turn(session, 'go', { model: broken }).result()()
    expect(isLeft(ended) && ended.left._tag).toBe('ModelFailed')
    expect(messageTexts(session)).toEqual(['user: go', 'assistant: I was going to  [interrupted]'])
    const view = { role: 'developer', text: '[The run was interrupted here. The answer above is incomplete.]' }
    const seen: Message[] = []
    const model = scriptedModel([({ messages }) => (seen.push(...messages), assistant('So.'))])
    await resume(session, { model }).result()
    expect([seen.at(-1)?.role, textOf(seen.at(-1) as Message)]).toEqual([view.role, view.text])
    expect(session.at().pages.at(2)).toBe('conversation')
    expect(messageTexts(session).at(-1)).toBe('assistant: So.')
  })

  it('journals streamed text in pieces that are removed once the answer is complete', async () => {
    const store = memoryStore()
    const session = await createSession(store, { id: 's' })
    const { opened, open } = gate()
    const slow: Model = {
      name: 'slow',
      async *stream() {
        yield { type: 'block_start', index: 0, block: 'text' }
        for (const text of ['one ', 'two ', 'three'])
          yield { type: 'text_delta', index: 0, block: 'text', text } as const
        await opened
        yield { type: 'block_end', index: 0, block: 'text', part: { type: 'text', text: 'one two three' } }
        yield {
          type: 'finish',
          message: assistant('one two three'),
          reason: 'end_turn',
          usage: { input: 1, output: 3 },
        }
      },
    }
    const going = turn(session, 'go', { model: slow, journalEvery: { ms: 0 }, receipts: false })
    const other = await openSession(store, 's')
    while (
      (await other.refresh(),
      pending(other)
        .steps.map(({ said: text }) => text.join(''))
        .join('') !== 'one two three')
    )
      await new Promise((resolve) => setTimeout(resolve, 1))
    expect(messageTexts(other)).toEqual(['user: go'])
    open()
    await going.result()
    await other.refresh()
    expect([messageTexts(other), pending(other).steps]).toEqual([['user: go', 'assistant: one two three'], []])
    const bytes = await createSession(memoryStore())
    await turn(bytes, 'go', { model: slow, journalEvery: { ms: Infinity, bytes: 4 }, receipts: false }).result()
    expect(
      [...bytes.notes()].flatMap((note) => (note.type === 'journal' ? (note.said ?? []) : [])).map(({ text }) => text),
    ).toEqual(['one ', 'two ', 'three'])
  })

  it('records each part of an answer once it is complete', async () => {
    const parts = [
      { type: 'reasoning', text: 'hm', signature: 'sig' },
      { type: 'text', text: 'I look.' },
      { type: 'tool_call', id: 'c', name: 'look', arguments: '{}' },
    ] as const
    for (const count of [1, 2, 3]) {
      const stuck: Model = {
        name: 'stuck',
        async *stream() {
          for (const [index, part] of parts.slice(0, count).entries()) {
            const named = part.type === 'tool_call' ? { callId: part.id, name: part.name } : {}
            yield { type: 'block_start', index, block: part.type, ...named }
            yield { type: 'block_end', index, block: part.type, part }
          }
          await never()
        },
      }
      const store = memoryStore()
      const session = await createSession(store, { id: 's' })
      await upTo(
        turn(session, 'go', { model: stuck, journalEvery: { ms: Infinity } }),
        ({ type, event }: { type: string; event?: ModelEvent }) =>
          type === 'model_event' && event?.type === 'block_end' && event.index === count - 1,
      )
      const steps = pending(await openSession(store, 's')).steps
      expect(steps.map((step) => step.said)).toEqual([parts.slice(0, count)])
    }
  })

  it('ends the run if another writer appends between an answer and its results, keeping finished work', async () => {
    const store = memoryStore()
    const session = await createSession(store, { id: 's' })
    const other = await openSession(store, 's')
    const meddling = tool({
      name: 'charge',
      parameters: {},
      run: async () => (await other.refresh(), await other.append(user('hello?')), 'receipt 4711'),
    })
    const ended = await turn(session, 'go', {
      model: scriptedModel([assistant(toolCall('a', 'charge', '{}'))]),
      tools: [meddling],
    }).result()()
    expect(isLeft(ended) && ended.left._tag === 'HandlerFailed' && ended.left.cause).toMatchObject({
      _tag: 'SessionConflict',
    })
    expect(messageTexts(session)).toEqual(['user: go', 'user: hello?'])
    expect(pending(session).messages.map(textIn)).toEqual(['charge()', 'receipt 4711'])
    await resume(session, { model: echo }).result()
    expect(messageTexts(session)).toEqual([
      'user: go',
      'user: hello?',
      'assistant: charge()',
      'tool: receipt 4711',
      'assistant: re: hello?',
    ])
  })
})

it.each(['this handle', 'another handle'])(
  'a message retracted during its run, by %s, gets no answer: the run ends with the conflict',
  async (by) => {
    for (const calls of [[], [toolCall('l', 'look', '{}')]]) {
      const store = memoryStore()
      const session = await createSession(store, { id: 's' })
      await session.append([user('one'), assistant('re: one')])
      const other = by === 'this handle' ? session : await openSession(store, 's')
      const pop = async (): Promise<string> => {
        await other.refresh()
        await other.pop()
        return 'seen'
      }
      const look = tool({ name: 'look', parameters: {}, run: pop })
      const model: Model = {
        name: 'm',
        async *stream() {
          if (calls.length === 0) await pop()
          const message = assistant('re: two', ...calls)
          yield { type: 'finish', message, reason: 'end_turn', usage: { input: 0, output: 0 } }
        },
      }
      const ended = await turn(session, 'two', { model, tools: [look], id: 'i' }).result()()
      expect(ended).toMatchObject({ left: { _tag: 'HandlerFailed', cause: { _tag: 'SessionConflict', len: 3 } } })
      const fault =
        isLeft(ended) && ended.left._tag === 'HandlerFailed' ? (ended.left.cause as { notes: View<Note> }) : undefined
      expect(fault?.notes.at(0)).toEqual({ type: 'retraction', from: 2, to: 3 })
      await turn(session, 'three', { model: echo }).result()
      expect(messageTexts(session)).toEqual(['user: one', 'assistant: re: one', 'user: three', 'assistant: re: three'])
      expect([leaseOfSession(session), pending(session).steps]).toEqual([undefined, []])
    }
  },
)

describe('tool approvals', () => {
  const ran: string[] = []
  const tools = [
    tool({ name: 'look', parameters: {}, run: () => (ran.push('look'), 'seen') }),
    tool({
      name: 'pay',
      parameters: {},
      needsApproval: (input) => (input as { readonly sum: number }).sum > 10,
      run: (input) => (ran.push('pay'), `paid ${(input as { readonly sum: number }).sum}`),
    }),
  ]
  const answer = assistant(
    'I pay.',
    toolCall('a', 'look', '{}'),
    toolCall('b', 'pay', '{"sum":5}'),
    toolCall('c', 'pay', '{"sum":50}'),
    toolCall('d', 'pay', '{"sum":60}'),
  )

  it('end the run with open calls, and another process continues with decisions', async () => {
    ran.length = 0
    const store = memoryStore()
    const first = await turn(await createSession(store, { id: 's' }), 'pay', {
      model: scriptedModel([answer]),
      tools,
    }).result()
    expect([
      first.stopReason,
      first.open?.calls.map(({ id }) => id),
      first.open?.results.map(({ callId }) => callId),
      ran,
    ]).toEqual(['approval', ['c', 'd'], ['a', 'b'], ['look', 'pay']])
    expect(first.messages.length).toBe(1)
    expect(thawed(first.open)).toBeUndefined()

    const session = await openSession(store, 's')
    expect([messageTexts(session), [...(pending(session).steps[0]?.waiting ?? [])]]).toEqual([
      ['user: pay'],
      ['c', 'd'],
    ])
    const model = scriptedModel([assistant('Paid one.')])
    const [c = '', d = ''] = first.open?.calls.map(({ approval }) => approval) ?? []
    const half = await resume(session, { model, tools, approve: [c] }).result()
    expect([half.stopReason, half.open?.calls.map(({ id }) => id), ran]).toEqual([
      'approval',
      ['d'],
      ['look', 'pay', 'pay'],
    ])
    const ended = await resume(await openSession(store, 's'), {
      model,
      tools,
      deny: [{ approval: d, reason: 'Too much.' }],
    }).result()
    expect([ended.stopReason, ran]).toEqual(['end_turn', ['look', 'pay', 'pay']])
    await session.refresh()
    expect(messageTexts(session)).toEqual([
      'user: pay',
      'assistant: I pay. look() pay() pay() pay()',
      'tool: seen',
      'tool: paid 5',
      'tool: paid 50',
      'tool: Not run: this call was denied. Reason: Too much.',
      'assistant: Paid one.',
    ])
    expect(pending(session).steps).toEqual([])
    const repeated = await resume(session, { model, tools, deny: [d], approve: [c] }).result()
    expect(repeated.stopReason).toBe('end_turn')
    const changed = await resume(session, { model, tools, approve: [d], deny: [c] }).result()()
    expect(changed).toEqual(left({ _tag: 'NotWaiting', session: 's', tokens: [d, c] }))
    expect(ran).toEqual(['look', 'pay', 'pay'])
  })

  it('apply to one call, not to another with the same id', async () => {
    ran.length = 0
    const session = await createSession(memoryStore(), { id: 's' })
    const asking = (sum: number): Model => scriptedModel([assistant(toolCall('call_0', 'pay', `{"sum":${sum}}`))])
    const first = await turn(session, 'pay A', { model: asking(50), tools }).result()
    const [approval = ''] = first.open?.calls.map((call) => call.approval) ?? []
    await session.rewind(0)
    const second = await turn(session, 'pay B', { model: asking(5000), tools }).result()
    expect([first.stopReason, second.stopReason]).toEqual(['approval', 'approval'])
    const model = scriptedModel([assistant('Paid.')])
    const late = await resume(session, { model, tools, approve: [approval] }).result()()
    expect([late, ran]).toEqual([left({ _tag: 'NotWaiting', session: 's', tokens: [approval] }), []])
    const tokens = second.open?.calls.map((call) => call.approval) ?? []
    expect((await resume(session, { model, tools, approve: tokens }).result()).stopReason).toBe('end_turn')
    expect(ran).toEqual(['pay'])
  })

  it('report unknown options and an invalid model at once', async () => {
    const session = await createSession(memoryStore(), { id: 's' })
    const loose = (options: unknown) => options as { readonly model: Model }
    expect(() => turn(session, 'hi', loose({ model: echo, tool: tools }))).toThrow(
      'turn has no option "tool". Did you mean `tools`?',
    )
    expect(() => turn(session, 'hi', loose({}))).toThrow('a run needs a `model`')
    expect(() => turn(session, 'hi', loose(undefined))).toThrow('a run needs a `model`')
    expect(() => resume(session, loose({ model: echo, aprove: [] }))).toThrow('Did you mean `approve`?')
    expect(session.len).toBe(0)
  })

  it('identify calls by token; a call id is refused', async () => {
    const session = await createSession(memoryStore(), { id: 's' })
    const options = { model: echo, tools }
    expect(() => resume(session, { ...options, approve: ['c'] })).toThrow('approve takes the token of a waiting call')
    expect(() => resume(session, { ...options, deny: [{ approval: 'c' }] })).toThrow('deny takes the token')
  })

  it('end a resume with a fault, without its lease, if `unfinished` throws or does not choose', async () => {
    for (const [unfinished, why] of [
      [
        () => {
          throw new Error('no policy')
        },
        'the function passed as `unfinished` threw: no policy',
      ],
      [() => 'again', 'its result is "again"; expected one of retry, tell, ask'],
    ] as const) {
      const session = await createSession(memoryStore(), { id: 's' })
      await session.append(user('pay'))
      await session.note({ type: 'journal', step: 'r:0', answer: { ...answer } as never })
      await session.note({ type: 'journal', step: 'r:0', started: ['a', 'b'] })
      const stream = resume(session, { model: echo, tools, unfinished: unfinished as never })
      const events: string[] = []
      for await (const { type } of stream) events.push(type)
      expect(events).toEqual(['run_failed'])
      await expect(Promise.resolve(stream.result())).rejects.toThrow(why)
      expect([leaseOfSession(session), session.len]).toEqual([undefined, 1])
    }
  })

  it('belong to their own input: one that failed before and is asked again denies them, and has its own answer', async () => {
    ran.length = 0
    const session = await createSession(memoryStore(), { id: 's' })
    for (const [id, earlier] of [
      ['b', 'a'],
      [undefined, 'c'],
    ] as const) {
      await turn(session, earlier, { model: down, id: earlier }).result()()
      const runResult = await turn(session, 'b', { model: scriptedModel([answer]), tools, ...(id !== undefined && { id }) }).result() // oxfmt-ignore
      expect(runResult.stopReason).toBe('approval')
      const again = await turn(session, earlier, { model: scriptedModel([assistant('Mine.')]), tools, id: earlier }).result() // oxfmt-ignore
      expect([again.stopReason, again.response]).toEqual(['end_turn', assistant('Mine.')])
      const approve = runResult.open?.calls.map(({ approval }) => approval) ?? []
      const late = await resume(session, { model: scriptedModel([]), tools, approve }).result()()
      expect(late).toMatchObject({ left: { _tag: 'NotWaiting', tokens: approve } })
    }
    expect(ran).toEqual(['look', 'pay', 'look', 'pay']) // none of 50 and 60
    expect(inputsOf(session).map(({ id, state }) => `${id} ${state}`)).toEqual([
      'a answered',
      'b cancelled',
      'c answered',
    ])
  })

  it('of an input that was cancelled have no effect', async () => {
    ran.length = 0
    const session = await createSession(memoryStore(), { id: 's' })
    const runResult = await turn(session, 'b', { model: scriptedModel([answer]), tools, id: 'b' }).result()
    await turn(session, 'b', { model: echo, id: 'b', signal: AbortSignal.abort() }).result()
    const approve = runResult.open?.calls.map(({ approval }) => approval) ?? []
    for (let click = 0; click < 2; click++)
      expect((await resume(session, { model: echo, tools, approve }).result()).stopReason).toBe('cancelled')
    expect([ran, messageTexts(session).slice(-2)]).toEqual([['look', 'pay'], [
      'tool: Not run: the call was waiting for approval when the run ended.',
      'tool: Not run: the call was waiting for approval when the run ended.',
    ]]) // oxfmt-ignore
  })

  it('count another user message, and interrupted(), as denial', async () => {
    ran.length = 0
    const store = memoryStore()
    const session = await createSession(store, { id: 's' })
    await turn(session, 'pay', { model: scriptedModel([answer]), tools }).result()
    const byHand = pending(await openSession(store, 's')).messages.map(textIn)
    expect(byHand.slice(-2)).toEqual(
      Array.from({ length: 2 }, () => 'Not run: the call was waiting for approval when the run ended.'),
    )
    await turn(session, 'never mind', { model: echo, tools }).result()
    expect(messageTexts(session).slice(-4)).toEqual([
      `tool: ${byHand.at(-2)}`,
      `tool: ${byHand.at(-1)}`,
      'user: never mind',
      'assistant: re: never mind',
    ])
  })

  it('work without a session: run continues with its result', async () => {
    ran.length = 0
    const begin = settle([user('pay')])
    if (isLeft(begin)) throw new Error('not settled')
    const first = await run({ model: scriptedModel([answer]), view: begin.right, tools }).result()
    const kept = JSON.parse(JSON.stringify(first.open)) as NonNullable<typeof first.open>
    const ended = await run({
      model: scriptedModel([assistant('ok')]),
      view: begin.right,
      tools,
      open: kept,
      approve: kept.calls.map(({ approval }) => approval),
    }).result()
    expect([ended.stopReason, ended.messages.map(({ role }) => role), ran]).toEqual([
      'end_turn',
      ['user', 'assistant', 'tool', 'tool', 'tool', 'tool', 'assistant'],
      ['look', 'pay', 'pay', 'pay'],
    ])
  })

  describe('without a session', () => {
    const waiting = async () => {
      ran.length = 0
      const history = createHistory<Message>({ from: [user('pay')] })
      const before = orThrow(settle(history.view()))
      const { open } = await run({ model: scriptedModel([answer]), view: before, tools }).result()
      if (open === undefined) throw new Error('nothing waits')
      const decided = (view: Settled<Sequence<Message>> = before, more: Partial<RunOptions> = {}) =>
        run({
          model: scriptedModel([assistant('ok')]),
          view,
          tools,
          open: JSON.parse(JSON.stringify(open)) as typeof open,
          approve: open.calls.map(({ approval }) => approval),
          handlers: [historyHandler(history)],
          ...more,
        })
      return { history, before, open, decided }
    }

    it('a double click runs each call once, and the record has it', async () => {
      const { history, before, decided } = await waiting()
      const clicks = await Promise.all([decided().result()(), decided().result()()])
      expect(clicks).toMatchObject([
        { right: { stopReason: 'end_turn' } },
        { left: { _tag: 'HandlerFailed', event: 'begin', cause: { message: expect.stringContaining('once') } } },
      ])
      expect(await decided(before, { handlers: [] }).result()()).toMatchObject({ left: { event: 'begin' } })
      expect([ran, history.len]).toEqual([['look', 'pay', 'pay', 'pay'], 7])
    })

    it('a run that is cancelled before it did anything leaves the step to the next', async () => {
      const { decided } = await waiting()
      const stream = decided()
      stream.cancel()
      expect((await stream.result()).stopReason).toBe('cancelled')
      expect((await decided().result()).stopReason).toBe('end_turn')
      expect(ran).toEqual(['look', 'pay', 'pay', 'pay'])
    })

    it('the step is refused with a view that has it already, or another one, before anything runs', async () => {
      const { history, before, decided } = await waiting()
      await decided().result()
      const other = [user('pay somebody else')]
      for (const view of [history.view(), other])
        expect(() => decided(orThrow(settle<Sequence<Message>>(view)))).toThrow(
          'is not the record before the step of `open`',
        )
      // The same messages, as another program wrote them.
      const same = before
        .toArray()
        .map((message) => Object.fromEntries(Object.entries(message).toReversed()) as unknown as Message)
      expect(await decided(orThrow(settle(same))).result()()).toMatchObject({ left: { event: 'begin' } })
      expect(ran).toEqual(['look', 'pay', 'pay', 'pay'])
    })

    it('settleOpen keeps the finished results of a step that nobody decides any more', async () => {
      const { before, open, decided } = await waiting()
      const instead = orThrow(settle([...before, ...settleOpen(open), user('never mind')]))
      expect(instead.map(textIn).slice(2)).toEqual([
        'seen',
        'paid 5',
        ...Array.from({ length: 2 }, () => 'Not run. Something else was said instead of an approval.'),
        'never mind',
      ])
      const [, , , c] = settleOpen({ ...open, started: ['c'] })
      expect(c && textIn(c)).toContain('may have had side effects')
      expect(() => decided(instead)).toThrow('has that step already')
      expect(() => settleOpen({} as never)).toThrow('settleOpen: `open.step` is not that of a step that waits')
      expect(ran).toEqual(['look', 'pay'])
    })
  })
})
