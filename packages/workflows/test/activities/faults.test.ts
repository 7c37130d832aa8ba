/** What goes wrong leaves an activity as a failure that says whether to try again, and nothing of what was said. */
import { storeTask } from '../../../../src/store/internal.ts'
import { spawnSync } from 'node:child_process'
import { isLeft, left } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { assistant, memoryStore, system, toolCall, toolResult, user, type Message, type Store } from 'indelible'
import { createRefHistory, hydratePartial } from '@indelible/workflows/refs'
import type { BlockId } from '../../../../src/proof/internal.ts'
import {
  chatStep,
  historyActivities,
  type ActivityFault,
  type StreamEvent,
  type StreamInput,
} from '@indelible/workflows/activities'
import {
  answerAction,
  beginAction,
  endStream,
  readKnownAction,
  recordFailure,
  type Change,
  type KnownAction,
} from '../../src/activities/actions.ts'
import { isRetryable } from '../../src/activities/failure.ts'
import { scriptedModel, type Model, type ModelRequest } from 'indelible/run'
import { programUrl } from '../../../../test/programs.ts'
import { ok } from '../../../../test/task-results.ts'
import { begun, ends, engine, failed, registry, registryOf, wanted } from './engine.ts'

describe('invalid activity input', () => {
  const store = memoryStore()
  const bad: Readonly<Record<string, unknown>> = {
    'the history is a text': { history: 'x' },
    'the history is null': { history: null },
    'the limit is empty': { limit: {} },
    'the limit is two': { limit: { maxTokens: 1, maxChars: 1 } },
    'the budget is no number': { limit: { budget: NaN } },
    'the budget has no completion': { limit: { budget: { window: 10 } } },
    'the limit is null': { limit: { maxTokens: null } },
    'the limit is negative': { limit: { maxChars: -1 } },
    'the model is null': { model: null },
    'the model has no text for a name': { model: { name: 7 } },
    'the tools are null': { tools: null },
    'a tool is null': { tools: [null] },
    'a tool has an empty name': { tools: [{ name: '', parameters: {} }] },
    'a tool has no name': { tools: [{ parameters: {} }] },
    'a tool has no schema': { tools: [{ name: 't' }] },
    'the parameters are a list': { parameters: [] },
  }
  it.each(Object.keys(bad))('is not retriable, and its end is emitted: %s', async (what) => {
    const { activities, events } = engine({ store, registry: registry([assistant('x')]), attempts: 3 })
    const input = {
      action: what,
      model: wanted,
      history: (await begun(store, [user('SECRET')])).toJSON(),
      ...(bad[what] as object),
    }
    expect(await failed(activities.stream(input as StreamInput))).toMatchObject({
      tag: 'InvalidInput',
      name: 'PermanentFailure',
      message: expect.stringMatching(/^InvalidInput: .* should /) as string,
    })
    expect(ends(events)).toMatchObject([{ outcome: 'failed' }])
  })
  it('without an action id has no end to emit', async () => {
    const { activities, events } = engine({ store, registry: registry([assistant('x')]) })
    for (const action of ['', undefined, 7] as never[]) {
      expect(
        await failed(activities.stream({ action, model: wanted, history: createRefHistory().toJSON() })),
      ).toMatchObject({ tag: 'InvalidInput' })
      expect(await failed(activities.appendMessage({ action, message: user('x') }))).toMatchObject({
        tag: 'InvalidInput',
      })
      expect(await failed(activities.endStream({ action }))).toMatchObject({ tag: 'InvalidInput' })
    }
    expect(events).toEqual([])
  })
  it('of the other activities', async () => {
    const { activities } = engine({ store, registry: {} })
    const history = (await begun(store, [user('u')])).toJSON()
    for (const [limit, reason] of [
      [{}, 'the limit should be one of budget, maxTokens and maxChars'],
      [{ maxChars: 1, maxTokens: 1 }, 'the limit should be one of budget, maxTokens and maxChars'],
      [{ maxChars: NaN }, 'limit.maxChars should be a number of at least 0'],
      [{ maxTokens: -1 }, 'limit.maxTokens should be a number of at least 0'],
      [{ budget: 'x' }, 'limit.budget should be a number of at least 0'],
      [{ budget: { window: 1 } }, 'limit.budget should have a window and a completion: numbers of at least 0'],
      [{ budget: { completion: 1 } }, 'limit.budget should have a window and a completion: numbers of at least 0'],
    ] as const)
      expect(await failed(activities.manage({ history, ...limit } as never))).toMatchObject({
        tag: 'InvalidInput',
        message: expect.stringContaining(reason) as string,
      })
    expect(await activities.manage({ history, maxChars: 0 })).toMatchObject({ limit: 0, overBudget: true })
    expect(await failed(activities.hydrate({ history: 'x' as never }))).toMatchObject({ tag: 'InvalidInput' })
    const partial = await ok(
      hydratePartial(store, createRefHistory({ from: [{ blockIds: ['a'.repeat(64) as BlockId], role: 'user' }] })),
    )
    expect(
      await failed(activities.appendMessage({ action: 'p', message: partial.view().at(0) as Message })),
    ).toMatchObject({ tag: 'InvalidInput', message: expect.stringContaining('placeholder') as string })
  })
})

