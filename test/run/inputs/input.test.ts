/** Inputs of turns: each is answered once, by its own answer, or cancelled, or failed and free to be asked again. */
import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { assistant, developer, orThrow, textOf, toolCall, toolResult, user, type Message } from 'indelible'
import { text } from 'indelible/message'
import { anthropic } from 'indelible/codecs/anthropic'
import { gemini } from 'indelible/codecs/gemini'
import {
  inputsOf,
  resume,
  scriptedModel,
  tool,
  turn,
  type Model,
  type ModelRequest,
  type RunResult,
  type TurnOptions,
} from 'indelible/run'
import { createSession, eraseMessages, forkSession, openSession, type Session, pending } from 'indelible/session'
import { memoryStore, type Store } from 'indelible/store'
import { storeTask } from '../../../src/store/internal.ts'
import { rounds } from '../../rounds.ts'
import { thawed } from '../../thawed.ts'
import type { Clock } from '../../../src/task/index.ts'

const lastUser = (messages: Iterable<Message>): string =>
  textOf([...messages].findLast(({ role }) => role === 'user') as Message)
const echo: Model = scriptedModel(
  (function* () {
    for (;;) yield ({ messages }) => assistant(`re: ${lastUser(messages)}`)
  })(),
)
const messageTexts = (session: Session): readonly string[] =>
  session
    .view()
    .toArray()
    .map((message) => `${message.role}: ${textOf(message)}`)
/** The end of a turn, and its answer. */
const runTurn = async (session: Session, text: string, options: Partial<TurnOptions>): Promise<readonly unknown[]> => {
  const answer = await turn(session, text, { model: echo, ...options } as TurnOptions).result()()
  return isLeft(answer) ? [answer.left._tag] : [answer.right.stopReason, ...answerIn(answer.right)]
}
const answerIn = ({ response }: RunResult): readonly string[] => (response === undefined ? [] : [textOf(response)])
const states = (session: Session): readonly string[] =>
  [...session.notes()].flatMap((note) => (note.type === 'input' ? [`${note.id} ${note.state}`] : []))
const until = async (session: Session, state: string): Promise<void> => {
  while ((await session.refresh(), !states(session).includes(state)))
    await new Promise((resolve) => setTimeout(resolve, 1))
}

it('an input taken by a dead run is answered first, by its own answer, whoever asks', async () => {
  for (const whenBusy of ['fail', 'wait', 'queue'] as const) {
    const session = await createSession(memoryStore())
    await session.append({ messages: [user('a')], notes: [{ type: 'input', id: 'a', state: 'taken', at: 0 }] })
    expect(await runTurn(session, 'b', { id: 'b', whenBusy })).toEqual(['end_turn', 're: b'])
    expect(await runTurn(session, 'a', { id: 'a', whenBusy })).toEqual(['answered', 're: a'])
    expect(messageTexts(session)).toEqual(['user: a', 'assistant: re: a', 'user: b', 'assistant: re: b'])
  }
})

it('a taken input comes before one queued earlier and gets its own answer', async () => {
  const session = await createSession(memoryStore())
  await session.note({ type: 'input', id: 'q', state: 'queued', message: user('q') as never })
  await session.append({ messages: [user('b')], notes: [{ type: 'input', id: 'b', state: 'taken', at: 0 }] })
  expect(await runTurn(session, 'b', { id: 'b', whenBusy: 'queue' })).toEqual(['end_turn', 're: b'])
  await until(session, 'q answered')
  expect(messageTexts(session)).toEqual(['user: b', 'assistant: re: b', 'user: q', 'assistant: re: q'])
})

const inputsAfter = (...notes: readonly object[]): readonly unknown[] => inputsOf({ notes: () => notes as never })

