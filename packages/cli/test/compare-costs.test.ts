/** What the contexts of a replay cost: where a cache has expired, and in US dollars. */
import { describe, expect, it } from 'vitest'
import { estimateTokens, pricesOf, type DerivedContext, type ModelPrices } from 'indelible/context'
import { unitsOf } from 'indelible/internal/prices'
import { createHistory } from 'indelible/history'
import { assistant, type Message } from 'indelible/message'
import { conversation } from '../../../test/messages.ts'
import { replay } from '../src/compare/replay.ts'
import { costCounter, type CallCosts } from '../src/compare/costs.ts'

const record = (times: readonly (number | undefined)[] = []) =>
  createHistory<Message>({
    from: conversation().map((message, position) => {
      const timestamp = times[position]
      return timestamp === undefined ? message : Object.assign({}, message, { meta: { 'pi-session': { timestamp } } })
    }),
  }).view()

const costsWith = (
  model?: ModelPrices,
  times: readonly (number | undefined)[] = [],
): ReturnType<typeof replay> & CallCosts => {
  const costs = costCounter(model)
  const report = replay(record(times), { budget: 1000, prices: costs.prices, onAnswer: costs.add })
  return { ...report, ...costs.sum() }
}

describe('replay costs', () => {
  it('count a call as uncached after the cache expired', () => {
    const usual = costsWith()
    const after = (milliseconds: number, model?: ModelPrices) =>
      costsWith(model, [0, 0, 0, 0, ...[0, 0].fill(milliseconds)])
    const sums = ({ tokens, cost, cacheable, expired }: ReturnType<typeof costsWith>) => ({
      tokens,
      cost,
      cacheable,
      expired,
    })
    const within = after(300_000)
    expect(within.expired).toBe(0)
    expect(sums(after(300_001))).toEqual({ ...sums(within), cost: 1.25 * within.tokens, expired: 1 })
    const model = pricesOf('claude-opus-4-5')
    if (model === undefined) throw new Error('the table has no claude-opus-4-5')
    expect(after(300_001, model).dollars?.input).toBeCloseTo((within.tokens * model.cacheWrite) / 1e6, 12)
    expect(after(300_000, model).dollars?.input).toBeCloseTo(
      replay(record([0, 0, 0, 0, 300_000, 300_000]), { budget: 1000, prices: unitsOf(model) }).cost *
        (model.input / 1e6),
      12,
    )
    expect(usual).toMatchObject({ cost: replay(record(), { budget: 1000 }).cost, expired: 0 })
  })
  it('count from the last answer that has a time, also of one that had no context', () => {
    const context = { tokens: 1000, stableTokens: 900, cost: 100 } as DerivedContext
    const costs = costCounter()
    for (const [position, timestamp] of [5, undefined, 300_005, undefined, 600_006].entries()) {
      const answer = assistant('Done.')
      const timed = timestamp === undefined ? answer : { ...answer, meta: { 'pi-session': { timestamp } } }
      costs.add(timed, position, position === 2 ? undefined : context)
    }
    expect(costs.sum()).toEqual({ cost: 3 * 100 + 1.25 * 1000, expired: 1 })
  })
  it('are in dollars with separate prices for cached, other and output tokens and long requests', () => {
    const sizes = conversation().map(estimateTokens)
    const upTo = (length: number): number => sizes.slice(0, length).reduce((sum, size) => sum + size, 0)
    const flat = { input: 1, output: 1_000_000, cacheRead: 0.5, cacheWrite: 2, source: '', read: '' }
    const { dollars, cost } = costsWith(flat)
    expect(dollars?.input).toBeCloseTo((upTo(2) * 2 + upTo(2) * 0.5 + (upTo(5) - upTo(2)) * 2) / 1e6, 12)
    expect(dollars?.output).toBeCloseTo((sizes[2] ?? 0) + (sizes[5] ?? 0), 9)
    expect(cost).toBeCloseTo(upTo(2) * 2 + upTo(2) * 0.5 + (upTo(5) - upTo(2)) * 2, 9)

    const long = { above: upTo(2), input: 10, output: 0, cacheRead: 5, cacheWrite: 20 }
    const tiered = costsWith({ ...flat, long }).dollars
    expect(tiered?.output).toBeCloseTo(sizes[2] ?? 0, 9)
    expect(tiered?.input).toBeCloseTo((upTo(2) * 2 + upTo(2) * 5 + (upTo(5) - upTo(2)) * 20) / 1e6, 12)
    expect(costsWith().dollars).toBe(undefined)
  })
})