describe('privacy of failures: message content and thrown values', () => {
  const secret = new Error('SECRET of a library')
  const throws = (): never => {
    throw secret
  }
  it('are not in a failure for an invalid message, block or answer', async () => {
    const store = memoryStore()
    const { activities, state, failures } = engine({
      store,
      registry: registryOf({
        name: 'odd',
        stream: async function* () {
          yield {
            type: 'finish',
            message: { role: 'assistant', content: 'SECRET' },
            reason: 'end_turn',
            usage: { input: 0, output: 0 },
          } as never
        },
      }),
    })
    for (const message of [
      { role: 'user', content: 'SECRET text' },
      { role: 'SECRET', content: [] },
      { role: 'user', content: [{ type: 'text', text: 7n, note: 'SECRET' }] },
    ])
      // As whoever has the content calls it: what an engine writes of a call is what comes back.
      expect(
        (
          await failed(
            historyActivities({ store, registry: {} }).appendMessage({ action: 'm', message: message as never }),
          )
        ).message,
      ).not.toMatch(/SECRET/)
    const id = (
      await ok(
        store.putBlocks([new TextEncoder().encode('{"page":"conversation","message":{"role":"SECRET","content":[]}}')]),
      )
    )[0] as BlockId
    await failed(
      activities.stream({
        action: 'b',
        model: wanted,
        history: createRefHistory({ from: [{ blockIds: [id], role: 'user' }] }).toJSON(),
      }),
    )
    await failed(activities.stream({ action: 'c', model: wanted, history: (await begun(store, [user('u')])).toJSON() }))
    expect(failures.map(({ tag }) => tag)).toEqual(['MalformedBlock', 'InvalidAnswer'])
    expect(state()).not.toContain('SECRET')
  })
  it('are not in a failure of a throwing function; onFailure gets them', async () => {
    const store = memoryStore()
    const history = (await begun(store, [user('u')])).toJSON()
    const causes: unknown[] = []
    const onFailure = (fault: ActivityFault): unknown => causes.push('cause' in fault ? fault.cause : fault._tag)
    const tried = { action: 'a', model: wanted, history }
    const ways = [
      engine({ store, registry: { openai: { apiKey: 'k', model: throws } }, onFailure }),
      engine({ store, registry: registry([assistant('x')]), invocation: throws, onFailure }),
      engine({ store, registry: registry([assistant('x')]), derive: { estimate: throws }, onFailure }),
    ]
    for (const [index, { activities, state, events }] of ways.entries()) {
      const failure = await failed(
        activities.stream({ ...tried, action: `a ${index}`, ...(index === 2 && { limit: { budget: 1000 } }) }),
      )
      expect(failure).toMatchObject({ tag: 'Unexpected', retryable: true })
      expect(state()).not.toContain('SECRET')
      // An `invocation` that throws does not say that this was the last attempt.
      expect(ends(events)).toMatchObject(index === 1 ? [] : [{ outcome: 'failed' }])
    }
    expect(causes).toEqual([secret, secret, secret])
    const sink = engine({ store, registry: {}, events: { publish: throws } })
    expect(await failed(sink.activities.endStream({ action: 'z' }))).toMatchObject({
      tag: 'Unpublished',
      retryable: true,
    })
    expect(sink.state()).not.toContain('SECRET')
  })
  it('do not end a stream whose function threw and will be retried', async () => {
    const store = memoryStore()
    let calls = 0
    const registry = {
      openai: { apiKey: 'k', model: () => (calls++ === 0 ? throws() : scriptedModel([assistant('x')])) },
    }
    const { activities, events } = engine({ store, registry, attempts: 2 })
    await activities.stream({ action: 'a', model: wanted, history: (await begun(store, [user('u')])).toJSON() })
    expect(ends(events)).toMatchObject([{ attempt: 2, outcome: 'answered' }])
  })
})

