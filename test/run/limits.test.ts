/** Limits: what they may be, and that each of them ends a run. */
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  createHistory,
  faultMessage,
  settle,
  toolCall,
  user,
  type Message,
  type Settled,
  type View,
} from 'indelible'
import {
  historyHandler,
  run,
  scriptedModel,
  tool,
  type Limits,
  type Model,
  type ModelResponse,
  type RunOptions,
  type RunResult,
} from 'indelible/run'
import { pricesOf } from 'indelible/context'

const start = ((): Settled<View<Message>> => {
  const found = settle(createHistory<Message>({ from: [user('go')] }).view())
  if (isLeft(found)) throw new Error('not settled')
  return found.right
})()

const add = tool({ name: 'add', parameters: {}, run: () => '3' })

/** A model that calls a tool again and again, and says what it used. */
const busy = (usage: ModelResponse['usage'], more: Partial<ModelResponse> & { readonly name?: string } = {}): Model => {
  let count = 0
  const { name = 'busy', ...answer } = more
  return {
    name,
    async *stream() {
      yield {
        type: 'finish',
        message: assistant('again', ...(more.reason === 'pause' ? [] : [toolCall(`c${count++}`, 'add', '{}')])),
        reason: 'tool_calls',
        usage,
        ...answer,
      }
    },
  }
}

const runToEnd = async (options: Omit<RunOptions, 'view'>): Promise<RunResult> =>
  run({ view: start, tools: [add], ...options }).result()

const wrong =
  (limits: object): (() => unknown) =>
  () =>
    run({ model: scriptedModel([]), view: start, limits })

describe('a run limit', () => {
  it.each(['maxSteps', 'maxToolCalls', 'maxTokens', 'maxDollars', 'timeout', 'stepTimeout'])(
    '%s that is not a valid limit is a clear error at once',
    (name) => {
      for (const [value, found] of [
        [NaN, 'NaN'],
        [-1, '-1'],
        [-Infinity, '-Infinity'],
        ['5', '"5"'],
        [null, 'null'],
        [5n, '5'],
        [{ valueOf: () => 5 }, 'an object'],
      ])
        expect(wrong({ [name]: value })).toThrow(`limits.${name} is ${String(found)}; expected a`)
    },
  )

  it('that counts must be a whole number; unknown names are refused, undefined is the default', async () => {
    expect(wrong({ maxSteps: 2.5 })).toThrow(
      'limits.maxSteps is 2.5; expected a whole number of steps, at least 0, or Infinity for no limit',
    )
    expect(wrong({ maxStep: 3 })).toThrow(
      'limits has no option "maxStep". Did you mean `maxSteps`? Its options: maxSteps, maxToolCalls, maxTokens, maxDollars, timeout, softTimeout, stepTimeout, handlerTimeout, stopWhen',
    )
    expect(wrong({ stopWhen: true })).toThrow('limits.stopWhen is not a function')
    const none = { maxSteps: undefined, timeout: undefined, stopWhen: undefined } as unknown as Partial<Limits>
    expect((await runToEnd({ model: busy({ input: 1, output: 1 }), limits: none })).counts.steps).toBe(50)
  })

  it.each(['timeout', 'stepTimeout'] as const)('%s of thirty days or more ends nothing', async (name) => {
    for (const limit of [30 * 24 * 3600 * 1000, 2 ** 31, Number.MAX_VALUE, Infinity]) {
      const slow = tool({
        name: 'slow',
        parameters: {},
        timeout: limit,
        run: () => new Promise((resolve) => setTimeout(() => resolve('there'), 20)),
      })
      const { stopReason, messages } = await runToEnd({
        model: scriptedModel([assistant(toolCall('a', 'slow', '{}')), assistant('done')]),
        tools: [slow],
        limits: { [name]: limit },
      })
      expect([stopReason, messages.length]).toEqual(['end_turn', 4])
    }
  })

  it('that is not a number is an error too', () => {
    const model = scriptedModel([])
    for (const value of [NaN, 0, -1, 1.5, '2' as never])
      expect(() => run({ model, view: start, toolConcurrency: value })).toThrow('toolConcurrency is ')
    for (const value of [NaN, -1, 1.5]) expect(() => run({ model, view: start, buffer: value })).toThrow('buffer is ')
    for (const value of [NaN, -1, '7' as never]) {
      expect(() => tool({ name: 't', parameters: {}, timeout: value, run: () => 1 })).toThrow('tool "t": timeout is ')
      expect(() => run({ model, view: start, tools: [{ ...add, timeout: value }] })).toThrow('tool "add": timeout is ')
      expect(() => scriptedModel([], { pause: value })).toThrow('pause is ')
    }
  })
})

