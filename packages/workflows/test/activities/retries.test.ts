/** What a workflow engine makes of failures: what it retries, what reaches the workflow, and what is stored once. */
import { describe, expect, it } from 'vitest'
import { build } from 'vite'
import { join } from 'node:path'
import { assistant, memoryStore, textOf, toolCall, toolResult, user, type Store } from 'indelible'
import { createRefHistory, hydrate, parseHistoryJson, type MessageRef } from '@indelible/workflows/refs'
import { keyValueBlocks, type BlockStore, type KeyValueStore } from 'indelible/store'
import {
  type ActivityFailure,
  type HistoryActivities,
  chatStep,
  historyActivities,
  PermanentFailure,
  RetryableFailure,
  type StreamEvent,
} from '@indelible/workflows/activities'
import { scriptedModel, tool, type Model, type ModelRequest } from 'indelible/run'
import { rounds } from '../../../../test/rounds.ts'
import { ok } from '../../../../test/task-results.ts'
import { root } from '../../../../scripts/run.ts'
import { keyValueMap } from '../../../../test/store/key-value-map.ts'
import { begun, ends, failed, registry, registryOf, wanted } from './engine.ts'

const failing = (times: number, error: object): { readonly model: Model; readonly calls: () => number } => {
  let calls = 0
  return {
    calls: () => calls,
    model: {
      name: 'flaky',
      stream: async function* (request, signal) {
        if (calls++ < times) throw Object.assign(new Error('over'), error)
        yield* scriptedModel([assistant(`answer ${calls}`)]).stream(request, signal)
      },
    },
  }
}
const inputOf = async (store: Store | BlockStore) => ({
  action: 'a',
  model: wanted,
  history: (await begun(store as Store, [user('u')])).toJSON(),
})