it('throwing heartbeat and failure callbacks end neither the activity nor the process', async () => {
  const code = `
    const { assistant, createRefHistory, historyActivities, memoryStore, scriptedModel, user } = await import(${JSON.stringify(programUrl('packages/workflows/test/activities/activities-library.ts'))})
    for (const way of [() => { throw new Error('told') }, () => Promise.reject(new Error('told'))]) {
      let told
      const silent = new Promise((resolve) => { told = resolve })
      const tell = () => { told(); return way() }
      const slow = { name: 'slow', stream: async function* (request, signal) { await silent; yield* scriptedModel([assistant('x')]).stream(request, signal) } }
      const activities = historyActivities({ store: memoryStore(), registry: { openai: { apiKey: 'k', model: () => slow } }, heartbeat: tell, onFailure: tell, heartbeatEvery: 5, events: { publish: ({ type }) => { if (type === 'stream_start') throw new Error('no') } } })
      const history = createRefHistory()
      history.append((await activities.appendMessage({ action: 'q', message: user('go') })).ref)
      const { reason } = await activities.stream({ action: 'a', model: { name: 'gpt-x' }, history: history.toJSON() })
      const failure = await activities.hydrate({ history: 1 }).catch((error) => error)
      await new Promise((resolve) => setTimeout(resolve, 20))
      console.log(reason, failure.tag)
    }`
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    encoding: 'utf8',
  })
  expect([status, stdout, stderr]).toEqual([0, 'end_turn InvalidInput\n'.repeat(2), ''])
})

it('retriable failures are marked', () => {
  const worth: readonly ActivityFault[] = [
    { _tag: 'Io', operation: 'read', cause: 0 },
    { _tag: 'Busy', waited: 1 },
    { _tag: 'Full', path: 'x' },
    { _tag: 'Closed' },
    { _tag: 'Unpublished', action: 'a', event: 'stream_end', cause: 0 },
    { _tag: 'Unexpected', cause: new Error('x') },
    { _tag: 'InvalidAnswer', model: 'm', step: 0, reason: 'x', partial: {} as never },
    { _tag: 'StreamEndedEarly', model: 'm', step: 0, partialText: '', partial: {} as never },
  ]
  const not: readonly ActivityFault[] = [
    { _tag: 'Unexpected', cause: new TypeError('x is not a function') },
    { _tag: 'InvalidInput', reason: 'x' },
    { _tag: 'OtherAction', action: 'a' },
    { _tag: 'ActionEnded', action: 'a' },
    { _tag: 'Superseded', action: 'a' },
    { _tag: 'MissingBlock', ids: [] },
    { _tag: 'ReadOnly', path: 'x' },
  ]
  for (const fault of worth) expect([fault._tag, isRetryable(fault)]).toEqual([fault._tag, true])
  for (const fault of not) expect([fault._tag, isRetryable(fault)]).toEqual([fault._tag, false])
})