it('a retraction cancels the inputs whose messages it covers, unless they were answered', () => {
  const taken = { type: 'input', id: 'a', state: 'taken', at: 3 }
  const waiting = { type: 'input', id: 'a', state: 'waiting', reason: 'approval' }
  const failed = { type: 'input', id: 'a', state: 'failed', reason: 'error' }
  const answered = { type: 'input', id: 'a', state: 'answered', at: 5, reason: 'end_turn' }
  for (const ends of [[], [waiting], [failed], [waiting, answered]])
    for (let from = 0; from < 6; from++)
      for (let to = from; to < 6; to++) {
        const notes = [taken, ...ends] as readonly object[]
        const [before] = inputsAfter(...notes) as readonly [object]
        const isOver = from <= 3 && 3 < to && !ends.includes(answered)
        expect(inputsAfter(...notes, { type: 'retraction', from, to })).toEqual([
          isOver ? { ...before, state: 'cancelled', reason: 'its message was retracted' } : before,
        ])
      }
  const queued = { type: 'input', id: 'a', state: 'queued', message: user('a') }
  expect(inputsAfter(queued, { type: 'retraction', from: 0, to: 9 })).toMatchObject([{ state: 'queued' }])
})

it('an input has the message and the place of its first notes, and the end and reason of its last', () => {
  const note = (state: string, more: object = {}): object => ({ type: 'input', id: 'a', state, ...more })
  const message = user('a')
  const moves = [
    [note('answered', { at: 9 })],
    [note('queued', { message }), { state: 'queued', message }],
    [note('taken', { at: 3 }), { state: 'taken', message, at: 3 }],
    [note('taken', { at: 4, message: user('b') }), { state: 'taken', message, at: 3 }],
    [note('failed', { reason: 'error' }), { state: 'failed', message, at: 3, reason: 'error' }],
    [note('queued', { message }), { state: 'queued', message, at: 3 }],
    [note('taken', { at: 3 }), { state: 'taken', message, at: 3 }],
    [
      note('answered', { at: 5, reason: 'end_turn' }),
      { state: 'answered', message, at: 3, end: 5, reason: 'end_turn' },
    ],
    [note('failed', { reason: 'late' }), { state: 'answered', message, at: 3, end: 5, reason: 'end_turn' }],
    [note('answered', { at: 7, reason: 'other' }), { state: 'answered', message, at: 3, end: 7, reason: 'other' }],
  ] as const
  for (let count = 1; count <= moves.length; count++) {
    const expected = moves[count - 1]?.[1]
    const found = inputsAfter(...moves.slice(0, count).map(([one]) => one))
    expect(found).toEqual(expected === undefined ? [] : [{ id: 'a', ...expected }])
    expect(thawed(found)).toBeUndefined()
  }
})

it('an input queued while another was being recorded comes first', async () => {
  const inner = memoryStore()
  await createSession(inner, { id: 's' })
  const other = await openSession(inner, 's')
  let isFirst = true
  const store: Store = {
    ...inner,
    append: (id, append) =>
      storeTask(async () => {
        if (isFirst) {
          isFirst = false
          await other.note({ type: 'input', id: 'q', state: 'queued', message: user('q') as never })
        }
        return inner.append(id, append)()
      }, 'store.append'),
  }
  const session = await openSession(store, 's')
  expect(await runTurn(session, 'b', { id: 'b', whenBusy: 'wait' })).toEqual(['end_turn', 're: b'])
  expect(messageTexts(session)).toEqual(['user: q', 'assistant: re: q', 'user: b', 'assistant: re: b'])
})

it('an input whose run failed is answered when asked again, without repeating the question', async () => {
  const session = await createSession(memoryStore())
  let isDown = true
  const model: Model = {
    name: 'm',
    async *stream(request, signal) {
      if (isDown) throw new Error('503')
      yield* echo.stream(request, signal)
    },
  }
  expect(await runTurn(session, 'a', { id: 'a', model })).toEqual(['ModelFailed'])
  expect(await runTurn(session, 'a', { id: 'a', model })).toEqual(['ModelFailed'])
  isDown = false
  expect(await runTurn(session, 'a', { id: 'a', model })).toEqual(['end_turn', 're: a'])
  expect(await runTurn(session, 'a', { id: 'a', model })).toEqual(['answered', 're: a'])
  expect(messageTexts(session)).toEqual(['user: a', 'assistant: re: a'])
})

it('an input whose run failed is answered when the session is resumed', async () => {
  const session = await createSession(memoryStore())
  const down: Model = { name: 'down', stream: () => { throw new Error('503') } } // oxfmt-ignore
  expect(await runTurn(session, 'a', { id: 'a', model: down })).toEqual(['ModelFailed'])
  expect((await resume(session, { model: echo }).result()).stopReason).toBe('end_turn')
  expect(inputsOf(session)).toMatchObject([{ id: 'a', state: 'answered' }])
})

