import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import {
  appendUserMessage,
  applyRunResultHistory,
  faultMessage,
  assistant,
  createHistory,
  reasoning,
  settle,
  system,
  textOf,
  toolCall,
  toolCallsOf,
  toolResult,
  toThreadHistory,
  user,
  type Message,
  type Part,
  type Settled,
  type View,
} from 'indelible'
import { toolResultsOf } from 'indelible/message'
import {
  historyHandler,
  run,
  scriptedModel,
  tool,
  toolOutput,
  type Model,
  type ModelEvent,
  type RunEvent,
  type RunOptions,
  type RunResult,
  type RunStream,
} from 'indelible/run'
import { movedClock, type MovedClock } from './moved-clock.ts'
import type { Line } from '../../src/run/model/scripted.ts'

export const settled = (...messages: readonly Message[]): Settled<View<Message>> => {
  const found = settle(createHistory<Message>({ from: messages }).view())
  if (isLeft(found)) throw new Error('not settled')
  return found.right
}

const start = settled(system('You help.'), user('hello'))

const add = tool({
  name: 'add',
  schema: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => a + b,
})

const collect = async (stream: RunStream): Promise<RunEvent[]> => {
  const events: RunEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

/** A run to its end, with the laws of every run checked. */
const all = async (
  options: Omit<RunOptions, 'view'> & { readonly view?: RunOptions['view'] },
  during?: (event: RunEvent, stream: RunStream) => void,
): Promise<{ readonly events: RunEvent[]; readonly result: RunResult }> => {
  const view = options.view ?? start
  const stream = run({ view, ...options })
  const events: RunEvent[] = []
  for await (const event of stream) {
    events.push(event)
    during?.(event, stream)
  }
  const ended = await stream.result()()
  const result = isRight(ended) ? ended.right : ended.left.partial
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index))
  expect(events.filter(({ type }) => type === 'run_complete')).toEqual([events.at(-1)])
  const history = createHistory<Message>({ from: view })
  const apply = historyHandler(history, { strict: true })
  for (const event of events) expect(isRight(apply(event))).toBe(true)
  expect(history.view().toArray()).toEqual(result.messages)
  expect(isRight(settle(history.view()))).toBe(true)
  expect(stream.cancel()).toBe(false)
  return { events, result }
}

const types = (events: readonly RunEvent[]): string[] =>
  events.filter(({ type }) => type !== 'model_event').map(({ type }) => type)
const lastResults = (result: RunResult): string[] =>
  result.messages
    .flatMap((message) => toolResultsOf(message))
    .map(({ content: [part] }) => (part?.type === 'text' ? part.text : ''))

