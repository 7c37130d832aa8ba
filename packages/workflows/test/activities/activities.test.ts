import { isLeft, left } from 'fp-ts/lib/Either.js'
import { keyValueBlocks } from 'indelible/store'
import { storeTask } from '../../../../src/store/internal.ts'
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  assistant,
  memoryStore,
  reasoning,
  system,
  textOf,
  toolCall,
  toolResult,
  user,
  type Message,
  type Store,
} from 'indelible'
import { createRefHistory, hydrate } from '@indelible/workflows/refs'
import type { BlockId } from '../../../../src/proof/internal.ts'
import { chatStep, historyActivities, type StreamEvent, type StreamInput } from '@indelible/workflows/activities'
import { scriptedModel, type Model, type ModelRequest } from 'indelible/run'
import { OpenAI } from 'openai'
import { openaiChatModel } from 'indelible/run/openai'
import { ok } from '../../../../test/task-results.ts'
import { providerServer, type ProviderServer, type Reply } from '../../../../test/run/provider-server.ts'
import { keyValueMap } from '../../../../test/store/key-value-map.ts'
import { begun, ends, engine, failed, registry, registryOf, wanted } from './engine.ts'
import type { Line } from 'indelible/internal/run'

describe('a chat workflow', () => {
  it('has a conversation with tools without message content in its state', async () => {
    const store = memoryStore()
    const { activities, state, events, beats } = engine({
      store,
      registry: registry([
        assistant(reasoning('SECRET thoughts'), 'SECRET words', toolCall('c1', 'read', { path: 'SECRET' })),
        assistant('SECRET answer'),
      ]),
    })
    const history = createRefHistory()
    const say = async (action: string, message: Message): Promise<void> => {
      // Called by whoever has the content, outside of the workflow: what is given to an activity is part of its state.
      const { ref } = await historyActivities({ store, registry: {} }).appendMessage({ action, message })
      history.append(ref)
    }
    await say('m0', user('SECRET question'))
    const first = await chatStep(activities, history, { action: 'm1', model: wanted })
    expect(first).toMatchObject({
      position: 1,
      seen: 1,
      reason: 'tool_calls',
      calls: [{ id: 'c1', name: 'read' }],
      usage: { output: 2 },
      model: 'scripted',
    })
    await say('m2', toolResult('c1', 'SECRET file'))
    expect(await chatStep(activities, history, { action: 'm3', model: wanted })).toMatchObject({
      position: 3,
      seen: 3,
      reason: 'end_turn',
      calls: [],
    })
    const content = (await ok(hydrate(store, history))).view().toArray()
    expect(content.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    expect(content.map(textOf)).toEqual(['SECRET question', 'SECRET words', 'SECRET file', 'SECRET answer'])
    expect(JSON.stringify(events)).toContain('SECRET')
    expect(`${state()}${JSON.stringify(history)}`).not.toMatch(/SECRET|thoughts|path/)
    expect(beats.length).toBeGreaterThan(10)
  })
  it('continues with what the model saw, and later messages after it', async () => {
    const store = memoryStore()
    const history = await begun(store, [user('one')])
    const { activities } = engine({ store, registry: registry([assistant('answer')]) })
    const other = (await begun(store, [user('meanwhile')])).refs()
    const going = chatStep(activities, history, { action: 'a', model: wanted })
    history.append(other[0] as never)
    expect(await going).toMatchObject({ seen: 1, position: 2 })
  })
  it('appends nothing for an empty answer', async () => {
    const store = memoryStore()
    const history = await begun(store, [user('one')])
    const { activities, events } = engine({ store, registry: registry([{ role: 'assistant', content: [] }]) })
    const step = await chatStep(activities, history, { action: 'a', model: wanted })
    expect([step.position, history.len]).toEqual([undefined, 1])
    expect(ends(events)).toMatchObject([{ outcome: 'answered' }])
  })
  it('can keep its content in a key-value store', async () => {
    const store = keyValueBlocks(keyValueMap(), { scope: 'team' })
    const { activities, events } = engine({ store, registry: registry([assistant('kept')]) })
    const history = createRefHistory({ scope: 'team' })
    const { ref } = await activities.appendMessage({ action: 'm', message: user('hello') })
    history.append(ref)
    await chatStep(activities, history, { action: 'a', model: wanted })
    expect(
      await activities.stream({
        action: 'a',
        model: wanted,
        history: createRefHistory({ scope: 'team', from: [ref] }).toJSON(),
      }),
    ).toMatchObject({ ref: history.refs()[1] })
    expect((await ok(hydrate(store, history))).view().at(-1)).toEqual(assistant('kept'))
    expect(ends(events).length).toBe(1)
    expect(await failed(activities.hydrate({ history: createRefHistory({ scope: 'other' }) }))).toMatchObject({
      tag: 'OtherScope',
      retryable: false,
    })
  })
})

describe('appendMessage', () => {
  it('returns the same ref for the same action and refuses another message under it', async () => {
    const store = memoryStore()
    const { activities } = engine({ store, registry: {}, scopes: 'any' })
    const first = await activities.appendMessage({ action: 'a', message: user('hello') })
    expect(await activities.appendMessage({ action: 'a', message: user('hello') })).toEqual(first)
    expect(await activities.appendMessage({ action: 'b', message: user('hello') })).toEqual(first)
    expect(await failed(activities.appendMessage({ action: 'a', message: user('something else') }))).toMatchObject({
      tag: 'OtherAction',
      retryable: false,
    })
    expect(await activities.appendMessage({ action: 'a', message: user('hello'), scope: 'team' })).toEqual(first)
    await ok(hydrate(memoryStoreOf(store, 'team'), createRefHistory({ scope: 'team', from: [first.ref] })))
  })
  it('keeps a page kind and accepts only messages', async () => {
    const store = memoryStore()
    const { activities } = engine({ store, registry: {}, scopes: 'any' })
    const { ref } = await activities.appendMessage({ action: 'a', message: user('never push'), page: 'constraint' })
    expect(await activities.hydrate({ history: createRefHistory({ from: [ref] }) })).toEqual({
      messages: [user('never push')],
      pages: ['constraint'],
    })
    expect(await failed(activities.appendMessage({ action: 'b', message: { role: 'user' } as never }))).toMatchObject({
      tag: 'InvalidInput',
      retryable: false,
      name: 'PermanentFailure',
    })
    expect(
      await failed(activities.appendMessage({ action: 'b', message: user('x'), page: 'nonsense' as never })),
    ).toMatchObject({ tag: 'InvalidInput' })
    expect(await failed(activities.appendMessage({ action: '', message: user('x') }))).toMatchObject({
      tag: 'InvalidInput',
    })
    expect(await failed(activities.appendMessage({ action: 'b', message: user('x'), scope: '' }))).toMatchObject({
      tag: 'InvalidId',
    })
  })
  it("and all other activities stay in their store's scope, whatever the input", async () => {
    const store = memoryStore()
    const [mine, theirs] = [memoryStoreOf(store, 'mine'), memoryStoreOf(store, 'theirs')]
    const { ref } = await historyActivities({ store: theirs, registry: {} }).appendMessage({
      action: 'a',
      message: user('SECRET'),
    })
    const history = createRefHistory({ scope: 'theirs', from: [ref] }).toJSON()
    const { activities, events } = engine({ store: mine, registry: registry([assistant('x')]) })
    for (const call of [
      activities.hydrate({ history }),
      activities.manage({ history, maxChars: 10 }),
      activities.stream({ action: 's', model: wanted, history }),
      activities.appendMessage({ action: 'b', message: user('x'), scope: 'theirs' }),
      activities.endStream({ action: 'a', scope: 'theirs' }),
    ])
      expect(await failed(call)).toMatchObject({ tag: 'OtherScope', retryable: false })
    expect(ends(events)).toMatchObject([{ action: 's', outcome: 'failed' }])
    expect(
      (await historyActivities({ store: mine, registry: {}, scopes: 'any' }).hydrate({ history })).messages,
    ).toEqual([user('SECRET')])
  })
  it('is retriable if the store fails', async () => {
    const map = keyValueMap()
    let broken = true
    const store = keyValueBlocks({
      ...map,
      mset: (entries) => (broken ? ((broken = false), Promise.reject(new Error('SECRET host'))) : map.mset(entries)),
    })
    const seen: string[] = []
    const { activities, failures, state } = engine({
      store,
      registry: {},
      attempts: 2,
      onFailure: (fault) => seen.push('cause' in fault ? String(fault.cause) : ''),
    })
    const { ref } = await activities.appendMessage({ action: 'a', message: user('hello') })
    expect(failures).toMatchObject([
      { name: 'RetryableFailure', tag: 'Io', message: 'Io: the store failed to put blocks' },
    ])
    expect(seen).toEqual(['Error: SECRET host'])
    expect(state()).not.toContain('SECRET')
    await ok(hydrate(store, createRefHistory({ from: [ref] })))
  })
})

const memoryStoreOf = (store: Store, scope: string): Store => {
  const scoped = store.scoped(scope)
  if (isLeft(scoped)) throw new Error(scope)
  return scoped.right
}

describe('the stream activity', () => {
  const answer = assistant(reasoning('let me see'), 'Two words.', toolCall('c1', 'read', { path: 'a' }))
  const input = async (store: Store, rest: Partial<StreamInput> = {}): Promise<StreamInput> => ({
    action: 'a',
    model: wanted,
    history: (await begun(store, [system('s'), user('u')])).toJSON(),
    ...rest,
  })

  const overloaded: Line = () => {
    throw Object.assign(new Error('overloaded'), { status: 529 })
  }

  it('emits content by block type, in order, and the end once stored', async () => {
    const store = memoryStore()
    const { activities, events } = engine({ store, registry: registry([answer]) })
    const { ref } = await activities.stream(await input(store))
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index))
    expect(new Set(events.map(({ action, attempt }) => `${action} ${attempt}`))).toEqual(new Set(['a 1']))
    expect(events[0]).toMatchObject({ type: 'stream_start', model: 'scripted' })
    expect(events.at(-1)).toEqual({
      action: 'a',
      attempt: 1,
      seq: events.length - 1,
      type: 'stream_end',
      outcome: 'answered',
      ref,
    })
    const said = (block: string): string =>
      events
        .flatMap((event) =>
          event.type === 'model_event' && 'text' in event.event && event.event.block === block
            ? [event.event.text]
            : [],
        )
        .join('')
    expect([said('reasoning'), said('text'), said('tool_call')]).toEqual(['let me see', 'Two words.', '{"path":"a"}'])
    expect((await ok(hydrate(store, createRefHistory({ from: [ref as never] })))).view().at(0)).toEqual(answer)
  })
  it('waits for the end to be published', async () => {
    const store = memoryStore()
    let told = false
    const publish = async (event: StreamEvent): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve, event.type === 'stream_end' ? 30 : 0))
      told ||= event.type === 'stream_end'
    }
    await historyActivities({ store, registry: registry([answer]), events: { publish } }).stream(await input(store))
    expect(told).toBe(true)
  })
  it('sends heartbeats while a model is silent and at each event, with a counter and no content', async () => {
    const store = memoryStore()
    const beats: { readonly events: number }[] = []
    let go: () => void = () => {}
    const slow: Model = {
      name: 'slow',
      stream: async function* (request, signal) {
        await new Promise<void>((resolve) => (go = resolve))
        yield* scriptedModel([answer]).stream(request, signal)
      },
    }
    const heartbeat = (beat: { readonly events: number }): void => {
      beats.push(beat)
      if (beats.length === 5) go()
    }
    await historyActivities({ store, registry: registryOf(slow), heartbeat, heartbeatEvery: 5 }).stream(
      await input(store),
    )
    expect(beats.slice(0, 5).map(({ events }) => events)).toEqual([0, 0, 0, 0, 0])
    expect(beats.map(({ events }) => events)).toEqual(beats.map(({ events }) => events).toSorted((a, b) => a - b))
    expect(beats.at(-1)).toMatchObject({ action: 'a', attempt: 1, events: 13 })
    expect(Object.keys(beats[0] ?? {})).toEqual(['action', 'attempt', 'events'])
    const count = beats.length
    await new Promise((resolve) => setTimeout(resolve, 60))
    expect(beats.length).toBe(count)
  })
  it('sends heartbeats every five seconds by default', async () => {
    const store = memoryStore()
    const streamInput = await input(store)
    vi.useFakeTimers()
    try {
      const beats: unknown[] = []
      const hanging: Model = {
        name: 'hanging',
        stream: async function* (_, signal) {
          await new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason as Error)),
          )
          yield { type: 'block_start', index: 0, block: 'text' }
        },
      }
      const abort = new AbortController()
      const going = historyActivities({
        store,
        registry: registryOf(hanging),
        heartbeat: (beat) => beats.push(beat),
        invocation: () => ({ signal: abort.signal }),
      }).stream(streamInput)
      await vi.advanceTimersByTimeAsync(20_001)
      expect(beats.length).toBe(5)
      abort.abort(new Error('stop'))
      await expect(going).rejects.toThrow('stop')
    } finally {
      vi.useRealTimers()
    }
  })

  it('returns the first recorded answer if two workers run it', async () => {
    const store = memoryStore()
    const { activities } = engine({ store, registry: registry([answer, assistant('another')]) })
    const streamInput = await input(store)
    const [a, b] = await Promise.all([activities.stream(streamInput), activities.stream(streamInput)])
    expect(b).toEqual(a)
    expect(await activities.stream(streamInput)).toEqual(a)
  })

  describe('emits exactly one end', () => {
    it("if the history can't be hydrated", async () => {
      const store = memoryStore()
      const { activities, events, failures } = engine({ store, registry: registry([answer]), attempts: 3 })
      const history = createRefHistory({ from: [{ blockIds: ['a'.repeat(64) as BlockId], role: 'user' }] })
      await failed(chatStep(activities, history, { action: 'a', model: wanted }))
      expect(failures).toMatchObject([{ tag: 'MissingBlock', retryable: false }])
      expect(events).toMatchObject([
        { type: 'stream_end', outcome: 'failed', reason: expect.stringContaining('not in this scope') },
      ])
      expect(history.len).toBe(1)
    })
    it('if the input is not a history or model', async () => {
      const store = memoryStore()
      for (const [rest, tag] of [
        [{ history: { type: 'llm3' } as never }, 'UnreadableHistory'],
        [{ history: 7 as never }, 'InvalidInput'],
        [{ model: { name: 'claude-x' } }, 'UnconfiguredModel'],
        [{ model: {} }, 'UnspecifiedModel'],
        [{ limit: { budget: 1 } }, 'MinimumDoesNotFit'],
      ] as const) {
        const { activities, events } = engine({ store, registry: registry([answer]), attempts: 3 })
        const failure = await failed(activities.stream(await input(store, { action: `a ${tag}`, ...rest })))
        expect([failure.tag, failure.retryable]).toEqual([tag, false])
        expect(events).toMatchObject([{ type: 'stream_end', outcome: 'failed' }])
      }
    })
    it('if aborted before or during an answer, whose content is not stored', async () => {
      for (const early of [true, false]) {
        const store = memoryStore()
        const abort = new AbortController()
        const events: StreamEvent[] = []
        const publish = (event: StreamEvent): void => {
          events.push(event)
          if (event.seq === 4) abort.abort(new Error('the workflow was cancelled'))
        }
        if (early) abort.abort(new Error('the workflow was cancelled'))
        const activities = historyActivities({
          store,
          registry: registry([answer]),
          events: { publish },
          invocation: () => ({ signal: abort.signal }),
        })
        await expect(activities.stream(await input(store))).rejects.toThrow('the workflow was cancelled')
        expect(ends(events)).toMatchObject([{ outcome: 'cancelled' }])
        expect(events.at(-1)?.type).toBe('stream_end')
      }
    })
    it('if the model fails twice and then answers, with attempts distinguished', async () => {
      const store = memoryStore()
      let calls = 0
      const flaky: Model = {
        name: 'flaky',
        stream: async function* (request, signal) {
          for await (const event of scriptedModel([answer]).stream(request, signal)) {
            if (calls < 2 && event.type === 'block_end') {
              calls += 1
              throw Object.assign(new Error('SECRET overload'), { status: 529 })
            }
            yield event
          }
        },
      }
      const { activities, events, failures, state } = engine({ store, registry: registryOf(flaky), attempts: 5 })
      await activities.stream(await input(store))
      expect(failures).toMatchObject(
        [1, 2].map(() => ({ tag: 'ModelFailed', status: 529, message: 'ModelFailed: flaky failed with HTTP 529' })),
      )
      expect(state()).not.toContain('SECRET')
      expect(ends(events)).toMatchObject([{ outcome: 'answered', attempt: 3 }])
      for (const attempt of [1, 2, 3])
        expect(events.filter((event) => event.attempt === attempt).map(({ seq }) => seq)).toEqual([
          ...events.filter((event) => event.attempt === attempt).keys(),
        ])
    })
    it('if the last attempt fails', async () => {
      const store = memoryStore()
      const { activities, events } = engine({
        store,
        registry: registry([overloaded, overloaded, overloaded]),
        attempts: 3,
      })
      const failure = await failed(
        chatStep(activities, await begun(store, [user('u')]), { action: 'a', model: wanted }),
      )
      expect(failure).toMatchObject({ tag: 'ModelFailed', retryable: true })
      expect(ends(events)).toMatchObject([{ outcome: 'failed', attempt: 3, reason: 'overloaded' }])
    })
    it('if the store is unreachable', async () => {
      const store = memoryStore()
      const history = await begun(store, [user('u')])
      const down = storeTask(
        async () => left({ _tag: 'Io', operation: 'reach the store', cause: new Error('SECRET host') } as const),
        'store.call',
      )
      const { activities, events, failures, state } = engine({
        store: { ...store, info: () => down, getBlocks: () => down },
        registry: registry([answer]),
        attempts: 2,
      })
      await failed(chatStep(activities, history, { action: 'a', model: wanted }))
      expect(failures.map(({ tag, retryable }) => [tag, retryable]).slice(0, 2)).toEqual([
        ['Io', true],
        ['Io', true],
      ])
      expect(events).toMatchObject([{ type: 'stream_end', outcome: 'failed', attempt: 2 }])
      expect(state()).not.toContain('SECRET')
    })
    it('if its record is refused', async () => {
      const store = memoryStore()
      const causes: string[] = []
      const update: Store['update'] = (id, change) =>
        change.meta?.['ended'] === true
          ? storeTask(async () => left({ _tag: 'Busy', waited: 5000 }), 'store.update')
          : store.update(id, change)
      const { activities, events } = engine({
        store: { ...store, update },
        registry: registry([answer]),
        onFailure: ({ _tag }) => causes.push(_tag),
      })
      await activities.stream(await input(store))
      expect(ends(events).length).toBe(1)
      expect(causes).toEqual(['Busy'])
    })
    it('if the engine gives up between two attempts, by the workflow', async () => {
      const store = memoryStore()
      const { activities, events } = engine({
        store,
        registry: registry([overloaded]),
        invocation: () => ({ attempt: 1, last: false }),
      })
      await failed(chatStep(activities, await begun(store, [user('u')]), { action: 'a', model: wanted }))
      expect(ends(events)).toMatchObject([{ outcome: 'failed', reason: 'ModelFailed: scripted failed with HTTP 529' }])
      await activities.endStream({ action: 'a' })
      expect(ends(events).length).toBe(1)
    })
    it('if the answer is lost on the way: a retry returns it without calling the model again', async () => {
      const store = memoryStore()
      const made = engine({ store, registry: registry([answer, assistant('another')]), attempts: 3 })
      made.loseAnswers = 2
      const { ref } = await made.activities.stream(await input(store))
      expect((await ok(hydrate(store, createRefHistory({ from: [ref as never] })))).view().at(0)).toEqual(answer)
      expect(ends(made.events)).toMatchObject([{ outcome: 'answered', attempt: 1 }])
    })
    it('if publishing the end fails first: a retry publishes it without calling the model again', async () => {
      const store = memoryStore()
      const events: StreamEvent[] = []
      let refused = 0
      const publish = async (event: StreamEvent): Promise<void> => {
        if (event.type === 'stream_end' && refused++ < 2) throw new Error('no route')
        events.push(event)
      }
      const { activities, failures } = engine({
        store,
        registry: registry([answer, assistant('another')]),
        attempts: 5,
        events: { publish },
      })
      await activities.stream(await input(store))
      expect(failures).toMatchObject([1, 2].map(() => ({ tag: 'Unpublished', retryable: true })))
      expect(ends(events)).toMatchObject([{ outcome: 'answered', attempt: 3 }])
      expect(events.filter(({ type }) => type === 'stream_start').length).toBe(1)
    })
    it('never, if the action happened with another input, which has its own end', async () => {
      const store = memoryStore()
      const { activities, events } = engine({ store, registry: registry([answer, answer]) })
      await activities.stream(await input(store))
      expect(await failed(activities.stream(await input(store, { model: { name: 'gpt-y' } })))).toMatchObject({
        tag: 'OtherAction',
      })
      expect(ends(events).length).toBe(1)
    })
  })

  it('is not blocked by a failing sink, and counts unpublished events', async () => {
    const store = memoryStore()
    const events: StreamEvent[] = []
    const publish = (event: StreamEvent): void => {
      if (event.seq % 2 === 1 && event.type !== 'stream_end') throw new Error('slow down')
      events.push(event)
    }
    const causes: unknown[] = []
    const activities = historyActivities({
      store,
      registry: registry([answer]),
      events: { publish },
      onFailure: (fault) => causes.push(fault._tag),
      heartbeat: () => {
        throw new Error('no heart')
      },
    })
    const result = await activities.stream(await input(store))
    expect(result.unpublished).toBe(6)
    expect(events.at(-1)?.type).toBe('stream_end')
    expect(new Set(causes)).toEqual(new Set(['Unpublished']))
  })

  it('sends the limited context with the prefix that the model has seen', async () => {
    const store = memoryStore()
    const requests: ModelRequest[] = []
    const line: Line = (request) => (requests.push(request), assistant('ok'))
    const long = Array.from({ length: 40 }, (_, turn) => [
      user(`question ${turn} ${'x'.repeat(500)}`),
      assistant(`answer ${turn} ${'y'.repeat(500)}`),
    ]).flat()
    const history = await begun(store, [system('s'), ...long, user('now')])
    const { activities } = engine({ store, registry: registry([line, line, line]) })
    await activities.stream({ action: 'whole', model: wanted, history })
    await activities.stream({
      action: 'budget',
      model: wanted,
      history,
      limit: { budget: 6000 },
      tools: [{ name: 'read', parameters: { type: 'object' } }],
      parameters: { temperature: 0 },
    })
    await activities.stream({ action: 'chars', model: wanted, history, limit: { maxChars: 10_000 } })
    expect(requests[0]).toMatchObject({ messages: { length: 82 }, stablePrefix: 80, tools: [] })
    expect(requests[1]).toMatchObject({ tools: [{ name: 'read' }], parameters: { temperature: 0 } })
    for (const { messages, stablePrefix } of requests.slice(1)) {
      expect(messages.length).toBeLessThan(60)
      expect(messages.at(-1)).toEqual(user('now'))
      expect(stablePrefix).toBeLessThan(messages.length)
    }
    expect(requests[1]?.stablePrefix).toBeGreaterThan(0)
  })
})

