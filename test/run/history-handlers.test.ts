/** Handlers that keep a run in memory: each delta once, whoever tells it and how often. */
import * as fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import {
  applyDelta,
  assistant,
  createHistory,
  decodeMessage,
  orThrow,
  restoreHistory,
  settle,
  toolCall,
  user,
  type History,
  type Message,
  type Settled,
  type View,
} from 'indelible'
import { omitRanges } from '../../src/history/index.ts'
import { historyHandler, run, scriptedModel, tool, type RunEvent, type RunHandler } from 'indelible/run'

const seed: readonly Message[] = [user('hello'), assistant('hi'), user('add')]
const add = tool({ name: 'add', parameters: {}, run: () => '3' })
const model = () => scriptedModel([assistant('Adding.', toolCall('c1', 'add', '{}')), assistant('3.')])

const settledOf = (view: View<Message>): Settled<View<Message>> => {
  const found = settle(view)
  if (isLeft(found)) throw new Error('not settled')
  return found.right
}
const started = (from: readonly Message[] = seed) => settledOf(createHistory<Message>({ from }).view())

/** The events of one run of four messages in two deltas, and its final messages. */
const recorded = async (
  handlers: readonly RunHandler[] = [],
): Promise<{ events: RunEvent[]; messages: readonly Message[] }> => {
  const stream = run({ model: model(), view: started(), tools: [add], handlers, id: 'r' })
  const events: RunEvent[] = []
  for await (const event of stream) events.push(event)
  return { events, messages: (await stream.result()).messages }
}

const delta = (id: string, expectedLen: number, ...append: readonly Message[]): RunEvent => ({
  seq: 7,
  type: 'history_delta',
  step: 0,
  id,
  expectedLen,
  append,
})

/** The two things that can be handed to the default handler, each with a way to read it. */
const targets: readonly (readonly [string, (from: readonly Message[]) => [History<Message> | Message[], () => readonly Message[]]])[] = [
  ['a history', (from) => { const history = createHistory<Message>({ from }); return [history, () => history.view().toArray()] }],
  ['an array', (from) => { const array = [...from]; return [array, () => [...array]] }],
] // oxfmt-ignore

describe.each(targets)('historyHandler on %s', (_name, make) => {
  it('appends the deltas, so that its start and the deltas are the run’s final messages', async () => {
    const [target, read] = make(seed)
    const { messages } = await recorded([historyHandler(target)])
    expect(messages.length).toBe(6)
    expect(read()).toEqual(messages)
  })

  it('appends each delta once, with two handlers, repeated events, and direct use', async () => {
    const [target, read] = make(seed)
    const handler = historyHandler(target)
    const { events, messages } = await recorded([handler, historyHandler(target), handler])
    for (const event of [...events, ...events]) historyHandler(target)(event)
    for (const event of events) handler(event)
    expect(read()).toEqual(messages)
  })

  it('recognizes messages already present without a known id', async () => {
    const { events, messages } = await recorded()
    const [target, read] = make(messages)
    for (const event of events) expect(isRight(historyHandler(target, { resume: true })(event))).toBe(true)
    expect(read()).toEqual(messages)
  })

  it('keeps repeated words on a shortened view', () => {
    const [target, read] = make([user('go?'), assistant('Yes.'), user('sure?'), assistant('Yes.')])
    const handler = historyHandler(target)
    expect(handler(delta('r:0', 3, assistant('Yes.')))).toEqual({ _tag: 'Right', right: 'applied' })
    expect(handler(delta('r:0', 3, assistant('Yes.')))).toEqual({ _tag: 'Right', right: 'duplicate' })
    expect(read()).toHaveLength(5)
  })

  it('appends the rest of a delta whose first messages are already at the end', async () => {
    const { events, messages } = await recorded()
    const [target, read] = make(messages.slice(0, 4))
    const handler = historyHandler(target, { resume: true })
    for (const event of events) handler(event)
    expect(read()).toEqual(messages)
  })

  it('continues after messages that its owner appended meanwhile', async () => {
    const [target, read] = make(seed)
    const handler = historyHandler(target)
    expect(handler(delta('r:0', 3, assistant('one')))).toEqual({ _tag: 'Right', right: 'applied' })
    if (Array.isArray(target)) target.push(user('by the way'))
    else target.append(user('by the way'))
    expect(handler(delta('r:1', 4, assistant('two')))).toEqual({ _tag: 'Right', right: 'applied' })
    expect(handler(delta('r:1', 4, assistant('two')))).toEqual({ _tag: 'Right', right: 'duplicate' })
    expect(read()).toEqual([...seed, assistant('one'), user('by the way'), assistant('two')])
  })

  it('refuses a gap, and a known id with other messages or at another place', () => {
    const [target, read] = make(seed)
    const handler = historyHandler(target)
    expect(handler(delta('r:1', 5, assistant('late')))).toMatchObject({
      left: { _tag: 'DeltaGap', position: 3, expectedLen: 5 },
    })
    handler(delta('r:0', 3, assistant('one')))
    expect(handler(delta('r:0', 3, assistant('other')))).toMatchObject({
      left: { _tag: 'DeltaMismatch', position: 3, len: 4 },
    })
    expect(handler(delta('r:0', 4, assistant('one')))).toMatchObject({ left: { _tag: 'DeltaMismatch' } })
    expect(read()).toEqual([...seed, assistant('one')])
  })

  it('accepts only the deltas if it began empty', async () => {
    const [target, read] = make([])
    const { messages } = await recorded([historyHandler(target)])
    expect(read()).toEqual(messages.slice(3))
  })

  it('ends the run if a delta is missing', async () => {
    const [target, read] = make(seed.slice(0, 2))
    const handler = historyHandler(target)
    const ended = await run({
      model: model(),
      view: started(),
      tools: [add],
      handlers: [(event) => (event.type === 'history_delta' && event.id === 'r:0' ? undefined : handler(event))],
      id: 'r',
    }).result()()
    expect(ended).toMatchObject({
      _tag: 'Left',
      left: { _tag: 'HandlerFailed', event: 'history_delta', cause: { _tag: 'DeltaGap' } },
    })
    expect(read()).toEqual(seed.slice(0, 2))
  })
})