it('an input whose model refused without a word is free to be asked again; a refusal in words is its answer', async () => {
  const session = await createSession(memoryStore(), { id: 's' })
  const answers = [[], [text('No.')]].map((content): Message => ({ role: 'assistant', content }))
  const model: Model = {
    name: 'm',
    async *stream() {
      const message = answers.shift() as Message
      yield { type: 'finish', message, reason: 'refusal', usage: { input: 1, output: 0 } }
    },
  }
  expect(await runTurn(session, 'a', { id: 'a', model })).toEqual(['refusal', ''])
  expect(inputsOf(session)).toMatchObject([{ state: 'failed', reason: 'refusal' }])
  expect(await runTurn(session, 'a', { id: 'a', model })).toEqual(['refusal', 'No.'])
  expect(inputsOf(session)).toMatchObject([{ state: 'answered' }])
})

it('an input that fails in the background is free to be asked again, and the session is released', async () => {
  const store = memoryStore()
  const [a, b] = [await createSession(store, { id: 's' }), await openSession(store, 's')]
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  let calls = 0
  const model: Model = {
    name: 'm',
    async *stream(request, signal) {
      await opened
      if (++calls > 1) throw new Error('503')
      yield* echo.stream(request, signal)
    },
  }
  const first = runTurn(a, 'a', { id: 'a', model })
  await until(b, 'a taken')
  expect(await runTurn(b, 'b', { id: 'b', whenBusy: 'queue', wait: 0 })).toEqual(['queued'])
  open()
  expect(await first).toEqual(['end_turn', 're: a'])
  await until(b, 'b failed')
  expect(await runTurn(b, 'b', { id: 'b', whenBusy: 'wait' })).toEqual(['end_turn', 're: b'])
})

const reminded = (message: Message): string | undefined => /^\[The user's message "(.*?)"/.exec(textOf(message))?.[1]
/** A model that fails, breaks off after some text, or answers the message that it is asked to answer. */
const wayward = (): Model & { how: 'fail' | 'break' | 'answer'; readonly seen: string[] } => ({
  name: 'm',
  how: 'fail',
  seen: [],
  async *stream(request, signal) {
    const { messages } = request
    const texts = [...messages].map((message) => (message.role === 'user' ? textOf(message) : reminded(message)))
    const question = texts.findLast((text) => text !== undefined)
    this.seen.push(...[...messages].slice(-1).map((last) => `${last.role}: ${textOf(last)}`))
    if (this.how === 'fail') throw new Error('503')
    if (this.how === 'break') {
      yield { type: 'block_start', index: 0, block: 'text' }
      yield { type: 'text_delta', index: 0, block: 'text', text: `partly: ${question}` }
      throw new Error('connection reset')
    }
    yield* scriptedModel([assistant(`re: ${question}`)]).stream(request, signal)
  },
})

it('whatever failed before, an input asked again is answered by its own answer: the model is told which message to answer', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('fail', 'break', 'answer')), { maxLength: 8 }),
      async (asked) => {
        const session = await createSession(memoryStore())
        const model = wayward()
        for (const [id, how] of [...asked, ...(['a', 'b', 'c'] as const).map((id) => [id, 'answer'] as const)]) {
          model.how = how
          await runTurn(session, `question ${id}`, { id, model })
        }
        for (const id of ['a', 'b', 'c'])
          expect(await runTurn(session, `question ${id}`, { id, model })).toEqual(['answered', `re: question ${id}`])
      },
    ),
    { numRuns: rounds(10, 2000) },
  )
})

it('a message that is not the last one asked is named by its beginning and its position', async () => {
  const session = await createSession(memoryStore())
  const model = wayward()
  const long = `Why? ${'because '.repeat(100)}`
  await runTurn(session, long, { id: 'a', model })
  await runTurn(session, 'b', { id: 'b', model })
  await runTurn(session, long, { id: 'a', model })
  await runTurn(session, long, { id: 'a', model })
  const output = `[The user's message that begins "${long.slice(0, 200)}", at position 0, has no answer yet. Answer it now.]`
  expect(model.seen).toEqual([`user: ${long}`, 'user: b', `developer: ${output}`, `developer: ${output}`])
  expect(session.len).toBe(3)
  expect(session.at().pages.at(2)).toBe('conversation')
})

