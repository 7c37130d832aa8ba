/** Handlers that throw, lie, hang, or change what they are given: the run ends as every run does, with a settled record. */
import { isLeft, isRight, left } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  createHistory,
  createSession,
  memoryStore,
  settle,
  textOf,
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
  sessionHandler,
  tool,
  type RunEvent,
  type RunHandler,
  type RunOptions,
} from 'indelible/run'
import { pending } from '../../src/session/index.ts'

const start = ((): Settled<View<Message>> => {
  const found = settle(createHistory<Message>({ from: [user('go')] }).view())
  if (isLeft(found)) throw new Error('not settled')
  return found.right
})()
const add = tool({ name: 'add', parameters: {}, run: () => '3' })
const model = () => scriptedModel([assistant('Adding.', toolCall('c1', 'add', '{}')), assistant('Three it is.')])

const ran = async (handlers: readonly RunHandler[], options: Partial<RunOptions> = {}) => {
  const history = createHistory<Message>({ from: start })
  const stream = run({ model: model(), view: start, tools: [add], handlers: [...handlers, historyHandler(history)], ...options }) // oxfmt-ignore
  const events: RunEvent[] = []
  for await (const event of stream) events.push(event)
  const ended = await stream.result()()
  const result = isRight(ended) ? ended.right : ended.left.partial
  expect(history.view().toArray()).toEqual(result.messages)
  expect(isRight(settle(history.view()))).toBe(true)
  expect(events.at(-1)?.type).toBe('run_complete')
  return { ended, result }
}

const whole = 4
const then = ['th', 'en'].join('')
const withThen = (value: unknown): object => Object.defineProperty({}, then, { value })

describe('a run handler', () => {
  it('returning nothing in any form is not a refusal', async () => {
    for (const answer of [undefined, null, 0, '', false, {}, { _tag: 'Right' }, 'Left', new Map()])
      expect((await ran([() => answer as never])).result.messages.length).toBe(whole)
  })

  it('returning an unreadable value ends the run as a refusal of that event', async () => {
    const proxy = new Proxy({}, { get: (_, key) => { if (key !== 'then') throw new Error('a trap') } }) // oxfmt-ignore
    const getter = { get _tag() { throw new Error('a getter') } } // oxfmt-ignore
    const throws = (): never => {
      throw new Error('a then')
    }
    const thenable = withThen(throws)
    for (const answer of [proxy, getter, thenable]) {
      const { ended } = await ran([(event) => (event.type === 'tool_result' ? (answer as never) : undefined)])
      expect(ended).toMatchObject({ left: { _tag: 'HandlerFailed', event: 'tool_result', step: 0 } })
    }
  })

  it('throwing anything at any event ends the run there, with nothing recorded twice or unsettled', async () => {
    const seen = new Set<string>()
    await ran([(event) => void seen.add(event.type)])
    for (const type of seen)
      for (const thrown of [new Error('no'), undefined, null, 'text', left('x'), { _tag: 'Right' }]) {
        const { ended } = await ran([(event) => { if (event.type === type) throw thrown }]) // oxfmt-ignore
        expect(ended).toMatchObject({ left: { _tag: 'HandlerFailed', event: type } })
      }
  })

  it('cannot change an event or announced data for later handlers', async () => {
    const attempts: [string, unknown][] = []
    const vandal: RunHandler = (event, ahead) => {
      const reach = (value: unknown, path: string): void => {
        if (typeof value !== 'object' || value === null) return
        for (const key of [...Reflect.ownKeys(value), 'forged'])
          if (Reflect.set(value, key, 'forged')) attempts.push([`${path}.${String(key)}`, value])
        for (const key of Reflect.ownKeys(value))
          reach((value as Record<PropertyKey, unknown>)[key], `${path}.${String(key)}`)
      }
      reach(event, event.type)
      reach(ahead, 'ahead')
    }
    const { result } = await ran([Object.assign(vandal, { lookAhead: 5 })])
    expect(attempts.map(([path]) => path)).toEqual([])
    expect(result.messages.length).toBe(whole)
  })

  it('keeps its initial list even if the array changes during the run', async () => {
    const output: string[] = []
    const handlers: RunHandler[] = [() => void handlers.push(() => void output.push('late'))]
    await run({ model: model(), view: start, tools: [add], handlers }).result()
    expect(output).toEqual([])
  })

  it('begins after the caller has the stream', async () => {
    const order: string[] = []
    const handler: RunHandler = Object.assign(() => undefined, { begin: () => void order.push('begin') })
    const stream = run({ model: model(), view: start, tools: [add], handlers: [handler] })
    order.push('returned')
    await stream.result()
    expect(order).toEqual(['returned', 'begin'])
  })

  it('has its end called once before run_complete, also without a begin', async () => {
    const order: string[] = []
    const handler: RunHandler = Object.assign(
      ({ type }: RunEvent) => void (type === 'run_complete' && order.push(type)),
      {
        end: () => void order.push('end'),
      },
    )
    await ran([handler])
    expect(order).toEqual(['end', 'run_complete'])
  })

  it("whose begin or end throws or rejects does not prevent the run's end", async () => {
    const end = (work: () => unknown): RunHandler =>
      Object.assign(() => undefined, { begin: () => undefined, end: work })
    for (const work of [
      () => {
        throw new Error('no')
      },
      async () => {
        throw new Error('no')
      },
      () => withThen(7),
    ])
      // oxfmt-ignore
      expect((await ran([end(work)])).result.stopReason).toBe('end_turn')
    const begin: RunHandler = Object.assign(() => undefined, { begin: () => { throw new Error('not today') } }) // oxfmt-ignore
    expect((await ran([begin])).ended).toMatchObject({ left: { _tag: 'HandlerFailed', event: 'begin', step: 0 } })
  })

  it('that never resolves ends the run at its time limit, if any', async () => {
    for (const type of ['step_start', 'model_event', 'tool_call_start', 'tool_result', 'history_delta'] as const) {
      const hangs: RunHandler = (event) => (event.type === type ? new Promise(() => undefined) : undefined)
      const { ended } = await ran([hangs], { limits: { handlerTimeout: 20 } })
      expect(ended).toMatchObject({
        left: {
          _tag: 'HandlerFailed',
          event: type,
          cause: { message: 'the handler did not answer within 20 ms' },
        },
      })
    }
    expect(() => run({ model: model(), view: start, limits: { handlerTimeout: -1 } })).toThrow(
      'limits.handlerTimeout is',
    )
  })
})

