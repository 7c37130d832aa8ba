/** `limits.softTimeout`: nothing new starts after it, and the next request continues without running a tool again. */
import { describe, expect, it } from 'vitest'
import {
  assistant,
  createSession,
  memoryStore,
  openSession,
  textOf,
  toolCall,
  user,
  type Message,
  type Store,
} from 'indelible'
import { inputsOf, resume, run, scriptedModel, tool, turn, type RunResult, type TurnOptions } from 'indelible/run'

const calls = assistant(
  'Three.',
  toolCall('a', 'work', '{"n":1}'),
  toolCall('b', 'work', '{"n":2}'),
  toolCall('c', 'work', '{"n":3}'),
)

type Options = Omit<TurnOptions, 'whenBusy' | 'wait' | 'id'>

/** A tool that takes 10 seconds of a clock, and the calls that it had. */
const working = () => {
  let now = 0
  const clock = { now: () => now, after: () => ({ cancel: () => undefined }) }
  const ran: number[] = []
  const work = tool({
    name: 'work',
    parameters: {},
    run: (input) => {
      ran.push((input as { n: number }).n)
      now += 10_000
      return 'done'
    },
  })
  return { clock, ran, work }
}

const textsOf = (messages: Iterable<Message>): readonly string[] =>
  [...messages].map(
    ({ role, content }) =>
      `${role}: ${content.map((part) => (part.type === 'tool_result' ? textOf({ role: 'user', content: part.content }) : part.type === 'text' ? part.text : part.type)).join(' ')}`,
  )

const whole = [
  'user: go',
  'assistant: Three. tool_call tool_call tool_call',
  'tool: done',
  'tool: done',
  'tool: done',
  'assistant: fine',
]

describe('a paused turn', () => {
  it.each([
    [
      'the same turn',
      async (store: Store, options: Options) =>
        turn(await openSession(store, 's'), 'go', { ...options, id: 'i' }).result(),
    ],
    ['resume', async (store: Store, options: Options) => resume(await openSession(store, 's'), options).result()],
  ])('lets the running tool finish, and is continued by %s, which runs the other calls only', async (_, next) => {
    const { clock, ran, work } = working()
    const store = memoryStore()
    const session = await createSession(store, { id: 's' })
    const base = { tools: [work], toolConcurrency: 1, clock }
    const limits = { softTimeout: 5000 }
    const first = await turn(session, 'go', { ...base, model: scriptedModel([calls]), id: 'i', limits }).result()
    expect([first.stopReason, ran]).toEqual(['paused', [1]])
    expect(first.open?.results.map(({ callId }) => callId)).toEqual(['a'])
    expect(inputsOf(session).map(({ state }) => state)).toEqual(['taken'])
    expect(textsOf(session.view())).toEqual(['user: go'])
    await session.close()
    const second = await next(store, { ...base, model: scriptedModel([]), limits: { softTimeout: 15_000 } })
    expect([second.stopReason, ran]).toEqual(['paused', [1, 2, 3]])
    const last = await next(store, { ...base, model: scriptedModel([assistant('fine')]) })
    expect([last.stopReason, ran]).toEqual(['end_turn', [1, 2, 3]])
    const after = await openSession(store, 's')
    expect(textsOf(after.view())).toEqual(whole)
    expect(inputsOf(after).map(({ state }) => state)).toEqual(['answered'])
  })

  it('is continued before another input', async () => {
    const { clock, ran, work } = working()
    const session = await createSession(memoryStore(), { id: 's' })
    const base = { tools: [work], toolConcurrency: 1, clock }
    await turn(session, 'go', {
      ...base,
      model: scriptedModel([calls]),
      id: 'i',
      limits: { softTimeout: 5000 },
    }).result()
    const model = scriptedModel([assistant('fine'), assistant('and this')])
    const other = await turn(session, 'and this?', { ...base, model }).result()
    expect([other.stopReason, ran]).toEqual(['end_turn', [1, 2, 3]])
    expect(textsOf(session.view())).toEqual([...whole, 'user: and this?', 'assistant: and this'])
  })

  it('that has called no model yet has its message recorded, and nothing else', async () => {
    const session = await createSession(memoryStore(), { id: 's' })
    const options = { model: scriptedModel([assistant('fine')]), id: 'i' }
    expect((await turn(session, 'go', { ...options, limits: { softTimeout: 0 } }).result()).stopReason).toBe('paused')
    expect(textsOf(session.view())).toEqual(['user: go'])
    expect((await turn(session, 'go', options).result()).stopReason).toBe('end_turn')
    expect(textsOf(session.view())).toEqual(['user: go', 'assistant: fine'])
  })
})

it('a run without a session is continued with `open`, as often as it pauses', async () => {
  const { clock, ran, work } = working()
  const model = scriptedModel([calls, assistant('fine')])
  const view = [user('go')]
  const base = { model, view, tools: [work], toolConcurrency: 1, clock }
  let result: RunResult = await run({ ...base, limits: { softTimeout: 5000 } }).result()
  const ends: string[] = [result.stopReason]
  while (result.open !== undefined) {
    result = await run({ ...base, open: result.open, limits: { softTimeout: 5000 } }).result()
    ends.push(result.stopReason)
  }
  expect([ends, ran]).toEqual([
    ['paused', 'paused', 'paused'],
    [1, 2, 3],
  ])
  const last = await run({ ...base, view: result.messages }).result()
  expect(textsOf(last.messages)).toEqual(whole)
})
