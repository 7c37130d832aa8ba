/** What the recorder says at its end, and what its sessions say afterwards: the same figures. */
import { describe, expect, it } from 'vitest'
import { memoryStore } from 'indelible'
import { usageDollars } from '../../../src/context/kit.ts'
import { createRecorder } from '@indelible/recorder'
import { readUsage } from '../../../src/session/kit.ts'

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
    const uses = await readUsage(store, 's')
    const dollars = uses.map(({ model, usage }) => (usage === undefined ? 0 : usageDollars(model, usage)))
    const summary = recorder.summary()
    expect(summary).toMatchObject({ calls: 9, failed: 4, silent: 1, unpriced: 1, lost: 0 })
    expect([uses.length, uses.reduce((sum, { failed }) => sum + failed, 0)]).toEqual([9, 4])
    expect(uses.reduce((sum, { usage }) => sum + (usage?.input ?? 0), 0)).toBe(summary.usage.input)
    expect(dollars.filter((one) => one === undefined)).toHaveLength(1)
    expect(summary.dollars).toBeCloseTo(
      dollars.reduce<number>((sum, one) => sum + (one ?? 0), 0),
      9,
    )
    expect(summary.dollars).toBeCloseTo((300_000 * 2.5 + 20 * 15 + 300_000 * 5 + 10 * 22.5) / 1e6, 9)
  })
})