describe('token and cost limits', () => {
  it('end a run at its token limit, also if the model pauses without calling tools', async () => {
    const called = await runToEnd({ model: busy({ input: 10, output: 10 }), limits: { maxTokens: 50 } })
    expect([called.stopReason, called.counts.steps]).toEqual(['max_tokens', 3])
    const paused = await runToEnd({
      model: busy({ input: 10, output: 10 }, { reason: 'pause' }),
      limits: { maxTokens: 50 },
    })
    expect([paused.stopReason, paused.counts.steps]).toEqual(['max_tokens', 3])
  })

  it('end a run at its cost limit, by the price table or custom prices', async () => {
    const usage = { input: 100_000, output: 10_000, cacheRead: 50_000, cacheWrite: 20_000 }
    const opus = pricesOf('claude-opus-5')
    const each = (30_000 * 5 + 50_000 * 0.5 + 20_000 * 6.25 + 10_000 * 25) / 1e6
    expect(opus).toMatchObject({ input: 5, cacheRead: 0.5, cacheWrite: 6.25, output: 25 })
    const byTable = await runToEnd({ model: busy(usage, { name: 'claude-opus-5' }), limits: { maxDollars: 1.4 } })
    expect([byTable.stopReason, byTable.counts.steps]).toEqual(['max_dollars', 3])
    expect(byTable.dollars).toBeCloseTo(3 * each, 10)
    expect(byTable.messages.at(-1)).toMatchObject({
      content: [{ isError: true, content: [{ text: 'Not run: this run has reached its limit of $1.4.' }] }],
    })

    const rates = { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1 }
    const own = await runToEnd({ model: busy(usage), prices: rates, limits: { maxDollars: 0.2 } })
    expect([own.stopReason, own.counts.steps]).toEqual(['max_dollars', 3])
    const paused = await runToEnd({
      model: busy(usage, { reason: 'pause' }),
      prices: rates,
      limits: { maxDollars: 0.2 },
    })
    expect([paused.stopReason, paused.counts.steps]).toEqual(['max_dollars', 3])
    const long = { ...rates, long: { above: 99_999, input: 10, output: 20, cacheRead: 1, cacheWrite: 10 } }
    expect((await runToEnd({ model: busy(usage), prices: long, limits: { maxSteps: 1 } })).dollars).toBeCloseTo(
      0.75,
      10,
    )
  })

  it('use the model named by the answer; without a known price there is no cost', async () => {
    const usage = { input: 1000, output: 0 }
    const named = busy(usage, { name: 'mine', model: 'claude-opus-5-20260101' })
    expect((await runToEnd({ model: named, limits: { maxSteps: 2 } })).dollars).toBeCloseTo(0.01, 10)
    expect((await runToEnd({ model: busy(usage), limits: { maxSteps: 2 } })).dollars).toBe(undefined)
  })

  it('refuse a cost limit without a price at once, and check given prices', () => {
    expect(() => run({ model: busy({ input: 1, output: 1 }), view: start, limits: { maxDollars: 1 } })).toThrow(
      'limits.maxDollars needs the prices of busy, which are not in modelPrices; pass `prices`',
    )
    for (const input of [NaN, -1, '3' as never])
      expect(() =>
        run({ model: scriptedModel([]), view: start, prices: { input, output: 1, cacheRead: 1, cacheWrite: 1 } }),
      ).toThrow('prices.input is ')
  })

  it('a stopWhen that throws ends the run with a fault that names it, and the step is recorded', async () => {
    const history = createHistory<Message>({ from: [user('go')] })
    const cause = new Error('no such step')
    const failed = await run({
      model: busy({ input: 1, output: 1 }),
      view: start,
      tools: [add],
      handlers: [historyHandler(history)],
      limits: {
        stopWhen: () => {
          throw cause
        },
      },
    }).result()()
    expect(failed).toMatchObject({ left: { _tag: 'StopWhenThrew', step: 0, cause, partial: { steps: [{}] } } })
    expect(isLeft(failed) && faultMessage(failed.left)).toBe(
      'step 0: the run ended because `limits.stopWhen` threw: no such step; the steps so far are recorded',
    )
    expect(history.len).toBe(3)
  })

  it('a stopWhen that returns a promise, or anything but true or false, is a fault, not a run without a limit', async () => {
    for (const [answer, said] of [
      [Promise.resolve(false), 'a promise'],
      [1, '1'],
      [null, 'null'],
    ]) {
      const ended = await run({ model: busy({ input: 1, output: 1 }), view: start, limits: { stopWhen: () => answer as never } }).result()() // oxfmt-ignore
      expect(isLeft(ended) && faultMessage(ended.left)).toContain(`\`limits.stopWhen\` threw: it returned ${said}, not true or false`) // oxfmt-ignore
    }
  })

  it('pass the current steps to stopWhen, which cannot change them', async () => {
    const seen: unknown[] = []
    const { steps, stopReason } = await runToEnd({
      model: busy({ input: 1, output: 1 }),
      prices: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 },
      limits: {
        stopWhen: ({ steps, usage, dollars }) => {
          seen.push([steps.length, usage.input, dollars])
          expect(() => (steps as unknown[]).pop()).toThrow(TypeError)
          return steps.length === 2
        },
      },
    })
    expect([stopReason, steps.length]).toEqual(['custom', 2])
    expect(seen).toEqual([
      [1, 1, 2e-6],
      [2, 2, 4e-6],
    ])
  })
})
