/** Events are frozen, all the way down, before the first handler sees them; and nothing of a caller's is frozen for it. */
import { isLeft, isRight, type Left } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import {
  createHistory,
  createSession,
  faultMessage,
  memoryStore,
  orThrow,
  settle,
  textOf,
  user,
  type Message,
  type Settled,
  type View,
} from 'indelible'
import {
  run,
  sessionHandler,
  tool,
  toolOutput,
  type Model,
  type ModelEvent,
  type RunEvent,
  type RunOptions,
  type RunResult,
} from 'indelible/run'
import { thawed } from '../thawed.ts'

const start = ((): Settled<View<Message>> => {
  const found = settle(createHistory<Message>({ from: [user('go')] }).view())
  if (isLeft(found)) throw new Error('not settled')
  return found.right
})()

/** A model that gives plain objects out and keeps them. */
const mine = (answers: readonly (readonly ModelEvent[])[], results: NonNullable<Model['results']>): Model => {
  let next = 0
  return {
    name: 'mine',
    results,
    async *stream() {
      yield* answers[next++] ?? []
    },
  }
}

const call = { type: 'tool_call', id: 'c1', name: 'show', arguments: '{}' } as const
const answers = (): ModelEvent[][] => [
  [
    { type: 'block_start', index: 0, block: 'text' },
    { type: 'text_delta', index: 0, block: 'text', text: 'a' },
    { type: 'block_end', index: 0, block: 'text', part: { type: 'text', text: 'a', meta: { of: { mine: [1] } } } },
    { type: 'block_start', index: 1, block: 'tool_call', callId: 'c1', name: 'show' },
    { type: 'arguments_delta', index: 1, block: 'tool_call', text: '{}' },
    { type: 'block_end', index: 1, block: 'tool_call', part: { ...call } },
    {
      type: 'finish',
      message: {
        role: 'assistant',
        content: [{ type: 'text', text: 'a' }, { ...call }, { ...call, id: 'c2', name: 'nope' }],
        meta: { deep: [{ x: 1 }] },
      },
      reason: 'tool_calls',
      usage: { input: 1, output: 1 },
    },
  ],
  [
    {
      type: 'finish',
      message: { role: 'assistant', content: [{ type: 'text', text: 'b' }] },
      reason: 'end_turn',
      usage: { input: 1, output: 1 },
    },
  ],
]

const show = tool({
  name: 'show',
  parameters: {},
  run: () => toolOutput([{ type: 'image', source: { type: 'url', url: 'u' } }]),
})