describe('run', () => {
  it('answers, runs tools, and emits the deltas to append to the record', async () => {
    const { events, result } = await all({
      model: scriptedModel([
        assistant('Adding.', toolCall('c1', 'add', { a: 1, b: 2 }), toolCall('c2', 'add', { a: 3, b: 4 })),
        assistant('3 and 7.'),
      ]),
      tools: [add],
      id: 'r',
      toolConcurrency: 1,
    })
    expect(types(events)).toEqual([
      'step_start', 'tool_call_start', 'tool_result', 'tool_call_start', 'tool_result', 'step_complete', 'history_delta',
      'step_start', 'step_complete', 'history_delta', 'run_complete',
    ]) // oxfmt-ignore
    expect(
      events.flatMap((event) =>
        event.type === 'history_delta' ? [[event.id, event.expectedLen, event.append.length]] : [],
      ),
    ).toEqual([
      ['r:0', 2, 3],
      ['r:1', 5, 1],
    ])
    expect(lastResults(result)).toEqual(['3', '7'])
    expect(result).toMatchObject({
      stopReason: 'end_turn',
      counts: { steps: 2, toolCalls: 2, interrupts: 0 },
      usage: { input: 3 + 6 },
    })
    expect(result.response).toEqual(assistant('3 and 7.'))
    expect(result.messages.slice(0, 2)).toEqual([...start])
    expect(start.length).toBe(2)
  })

  it("puts a step's results in one message if the model's format does", async () => {
    const { result } = await all({
      model: scriptedModel(
        [assistant(toolCall('c1', 'add', { a: 1, b: 2 }), toolCall('c2', 'nope', '{}')), assistant('ok')],
        { results: 'together' },
      ),
      tools: [add],
    })
    expect(result.messages.map((message) => toolResultsOf(message).length)).toEqual([0, 0, 0, 2, 0])
  })

  it('turns any tool failure into an error result with helpful text, in call order', async () => {
    const cyclic: { self?: unknown } = {}
    cyclic.self = cyclic
    const tools = [
      add,
      tool({
        name: 'throws',
        parameters: {},
        run: () => {
          throw new Error('disk full')
        },
      }),
      tool({ name: 'slow', parameters: {}, timeout: 5, run: () => new Promise(() => undefined) }),
      tool({ name: 'cyclic', parameters: {}, run: () => cyclic }),
      tool({ name: 'half', parameters: {}, run: () => 'cut \ud83d' }),
      tool({ name: 'nothing', parameters: {}, run: () => undefined }),
      tool({
        name: 'parts',
        parameters: {},
        run: () => toolOutput([{ type: 'image', source: { type: 'url', url: 'u' } }]),
      }),
      tool({ name: 'declines', parameters: {}, run: () => toolOutput('not today', { isError: true }) }),
      tool({ name: 'returns', parameters: {}, run: () => new Error('no such bill') }),
      tool({ name: 'map', parameters: {}, run: () => ({ all: [new Map([[1, 2]])] }) }),
      tool({ name: 'set', parameters: {}, run: () => new Set([1]) }),
      tool({ name: 'plain', parameters: {}, run: () => ({ none: {}, list: [], at: new Date(0), none2: Object.create(null) as unknown, boxed: Object(5) as unknown }) }), // oxfmt-ignore
      tool({ name: 'wrong', parameters: {}, run: () => toolOutput([{ type: 'text' } as never]) }),
      tool({
        name: 'proxy',
        parameters: {},
        schema: {
          '~standard': {
            version: 1,
            vendor: 'x',
            validate: () => {
              throw new Error('no')
            },
          },
        },
        run: () => 1,
      }),
      tool({
        name: 'picky',
        parameters: {},
        schema: {
          '~standard': {
            version: 1,
            vendor: 'x',
            validate: () => ({ issues: [{ message: 'nothing fits' }, { message: 'odd', path: ['a', { key: 0 }] }] }),
          },
        },
        run: () => 1,
      }),
    ]
    const names = [
      'slow',
      'throws',
      'cyclic',
      'half',
      'nothing',
      'parts',
      'declines',
      'returns',
      'map',
      'set',
      'plain',
      'wrong',
      'proxy',
      'picky',
      'unknown',
    ]
    const calls = [
      toolCall('a', 'add', '{"a": 1'),
      toolCall('b', 'add', { a: 'x', b: 1 }),
      ...names.map((name) => toolCall(name, name, '')),
    ]
    const { result } = await all({ model: scriptedModel([assistant(...calls), assistant('done')]), tools })
    const results = result.steps[0]?.results ?? []
    expect(results.map(({ callId }) => callId)).toEqual(calls.map(({ id }) => id))
    expect(
      results.map(({ isError = false, content: [part] }) => [isError, part?.type === 'text' ? part.text : part?.type]),
    ).toEqual([
      [
        true,
        'The arguments are not valid JSON: line 1, column 8: expected , or }, found the end. The tool was not run.',
      ],
      [
        true,
        expect.stringMatching(/^The arguments are not what the tool takes: a: .*number.*\. The tool was not run\.$/),
      ],
      [true, 'The tool was given up after 5 ms. The tool may have had side effects.'],
      [true, 'The tool failed: disk full'],
      [true, expect.stringMatching(/^The tool failed: its output can't be written as JSON: .*circular/)],
      [false, 'cut \ufffd'],
      [false, ''],
      [false, 'image'],
      [true, 'not today'],
      [true, 'The tool failed: no such bill'],
      [
        true,
        "The tool failed: its output can't be written as JSON: it has a value of the type Map, which would become {}",
      ],
      [
        true,
        "The tool failed: its output can't be written as JSON: it has a value of the type Set, which would become {}",
      ],
      [false, '{"none":{},"list":[],"at":"1970-01-01T00:00:00.000Z","none2":{},"boxed":5}'],
      [true, "The tool's output can't be recorded."],
      [true, 'The arguments could not be checked: no. The tool was not run.'],
      [true, 'The arguments are not what the tool takes: nothing fits; a.0: odd. The tool was not run.'],
      [
        true,
        'There is no tool "unknown". The tools are: add, throws, slow, cyclic, half, nothing, parts, declines, returns, map, set, plain, wrong, proxy, picky.',
      ],
    ])
  })

  it('runs tools concurrently up to the limit, and an exclusive one alone', async () => {
    const most = async (toolConcurrency: number, alone: boolean): Promise<number> => {
      let running = 0
      let peak = 0
      const wait = tool({
        name: 'wait',
        parameters: {},
        alone,
        run: async () => {
          peak = Math.max(peak, ++running)
          await new Promise((resolve) => setTimeout(resolve, 2))
          running -= 1
        },
      })
      await all({
        model: scriptedModel([
          assistant(...['a', 'b', 'c', 'd', 'e'].map((id) => toolCall(id, 'wait', '{}'))),
          assistant('done'),
        ]),
        tools: [wait],
        toolConcurrency,
      })
      return peak
    }
    expect([await most(8, false), await most(2, false), await most(1, false), await most(8, true)]).toEqual([
      5, 2, 1, 1,
    ])
  })

  it('gives calls unique ids if a model reuses them in each answer', async () => {
    const call = assistant(toolCall('call_0', 'add', { a: 1, b: 1 }))
    const { events, result } = await all({ model: scriptedModel([call, call, assistant('ok')]), tools: [add] })
    const calls = result.messages.flatMap((message) => toolCallsOf(message))
    const streamed = events.flatMap((event) => (event.type === 'model_event' ? [event.event] : []))
    for (const [index, { id }] of calls.entries()) {
      expect(streamed.filter(({ type }) => type === 'block_start')[index]).toMatchObject({ callId: id })
      expect(streamed.filter(({ type }) => type === 'block_end')[index]).toMatchObject({ part: { id } })
    }
    expect(calls.map(({ id, meta }) => [id, meta])).toEqual([
      ['call_0', undefined],
      ['call_0_2', { indelible: { callId: 'call_0' } }],
    ])
  })

  it.each<[string, Partial<RunOptions>, string, RegExp]>([
    ['max_steps', { limits: { maxSteps: 2 } }, 'max_steps', /^2$/],
    [
      'max_tool_calls',
      { limits: { maxToolCalls: 1 } },
      'max_tool_calls',
      /^Not run: this run has reached its limit of 1 tool call\.$/,
    ],
    [
      'max_tokens',
      { limits: { maxTokens: 7 } },
      'max_tokens',
      /^Not run: this run has reached its limit of 7 tokens\.$/,
    ],
    ['stopWhen', { limits: { stopWhen: ({ steps }) => steps.length === 2 } }, 'custom', /^2$/],
  ])('ends at %s with a settled record', async (_name, options, reason, last) => {
    let count = 0
    const call: Line = () => assistant('again', toolCall(`c${count++}`, 'add', { a: 1, b: 1 }))
    const { result } = await all({ model: scriptedModel([call, call, call, call]), tools: [add], ...options })
    expect(result.stopReason).toBe(reason)
    expect(lastResults(result).at(-1)).toMatch(last)
  })

  it.each(['max_tokens', 'refusal'] as const)(
    'drops a call cut off by %s and does not run the others',
    async (reason) => {
      const model: Model = {
        name: 'm',
        async *stream() {
          yield {
            type: 'finish',
            message: assistant('so', toolCall('a', 'add', '{}'), toolCall('b', 'add', '{"a": ')),
            reason,
            usage: { input: 1, output: 1 },
          }
        },
      }
      const { result } = await all({ model, tools: [add] })
      expect(result.stopReason).toBe(reason)
      expect(result.messages.slice(2)).toMatchObject([
        assistant('so', toolCall('a', 'add', '{}')),
        { role: 'tool', content: [{ callId: 'a', isError: true }] },
      ])
    },
  )

  it('ends a run and a step at their time limits', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const slow = tool({ name: 'slow', parameters: {}, run: () => new Promise(() => undefined) })
    for (const limits of [{ timeout: 30 }, { stepTimeout: 30 }]) {
      const ending = all({
        model: scriptedModel([assistant(toolCall('a', 'slow', '{}'))]),
        tools: [slow],
        limits,
      })
      const state = { isOver: false, passed: 0 }
      void ending.then(() => (state.isOver = true))
      for (; !state.isOver; state.passed++) await vi.advanceTimersByTimeAsync(1)
      expect(state.passed).toBe(30)
      const { result } = await ending
      expect(result.stopReason).toBe('timeout')
      expect(lastResults(result)[0]).toMatch(
        /^The (run|step)'s limit of 30 ms was reached\. The tool may have had side effects\.$/,
      )
    }
    const hangs: Model = {
      name: 'm',
      stream: () => ({
        [Symbol.asyncIterator]: () => ({ next: () => new Promise<IteratorResult<ModelEvent>>(() => undefined) }),
      }),
    }
    vi.useRealTimers()
    const { events, result } = await all({ model: hangs, limits: { stepTimeout: 10 } })
    expect([result.stopReason, types(events)]).toEqual(['timeout', ['step_start', 'interrupted', 'run_complete']])
  })

  it.each(['finish', 'interrupt', 'fault', 'end'] as const)("closes a model's stream after its %s", async (how) => {
    let closed = 0
    const answer = assistant('Done.')
    const part = answer.content[0] as Part
    const block = { index: 0, block: 'text' } as const
    const events: IteratorResult<ModelEvent>[] = [
      { done: false, value: { type: 'block_start', ...block } },
      { done: false, value: { type: 'text_delta', ...block, text: 'Done.' } },
      { done: false, value: { type: 'block_end', ...block, part } },
      { done: false, value: { type: 'finish', message: answer, reason: 'end_turn', usage: {} } as ModelEvent },
    ]
    const next = async (): Promise<IteratorResult<ModelEvent>> => {
      if (how !== 'finish' && events.length === 2) {
        if (how === 'fault') throw new Error('gone')
        if (how === 'end') return { done: true, value: undefined }
        return new Promise(() => undefined)
      }
      return events.shift() ?? { done: true, value: undefined }
    }
    const iterator = { next, return: async () => ((closed += 1), { done: true, value: undefined } as const) }
    const model: Model = { name: 'm', stream: () => ({ [Symbol.asyncIterator]: () => iterator }) }
    const stream = run({ model, view: start })
    for await (const event of stream)
      if (how === 'interrupt' && event.type === 'model_event' && event.event.type === 'text_delta')
        stream.interrupt({ behavior: 'savePartial' })
    const tags = { finish: 'Right', interrupt: 'Right', fault: 'Left', end: 'Left' }
    expect([(await stream.result()())._tag, closed]).toEqual([tags[how], 1])
  })

  it("counts a step's limit from the start of that step, and a run's from its own", async () => {
    const pass = (name: string, limits: NonNullable<RunOptions['limits']>, clock: MovedClock) =>
      all({
        model: scriptedModel([
          assistant(toolCall('a', name, '{}')),
          assistant(toolCall('b', name, '{}')),
          assistant('Done.'),
        ]),
        tools: [tool({ name, parameters: {}, run: () => clock.moveTo(clock.now() + 600).then(() => 'ok') })],
        limits,
        clock,
      })
    const reasons: string[] = []
    for (const limits of [{ stepTimeout: 601 }, { timeout: 1201 }, { stepTimeout: 600 }, { timeout: 1200 }]) {
      const clock = movedClock()
      reasons.push((await pass('wait', limits, clock)).result.stopReason)
      expect(clock.due()).toEqual([])
    }
    expect(reasons).toEqual(['end_turn', 'end_turn', 'timeout', 'timeout'])
  })

  it('sends a derived context and reports how much of it is cached', async () => {
    const seen: number[][] = []
    const watched = scriptedModel([
      ({ messages, stablePrefix }) => (
        seen.push([messages.length, stablePrefix]),
        assistant(toolCall('a', 'add', '{}'))
      ),
      ({ messages, stablePrefix }) => (seen.push([messages.length, stablePrefix]), assistant('ok')),
    ])
    await all({ model: watched, tools: [add] })
    expect(seen).toEqual([
      [2, 0],
      [4, 2],
    ])
    seen.length = 0
    const again = scriptedModel([
      ({ messages, stablePrefix }) => (seen.push([messages.length, stablePrefix]), assistant('ok')),
    ])
    await all({ model: again, context: (view) => right({ messages: settled(...view.slice(-1)), stablePrefix: 1 }) })
    expect(seen).toEqual([[1, 1]])
  })
})

describe('an interrupt', () => {
  const talk = assistant(
    reasoning('hm', { signature: 's' }),
    'one two three four five six',
    toolCall('c', 'add', { a: 1, b: 2 }),
  )
  const at =
    (count: number) =>
    (event: RunEvent): boolean =>
      event.type === 'model_event' &&
      event.event.type === 'text_delta' &&
      event.event.text === ` ${['one', 'two', 'three', 'four'][count]}`

  it("discards, saves or marks the partial answer, and continues with the user's message", async () => {
    const kept: Record<string, unknown> = {}
    for (const behavior of ['discard', 'savePartial', 'saveMarked'] as const) {
      const { events, result } = await all(
        { model: scriptedModel([talk, assistant('fine')]), tools: [add] },
        (event, stream) => {
          if (at(2)(event)) expect(stream.interrupt({ behavior, message: 'stop, do this' })).toBe(true)
        },
      )
      expect(result.stopReason).toBe('end_turn')
      expect(result.counts).toEqual({ steps: 1, toolCalls: 0, interrupts: 1 })
      expect(events.find(({ type }) => type === 'interrupted')).toMatchObject({
        behavior,
        partialText: 'one two three',
      })
      kept[behavior] = result.messages.slice(2).map((message) => [message.role, textOf(message)])
    }
    expect(kept).toEqual({
      discard: [
        ['user', 'stop, do this'],
        ['assistant', 'fine'],
      ],
      savePartial: [
        ['assistant', 'one two three'],
        ['user', 'stop, do this'],
        ['assistant', 'fine'],
      ],
      saveMarked: [
        ['assistant', 'one two three [interrupted]'],
        ['user', 'stop, do this'],
        ['assistant', 'fine'],
      ],
    })
  })

  it('ends the run if it has no user message', async () => {
    const { result } = await all(
      { model: scriptedModel([talk]) },
      (event, stream) => void (at(1)(event) && stream.interrupt()),
    )
    expect(result.stopReason).toBe('cancelled')
    expect(result.messages.at(-1)).toMatchObject({ meta: { indelible: { interrupted: true } } })
  })

  it('is followed by a notice for the model when a run starts from the cut answer, once', async () => {
    const { result } = await all(
      { model: scriptedModel([talk]) },
      (event, stream) => void (at(1)(event) && stream.interrupt()),
    )
    const failed = await all({ model: scriptedModel([]), view: settled(...result.messages) }) // it has no answer
    expect(failed.result.stopReason).toBe('error')
    const again = await all({ model: scriptedModel([assistant('fine')]), view: settled(...failed.result.messages) })
    expect(again.result.messages.slice(2).map((message) => [message.role, textOf(message)])).toEqual([
      ['assistant', 'one two [interrupted]'],
      ['developer', '[The run was interrupted here. The answer above is incomplete.]'],
      ['assistant', 'fine'],
    ])
  })

  it('keeps a complete call, with a result that it was not run', async () => {
    const { result } = await all(
      { model: scriptedModel([assistant(toolCall('c', 'add', '{"a": 1}'), 'and then')]), tools: [add] },
      (event, stream) => {
        if (event.type === 'model_event' && event.event.type === 'text_delta')
          stream.interrupt({ behavior: 'savePartial' })
      },
    )
    expect(lastResults(result)).toEqual(['Not run. Interrupted by the user before it was finished.'])
    const { result: cut } = await all(
      { model: scriptedModel([assistant('x', toolCall('c', 'add', '{"a": 1}'))]), tools: [add] },
      (event, stream) => {
        if (event.type === 'model_event' && event.event.type === 'arguments_delta')
          stream.interrupt({ behavior: 'savePartial' })
      },
    )
    expect(cut.messages.slice(2)).toEqual([assistant('x')])
  })

  it('before the first text records no message of the assistant, whatever the behavior', async () => {
    for (const behavior of ['discard', 'savePartial', 'saveMarked'] as const)
      for (const message of [undefined, 'stop, do this']) {
        const { events, result } = await all(
          { model: scriptedModel([assistant(reasoning('hm'), 'one'), assistant('fine')]) },
          (event, stream) =>
            void (
              event.type === 'model_event' &&
              event.step === 0 &&
              event.event.type === 'block_start' &&
              stream.interrupt({ behavior, ...(message !== undefined && { message }) })
            ),
        )
        expect(events.find(({ type }) => type === 'interrupted')).toMatchObject({ behavior, partialText: '' })
        const messages = message === undefined ? [] : [user(message), assistant('fine')]
        expect(result.messages.slice(2)).toEqual(messages)
        expect(types(events).filter((type) => type === 'history_delta').length).toBe(messages.length)
      }
  })

  it('with `discard` discards a complete answer whose calls have not started, with no delta', async () => {
    const asked = Promise.withResolvers<boolean>()
    const paid: string[] = []
    const pay = tool({
      name: 'pay',
      parameters: {},
      needsApproval: () => asked.promise,
      run: () => void paid.push('paid'),
    })
    const script = () => scriptedModel([assistant('I pay.', toolCall('a', 'pay', '{}')), assistant('fine')])
    const interrupting = (behavior: 'discard' | 'saveMarked' | 'cancel') =>
      all({ model: script(), tools: [pay] }, (event, stream) => {
        if (event.type !== 'model_event' || event.event.type !== 'finish') return
        if (behavior === 'cancel') stream.cancel()
        else stream.interrupt({ behavior })
      })
    const discarded = await interrupting('discard')
    expect(types(discarded.events).filter((type) => type === 'history_delta')).toEqual([])
    expect(discarded.events.find(({ type }) => type === 'interrupted')).toMatchObject({ partialText: 'I pay.' })
    expect([discarded.result.stopReason, discarded.result.messages.length]).toEqual(['cancelled', 2])
    for (const behavior of ['saveMarked', 'cancel'] as const) {
      const { result } = await interrupting(behavior)
      expect(result.messages.slice(2).map(({ role }) => role)).toEqual(['assistant', 'tool'])
    }
    expect(paid).toEqual([])
  })

  it('again, before the first takes effect, adds its message: no word of the user is lost', async () => {
    const { result } = await all({ model: scriptedModel([talk, assistant('fine')]), tools: [add] }, (event, stream) => {
      if (!at(2)(event)) return
      for (const message of ['in euros', 'and by mail', 'today'])
        expect(stream.interrupt({ behavior: 'discard', message })).toBe(true)
    })
    expect(result.messages.slice(2).map((message) => [message.role, textOf(message)])).toEqual([
      ['user', 'in euros'],
      ['user', 'and by mail'],
      ['user', 'today'],
      ['assistant', 'fine'],
    ])
    expect([result.stopReason, result.counts.interrupts]).toEqual(['end_turn', 3])
  })

  it('during tools keeps finished results and marks the others interrupted, whatever the behavior', async () => {
    const quick = tool({ name: 'quick', parameters: {}, run: () => 'done' })
    let aborted = false
    const slow = tool({
      name: 'slow',
      parameters: {},
      run: (_, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => {
            aborted = true
            reject(new Error('gone'))
          }),
        ),
    })
    const { events, result } = await all(
      {
        model: scriptedModel([assistant(toolCall('a', 'slow', '{}'), toolCall('b', 'quick', '{}')), assistant('ok')]),
        tools: [quick, slow],
      },
      (event, stream) => {
        if (event.type === 'tool_result' && !aborted) stream.interrupt({ behavior: 'discard', message: 'enough' })
      },
    )
    expect(aborted).toBe(true)
    expect(lastResults(result)).toEqual([
      'Interrupted by the user before it was finished. The tool may have had side effects.',
      'done',
    ])
    expect(types(events).slice(-8)).toEqual([
      'tool_result',
      'step_complete',
      'interrupted',
      'history_delta',
      'step_start',
      'step_complete',
      'history_delta',
      'run_complete',
    ])
  })

  it('reports a waiting call as not run and a running call as cut off', async () => {
    const slow = tool({
      name: 'slow',
      parameters: {},
      run: (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('gone')))),
    })
    const { result } = await all(
      {
        model: scriptedModel([assistant(toolCall('a', 'slow', '{}'), toolCall('b', 'slow', '{}'))]),
        tools: [slow],
        toolConcurrency: 1,
      },
      (event, stream) => void (event.type === 'tool_call_start' && setTimeout(() => stream.interrupt(), 5)),
    )
    expect(lastResults(result)).toEqual([
      'Interrupted by the user before it was finished. The tool may have had side effects.',
      'Not run. Interrupted by the user before it was finished.',
    ])
  })

  it('accepts only user messages and known behaviors; anything else is refused', async () => {
    const bad: readonly unknown[] = [
      toolResult('zzz', 'late'),
      assistant(toolCall('x', 'add', '{}')),
      system('obey'),
      5,
      { role: 'user', content: [{ type: 'text', text: 5 }] },
      '',
    ]
    const { result } = await all({ model: scriptedModel([assistant('one two three')]) }, (event, stream) => {
      if (event.type === 'model_event')
        for (const message of bad) expect(() => stream.interrupt({ message: message as string })).toThrow(/^interrupt/)
      for (const options of [{ behavior: 'nope' }, { behaviour: 'discard' }, 'discard'])
        expect(() => stream.interrupt(options as object)).toThrow(
          /^interrupt.*(discard, savePartial, saveMarked|has no option|as an object)/,
        )
    })
    expect(result.messages.at(-1)).toEqual(assistant('one two three'))
    expect(result.counts.interrupts).toBe(0)
  })

  it('works between steps and at the last moment', async () => {
    for (const when of ['history_delta', 'step_complete', 'step_start'] as const) {
      let done = false
      const { result } = await all(
        { model: scriptedModel([assistant('a'), assistant('b'), assistant('c')]) },
        (event, stream) => {
          if (event.type === when && !done) {
            done = true
            expect(stream.interrupt({ message: 'more' })).toBe(true)
          }
        },
      )
      expect(result.messages.filter(({ role }) => role === 'user').map((message) => textOf(message))).toEqual([
        'hello',
        'more',
      ])
      expect(result.stopReason).toBe('end_turn')
    }
  })
})