it('erasing a message erases the reminder that quotes it', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's' })
  const model = wayward()
  for (const id of ['secret', 'b', 'secret']) await runTurn(session, id, { id, model })
  expect(messageTexts(session)[2]).toContain('secret')
  const receipt = await eraseMessages(store, 's', [0])
  expect(receipt.messages).toEqual([0, 2])
  expect(JSON.stringify((await openSession(store, 's')).view().toArray())).not.toContain('secret')
})

it('a time limit that ends while an input waits leaves it in the queue', async () => {
  const store = memoryStore()
  const [a, b] = [await createSession(store, { id: 's' }), await openSession(store, 's')]
  const held = await a.lease({ holder: 'me' })
  const options = { id: 'q', whenBusy: 'queue', limits: { timeout: 50 } } as const
  expect(await runTurn(b, 'q', options)).toEqual(['timeout'])
  await held.release()
  expect(states(b)).toEqual(['q queued'])
  expect(await runTurn(b, 'q', { id: 'q' })).toEqual(['end_turn', 're: q'])
})

it('a fork loses the reminder of a message that it shares and that is erased', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's' })
  const model = wayward()
  for (const id of ['secret', 'b']) await runTurn(session, id, { id, model })
  const fork = await forkSession(store, 's', { id: 'fork' })
  await runTurn(fork, 'secret', { id: 'secret', model })
  expect(messageTexts(fork)[2]).toContain('secret')
  await eraseMessages(store, 's', [0])
  expect(JSON.stringify((await openSession(store, 'fork')).view().toArray())).not.toContain('secret')
})

it('after an answer that broke off, no request ends with an assistant message, which providers refuse', async () => {
  for (const asked of [
    ['a', 'a'],
    ['b', 'a', 'b'],
  ]) {
    const session = await createSession(memoryStore())
    const model = Object.assign(wayward(), { how: 'break' as const })
    for (const id of asked.slice(0, -1)) await runTurn(session, id, { id, model })
    const requests: ModelRequest['messages'][] = []
    const last = scriptedModel([({ messages }) => (requests.push(messages), assistant('done'))])
    await runTurn(session, asked.at(-1) as string, { id: asked.at(-1) as string, model: last })
    const [request] = requests as [ModelRequest['messages']]
    expect(request.at(-2)?.role).toBe('assistant')
    expect(orThrow(anthropic.encode(request)).wire.messages.at(-1)?.role).toBe('user')
    const { contents } = orThrow(gemini.encode(request)).wire
    expect((contents as readonly { readonly role: string }[]).at(-1)?.role).toBe('user')
  }
})

it("a turn takes a user's message only, and appends no other", async () => {
  const session = await createSession(memoryStore())
  for (const message of [assistant('a'), toolResult('c', 'x'), developer('d')])
    expect(() => turn(session, message, { model: echo })).toThrow(
      `turn: expected a message with the role user, found ${message.role}`,
    )
  expect(session.len).toBe(0)
})

it('a turn waiting for a queued input takes over when its run fails', async () => {
  const store = memoryStore()
  const [a, b] = [await createSession(store, { id: 's' }), await openSession(store, 's')]
  const held = await a.lease({ holder: 'me' })
  const waiting = runTurn(b, 'q', { id: 'q', whenBusy: 'queue' })
  await until(a, 'q queued')
  await a.append({ messages: [user('q')], notes: [{ type: 'input', id: 'q', state: 'taken', at: 0 }] })
  await a.note({ type: 'input', id: 'q', state: 'failed', reason: 'error' })
  await held.release()
  expect(await waiting).toEqual(['end_turn', 're: q'])
  await b.refresh()
  expect(messageTexts(b)).toEqual(['user: q', 'assistant: re: q'])
})

const pay = tool({ name: 'pay', parameters: {}, needsApproval: true, run: () => 'paid' })
const paying = (): Model => scriptedModel([assistant(toolCall('c', 'pay', '{}')), assistant('receipt 4711')])