describe('an activity failure', () => {
  it('has its own class, whose name survives minification', async () => {
    const built = await build({
      configFile: false,
      logLevel: 'silent',
      root,
      build: {
        write: false,
        minify: true,
        lib: { entry: join(root, 'packages/workflows/src/activities/failure.ts'), formats: ['es'] },
      },
    })
    const [output] = Array.isArray(built) ? built : [built]
    const chunk = output !== undefined && 'output' in output ? output.output[0] : undefined
    const code = chunk?.type === 'chunk' ? chunk.code : ''
    const module = (await import(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`)) as {
      readonly failureOf: (fault: object) => Error
    }
    const names = ['Busy', 'ReadOnly'].map((_tag) => {
      const failure = module.failureOf({ _tag, waited: 1, path: 'x' })
      return [failure.name, failure.constructor.name]
    })
    expect(names).toEqual([
      ['RetryableFailure', 'RetryableFailure'],
      ['PermanentFailure', 'PermanentFailure'],
    ])
  })
  it('is mapped by the host in every function; a throwing map hides nothing', async () => {
    class HostError extends Error {}
    const store = memoryStore()
    const seen: ActivityFailure[] = []
    const activities = historyActivities({
      store,
      registry: {},
      failure: (failure) => (seen.push(failure), new HostError(failure.tag)),
    })
    const bad = { action: '', history: 7 as never, message: user('x'), model: wanted, maxChars: 1, refs: [{}] as never }
    const all = { ...bad, call: { id: 'c', name: 'n' }, olderThan: NaN }
    for (const [name, call] of Object.entries(activities))
      await expect((call as (input: unknown) => Promise<unknown>)(all), name).rejects.toBeInstanceOf(HostError)
    expect(seen.length).toBe(Object.keys(activities).length)
    expect(seen.every((failure) => failure instanceof PermanentFailure)).toBe(true)
    const throwing = historyActivities({
      store,
      registry: {},
      failure: () => {
        throw new Error('mine')
      },
    })
    expect(await failed(throwing.stream(all))).toBeInstanceOf(PermanentFailure)
  })
  it.each(['a store', 'key-value'])('of the first attempt is repeated by every later one, on %s', async (kind) => {
    const store = kind === 'a store' ? memoryStore() : keyValueBlocks(keyValueMap())
    const input = { ...(await inputOf(store)), model: { name: 'x', type: 'nonsense' } }
    for (let worker = 0; worker < 3; worker++)
      expect(await failed(historyActivities({ store, registry: {} }).stream(input))).toMatchObject({
        tag: 'UnknownModelType',
        name: 'PermanentFailure',
      })
    const refused = { ...(await inputOf(store)), action: 'b' }
    const host = () => historyActivities({ store, registry: registryOf(failing(9, { status: 401 }).model) })
    for (let worker = 0; worker < 3; worker++)
      expect(await failed(host().stream(refused))).toMatchObject({ tag: 'ModelFailed', status: 401, retryable: false })
  })
  it('that is retriable ends no action unless the host rules out a retry', async () => {
    const store = memoryStore()
    const events: StreamEvent[] = []
    const { model, calls } = failing(2, { status: 503 })
    const activities = historyActivities({
      store,
      registry: registryOf(model),
      events: { publish: (event) => void events.push(event) },
    })
    const input = await inputOf(store)
    for (const status of [503, 503])
      expect(await failed(activities.stream(input))).toMatchObject({ name: 'RetryableFailure', status })
    expect(ends(events)).toEqual([])
    expect((await activities.stream(input)).reason).toBe('end_turn')
    expect(calls()).toBe(3)
    expect(ends(events)).toMatchObject([{ outcome: 'answered', attempt: 3 }])
  })
  it('of the last attempt is what an abandoned action reports later', async () => {
    const store = memoryStore()
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const { promise: begins, resolve: begin } = Promise.withResolvers<void>()
    const slow: Model = {
      name: 'slow',
      stream: async function* (request, signal) {
        begin()
        await released
        yield* failing(9, { status: 529 }).model.stream(request, signal)
      },
    }
    const [first, host] = [slow, failing(9, { status: 503 }).model].map((model, index) =>
      historyActivities({ store, registry: registryOf(model), invocation: () => ({ attempt: index + 1 }) }),
    ) as [HistoryActivities, HistoryActivities]
    const input = await inputOf(store)
    const abandoned = failed(first.stream(input))
    await begins
    expect(await failed(host.stream(input))).toBeInstanceOf(RetryableFailure)
    release()
    expect(await abandoned).toMatchObject({ status: 529 })
    await host.endStream({ action: 'a' })
    expect(await failed(host.stream(input))).toMatchObject({
      name: 'PermanentFailure',
      tag: 'ModelFailed',
      status: 503,
    })
  })
  it.each([
    ['seconds', { headers: new Headers({ 'retry-after': '7' }) }, 7000],
    ['milliseconds', { headers: { 'Retry-After-Ms': '1500', 'retry-after': '2' } }, 1500],
    ['as ai says it', { lastError: { responseHeaders: { 'retry-after': '3' } } }, 3000],
    ['a date that is over', { headers: { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' } }, 0],
    ['nonsense', { headers: { 'retry-after': 'soon' } }, undefined],
    ['nothing', {}, undefined],
    ['an empty text', { headers: { 'retry-after': ' ' } }, undefined],
    ['a number', { headers: { 'retry-after': 7 } }, undefined],
    ['no time at all', { headers: { 'retry-after-ms': '0', 'retry-after': '7' } }, 0],
    ['a time before now', { headers: { 'retry-after-ms': '-1', 'retry-after': ' 0.0001 ' } }, 1],
    ['in the cause of its cause', { cause: { cause: { responseHeaders: { 'retry-after': '3' } } } }, 3000],
    ['too deep', { cause: { cause: { cause: { headers: { 'retry-after': '3' } } } } }, undefined],
    ['headers that are none', { headers: 'retry-after: 3', cause: { headers: { 'retry-after': '4' } } }, 4000],
  ])("has the provider's requested delay: %s", async (_, headers, expected) => {
    const store = memoryStore()
    const { model } = failing(1, { status: 429, ...headers })
    const failure = await failed(historyActivities({ store, registry: registryOf(model) }).stream(await inputOf(store)))
    expect([failure.retryable, failure.retryAfter]).toEqual([true, expected])
  })
})

describe('two workers over one key-value store', () => {
  const workers = (keyValue: KeyValueStore, store: Store | BlockStore = keyValueBlocks(keyValue)) => {
    const events: StreamEvent[] = []
    let calls = 0
    const model: Model = {
      name: 'counting',
      stream: (request, signal) => scriptedModel([assistant(`answer ${++calls}`)]).stream(request, signal),
    }
    const worker = () =>
      historyActivities({
        store,
        registry: registryOf(model),
        events: { publish: (event) => void events.push(event) },
      })
    return { events, worker, calls: () => calls }
  }
  it('repeat a lost first answer, with one call and one end', async () => {
    const map = keyValueMap()
    const { events, worker, calls } = workers(map)
    const input = await inputOf(keyValueBlocks(map))
    const first = await worker().stream(input)
    expect(await worker().stream(input)).toEqual(first)
    expect(calls()).toBe(1)
    expect(ends(events).length).toBe(1)
    expect(await failed(worker().stream({ ...input, model: { name: 'gpt-other' } }))).toMatchObject({
      tag: 'OtherAction',
    })
    const { ref } = await worker().appendMessage({ action: 'm', message: user('x') })
    expect((await worker().appendMessage({ action: 'm', message: user('x') })).ref).toEqual(ref)
    expect(await failed(worker().appendMessage({ action: 'm', message: user('y') }))).toMatchObject({
      tag: 'OtherAction',
    })
  })
  it.each(['key-value', 'a store'])('count one of simultaneous answers and emit one end, on %s', async (kind) => {
    const map = keyValueMap()
    const store = kind === 'a store' ? memoryStore() : keyValueBlocks(map)
    const { events, worker } = workers(map, store)
    const input = await inputOf(store)
    const answers = await Promise.all(Array.from({ length: 5 }, () => worker().stream(input)))
    expect(new Set(answers.map(({ ref }) => ref?.blockIds[0])).size).toBe(1)
    expect(ends(events)).toMatchObject([{ outcome: 'answered' }])
  })
  it('have no such guarantee without putIfAbsent: each process remembers alone', async () => {
    const { putIfAbsent: _, ...map } = keyValueMap()
    const { worker, calls } = workers(map)
    const input = await inputOf(keyValueBlocks(map))
    await worker().stream(input)
    await worker().stream(input)
    expect(calls()).toBe(2)
  })
})

describe('stored actions', () => {
  it.each(['a store', 'key-value', 'a store of blocks alone'])('are deleted by age, on %s', async (kind) => {
    const store =
      kind === 'a store'
        ? memoryStore({ now: () => now })
        : keyValueBlocks(kind === 'key-value' ? keyValueMap() : { ...keyValueMap(), putIfAbsent: undefined as never })
    let now = 1_000_000
    const activities = historyActivities({ store, registry: registry([assistant('x')]), now: () => now })
    const say = (action: string) => activities.appendMessage({ action, message: user(action) })
    const { ref } = await say('old')
    now += 10_000
    await say('young')
    expect(await activities.forgetActions({ olderThan: 5000 })).toEqual({ forgotten: 1 })
    expect(await activities.forgetActions({ olderThan: 5000 })).toEqual({ forgotten: 0 })
    expect((await activities.appendMessage({ action: 'old', message: user('another') })).ref).not.toEqual(ref)
    expect(await failed(activities.appendMessage({ action: 'young', message: user('another') }))).toMatchObject({
      tag: 'OtherAction',
    })
    await ok(hydrate(store, createRefHistory({ from: [ref] })))
  })
  it('of a store that cannot list keys give advice', async () => {
    const { keys: _, ...map } = keyValueMap()
    const activities = historyActivities({ store: keyValueBlocks(map), registry: {} })
    expect(await failed(activities.forgetActions({ olderThan: 0 }))).toMatchObject({
      tag: 'InvalidInput',
      message: expect.stringContaining('let the store expire') as string,
    })
  })
})

describe('chat signals', () => {
  const requests: ModelRequest[] = []
  const listening = (...answers: readonly ReturnType<typeof assistant>[]): Model => {
    const script = scriptedModel(answers)
    return { name: 'l', stream: (request, signal) => (requests.push(request), script.stream(request, signal)) }
  }
  it('that arrived out of place are sent in order; with a limit, as a message where they came', async () => {
    for (const limit of [undefined, { maxChars: 10_000 }]) {
      requests.splice(0)
      const store = memoryStore()
      const history = await begun(store, [
        user('u'),
        assistant(toolCall('c1', 'read', {})),
        user('meanwhile'),
        toolResult('c1', 'found'),
      ])
      const activities = historyActivities({ store, registry: registryOf(listening(assistant('ok'))) })
      await chatStep(activities, history, { action: 'a', model: wanted, ...(limit && { limit }) })
      const sent = Array.from(requests[0]?.messages ?? [], ({ role }) => role)
      expect(sent).toEqual(['user', 'assistant', 'tool', 'user', ...(limit ? ['user'] : [])])
    }
  })
  it('wait in the inbox until the step and its tools are done, in the order in which they came', async () => {
    requests.splice(0)
    const store = memoryStore()
    const activities = historyActivities({
      store,
      registry: registryOf(listening(assistant(toolCall('c1', 'read', {})), assistant('done'), assistant('sure'))),
      tools: [tool({ name: 'read', parameters: {}, run: () => 'found' })],
    })
    const say = async (text: string): Promise<MessageRef> =>
      (await activities.appendMessage({ action: text, message: user(text) })).ref
    const history = createRefHistory({ from: [await say('question')] })
    const [messageRef, two, three] = [await say('one'), await say('two'), await say('three')]
    const step = chatStep(activities, history, { action: '1', model: wanted })
    expect(history.receive(messageRef)).toBe(undefined)
    const [call] = (await step).calls
    if (call === undefined) throw new Error('no call')
    history.receive(two)
    expect(history.len).toBe(2)
    expect(history.inbox.length).toBe(2)
    const saved = JSON.stringify(history)
    history.append((await activities.runTool({ action: 't', history: history.toReference(), call })).ref)
    const next = chatStep(activities, history, { action: '2', model: wanted })
    history.receive(three)
    expect((await next).seen).toBe(5)
    const said = async (): Promise<readonly string[]> =>
      (await ok(hydrate(store, history)))
        .view()
        .toArray()
        .map((message) => `${message.role} ${textOf(message)}`)
    expect(await said()).toEqual([
      'user question',
      'assistant ',
      'tool found',
      'user one',
      'user two',
      'assistant done',
      'user three',
    ])
    expect(history.inbox).toEqual([])
    await chatStep(activities, history, { action: '3', model: wanted })
    expect(requests.map(({ messages }) => Array.from(messages, ({ role }) => role).at(-1))).toEqual([
      'user',
      'user',
      'user',
    ])
    const read = parseHistoryJson(saved)
    if (read._tag === 'Left' || read.right.kind !== 'refs') throw new Error('no refs')
    expect(read.right.history.receive(three)).toBe(undefined)
    read.right.history.release()
    expect(read.right.history.refs().slice(2)).toEqual([messageRef, two, three])
  })
  it('that arrived during a failed step are not lost', async () => {
    const store = memoryStore()
    const activities = historyActivities({ store, registry: registryOf(failing(9, { status: 400 }).model) })
    const history = await begun(store, [user('u')])
    const { ref } = await activities.appendMessage({ action: 'm', message: user('meanwhile') })
    const step = failed(chatStep(activities, history, { action: 'a', model: wanted }))
    history.receive(ref)
    expect(await step).toMatchObject({ status: 400 })
    expect(history.refs()[1]).toEqual(ref)
  })
})

describe('a history saved in another form', () => {
  const chat = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: 'hello' },
    { role: 'user', content: 'why?' },
  ]
  it('is adopted by stream and manage, and the workflow continues with its refs', async () => {
    const store = memoryStore()
    const activities = historyActivities({ store, registry: registry([assistant('because')]) })
    const answer = await activities.stream({ action: 'a', model: wanted, history: chat })
    const managed = await activities.manage({ history: chat, maxChars: 10_000 })
    const { history, losses } = await activities.adopt({ history: chat })
    expect([answer.adopted, managed.adopted, losses]).toEqual([history, history, 0])
    expect(await activities.stream({ action: 'a', model: wanted, history })).toEqual({ ...answer, adopted: history })
    expect((await activities.hydrate({ history })).messages.map(textOf)).toEqual(['hi', 'hello', 'why?'])
  })
  it('with keys of another system is adopted if the host maps them', async () => {
    const map = new Map([['f:msg:0', new TextEncoder().encode('{"type":"text","text":"kept"}')]])
    const saved = { type: 'llm2' as const, flowId: 'f', refs: [{ blockKeys: ['0'], role: 'user' }] }
    const without = historyActivities({ store: memoryStore(), registry: {} })
    expect(await failed(without.manage({ history: saved, maxChars: 100 }))).toMatchObject({ tag: 'InvalidInput' })
    const activities = historyActivities({ store: memoryStore(), registry: {}, adopt: { keyValue: keyValueMap(map) } })
    const { history } = await activities.manage({ history: saved, maxChars: 100 })
    expect((await activities.hydrate({ history })).messages.map(textOf)).toEqual(['kept'])
  })
  it('is managed into a new history, also if messages are shortened', async () => {
    const store = memoryStore()
    const long = 'word '.repeat(2000)
    const history = await begun(store, [
      user('task'),
      assistant('call', toolCall('c1', 'read', {})),
      toolResult('c1', long),
      assistant('seen'),
      user('and now?'),
    ])
    const activities = historyActivities({ store, registry: {} })
    const managed = await activities.manage({ history, maxChars: 500 })
    const { messages } = await activities.hydrate({ history: managed.history })
    expect(JSON.stringify(messages).length).toBeLessThan(1500)
    expect(messages.at(-1)).toEqual(user('and now?'))
    expect(managed.history.refs.at(-1)).toEqual(history.refs().at(-1))
    const whole = await activities.manage({ history, maxChars: 100_000 })
    expect(whole.history).toEqual(history.toJSON())
  })
})

const messages = rounds(3000, 20_000)
it(`an input names ${messages} messages in under 10 kB, and an answer adds O(log n) bytes`, async () => {
  const store = memoryStore()
  const refs = (await begun(store, [user('same')])).refs()
  const history = createRefHistory({ from: Array.from({ length: messages }, () => refs[0] as MessageRef) })
  const hosted = historyActivities({ store, registry: registry(['a', 'b', 'c'].map((text) => assistant(text))) })
  const inputs: number[] = []
  let kept = 0
  const activities = {
    stream: (input: Parameters<typeof hosted.stream>[0]) => {
      inputs.push(JSON.stringify(input).length)
      return hosted.stream(input)
    },
    keepRefs: (input: Parameters<typeof hosted.keepRefs>[0]) => {
      inputs.push(JSON.stringify(input).length)
      kept += 1
      return hosted.keepRefs(input)
    },
  }
  for (const action of ['1', '2', '3']) {
    await chatStep(activities, history, { action, model: wanted, tree: true, limit: { maxChars: 1000 } })
    expect(history.tree?.len).toBe(history.len - 1)
    expect(kept).toBe(messages / 50 - 1) // the first time, for a history that was in no tree
  }
  expect(Math.max(...inputs)).toBeLessThan(10_000)
  expect(inputs.slice(-2).every((bytes) => bytes < 1000)).toBe(true)
})
