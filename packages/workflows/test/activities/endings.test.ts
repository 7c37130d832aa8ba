/** The one end of a stream: which attempt tells it, and that nothing that counts comes after it. */
import { describe, expect, it, vi } from 'vitest'
import { assistant, memoryStore, textOf, toolCall, user, type Store } from 'indelible'
import { hydrate, createRefHistory } from '@indelible/workflows/refs'
import { keyValueBlocks, type BlockStore } from 'indelible/store'
import {
  chatStep,
  historyActivities,
  type ActivityOptions,
  type Invocation,
  type StreamEvent,
  type StreamInput,
} from '@indelible/workflows/activities'
import { scriptedModel, tool, type Model } from 'indelible/run'
import { ok } from '../../../../test/task-results.ts'
import { keyValueMap } from '../../../../test/store/key-value-map.ts'
import { begun, ends, failed, registry, registryOf, wanted } from './engine.ts'

/** Events in short: attempt, seq, what. */
const told = (events: readonly StreamEvent[]): readonly string[] =>
  events.map((event) => `${event.attempt}:${event.seq} ${event.type === 'stream_end' ? event.outcome : event.type}`)
const outcomes = (events: readonly StreamEvent[]): readonly string[] =>
  ends(events).map((event) => (event.type === 'stream_end' ? event.outcome : ''))

/** What whoever looks on makes of it: nothing of an attempt before one that has been seen, nothing after the end, no event twice. */
const heard = (events: readonly StreamEvent[]): readonly StreamEvent[] => {
  const counted: StreamEvent[] = []
  for (const event of events) {
    const last = counted.at(-1)
    if (last?.type === 'stream_end' || event.attempt < (last?.attempt ?? 0)) continue
    counted.push(event)
  }
  return counted
}

const hosted = (
  options: Partial<ActivityOptions> & Pick<ActivityOptions, 'registry'>,
  store: Store | BlockStore = memoryStore(),
) => {
  const events: StreamEvent[] = []
  const activities = historyActivities({
    store,
    events: { publish: async (event) => void events.push(event) },
    ...options,
  })
  return { store, events, activities }
}
const inputOf = async (store: Store | BlockStore, rest: Partial<StreamInput> = {}): Promise<StreamInput> => ({
  action: 'a',
  model: wanted,
  history: (await begun(store as Store, [user('u')])).toJSON(),
  ...rest,
})