describe("a stream's requests and results", () => {
  const requests: ModelRequest[] = []
  const listening = (answer: Message): Model => ({
    name: 'l',
    stream: (request, signal) => (requests.push(request), scriptedModel([answer]).stream(request, signal)),
  })
  const long = 'x '.repeat(3000)

  it('rename a call id already used in the record outside of the context', async () => {
    const store = memoryStore()
    const history = await begun(store, [
      system('s'),
      user('first'),
      assistant('call', toolCall('call_0', 'read', { a: long })),
      toolResult('call_0', long),
      assistant(`ok ${long}`),
      user('now something else'),
    ])
    const { activities } = engine({
      store,
      registry: registryOf(
        scriptedModel([assistant('reading', toolCall('call_0', 'read', { b: 1 })), assistant('done')]),
      ),
    })
    const { calls } = await chatStep(activities, history, { action: 'a', model: wanted, limit: { maxTokens: 300 } })
    expect(calls).toEqual([{ id: 'call_0_2', name: 'read' }])
    history.append((await activities.appendMessage({ action: 'm', message: toolResult('call_0_2', 'result') })).ref)
    expect((await chatStep(activities, history, { action: 'b', model: wanted })).reason).toBe('end_turn')
  })
  it('do not wait for results of provider-executed calls', async () => {
    const store = memoryStore()
    const { activities } = engine({
      store,
      registry: registryOf(
        listening(
          assistant(
            toolCall('p1', 'web_search', {}),
            { type: 'tool_result', callId: 'p1', content: [] },
            toolCall('c1', 'read', {}),
          ),
        ),
      ),
    })
    const { calls } = await activities.stream({
      action: 'a',
      model: wanted,
      history: (await begun(store, [user('u')])).toJSON(),
    })
    expect(calls).toEqual([{ id: 'c1', name: 'read' }])
  })
  it('count tools against a budget, and apply a token limit', async () => {
    const store = memoryStore()
    const messages = Array.from({ length: 30 }, (_, turn) => [
      user(`question ${turn} ${'word '.repeat(50)}`),
      assistant(`answer ${turn} ${'word '.repeat(50)}`),
    ]).flat()
    const history = (await begun(store, [...messages, user('now')])).toJSON()
    const { activities } = engine({ store, registry: registryOf(listening(assistant('ok'))) })
    const sent = async (rest: Partial<StreamInput>): Promise<number> => {
      requests.splice(0)
      await activities.stream({ action: JSON.stringify(rest), model: wanted, history, ...rest })
      return JSON.stringify(requests[0]?.messages).length
    }
    const tools = [{ name: 'read', description: 'word '.repeat(1800), parameters: {} }]
    expect(await sent({ limit: { budget: 3000 } })).toBeGreaterThan(
      (await sent({ limit: { budget: 3000 }, tools })) + 2000,
    )
    const [tokens, more, chars] = [
      await sent({ limit: { maxTokens: 1000 } }),
      await sent({ limit: { maxTokens: 2000 } }),
      await sent({ limit: { maxChars: 1000 } }),
    ]
    expect(more).toBeGreaterThan(tokens * 1.5)
    expect(tokens).toBeGreaterThan(chars * 2)
  })
  it("use the host's policy and estimator", async () => {
    const store = memoryStore()
    const history = (await begun(store, [user('one '.repeat(100)), assistant('two'), user('three')])).toJSON()
    let estimated = 0
    const { activities } = engine({
      store,
      registry: registryOf(listening(assistant('ok'))),
      derive: { estimate: () => (estimated++, 1) },
    })
    await activities.stream({ action: 'a', model: wanted, history, limit: { budget: 100 } })
    expect(estimated).toBeGreaterThan(0)
  })
  it('report kept messages above the limit', async () => {
    const store = memoryStore()
    const history = (
      await begun(store, [
        user(`task ${long}`),
        assistant('x'),
        { ...user(`feedback ${long}`), meta: { indelible: { mark: 'feedback' } } },
        user('now'),
      ])
    ).toJSON()
    const { activities } = engine({ store, registry: registryOf(listening(assistant('ok'))) })
    expect(
      (await activities.stream({ action: 'a', model: wanted, history, limit: { maxChars: 500 } })).overBudget,
    ).toBe(true)
    expect(
      'overBudget' in (await activities.stream({ action: 'b', model: wanted, history, limit: { maxChars: 50_000 } })),
    ).toBe(false)
  })
  it('distinguish appended messages by page kind, too', async () => {
    const { activities } = engine({ store: memoryStore(), registry: {} })
    await activities.appendMessage({ action: 'a', message: user('x'), page: 'plan' })
    expect(await failed(activities.appendMessage({ action: 'a', message: user('x') }))).toMatchObject({
      tag: 'OtherAction',
    })
  })
  it('cache recently read blocks up to a limit', async () => {
    const reads = async (cacheBytes?: number): Promise<number> => {
      const store = memoryStore()
      let asked = 0
      const counting: Store = { ...store, getBlocks: (ids) => ((asked += ids.length), store.getBlocks(ids)) }
      const history = (await begun(store, [user('one'), user('two')])).toJSON()
      const activities = historyActivities({
        store: counting,
        registry: {},
        ...(cacheBytes !== undefined && { cacheBytes }),
      })
      for (let time = 0; time < 3; time++) await activities.hydrate({ history })
      return asked
    }
    expect([await reads(), await reads(0)]).toEqual([2, 6])
  })
  it('report a store that lost an action’s position', async () => {
    const store = memoryStore()
    const events: StreamEvent[] = []
    const activities = historyActivities({
      store: { ...store, create: () => storeTask(async () => left({ _tag: 'Full', path: 'x' }), 'store.create') },
      registry: registryOf(listening(assistant('ok'))),
      events: { publish: (event) => void events.push(event) },
      invocation: () => ({ last: true }),
    })
    expect(
      await failed(
        activities.stream({ action: 'a', model: wanted, history: (await begun(store, [user('u')])).toJSON() }),
      ),
    ).toMatchObject({ tag: 'Full', retryable: true })
    expect(ends(events)).toMatchObject([{ outcome: 'failed' }])
  })
})