describe('an event refused by a handler', () => {
  it('is still emitted unless it is a delta; the finished step and the end event always are', async () => {
    for (const [type, last] of [
      ['step_complete', 'history_delta'],
      ['history_delta', 'step_complete'],
      ['run_complete', 'history_delta'],
    ] as const) {
      const stream = run({
        model: scriptedModel([assistant('x')]),
        view: start,
        handlers: [(event) => (event.type === type ? left('no') : undefined)],
      })
      const events = await collect(stream)
      expect(types(events).slice(-2)).toEqual([last, 'run_complete'])
      expect(await stream.result()()).toMatchObject({ left: { _tag: 'HandlerFailed', event: type } })
      const gap = type === 'history_delta' ? 1 : 0
      expect(events.at(-1)?.seq).toBe(events.length - 1 + gap)
    }
  })
})

it('run events can be read once: a second loop gets an error', async () => {
  const stream = run({ model: scriptedModel([assistant('x')]), view: start })
  const first = collect(stream)
  await expect(collect(stream)).rejects.toThrow('the events of a run can be read only once')
  expect(types(await first).at(-1)).toBe('run_complete')
})

it('two tools with one name are refused', () => {
  expect(() =>
    run({ model: scriptedModel([]), view: start, tools: [add, tool({ name: 'add', parameters: {}, run: () => 1 })] }),
  ).toThrow('two tools are named "add"')
})