describe('a handler that fails after a tool has run', () => {
  const types = ['tool_result', 'step_complete', 'history_delta', 'approval'] as const
  it.each(types)('at %s loses nothing: every handler and the partial result have a settled step', async (type) => {
    for (const place of ['before', 'after'] as const) {
      const history = createHistory<Message>({ from: start })
      const fails: RunHandler = (event) => { if (event.type === type) throw new Error('log server down') } // oxfmt-ignore
      const record = historyHandler(history)
      const output: string[] = []
      const stream = run({
        model: scriptedModel([assistant(toolCall('c1', 'add', '{}'), toolCall('c2', 'sub', '{}'), toolCall('c3', 'add', '{}'))]), // oxfmt-ignore
        view: start,
        tools: [add, tool({ name: 'sub', parameters: {}, needsApproval: type === 'approval', run: () => '1' })],
        toolConcurrency: 1,
        handlers: [...(place === 'before' ? [fails, record] : [record, fails]), ({ type }) => void output.push(type)],
      })
      const ended = await stream.result()()
      expect(ended).toMatchObject({ left: { _tag: 'HandlerFailed', event: type } })
      if (!isLeft(ended)) throw new Error('no fault')
      expect(history.view().toArray()).toEqual(ended.left.partial.messages)
      expect(isRight(settle(history.view()))).toBe(true)
      const results = history.view().toArray().flatMap(({ content }) => content).filter((part) => part.type === 'tool_result') // oxfmt-ignore
      const notRun = { isError: true, content: [{ text: 'Not run. The run ended with a fault before this call.' }] }
      const first = { callId: 'c1', content: [{ text: '3' }] }
      const rest = type === 'tool_result' ? [notRun, notRun] : type === 'approval' ? [notRun, {}] : [{}, {}]
      expect(results).toMatchObject([first, ...rest])
      expect(output.slice(-2)).toEqual(['history_delta', 'run_complete'])
    }
  })

  it('at the last event before an early append gives the session the same delta, once', async () => {
    const session = await createSession(memoryStore(), { id: 's', messages: [user('go')] })
    const fails: RunHandler = (event) => (event.type === 'tool_result' ? left('no') : undefined)
    const handlers = [sessionHandler(session), fails]
    const ended = await run({ model: model(), view: start, tools: [add], handlers }).result()()
    if (!isLeft(ended)) throw new Error('no fault')
    expect(session.conversation().toArray()).toEqual(ended.left.partial.messages)
    expect(session.conversation().length).toBe(3)
    expect(pending(session).steps).toEqual([])
  })

  it('in the middle of a text keeps the text so far, marked, in the partial result and in a session', async () => {
    const session = await createSession(memoryStore(), { id: 's', messages: [user('go')] })
    for (const others of [[], [sessionHandler(session)]]) {
      const fails: RunHandler = (event) =>
        event.type === 'model_event' && event.event.type === 'text_delta' && event.event.text === ' two'
          ? left('no')
          : undefined
      const ended = await run({ model: scriptedModel([assistant('one two three')]), view: start, handlers: [fails, ...others] }).result()() // oxfmt-ignore
      expect(ended).toMatchObject({ left: { _tag: 'HandlerFailed', event: 'model_event', cause: 'no' } })
      const { messages } = isLeft(ended) ? ended.left.partial : { messages: [] }
      expect(messages.map(textOf)).toEqual(['go', 'one two [interrupted]'])
      if (others.length > 0) expect([session.conversation().toArray(), pending(session).steps]).toEqual([messages, []])
    }
  })

  it('at an interrupt loses neither the kept text nor the message', async () => {
    const history = createHistory<Message>({ from: start })
    const cut: RunHandler = (event) => {
      if (event.type === 'model_event' && event.event.type === 'text_delta')
        stream.interrupt({ behavior: 'savePartial', message: 'Other.' })
      return event.type === 'interrupted' ? left('no') : undefined
    }
    const stream = run({ model: scriptedModel([assistant('one two')]), view: start, handlers: [cut, historyHandler(history)] }) // oxfmt-ignore
    expect(await stream.result()()).toMatchObject({ left: { event: 'interrupted' } })
    expect(history.view().toArray()).toEqual([user('go'), assistant('one'), user('Other.')])
  })
})

