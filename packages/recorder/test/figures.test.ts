/** What the recorder says at its end, and what its sessions say afterwards: the same figures. */
import { describe, expect, it } from 'vitest'
import { memoryStore, type Store } from 'indelible'
import { usageDollars } from '../../../src/prices/internal.ts'
import { createRecorder } from '@indelible/recorder'
import { describeSession } from 'indelible/session'
import { callsIn } from '../../../src/usage/internal.ts'
import { Tally } from '../src/summary.ts'

const usesIn = async (store: Store) =>
  callsIn(await describeSession(store, 's'), await store.read('s', { only: 'note' }))

describe('the figures of recorded calls', () => {
  it('match the sessions: calls, failures, tokens, costs', async () => {
    const store = memoryStore()
    const recorder = createRecorder({ store, sessionOf: () => 's' })
    let count = 0
    const call = async (status: number, body: string, model = 'gpt-5.4'): Promise<void> => {
      const observed = recorder.observe({ method: 'POST', url: 'https://x/chat/completions', header: () => undefined })
      observed?.sent(JSON.stringify({ model, messages: [{ role: 'user', content: `question ${count++}` }] }))
      observed?.answered(status, () => undefined)
      observed?.chunk(new TextEncoder().encode(body))
      observed?.end()
      await recorder.settled()
    }
    const answer = (tokens: number | undefined, model = 'gpt-5.4') =>
      JSON.stringify({
        model,
        choices: [{ finish_reason: 'stop', message: { role: 'assistant', content: 'a' } }],
        ...(tokens !== undefined && { usage: { prompt_tokens: tokens, completion_tokens: 10 } }),
      })
    await call(200, answer(150_000))
    await call(200, answer(150_000)) // more than a long request together, and none by itself
    await call(200, answer(300_000)) // a long one
    await call(200, answer(1000, 'unheard-of'))
    await call(200, answer(undefined))
    for (let time = 0; time < 3; time++) await call(500, '{}') // what they have alike stands in one receipt
    await call(200, answer(5).slice(0, 20)) // broken off
    const uses = await usesIn(store)
    const dollars = uses.map(({ model, usage }) => (usage === undefined ? 0 : usageDollars(model, usage)))
    const summary = recorder.summary()
    expect(summary).toMatchObject({ calls: 9, failed: 4, silent: 1, unpriced: 1, lost: 0 })
    expect([uses.length, uses.filter(({ isFailed }) => isFailed === true).length]).toEqual([9, 4])
    expect(uses.reduce((sum, { usage }) => sum + (usage?.input ?? 0), 0)).toBe(summary.usage.input)
    expect(dollars.filter((dollar) => dollar === undefined)).toHaveLength(1)
    expect(summary.dollars).toBeCloseTo(
      dollars.reduce<number>((sum, dollar) => sum + (dollar ?? 0), 0),
      9,
    )
    expect(summary.dollars).toBeCloseTo((300_000 * 2.5 + 20 * 15 + 300_000 * 5 + 10 * 22.5) / 1e6, 9)
  })
})

it('the figures list so many sessions, breaks and models, and count the others', () => {
  const tally = new Tally()
  const usage = { input: 4, output: 3, cacheRead: 2, cacheWrite: 1 }
  const call = (more: object): void =>
    tally.called({ session: 's', model: 'm', failed: false, usage: undefined, explained: undefined, ...more })
  for (let index = 0; index < 1001; index++)
    call({
      model: `model ${index}`,
      usage,
      explained: {
        ...{ model: 'm', number: index, usage },
        change: { cause: 'system', known: 'proved', because: `${index}` },
        parts: [{ cause: 'system', tokens: 4, known: 'proved', dollars: 0.5 }],
      },
    })
  call({ model: 'model 0', usage: { input: 1, output: 1 } })
  call({ model: 'gpt-5.4', usage: { input: 1_000_000, output: 0 } })
  for (let index = 0; index < 10_000; index++) call({ session: `session ${index}` })
  call({ session: 's', failed: true })
  tally.passed()
  tally.lost('request')
  tally.lost('answer')
  const summary = tally.summary()
  expect(summary).toMatchObject({ calls: 11_004, failed: 1, silent: 10_000, passed: 1, lost: 2, unanswered: 1 })
  expect(summary.usage).toEqual({ input: 1_004_005, output: 3004, cacheRead: 2002, cacheWrite: 1001 })
  expect([summary.sessions.length, summary.sessions[0], summary.sessions.at(-1), summary.moreSessions]).toEqual([
    10_000,
    'session 1',
    's',
    2,
  ])
  expect([summary.breaks.length, summary.breaks[0], summary.moreBreaks]).toEqual([
    1000,
    { session: 's', cause: 'system', because: '0', call: 0 },
    1,
  ])
  expect(summary.causes).toEqual(new Map([['system', { tokens: 4004, dollars: 500.5 }]]))
  expect([summary.models.size, summary.models.get('model 0'), summary.models.get('others')?.input]).toEqual([
    1001,
    { input: 5, output: 4, cacheRead: 2, cacheWrite: 1 },
    1_000_004,
  ])
  expect(summary.unpriced).toBe(1002)
  expect(summary.dollars).toBe(usageDollars('gpt-5.4', { input: 1_000_000, output: 0 }))
  expect([summary, summary.sessions, summary.breaks].every((value) => Object.isFrozen(value))).toBe(true)
  tally.passed()
  expect(summary.passed).toBe(1)
})

it('a call without an answer is counted apart, and makes no figure uncertain; a broken answer is a call that cost more', async () => {
  const store = memoryStore()
  const recorder = createRecorder({ store, sessionOf: () => 's' })
  const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`
  const delta = (content: string, more: object = {}): string =>
    event({ model: 'gpt-5.4', choices: [{ index: 0, delta: { content }, finish_reason: null }], ...more })
  const usage = { prompt_tokens: 10, completion_tokens: 1 }
  const end = event({ model: 'gpt-5.4', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage })
  for (const [index, [status, body]] of [
    [200, delta('whole') + end],
    [429, JSON.stringify({ error: { message: 'rate limit' } })],
    [529, 'overloaded'],
    [200, delta('broken', { usage })],
  ].entries() as IterableIterator<[number, [number, string]]>) {
    const observed = recorder.observe({ method: 'POST', url: 'https://x/chat/completions', header: () => undefined })
    observed?.sent(JSON.stringify({ model: 'gpt-5.4', messages: [{ role: 'user', content: `question ${index}` }] }))
    observed?.answered(status, (name) => (name === 'content-type' && status === 200 ? 'text/event-stream' : undefined))
    observed?.chunk(new TextEncoder().encode(body))
    observed?.end()
    await recorder.settled()
  }
  const uses = await usesIn(store)
  expect(uses.map((use) => [use.usage !== undefined, use.isFailed === true, use.isUndercounted === true])).toEqual([
    [true, false, false],
    [false, true, false],
    [false, true, false],
    [true, true, true],
  ])
})

it('the figures are zero at the beginning, and their maps are copies', () => {
  const tally = new Tally()
  expect(tally.summary()).toEqual({
    ...{ sessions: [], moreSessions: 0, calls: 0, silent: 0, failed: 0, passed: 0, lost: 0, unanswered: 0 },
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    ...{ breaks: [], moreBreaks: 0, causes: new Map(), models: new Map(), dollars: 0, unpriced: 0 },
  })
  const usage = { input: 1, output: 1 }
  tally.called({ session: 's', model: 'm', failed: false, usage, explained: undefined })
  ;(tally.summary().models as Map<string, unknown>).clear()
  expect(tally.summary().models.size).toBe(1)
})