/** A model that says what it says once it may. */
const held = (...answers: readonly string[]) => {
  const releases: (() => void)[] = []
  let calls = 0
  const model: Model = {
    name: 'held',
    stream: async function* (request, signal) {
      const answer = answers[calls++] ?? 'again'
      await new Promise<void>((resolve) => releases.push(resolve))
      yield* scriptedModel([assistant(answer)]).stream(request, signal)
    },
  }
  const begunCalls = async (count: number): Promise<void> => {
    while (releases.length < count) await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return { model, release: (index: number) => releases[index]?.(), begunCalls, calls: () => calls }
}

const overloaded = (times: number, answer = 'answer'): Model => {
  let calls = 0
  return {
    name: 'flaky',
    stream: async function* (request, signal) {
      if (calls++ < times) throw Object.assign(new Error('over'), { status: 529 })
      yield* scriptedModel([assistant(answer)]).stream(request, signal)
    },
  }
}

describe('an aborted attempt that will be retried', () => {
  it('emits no end: the attempt that answers does', async () => {
    let invocation: Invocation = {}
    const abort = new AbortController()
    const events: StreamEvent[] = []
    const publish = (event: StreamEvent): void => {
      events.push(event)
      if (event.attempt === 1 && event.seq === 1) abort.abort(new Error('the worker shuts down'))
    }
    const { store, activities } = hosted({
      registry: registry([assistant('one'), assistant('two')]),
      events: { publish },
      invocation: () => invocation,
    })
    const input = await inputOf(store)
    invocation = { attempt: 1, last: false, signal: abort.signal }
    await expect(activities.stream(input)).rejects.toThrow('the worker shuts down')
    expect(outcomes(events)).toEqual([])
    invocation = { attempt: 2, last: false }
    const { ref } = await activities.stream(input)
    expect(ends(events)).toEqual([events.at(-1)])
    expect(events.at(-1)).toMatchObject({ attempt: 2, outcome: 'answered', ref })
  })
  it('emits cancellation if the engine has declared it final', async () => {
    for (const last of [true, () => true]) {
      const abort = new AbortController()
      const { model, begunCalls } = held()
      const { store, events, activities } = hosted({
        registry: registryOf(model),
        invocation: () => ({ attempt: 1, last, signal: abort.signal }),
      })
      const going = activities.stream(await inputOf(store))
      await begunCalls(1)
      abort.abort(new Error('cancelled'))
      await expect(going).rejects.toThrow('cancelled')
      expect(told(events)).toEqual(['1:0 stream_start', '1:1 cancelled'])
    }
  })
  it('does not start if aborted before', async () => {
    const { store, events, activities } = hosted({
      registry: registry([assistant('x')]),
      invocation: () => ({ signal: AbortSignal.abort(new Error('no')) }),
    })
    await expect(activities.stream(await inputOf(store))).rejects.toThrow('no')
    expect(told(events)).toEqual(['1:0 cancelled'])
  })
  it('stores no result of a tool that it stopped', async () => {
    let abort = new AbortController()
    let runs = 0
    const work = tool({
      name: 'work',
      parameters: { type: 'object' },
      run: (_, { signal }) => {
        if (++runs === 1) abort.abort(new Error('no'))
        return signal.aborted ? 'stopped' : 'done'
      },
    })
    const { store, activities } = hosted({
      registry: registry([]),
      tools: [work],
      invocation: () => ({ signal: abort.signal }),
    })
    const history = (await begun(store as Store, [user('u'), assistant(toolCall('c', 'work', '{}'))])).toJSON()
    const input = { action: 't', history, call: { id: 'c', name: 'work' } }
    await expect(activities.runTool(input)).rejects.toThrow('no')
    abort = new AbortController()
    const { ref } = await activities.runTool(input)
    const stored = await ok(hydrate(store, createRefHistory({ from: [ref] })))
    expect(JSON.stringify(stored.view().toArray())).toContain('done')
  })
})

describe('a later attempt', () => {
  it.each(['in the same process', 'in another one'])('stops events of a hanging earlier attempt: %s', async (where) => {
    const { model, release, begunCalls } = held('late', 'in time')
    let invocation: Invocation = { attempt: 1, last: false }
    const { store, events, activities } = hosted({ registry: registryOf(model), invocation: () => invocation })
    const input = await inputOf(store)
    const first = activities.stream(input).then(
      (result) => result,
      (error: unknown) => error,
    )
    await begunCalls(1)
    invocation = { attempt: 2, last: false }
    const other =
      where === 'in the same process'
        ? activities
        : historyActivities({
            store,
            registry: registryOf(model),
            events: { publish: (event) => void events.push(event) },
            invocation: () => ({ attempt: 2, last: false }),
          })
    const second = other.stream(input)
    await begunCalls(2)
    release(1)
    const { ref } = await second
    release(0)
    const late = await first
    if (where === 'in the same process') {
      expect(late).toMatchObject({ tag: 'Superseded', retryable: false })
      expect(events.every(({ attempt, type }) => attempt === 2 || type === 'stream_start')).toBe(true)
    } else expect(late).toMatchObject({ ref })
    expect(outcomes(events)).toEqual(['answered'])
    expect(heard(events).at(-1)).toMatchObject({ attempt: 2, outcome: 'answered', ref })
    expect(textOf((await ok(hydrate(store, createRefHistory({ from: [ref as never] })))).view().at(0) as never)).toBe(
      'in time',
    )
  })
  it("in another process prevents the earlier attempt's end, even if it finishes first", async () => {
    for (const fails of [false, true]) {
      const { model, release, begunCalls } = held('one', 'two')
      const store = memoryStore()
      const events: StreamEvent[] = []
      const broken: Model = {
        name: 'broken',
        stream: async function* (request, signal) {
          for await (const event of model.stream(request, signal))
            if (fails) throw new Error('refused')
            else yield event
        },
      }
      const process = (attempt: number, of: Model) =>
        historyActivities({
          store,
          registry: registryOf(of),
          events: { publish: (event) => void events.push(event) },
          invocation: () => ({ attempt, last: true }),
        })
      const input = await inputOf(store)
      const first = process(1, broken)
        .stream(input)
        .then(
          (result) => result,
          (error: unknown) => error,
        )
      await begunCalls(1)
      const second = process(2, model).stream(input)
      await begunCalls(2)
      release(0)
      await first
      expect(outcomes(events)).toEqual([])
      release(1)
      const { ref } = await second
      expect(ends(events)).toMatchObject([{ attempt: 2, outcome: 'answered', ref }])
    }
  })
  it('that starts after the end returns its answer and emits nothing', async () => {
    const { store, events, activities } = hosted({ registry: registry([assistant('one')]) })
    const input = await inputOf(store)
    const first = await activities.stream(input)
    const before = events.length
    expect(await activities.stream(input)).toEqual(first)
    expect(events.length).toBe(before)
  })
  it('after a final failure is refused: no answer follows the end', async () => {
    const { store, events, activities } = hosted({
      registry: registryOf(overloaded(1)),
      invocation: () => ({ last: true }),
    })
    const input = await inputOf(store)
    expect(await failed(activities.stream(input))).toMatchObject({ tag: 'ModelFailed' })
    expect(await failed(activities.stream(input))).toMatchObject({
      tag: 'ModelFailed',
      status: 529,
      name: 'PermanentFailure',
      retryable: false,
    })
    expect(told(events)).toEqual(['1:0 stream_start', '1:1 failed'])
  })
  it('has its own number even without one from the engine', async () => {
    const { store, events, activities } = hosted({
      registry: registryOf(overloaded(2)),
      invocation: () => ({ last: false }),
    })
    const input = await inputOf(store)
    for (const tag of ['ModelFailed', 'ModelFailed'])
      expect(await failed(activities.stream(input))).toMatchObject({ tag })
    await activities.stream(input)
    expect(new Set(told(events)).size).toBe(events.length)
    expect(events.map(({ attempt }) => attempt).slice(0, 3)).toEqual([1, 2, 3])
    expect(events.at(-1)).toMatchObject({ attempt: 3, outcome: 'answered' })
  })
})

describe('two callers of one action', () => {
  it.each(['a store', 'a store of blocks alone'])(
    'on %s share one stream: one call, one end, the same answer',
    async (kind) => {
      const { model, release, begunCalls, calls } = held('once')
      const store = kind === 'a store' ? memoryStore() : keyValueBlocks(keyValueMap())
      const { events, activities } = hosted({ registry: registryOf(model) }, store)
      const input = await inputOf(store)
      const both = Promise.all([activities.stream(input), activities.stream(input)])
      await begunCalls(1)
      release(0)
      const [a, b] = await both
      expect(b).toEqual(a)
      expect(calls()).toBe(1)
      expect(outcomes(events)).toEqual(['answered'])
      expect(events.at(-1)?.type).toBe('stream_end')
    },
  )
  it('are cancelled separately: a joined one leaves and the stream continues', async () => {
    const { model, release, begunCalls } = held('once')
    const abort = new AbortController()
    const invocations: Invocation[] = [{}, { signal: abort.signal }]
    const { store, activities } = hosted({ registry: registryOf(model), invocation: () => invocations.shift() ?? {} })
    const input = await inputOf(store)
    const first = activities.stream(input)
    const joined = activities.stream(input)
    await begunCalls(1)
    abort.abort(new Error('this one was cancelled'))
    await expect(joined).rejects.toThrow('this one was cancelled')
    release(0)
    expect((await first).reason).toBe('end_turn')
  })
  it('with different input are distinct: the second is refused and the first continues', async () => {
    const { model, release, begunCalls } = held('once')
    const { store, events, activities } = hosted({ registry: registryOf(model) })
    const input = await inputOf(store)
    const first = activities.stream(input)
    await begunCalls(1)
    for (const rest of [
      { history: (await begun(store as Store, [user('other')])).toJSON() },
      { model: { name: 'gpt-y' } },
      { limit: { maxChars: 9999 } },
      { tools: [{ name: 't', parameters: {} }] },
      { parameters: { temperature: 1 } },
    ])
      expect(await failed(activities.stream({ ...input, ...rest }))).toMatchObject({ tag: 'OtherAction' })
    release(0)
    await first
    expect(outcomes(events)).toEqual(['answered'])
  })
})

describe('endStream', () => {
  it('emits a stored answer as such', async () => {
    let refusals = 1
    const events: StreamEvent[] = []
    const publish = (event: StreamEvent): void => {
      if (event.type === 'stream_end' && refusals-- > 0) throw new Error('no route')
      events.push(event)
    }
    const { store, activities } = hosted({ registry: registry([assistant('one')]), events: { publish } })
    const history = await begun(store as Store, [user('u')])
    expect(await failed(chatStep(activities, history, { action: 'a', model: wanted }))).toMatchObject({
      tag: 'Unpublished',
      retryable: true,
    })
    const { position } = await chatStep(activities, history, { action: 'a', model: wanted })
    expect(position).toBe(1)
    expect(ends(events)).toMatchObject([{ outcome: 'answered', attempt: 2, ref: history.refs()[1] }])
    expect(new Set(told(events)).size).toBe(events.length)
  })
  it('emits one end even if called twice at once', async () => {
    const { events, activities } = hosted({ registry: {} })
    await Promise.all([1, 2, 3].map(() => activities.endStream({ action: 'a' })))
    expect(outcomes(events)).toEqual(['failed'])
  })
  it('ends a running stream for good', async () => {
    const { model, release, begunCalls } = held('late')
    const { store, events, activities } = hosted({
      registry: registryOf(model),
      invocation: () => ({ attempt: 1, last: false }),
    })
    const input = await inputOf(store)
    const going = failed(activities.stream(input))
    await begunCalls(1)
    await activities.endStream({ action: 'a' })
    await activities.endStream({ action: 'a' })
    release(0)
    expect(await going).toMatchObject({ tag: 'Superseded' })
    expect(await failed(activities.stream(input))).toMatchObject({ tag: 'ActionEnded' })
    expect(told(events)).toEqual(['1:0 stream_start', '2:0 failed'])
  })
  it('of an action whose name is reused later stores nothing under it', async () => {
    const { activities } = hosted({ registry: {} })
    await activities.endStream({ action: 'm' })
    for (const text of ['one', 'two'])
      expect(await failed(activities.appendMessage({ action: 'm', message: user(text) }))).toMatchObject({
        tag: 'ActionEnded',
      })
  })
  it('emits nothing after the end for an unreadable history', async () => {
    const { events, activities } = hosted({ registry: {} })
    expect(
      await failed(activities.stream({ action: 'a', model: wanted, history: { type: 'llm3' } as never })),
    ).toMatchObject({ tag: 'UnreadableHistory' })
    await activities.endStream({ action: 'a' })
    expect(outcomes(events)).toEqual(['failed'])
  })
  it('uses the given scope, and its own failure does not replace the cause', async () => {
    const given: unknown[] = []
    const broken = {
      stream: () => Promise.reject(new Error('the first')),
      endStream: async (input: unknown): Promise<void> => (given.push(input), Promise.reject(new Error('the second'))),
    }
    await expect(chatStep(broken, createRefHistory({ scope: 'team' }), { action: 'a', model: wanted })).rejects.toThrow(
      'the first',
    )
    expect(given).toEqual([{ action: 'a', scope: 'team' }])
  })
})

describe('a hanging sink', () => {
  it('does not block a cancelled activity', async () => {
    const abort = new AbortController()
    const ended: StreamEvent[] = []
    const publish = (event: StreamEvent): Promise<void> =>
      event.type === 'stream_end' ? Promise.resolve(void ended.push(event)) : new Promise(() => {})
    const { store, activities } = hosted({
      registry: registry([assistant('one')]),
      events: { publish },
      publishWithin: 2 ** 30,
      invocation: () => ({ signal: abort.signal }),
    })
    const going = activities.stream(await inputOf(store))
    setTimeout(() => abort.abort(new Error('cancelled')), 20)
    await expect(going).rejects.toThrow('cancelled')
    expect(outcomes(ended)).toEqual(['cancelled'])
  })
  it('times out after half a minute by default', async () => {
    const { store, activities } = hosted({
      registry: registry([assistant('one')]),
      events: { publish: ({ type }) => (type === 'stream_start' ? new Promise(() => {}) : undefined) },
    })
    const input = await inputOf(store)
    vi.useFakeTimers()
    try {
      let ended = false
      const going = activities.stream(input).finally(() => (ended = true))
      await vi.advanceTimersByTimeAsync(29_900)
      expect(ended).toBe(false)
      await vi.advanceTimersByTimeAsync(200)
      expect((await going).unpublished).toBeGreaterThan(0)
    } finally {
      vi.useRealTimers()
    }
  })
  it('is awaited once for its timeout; the end has its own', async () => {
    const published: StreamEvent[] = []
    let hangs: (event: StreamEvent) => boolean = ({ type }) => type !== 'stream_end'
    const publish = (event: StreamEvent): Promise<void> => (
      published.push(event),
      hangs(event) ? new Promise(() => {}) : Promise.resolve()
    )
    const { store, activities } = hosted({
      registry: registry([assistant('one two three'), assistant('x')]),
      events: { publish },
      publishWithin: 30,
    })
    const { unpublished } = await activities.stream(await inputOf(store))
    expect(unpublished).toBeGreaterThan(3)
    expect(told(published)).toEqual(['1:0 stream_start', `1:${unpublished} answered`])
    hangs = () => true
    expect(await failed(activities.stream(await inputOf(store, { action: 'b' })))).toMatchObject({
      tag: 'Unpublished',
      retryable: true,
    })
    hangs = () => false
    await activities.stream(await inputOf(store, { action: 'b' }))
    expect(published.at(-1)).toMatchObject({ action: 'b', outcome: 'answered' })
  })
})