describe('the open step that a run continues', () => {
  it('is checked before the run starts, and decisions need it', async () => {
    const needs = tool({ name: 'add', parameters: {}, needsApproval: true, run: () => '3' })
    const { open } = (await ran([], { tools: [needs] })).result
    if (open === undefined) throw new Error('nothing waits')
    const go = (value: unknown) => () =>
      run({ model: model(), view: start, tools: [needs], open: value as typeof open, approve: [] })
    const wrong = { step: 7, response: { message: 7 }, results: [null], calls: [{}] }
    for (const [field, value] of Object.entries(wrong))
      expect(go({ ...open, [field]: value })).toThrow(`run: \`open.${field === 'response' ? 'response.message' : field}\` is not that of a step`) // oxfmt-ignore
    for (const given of [null, 7, {}, { step: 'x' }]) expect(go(given)).toThrow(TypeError)
    for (const decision of ['approve', 'deny'])
      expect(() =>
        run({ model: model(), view: start, [decision]: open.calls.map(({ approval }) => approval) }),
      ).toThrow('pass result.open too')
  })

  it('is a copy, frozen in its events', async () => {
    const needs = tool({ name: 'add', parameters: {}, needsApproval: true, run: () => '3' })
    const first = await ran([], { tools: [needs] })
    expect(first.result.stopReason).toBe('approval')
    const open = JSON.parse(JSON.stringify(first.result.open)) as NonNullable<typeof first.result.open>
    const approve = open.calls.map(({ approval }) => approval)
    const loose: string[] = []
    const watch: RunHandler = (event) => {
      approve.length = 0
      ;(open.response.message.content as unknown[]).length = 0
      const look = (value: unknown, path: string): void => {
        if (typeof value !== 'object' || value === null) return
        if (!Object.isFrozen(value)) loose.push(path)
        for (const [key, inner] of Object.entries(value)) look(inner, `${path}.${key}`)
      }
      look(event, event.type)
    }
    const { result } = await ran([watch], {
      tools: [needs],
      open,
      approve,
      model: scriptedModel([assistant('Three.')]),
    })
    expect(loose).toEqual([])
    expect([result.stopReason, result.messages.length]).toEqual(['end_turn', whole])
  })
})

describe('a callback that never resolves', () => {
  const never = (): Promise<never> => new Promise(() => undefined)
  const hanging = { name: 'add', parameters: {}, run: () => '3' }
  const tools = [
    ['needsApproval', tool({ ...hanging, needsApproval: never })],
    ['the validation of a schema', tool({ ...hanging, schema: { '~standard': { version: 1, vendor: 'x', validate: never } } })], // oxfmt-ignore
  ] as const

  it.each(tools)("%s ends with the run's time limit and with a cancel", async (_, hangs) => {
    const late = await ran([], { tools: [hangs], limits: { timeout: 30 } })
    expect(late.result.stopReason).toBe('timeout')
    const stop: RunHandler = (event) => {
      if (event.type === 'model_event' && event.event.type === 'finish') setTimeout(() => stream.cancel(), 0)
    }
    const stream = run({ model: model(), view: start, tools: [hangs], handlers: [stop] })
    expect((await stream.result()).stopReason).toBe('cancelled')
  })

  it('begin ends with the time limit and with a cancel, and is ended when it resolves late', async () => {
    for (const ending of ['timeout', 'cancelled'] as const) {
      let answer: (() => void) | undefined
      const seen: string[] = []
      const slow: RunHandler = Object.assign((event: RunEvent) => void seen.push(event.type), {
        begin: () => new Promise<void>((resolve) => (answer = resolve)),
        end: () => seen.push('end'),
      })
      const stream = run({
        model: model(),
        view: start,
        handlers: [slow],
        limits: ending === 'timeout' ? { timeout: 30 } : {},
      })
      if (ending === 'cancelled') setTimeout(() => stream.cancel(), 0)
      expect((await stream.result()).stopReason).toBe(ending)
      expect(seen).toEqual([])
      answer?.()
      await new Promise((resolve) => void setTimeout(resolve, 0))
      expect(seen).toEqual(['end'])
    }
  })
})