it('an input waiting for an approval is answered by the run that continues it', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's' })
  const options = { id: 'a', model: paying(), tools: [pay] }
  expect(await runTurn(session, 'pay', options)).toEqual(['approval'])
  const again = await turn(await openSession(store, 's'), 'pay', options).result()
  expect([again.stopReason, again.open?.calls.map(({ id }) => id)]).toEqual(['approval', ['c']])
  const approve = again.open?.calls.map(({ approval }) => approval) ?? []
  expect((await resume(session, { model: options.model, tools: [pay], approve }).result()).stopReason).toBe('end_turn')
  expect(await runTurn(session, 'pay', options)).toEqual(['answered', 'receipt 4711'])
  expect(states(session)).toEqual(['a taken', 'a waiting', 'a taken', 'a answered'])
})

it('a queued input waits for an approval; a spoken one denies the call and cancels its input', async () => {
  const session = await createSession(memoryStore())
  const options = { model: paying(), tools: [pay] }
  expect(await runTurn(session, 'pay', { ...options, id: 'a' })).toEqual(['approval'])
  expect(await runTurn(session, 'then this', { id: 'q', whenBusy: 'queue' })).toEqual(['queued'])
  expect(pending(session).steps.length).toBe(1)
  expect(await runTurn(session, 'no', { id: 'b', model: echo, tools: [pay] })).toEqual(['end_turn', 're: no'])
  expect(states(session)).toEqual([
    'a taken',
    'a waiting',
    'q queued',
    'a cancelled',
    'b queued',
    'q taken',
    'q answered',
    'b taken',
    'b answered',
  ])
  expect(await runTurn(session, 'pay', { ...options, id: 'a' })).toEqual(['cancelled'])
})

it('reusing an input id with another message is a fault, and nothing is written', async () => {
  const secret = 'ghp_0123456789abcdefghijklmnopqrstuvwxyzAB'
  const session = await createSession(memoryStore(), { erasable: true, redact: true })
  await runTurn(session, `what do I owe ann? ${secret}`, { id: '1' })
  const before = session.head()
  for (const whenBusy of ['fail', 'wait', 'queue'] as const)
    expect(await runTurn(session, 'pay bob', { id: '1', whenBusy })).toEqual(['InputMismatch'])
  expect(session.head()).toEqual(before)
  expect((await runTurn(session, `what do I owe ann? ${secret}`, { id: '1' }))[0]).toBe('answered') // as it is recorded
  await session.note({ type: 'input', id: '2', state: 'queued', message: user('x') as never })
  expect(await runTurn(session, 'y', { id: '2' })).toEqual(['InputMismatch'])
})

it('an erased input is still known by its id', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's', erasable: true })
  await runTurn(session, 'my secret', { id: '1' })
  await eraseMessages(store, 's', [0], { reason: 'asked' } as never)
  const again = await openSession(store, 's')
  expect(await runTurn(again, 'my secret', { id: '1' })).toEqual(['answered', 're: my secret'])
})

it('a run that lost its session ends as LeaseLost without writing, and the next run answers its input', async () => {
  let now = 1_000_000
  const store = memoryStore({ now: () => now })
  const [a, b] = [await createSession(store, { id: 's' }), await openSession(store, 's')]
  let begun = (): void => undefined
  const asked = new Promise<void>((resolve) => (begun = resolve))
  let answer = (): void => undefined
  const answering = new Promise<void>((resolve) => (answer = resolve))
  const slow: Model = {
    name: 'slow',
    async *stream(request, signal) {
      begun()
      await answering
      yield* echo.stream(request, signal)
    },
  }
  const first = runTurn(a, 'a', { id: 'a', model: slow, ttl: 60_000 })
  await asked
  now += 60_000
  expect(await runTurn(b, 'b', { id: 'b', ttl: 60_000 })).toEqual(['end_turn', 're: b'])
  answer()
  expect(await first).toEqual(['LeaseLost'])
  await b.refresh()
  expect(messageTexts(b)).toEqual(['user: a', 'assistant: re: a', 'user: b', 'assistant: re: b'])
  expect(states(b)).toEqual(['a taken', 'b queued', 'a taken', 'a answered', 'b taken', 'b answered'])
})