describe('every run event', () => {
  it.each(['together', 'perCall'] as const)('is frozen before the first handler sees it (%s)', async (results) => {
    const seen = new Set<string>()
    const bad: string[] = []
    const look = (event: RunEvent): void => {
      seen.add(event.type === 'model_event' ? event.event.type : event.type)
      const found = thawed(event, event.type)
      if (found !== undefined) bad.push(found)
    }
    const parameters = { nested: { temperature: 1 } }
    const given = answers()
    const variants: Partial<RunOptions>[] = [
      {},
      { receipts: true, parameters },
      { limits: { maxToolCalls: 1 } },
      { limits: { maxTokens: 1 } },
    ]
    for (const options of variants) {
      const stream = run({ model: mine(given, results), view: start, tools: [show], handlers: [look], ...options })
      expect(isRight(await stream.result()())).toBe(true)
    }
    const cut = run({ model: mine(given, results), view: start, tools: [show], handlers: [look] })
    for await (const event of cut)
      if (event.type === 'model_event' && event.event.type === 'arguments_delta')
        cut.interrupt({ behavior: 'saveMarked', message: { role: 'user', content: [{ type: 'text', text: 'no' }] } })
    await cut.result()()
    expect(bad).toEqual([])
    expect([...seen].toSorted()).toEqual([
      'arguments_delta', 'block_end', 'block_start', 'finish', 'history_delta', 'interrupted', 'run_complete',
      'step_complete', 'step_start', 'text_delta', 'tool_call_start', 'tool_result',
    ]) // oxfmt-ignore
    // What the model gave out and what the caller passed in stays theirs.
    expect(given).toEqual(answers())
    for (const event of given.flat()) expect(Object.isFrozen(event)).toBe(false)
    expect(Object.isFrozen(parameters.nested)).toBe(false)
  })

  it('is a copy: a model that changes its output later changes nothing', async () => {
    const message = { role: 'assistant' as const, content: [{ type: 'text' as const, text: 'said' }] }
    const usage = { input: 1, output: 1 }
    const model: Model = {
      name: 'later',
      async *stream() {
        yield { type: 'finish', message, reason: 'end_turn', usage }
      },
    }
    const stream = run({
      model,
      view: start,
      handlers: [
        (event) => {
          if (event.type !== 'model_event') return
          ;(message.content[0] as { text: string }).text = 'other'
          usage.input = 99
        },
      ],
    })
    const { messages, usage: counted } = await stream.result()
    expect(messages.at(-1)).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'said' }] })
    expect(counted).toEqual({ input: 1, output: 1 })
  })

  it('is checked: an invalid model event is an InvalidAnswer', async () => {
    const say = async (event: unknown): Promise<unknown> => {
      const model = mine([[event as ModelEvent]], 'perCall')
      const ended = await run({ model, view: start }).result()()
      return isLeft(ended) ? ended.left : ended.right
    }
    const message = { role: 'assistant', content: [{ type: 'text', text: 'a' }] }
    const finish = { type: 'finish', message, reason: 'end_turn' }
    for (const event of [
      undefined,
      null,
      7,
      { type: 'block_end', index: 0, block: 'text', part: new Map() },
      { type: 'text_delta', index: 0, block: 'text', text: { toString: () => 'x' } },
      { type: 'finish', reason: 'end_turn', usage: { input: 1, output: 1 } },
      {
        ...finish,
        get usage() {
          throw new Error('a getter')
        },
      },
      new Proxy(
        {},
        {
          get: (_, key) => {
            if (key !== 'then') throw new Error('a trap')
          },
        },
      ),
    ])
      // oxfmt-ignore
      expect(await say(event)).toMatchObject({ _tag: 'InvalidAnswer', model: 'mine', step: 0 })
    expect(await say({ ...finish, usage: { input: 1, output: 1 }, client: new Map() })).toMatchObject({
      stopReason: 'end_turn',
    })
    // A count that is no number of tokens is unknown, which is no reason to discard an answer.
    const none = { input: 0, output: 0 }
    for (const [usage, expected] of [
      [undefined, none],
      [null, none],
      [{ input: 1 }, { input: 1, output: 0 }],
      [
        { input: NaN, output: 1 },
        { input: 0, output: 1 },
      ],
      [{ input: -1, output: null }, none],
      [{ input: '1', output: 0.5 }, none],
      [
        { input: 1, output: 1, cacheRead: 'all' },
        { input: 1, output: 1 },
      ],
      [
        { input: 1, output: 0, cacheRead: 0, cacheWrite: 0 },
        { input: 1, output: 0, cacheRead: 0, cacheWrite: 0 },
      ],
    ]) {
      const ended = await say({ ...finish, usage })
      expect(ended).toMatchObject({ stopReason: 'end_turn' })
      expect((ended as RunResult).usage).toEqual(expected)
    }
  })

  it('before an invalid one is kept as far as it is valid: in the partial result, and in the session', async () => {
    const said = { type: 'text_delta', index: 0, block: 'text', text: 'So far' } as const
    const ends: readonly unknown[] = [7, { type: 'finish', message: user('me'), reason: 'end_turn' }]
    for (const end of ends) {
      const session = await createSession(memoryStore(), { id: 's', messages: [user('hello')] })
      const model = mine([[said, end as ModelEvent]], 'perCall')
      const ended = await run({
        model,
        view: orThrow(settle(session.view())),
        handlers: [sessionHandler(session)],
      }).result()()
      expect(ended).toMatchObject({ left: { _tag: 'InvalidAnswer' } })
      const { messages } = (ended as Left<{ partial: RunResult }>).left.partial
      expect(messages.map((message) => textOf(message))).toEqual(['hello', 'So far [interrupted]'])
      expect(session.view().toArray()).toEqual(messages)
    }
    const part = { type: 'nothing' } as never
    const invalid = mine([[{ type: 'block_end', index: 0, block: 'text', part }, 7 as never]], 'perCall')
    const ended = await run({ model: invalid, view: start }).result()()
    expect(ended).toMatchObject({ left: { _tag: 'InvalidAnswer', partial: { messages: start.toArray() } } })
  })

  it('adds half surrogates up to the character', async () => {
    const [high, low] = '😀'
      .split('')
      .map((text): ModelEvent => ({ type: 'text_delta', index: 0, block: 'text', text })) as [ModelEvent, ModelEvent]
    const model: Model = {
      name: 'halves',
      async *stream(_, signal) {
        yield high
        yield low
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('cut'))))
      },
    }
    const stream = run({ model, view: start })
    for await (const event of stream)
      if (event.type === 'model_event' && 'text' in event.event && event.event.text === '\ude00')
        stream.interrupt({ behavior: 'savePartial' })
    expect((await stream.result()).messages.at(-1)).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: '😀' }],
    })
  })
})

it.each([
  [5, '5'],
  [null, 'null'],
  ['text', '"text"'],
])('a model that streams %j instead of an event has failed, with a reason that names it', async (given, named) => {
  const model: Model = {
    name: 'mine',
    async *stream() {
      yield given as never
    },
  }
  const result = await run({ model, view: start }).result()()
  expect(isLeft(result) && faultMessage(result.left)).toContain(`it streamed ${named}, which is not an event`)
})