describe('the state of an action', () => {
  const result = { reason: 'end_turn' }
  const failure = { tag: 'Io', message: 'Io: no' }
  const begun = { input: 'i', attempt: 2, ended: false }
  const answered = { ...begun, result, ended: true }
  const after = (change: Change, known: KnownAction | undefined): unknown => {
    const changed = change(known)
    return isLeft(changed) ? changed.left : changed.right
  }
  it('begins, and begins again with a later attempt, until it has a result', () => {
    const begin = beginAction('a', 'i', 1)
    expect(after(begin, undefined)).toEqual({ input: 'i', attempt: 1, ended: false })
    expect(after(begin, begun)).toEqual({ ...begun, attempt: 3 })
    expect(after(beginAction('a', 'i', 9), { ...begun, input: '' })).toEqual({ ...begun, attempt: 9 })
    expect(after(begin, answered)).toBe(answered)
    expect(after(begin, { ...begun, input: 'other' })).toEqual({ _tag: 'OtherAction', action: 'a' })
    expect(after(begin, { ...begun, ended: true })).toEqual({ _tag: 'ActionEnded', action: 'a' })
    expect(after(begin, { ...begun, ended: true, failure })).toEqual({ _tag: 'FailedBefore', action: 'a', failure })
  })
  it('keeps its first result', () => {
    const answer = (ended: boolean) => answerAction('a', 'i', result, ended)
    expect(after(answer(false), undefined)).toEqual({ input: 'i', attempt: 1, result, ended: false })
    expect(after(answer(false), begun)).toEqual({ ...begun, result })
    expect(after(answer(true), begun)).toEqual(answered)
    expect(after(answer(true), answered)).toBe(answered)
    expect(after(answer(true), { ...begun, input: 'other' })).toMatchObject({ _tag: 'OtherAction' })
  })
  it('records the failure of its latest attempt, and one end', () => {
    expect(after(recordFailure(2, failure), undefined)).toEqual({ input: '', attempt: 2, failure, ended: false })
    expect(after(recordFailure(2, failure), begun)).toEqual({ ...begun, failure })
    for (const known of [answered, { ...begun, ended: true }, { ...begun, result }])
      expect(after(recordFailure(2, failure), known)).toBe(known)
    expect(after(recordFailure(1, failure), begun)).toBe(begun)
    expect(after(endStream(3), undefined)).toEqual({ input: '', attempt: 3, ended: true })
    expect(after(endStream(1, failure), begun)).toEqual({ ...begun, ended: true, failure })
    expect(after(endStream(5), { ...begun, failure })).toEqual({ ...begun, attempt: 5, ended: true, failure })
    expect(after(endStream(5, failure), answered)).toBe(answered)
  })
  it('is read from what was stored, and from nothing else', () => {
    expect(readKnownAction({ ...answered, failure })).toEqual({ ...answered, failure })
    expect(readKnownAction({ input: 'i', ended: false })).toEqual({ input: 'i', attempt: 1, ended: false })
    for (const odd of [
      { result: null, failure: null },
      { result: 5, failure: {} },
      { failure: { tag: 'x' } },
      { failure: { message: 'x' } },
    ])
      expect(readKnownAction({ ...begun, ...odd })).toEqual(begun)
    for (const odd of [{ input: 5 }, { attempt: '1' }, { ended: undefined }])
      expect(readKnownAction({ ...begun, ...odd })).toBeUndefined()
  })
})