it('a run that is cancelled because another one took its session ends as LeaseLost, too', async () => {
  let now = 1_000_000
  const store = memoryStore({ now: () => now })
  const [a, b] = [await createSession(store, { id: 's' }), await openSession(store, 's')]
  const due = new Set<() => void>()
  const clock: Clock = {
    now: () => now,
    after: (_, work) => {
      due.add(work)
      return { cancel: () => void due.delete(work) }
    },
  }
  const { promise: asked, resolve: begun } = Promise.withResolvers<void>()
  const silent: Model = {
    name: 'silent',
    async *stream(_, signal) {
      begun()
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
      yield undefined as never
    },
  }
  const first = runTurn(a, 'a', { id: 'a', model: silent, ttl: 60_000, clock })
  await asked
  now += 60_000
  expect(await runTurn(b, 'b', { id: 'b', ttl: 60_000 })).toEqual(['end_turn', 're: b'])
  for (const renew of due) renew()
  expect(await first).toEqual(['LeaseLost'])
})

it('a turn that loses the session before its run starts asks again: nobody cancelled it', async () => {
  let now = 1_000_000
  const inner = memoryStore({ now: () => now })
  await createSession(inner, { id: 's' })
  const other = await openSession(inner, 's')
  let isFirst = true
  const store: Store = {
    ...inner,
    append: (id, append) =>
      storeTask(async () => {
        if (isFirst) {
          isFirst = false
          now += 60_000
          await runTurn(other, 'b', { id: 'b', ttl: 60_000 })
        }
        return inner.append(id, append)()
      }, 'store.append'),
  }
  for (const whenBusy of ['wait', 'queue'] as const) {
    isFirst = true
    const session = await openSession(store, 's')
    const name = `a by ${whenBusy}`
    expect(await runTurn(session, name, { id: name, whenBusy, ttl: 60_000 })).toEqual(['end_turn', `re: ${name}`])
  }
})

it('an input whose message was retracted is cancelled, unless it was answered', async () => {
  const down: Model = { name: 'm', stream: () => { throw new Error('503') } } // oxfmt-ignore
  const session = await createSession(memoryStore())
  await runTurn(session, 'first', { id: 'first' })
  const before = session.len
  // One that a dead run had taken: nobody goes on with it.
  await session.append({ messages: [user('a')], notes: [{ type: 'input', id: 'a', state: 'taken', at: before }] })
  await session.rewind(before)
  expect(await runTurn(session, 'b', { id: 'b' })).toEqual(['end_turn', 're: b'])
  // One whose run has failed: it is not asked again.
  expect(await runTurn(session, 'c', { id: 'c', model: down })).toEqual(['ModelFailed'])
  await session.pop()
  // One whose calls wait for an approval.
  const asking = { id: 'd', model: paying(), tools: [pay] }
  expect(await runTurn(session, 'pay', asking)).toEqual(['approval'])
  await session.rewind(session.len - 1)
  for (const [id, text] of [
    ['a', 'a'],
    ['c', 'c'],
    ['d', 'pay'],
  ] as const)
    // oxfmt-ignore
    for (const whenBusy of ['fail', 'queue'] as const)
      expect([id, ...(await runTurn(session, text, { id, whenBusy }))]).toEqual([id, 'cancelled'])
  await session.rewind(0)
  expect(await runTurn(session, 'first', { id: 'first' })).toEqual(['answered', 're: first'])
  expect(session.conversation().length).toBe(0)
  expect(states(session).filter((state) => /^[acd] /.test(state))).toEqual([
    'a taken',
    'c taken',
    'c failed',
    'd taken',
    'd waiting',
  ])
})

it('a turn that is cancelled before its run begins withdraws an input that a dead run had taken', async () => {
  const session = await createSession(memoryStore())
  await session.append({ messages: [user('a')], notes: [{ type: 'input', id: 'a', state: 'taken', at: 0 }] })
  const stream = turn(session, 'a', { id: 'a', model: echo })
  stream.cancel()
  expect((await stream.result()).stopReason).toBe('cancelled')
  expect(await runTurn(session, 'b', { id: 'b' })).toEqual(['end_turn', 're: b'])
  expect(states(session)).toEqual(['a taken', 'a cancelled', 'b taken', 'b answered'])
  expect(messageTexts(session)).toEqual(['user: a', 'user: b', 'assistant: re: b'])
})
