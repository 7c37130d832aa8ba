/** What the contexts of a replay cost: where a cache has expired, and in US dollars. */
import { describe, expect, it } from 'vitest'
import { estimateTokens, pricesOf, type DerivedContext } from 'indelible/context'
import { unitsOf } from 'indelible/internal/prices'
import { createHistory } from 'indelible/history'
import { assistant, type Message } from 'indelible/message'
import { conversation } from '../../../test/messages.ts'
import { replay, type Replay } from '../src/compare/replay.ts'
import { costCounter, timeIn, type CostOptions, type CallCosts } from '../src/compare/costs.ts'

const view = createHistory<Message>({ from: conversation() }).view()

const costsWith = (options: CostOptions): Replay & CallCosts => {
  const costs = costCounter(options)
  const { reserved = 0 } = options
  const report = replay(view, { budget: 1000, toolTokens: reserved, prices: costs.prices, onAnswer: costs.add })
  return { ...report, ...costs.sum() }
}

describe('replay costs', () => {
  it('count a call as uncached after the cache expired', () => {
    const usual = costsWith({})
    const after = (milliseconds: number, options: CostOptions = {}) =>
      costsWith({ timeOf: (_, position) => (position < 4 ? 0 : milliseconds), ...options })
    expect(after(300_000)).toMatchObject({ cost: usual.cost, expired: 0 })
    expect(after(300_001)).toMatchObject({ cost: 1.25 * usual.tokens, cacheable: usual.cacheable, expired: 1 })
    expect(after(300_001, { cacheLifetime: 3_600_000 })).toMatchObject({ cost: usual.cost, expired: 0 })
    const model = pricesOf('claude-opus-4-5')
    if (model === undefined) throw new Error('the table has no claude-opus-4-5')
    const { dollars } = after(300_001, { model, reserved: 100 })
    expect(dollars?.input).toBeCloseTo(((usual.tokens + 200) * model.cacheWrite) / 1e6, 12)
    expect(after(300_000, { model }).dollars?.input).toBeCloseTo(
      replay(view, { budget: 1000, prices: unitsOf(model) }).cost * (model.input / 1e6),
      12,
    )
    expect(usual).toMatchObject({ cost: replay(view, { budget: 1000 }).cost, expired: 0 })
  })
  it('count from the last answer that has a time, also of one that had no context', () => {
    const context = { tokens: 1000, stableTokens: 900, cost: 100 } as DerivedContext
    const times = [5, undefined, 300_005, undefined, 600_006]
    const costs = costCounter({ timeOf: (_, position) => times[position] })
    for (const position of times.keys()) costs.add(assistant('Done.'), position, position === 2 ? undefined : context)
    expect(costs.sum()).toEqual({ cost: 3 * 100 + 1.25 * 1000, expired: 1 })
  })
  it('without times match those of a plain replay', () => {
    const report = replay(view, { budget: 1000 })
    expect(costsWith({ timeOf: () => undefined })).toMatchObject({ cost: report.cost, expired: 0 })
  })
  it('are in dollars with separate prices for cached, other and output tokens and long requests', () => {
    const sizes = conversation().map(estimateTokens)
    const upTo = (length: number): number => sizes.slice(0, length).reduce((sum, size) => sum + size, 0)
    const flat = { input: 1, output: 1_000_000, cacheRead: 0.5, cacheWrite: 2, source: '', read: '' }
    const { dollars, cost } = costsWith({ model: flat, reserved: 10 })
    expect(dollars?.input).toBeCloseTo(((upTo(2) + 10) * 2 + (upTo(2) + 10) * 0.5 + (upTo(5) - upTo(2)) * 2) / 1e6, 12)
    expect(dollars?.output).toBeCloseTo((sizes[2] ?? 0) + (sizes[5] ?? 0), 9)
    expect(cost).toBeCloseTo(upTo(2) * 2 + upTo(2) * 0.5 + (upTo(5) - upTo(2)) * 2, 9)

    const long = { above: upTo(2) + 10, input: 10, output: 0, cacheRead: 5, cacheWrite: 20 }
    const tiered = costsWith({ model: { ...flat, long }, reserved: 10 }).dollars
    expect(tiered?.output).toBeCloseTo(sizes[2] ?? 0, 9)
    expect(tiered?.input).toBeCloseTo(((upTo(2) + 10) * 2 + (upTo(2) + 10) * 5 + (upTo(5) - upTo(2)) * 20) / 1e6, 12)
    expect(costsWith({}).dollars).toBe(undefined)
  })
  it('use recorded times', () => {
    const at = (meta: NonNullable<Message['meta']>): number | undefined => timeIn({ ...assistant('Done.'), meta })
    expect(at({ 'pi-session': { timestamp: 1_763_681_634_577 } })).toBe(1_763_681_634_577)
    expect(at({ codex: { timestamp: '2026-02-10T17:24:38.048Z' } })).toBe(Date.UTC(2026, 1, 10, 17, 24, 38, 48))
    expect(at({ 'claude-code': { timestamp: 'yesterday' } })).toBeUndefined()
    expect(at({ 'claude-code': 'yesterday' })).toBeUndefined()
    expect(timeIn(assistant('Done.'))).toBeUndefined()
  })
})