describe('the manage activity', () => {
  it('returns by position what a limit would keep, without content', async () => {
    const store = memoryStore()
    const messages = [
      system('SECRET instructions'),
      user('SECRET task'),
      ...Array.from({ length: 20 }, (_, index) => [
        assistant(`SECRET ${index} ${'z'.repeat(300)}`),
        user(`go on ${index}`),
      ]).flat(),
      { ...user('SECRET feedback'), meta: { indelible: { mark: 'feedback' } } },
    ]
    const { activities, state } = engine({ store, registry: {} })
    const history = (await begun(store, messages)).toJSON()
    const managed = await activities.manage({ history, maxChars: 3000 })
    expect(managed).toMatchObject({ limit: 3000, overBudget: false, retained: expect.arrayContaining([0, 1, 42]) })
    expect(managed.size).toBeLessThanOrEqual(3000)
    expect(managed.shown.length).toBeLessThan(43)
    expect(state()).not.toContain('SECRET')
    expect(
      await failed(
        activities.manage({
          history: createRefHistory({ from: [{ blockIds: ['b'.repeat(64) as BlockId], role: 'user' }] }).toJSON(),
          maxChars: 10,
        }),
      ),
    ).toMatchObject({ tag: 'MissingBlock' })
  })
})

describe('model failures over HTTP', () => {
  let server: ProviderServer | undefined
  afterEach(() => server?.close())
  const chunk = (delta: unknown, reason: string | null = null): string =>
    JSON.stringify({
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [{ index: 0, delta, finish_reason: reason }],
    })
  const saying = [chunk({ role: 'assistant', content: 'Done' }), chunk({ content: ' at last.' }), chunk({}, 'stop')]

  const tried = async (reply: Reply, down = false) => {
    const store = memoryStore()
    server = await providerServer(() => reply)
    if (down) await server.close()
    const client = new OpenAI({ apiKey: 'k', baseURL: `${server.url}/v1`, maxRetries: 0, logLevel: 'off' })
    const openai_compatible = { apiKey: 'k', model: (model: string) => openaiChatModel(client, { model }) }
    const { activities, events, state } = engine({ store, registry: { openai_compatible } })
    const failure = await failed(
      activities.stream({
        action: 'a',
        model: { name: 'm', type: 'openai_compatible' },
        history: (await begun(store, [user('SECRET')])).toJSON(),
      }),
    )
    expect(ends(events)).toMatchObject([{ outcome: 'failed' }])
    expect(state()).not.toContain('SECRET')
    if (!down) await server.close()
    return [failure.tag, failure.retryable, failure.status]
  }

  it('are retriable by status: overloads and server errors yes, refusals no', async () => {
    for (const status of [408, 409, 429, 500, 502, 503, 529])
      expect(await tried({ status, body: { error: { message: 'SECRET not now' } } })).toEqual([
        'ModelFailed',
        true,
        status,
      ])
    for (const status of [400, 401, 403, 404, 413, 422])
      expect(await tried({ status, body: { error: { message: 'SECRET no' } } })).toEqual(['ModelFailed', false, status])
  })
  it('include no response, a broken connection, and an early end', async () => {
    expect(await tried({ events: saying }, true)).toEqual(['ModelFailed', true, undefined])
    expect(await tried({ events: saying, cutAfter: 200 })).toEqual(['ModelFailed', true, undefined])
    expect((await tried({ events: saying, cutAfter: 200, broken: false }))[1]).toBe(true)
    expect((await tried({ events: saying.slice(0, 2) }))[1]).toBe(true)
  })
  it('exclude programming errors, which are not retriable', async () => {
    const store = memoryStore()
    const broken: Model = { name: 'broken', stream: () => (undefined as never as { x: AsyncIterable<never> }).x }
    const { activities } = engine({ store, registry: registryOf(broken) })
    expect(
      await failed(
        activities.stream({ action: 'a', model: wanted, history: (await begun(store, [user('u')])).toJSON() }),
      ),
    ).toMatchObject({ tag: 'ModelFailed', retryable: false })
  })
})