it('a run with nothing to answer ends before a request', async () => {
  const model: Model = {
    name: 'm',
    stream: () => {
      throw new Error('asked')
    },
  }
  for (const budget of [undefined, 1000]) {
    const ended = await run({ model, view: settled(), ...(budget && { budget }) }).result()()
    expect(isLeft(ended) && faultMessage(ended.left)).toBe(
      'step 0: nothing was sent: the context has no message that the model could answer; append a user message first',
    )
  }
})

it('a partial answer is emitted when the client fails', async () => {
  const model: Model = {
    name: 'm',
    stream: async function* (request, signal) {
      for await (const event of scriptedModel([assistant('one two three')]).stream(request, signal))
        if (event.type === 'block_end') throw new Error('terminated')
        else yield event
    },
  }
  expect(await run({ model, view: start }).result()()).toMatchObject({
    left: { _tag: 'ModelFailed', partialText: 'one two three' },
  })
})

describe('the end event of a run', () => {
  it('comes once, however often it is awaited, with or without a reader', async () => {
    const endless = (): Model => scriptedModel([assistant('one two three four')], { pause: 5 })
    const stream = run({ model: endless(), view: start })
    expect([stream.cancel(), stream.cancel()]).toEqual([true, false])
    expect(await stream.result()()).toMatchObject({ right: { stopReason: 'cancelled', messages: [...start] } })
    expect(stream.cancel()).toBe(false)
    expect(types(await collect(stream))).toEqual(['interrupted', 'run_complete'])

    const controller = new AbortController()
    const signalled = run({ model: endless(), view: start, signal: controller.signal })
    setTimeout(() => controller.abort(), 7)
    expect(await signalled.result()()).toMatchObject({ right: { stopReason: 'cancelled' } })
    expect(await run({ model: endless(), view: start, signal: AbortSignal.abort() }).result()()).toMatchObject({
      right: { stopReason: 'cancelled' },
    })
  })
  it('comes when the reader leaves', async () => {
    const stream = run({ model: scriptedModel([assistant('one two three')]), view: start })
    for await (const event of stream) if (event.type === 'model_event') break
    expect(await stream.result()()).toMatchObject({ right: { stopReason: 'cancelled' } })
  })
  it('comes after all but model events if there is no reader', async () => {
    const long = assistant(
      Array.from({ length: 600 }, (_, index) => `w${index}`).join(' '),
      toolCall('a', 'add', { a: 1, b: 1 }),
    )
    const stream = run({ model: scriptedModel([long, assistant('ok')]), view: start, tools: [add], buffer: 10 })
    await stream.result()()
    const events = await collect(stream)
    expect(types(events)).toEqual([
      'step_start',
      'tool_call_start',
      'tool_result',
      'step_complete',
      'history_delta',
      'step_start',
      'step_complete',
      'history_delta',
      'run_complete',
    ])
    expect(events.length).toBeLessThan(20)
  })
  it('comes after a slow reader has read every event', async () => {
    let sent = 0
    const model: Model = {
      name: 'm',
      async *stream() {
        for (; sent < 500; sent++) yield { type: 'text_delta', index: 0, block: 'text', text: 'x' }
        yield { type: 'finish', message: assistant('x'), reason: 'end_turn', usage: { input: 0, output: 0 } }
      },
    }
    const stream = run({ model, view: start, buffer: 10 })
    const reader = stream[Symbol.asyncIterator]()
    await reader.next()
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(sent).toBeLessThan(15)
    let count = 1
    while ((await reader.next()).done !== true) count += 1
    expect(count).toBe(500 + 5)
  })
})