it('deltas in any order from several handlers append each message once or are refused', async () => {
  const { events, messages } = await recorded()
  await fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat({ max: events.length - 1 }), fc.nat({ max: 2 })), { maxLength: 40 }),
      (plan) => {
        for (const [, make] of targets) {
          const [target, read] = make(seed)
          const handlers = [historyHandler(target), historyHandler(target), historyHandler(target)]
          for (const [event, handler] of plan) handlers[handler]?.(events[event] as RunEvent)
          expect(messages.slice(0, read().length)).toEqual(read())
        }
      },
    ),
  )
})

describe('historyHandler on an array', () => {
  it('may start with the conversation without retracted messages', async () => {
    const conversation = settledOf(omitRanges(createHistory<Message>({ from: seed }).view(), [{ from: 0, to: 2 }]))
    const array = [...conversation]
    const stream = run({ model: model(), view: conversation, tools: [add], handlers: [historyHandler(array)] })
    expect((await stream.result()).messages).toEqual(array)
    expect(array.length).toBe(4)
  })
  it('ends the run with the reason if the array cannot grow', async () => {
    const ended = await run({
      model: model(),
      view: started(),
      handlers: [historyHandler(Object.freeze([...seed]) as Message[])],
    }).result()()
    expect(ended).toMatchObject({ left: { _tag: 'HandlerFailed', event: 'history_delta' } })
  })
})

describe('historyHandler on an empty array', () => {
  it('collects the messages that a run adds', async () => {
    const none: Message[] = []
    const { messages } = await recorded([historyHandler(none)])
    expect(none).toEqual(messages.slice(3))
  })
  it('collects the deltas without the run’s other events', async () => {
    const { events, messages } = await recorded()
    const none: Message[] = []
    const handler = historyHandler(none)
    for (const event of events) if (event.type === 'history_delta') handler(event)
    expect(none).toEqual(messages.slice(3))
  })
})

describe('delta ids in history handlers', () => {
  it('make another id at the same place a mismatch; a restored history has no ids', () => {
    const history = createHistory<Message>({ from: seed })
    const step = { id: 'a', expectedLen: 3, append: [assistant('one')] }
    expect(applyDelta(history, step)).toEqual({ _tag: 'Right', right: 'applied' })
    expect(applyDelta(history, step)).toEqual({ _tag: 'Right', right: 'duplicate' })
    expect(applyDelta(history, { ...step, id: 'b' })).toMatchObject({
      left: { _tag: 'DeltaMismatch', position: 3, appliedBy: 'a' },
    })
    const restored = restoreHistory<Message>(
      JSON.parse(JSON.stringify({ messages: history.view(), pages: history.view().pages })),
      decodeMessage,
    )
    if (isLeft(restored)) throw new Error(restored.left._tag)
    const { history: same } = restored.right
    expect(applyDelta(same, { ...step, id: 'b' })).toMatchObject({ left: { _tag: 'DeltaMismatch', position: 3 } })
    expect(applyDelta(same, { ...step, id: 'b' }, { resume: true })).toEqual({ _tag: 'Right', right: 'duplicate' })
    expect(historyHandler(same, { strict: true })(delta('c', 3, assistant('one')))).toMatchObject({
      left: { _tag: 'DeltaMismatch', position: 3, equal: true },
    })
    const strict = historyHandler(same, { strict: true, resume: true })
    expect(strict(delta('c', 3, assistant('one')))).toEqual({ _tag: 'Right', right: 'duplicate' })
    expect(strict(delta('c', 3, assistant('two')))).toMatchObject({ left: { _tag: 'DeltaMismatch', position: 3 } })
  })
  it('are irrelevant for a value that is not a history, which is refused at once', () => {
    expect(() => historyHandler({} as never)).toThrow(TypeError)
    expect(() => historyHandler([], { strict: true })).toThrow('historyHandler: `strict` needs a history')
  })
})

it('run and historyHandler name an argument of the wrong type, and what to pass', () => {
  const history = createHistory<Message>({ from: [user('a')] })
  const model = scriptedModel([assistant('b')])
  const settled = settle(history.view())
  const go = (options: object) => () => run({ model, view: orThrow(settled), ...options } as never)
  for (const view of [undefined, settled, history, 'text'])
    expect(go({ view })).toThrow(/^run: `view` is .*; expected messages, such as history.view/)
  expect(go({ handlers: historyHandler(history) })).toThrow('run: `handlers` is function; expected an array, such as')
  expect(go({ handlers: [history] })).toThrow(/^run: handlers\[0\] is an object .*; expected a function, such as/)
  for (const target of [history.view(), {}, undefined])
    for (const strict of [false, true])
      expect(() => historyHandler(target as never, { strict })).toThrow(
        /^historyHandler: the target is .*; expected a history/,
      )
  expect(() => createHistory({ from: 'abc' as never })).toThrow('`from` is a string')
})