describe('a run failure', () => {
  const said = async (options: Partial<RunOptions> & Pick<RunOptions, 'model'>): Promise<string> => {
    const ended = await run({ view: start, ...options }).result()()
    return isLeft(ended) ? `${ended.left.partial.stopReason}: ${faultMessage(ended.left)}` : ended.right.stopReason
  }
  const stream = (...events: readonly ModelEvent[]): Model => ({ name: 'm', async *stream() { yield* events } }) // oxfmt-ignore
  const usage = { input: 0, output: 0 }

  it('has a sentence, the partial run, and a terminal event', async () => {
    expect(await said({ model: scriptedModel([]) })).toBe(
      'error: step 0: scripted failed: scripted: the script has no more lines',
    )
    expect(await said({ model: { name: 'm', stream: () => { throw Object.assign(new Error('overloaded'), { status: 529 }) } } })).toBe('error: step 0: m failed with HTTP 529: overloaded') // oxfmt-ignore
    expect(await said({ model: stream({ type: 'text_delta', index: 0, block: 'text', text: 'half' }) })).toBe(
      'error: step 0: the answer of m ended before it was complete (its first 4 characters are recorded as interrupted); run again',
    )
    expect(await said({ model: stream({ type: 'finish', message: user('x'), reason: 'end_turn', usage }) })).toBe(
      "error: step 0: the answer of m can't be recorded: its role is user; run again",
    )
    expect(
      await said({ model: stream({ type: 'finish', message: assistant('\ud83d'), reason: 'end_turn', usage }) }),
    ).toMatch(/can't be recorded: content\[0\]\.text is a string with a lone surrogate/)
    expect(
      await said({ model: scriptedModel([assistant('a')]), context: () => left({ _tag: 'MinimumDoesNotFit' }) }),
    ).toBe('error: step 0: no context could be derived: MinimumDoesNotFit')
    expect(await said({ model: scriptedModel([assistant('a')]), context: () => { throw new Error('bug') } })).toBe('error: step 0: no context could be derived: bug') // oxfmt-ignore
    expect(
      await said({
        model: scriptedModel([assistant('a')]),
        handlers: [(event) => (event.type === 'history_delta' ? left('full') : undefined)],
      }),
    ).toBe('error: step 0: a handler refused the event history_delta: full')
    expect(await said({ model: scriptedModel([assistant('a')]), handlers: [async () => { throw new Error('gone') }] })).toBe('error: step 0: a handler refused the event step_start: gone') // oxfmt-ignore
    expect(await said({ model: scriptedModel([assistant('a')]), clock: { now: () => { throw new Error('no clock') }, after: () => ({ cancel: () => undefined }) } })).toMatch(/^error: .*no clock$/) // oxfmt-ignore
    const { events, result } = await all({
      model: scriptedModel([assistant('a', toolCall('c', 'add', '{}'))]),
      tools: [add],
    })
    expect(events.at(-1)).toMatchObject({ type: 'run_complete', result: { stopReason: 'error' } })
    expect(result.messages.length).toBe(4)
  })
  it('is not caused by an empty answer, which adds nothing', async () => {
    const { result } = await all({ model: stream({ type: 'finish', message: assistant(), reason: 'end_turn', usage }) })
    expect([result.stopReason, result.messages.length]).toEqual(['end_turn', 2])
  })
  it('is thrown when a tool is created without parameters or a schema that provides them', () => {
    expect(() =>
      tool({
        name: 't',
        schema: { '~standard': { version: 1, vendor: 'x', validate: (value: unknown) => ({ value }) } },
        run: () => 1,
      }),
    ).toThrow('tool "t": pass `parameters` as JSON Schema; its schema does not provide one')
    expect(add.parameters).toMatchObject({ type: 'object', required: ['a', 'b'] })
  })
})

it.each([
  [{ name: undefined }, 'tool: `name` is nothing; expected the name that the model calls'],
  [{ name: '' }, 'tool: `name` is ""; expected the name that the model calls'],
  [{ name: 5 }, 'tool: `name` is 5; expected the name that the model calls'],
  [{ run: 'ls' }, 'tool "t": `run` is "ls"; expected a function'],
  [{ timeout: -1 }, 'tool "t": timeout is -1; expected a number of milliseconds'],
  [{ parameters: undefined }, 'tool "t": pass `parameters` as JSON Schema; the tool has no schema'],
])('a tool is refused when it is made: %j, %s', (given, sentence) => {
  expect(() => tool({ name: 't', parameters: {}, run: () => 'ok', ...given } as never)).toThrow(sentence)
})

it('a tool has what was given and the defaults of the rest, frozen', () => {
  const least = tool({ name: 't', parameters: {}, run: () => 'ok' })
  const { run: _, ...rest } = least
  expect(rest).toEqual({ name: 't', parameters: {}, schema: undefined, timeout: undefined, alone: false })
  expect(Object.isFrozen(least)).toBe(true)
  const given = { description: 'Looks.', alone: true, timeout: 5, needsApproval: true, idempotent: true }
  expect(tool({ name: 't', parameters: {}, run: () => 'ok', ...given })).toMatchObject(given)
})

it('a tool output has its parts, and is an error only where that is said', () => {
  const outputs = [toolOutput('a'), toolOutput('b', { isError: true }), toolOutput([], { isError: false })]
  expect(outputs.map(({ content, isError }) => [content, isError])).toEqual([
    [[{ type: 'text', text: 'a' }], false],
    [[{ type: 'text', text: 'b' }], true],
    [[], false],
  ])
})

describe('built-in run handlers', () => {
  const delta = (id: string, expectedLen: number, ...append: readonly Message[]): RunEvent => ({
    type: 'history_delta',
    seq: 0,
    step: 0,
    id,
    expectedLen,
    append,
  })

  it('append deltas, each once, and nothing else', () => {
    const history = createHistory<Message>()
    const handle = historyHandler(history)
    for (const event of [delta('a', 0, user('1')), delta('a', 0, user('1')), delta('b', 7, user('2'))]) handle(event)
    handle({ type: 'step_start', seq: 0, step: 0, len: 2 })
    expect(history.view().toArray()).toEqual([user('1'), user('2')])
  })
  it('the strict one reports a gap and a differing message', () => {
    const history = createHistory<Message>({ from: [user('0')] })
    const handle = historyHandler(history, { strict: true })
    expect(handle(delta('a', 1, user('1')))).toEqual(right('applied'))
    expect(handle(delta('a', 1, user('1')))).toEqual(right('duplicate'))
    expect(handle(delta('b', 5, user('2')))).toMatchObject(left({ _tag: 'DeltaGap' }))
    expect(handle(delta('c', 1, user('x')))).toMatchObject(left({ _tag: 'DeltaMismatch', position: 1 }))
    expect(handle({ type: 'step_start', seq: 0, step: 0, len: 2 })).toEqual(right('ignored'))
    expect(history.len).toBe(2)
  })
  it('an empty array collects the messages that a run added', async () => {
    const collected: Message[] = []
    const handlers = [historyHandler(collected)]
    const ended = await run({ model: scriptedModel([assistant('a')]), view: start, handlers }).result()()
    expect(collected).toEqual([assistant('a')])
    expect(isRight(ended) && ended.right.messages).toEqual([...start, assistant('a')])
  })
  it('finish before the next step begins', async () => {
    const log: string[] = []
    let count = 0
    const model = scriptedModel([
      () => (log.push('asked'), assistant(toolCall(`c${count++}`, 'add', '{}'))),
      () => (log.push('asked'), assistant('ok')),
    ])
    await run({
      model,
      view: start,
      handlers: [
        async (event) => {
          if (event.type !== 'history_delta') return
          await new Promise((resolve) => setTimeout(resolve, 5))
          log.push('durable')
        },
      ],
    }).result()()
    expect(log).toEqual(['asked', 'durable', 'asked', 'durable'])
  })
})

describe('a run on a text or on items', () => {
  it('starts from the messages of its input, and its result goes back into the thread', async () => {
    const thread = { id: 't1', title: 'Sums', history: toThreadHistory('1 + 1?') }
    const script = scriptedModel([assistant(toolCall('c', 'add', '{"a": 1, "b": 1}')), assistant('2')])
    const result = await run({ model: script, input: thread.history, tools: [add] }).result()
    const after = applyRunResultHistory(thread, result)
    expect(after.history.map(({ type }) => type)).toEqual([
      'message',
      'tool_call_item',
      'tool_call_output_item',
      'message',
    ])
    const input = appendUserMessage(after.history, 'and 2 + 2?')
    const next = await run({ model: scriptedModel([assistant('4')]), input }).result()
    expect(next.messages.slice(0, next.viewLength)).toEqual([...result.messages, user('and 2 + 2?')])
    expect([after.title, applyRunResultHistory(after, next).history.length]).toEqual(['Sums', 6])
    const runResult = await run({ model: scriptedModel([assistant('4')]), input: '2 + 2?' }).result()
    expect(runResult.messages).toEqual([user('2 + 2?'), assistant('4')])
  })

  it('refuses what is no input, and says where', () => {
    const bad: readonly (readonly [unknown, string])[] = [
      [5, 'run: `input` is 5; expected a text, or an array of thread items'],
      [{ history: [] }, 'expected a text, or an array of thread items'],
      [[{ type: 'message', role: 'wizard', content: 'x' }], 'run: `input`: [0].role'],
    ]
    for (const [input, reason] of bad)
      expect(() => run({ model: scriptedModel([]), input: input as string })).toThrow(reason)
    expect(() => run({ model: scriptedModel([]), input: 'x', view: start } as never)).toThrow(
      'either `view` or `input`',
    )
    expect(() => run({ model: scriptedModel([]) } as never)).toThrow('run: `view` is nothing')
  })
})
