/** What models cost: the table, and what a replay makes of it. */
import { describe, expect, it } from 'vitest'
import { estimateTokens, modelPrices, pricesOf, replay, unitsOf } from 'indelible/context'
import { conversation } from '../messages.ts'
import { recordOf } from './conversations.ts'

describe('prices', () => {
  it('are found by the name of a model, dated or with its provider, and of no other', () => {
    const opus = modelPrices['claude-opus-4-5']
    for (const name of ['claude-opus-4-5', 'claude-opus-4-5-20251101', 'anthropic/claude-opus-4-5', 'Claude-Opus-4-5'])
      expect(pricesOf(name)).toBe(opus)
    expect(pricesOf('claude-opus-5-20260724')).toBe(modelPrices['claude-opus-5'])
    expect(pricesOf('claude-opus-5-5')).toBe(modelPrices['claude-opus-5-5'])
    for (const name of ['claude-opus-4', 'gpt-5.5-nano', 'gpt-5', '', 'toString', 'claude-opus-4-5x'])
      expect([name, pricesOf(name)]).toEqual([name, undefined])
  })
  it('say where they are from, and are ordered as prices are', () => {
    for (const [name, prices] of Object.entries(modelPrices)) {
      expect([name, new URL(prices.source).protocol]).toEqual([name, 'https:'])
      expect([name, Number.isNaN(Date.parse(prices.read))]).toEqual([name, false])
      for (const { input, output, cacheRead, cacheWrite } of [
        prices,
        ...(prices.long === undefined ? [] : [prices.long]),
      ])
        expect([name, 0 < cacheRead, cacheRead < input, input <= cacheWrite, cacheWrite < output]).toEqual([
          name,
          true,
          true,
          true,
          true,
        ])
      const units = unitsOf(prices)
      expect(units.cached).toBeLessThanOrEqual(0.1 + 1e-9)
      expect(units.fresh).toBeLessThanOrEqual(1.25 + 1e-9)
    }
  })
  it('a replay says dollars: cached, other and answered tokens at their own price, long requests at theirs', () => {
    const sizes = conversation().map(estimateTokens)
    const upTo = (length: number): number => sizes.slice(0, length).reduce((sum, size) => sum + size, 0)
    const flat = { input: 1, output: 1_000_000, cacheRead: 0.5, cacheWrite: 2, source: '', read: '' }
    const view = recordOf(conversation())
    const report = replay(view, { budget: 1000, model: flat, toolTokens: 10 })
    expect(report.dollars?.input).toBeCloseTo(
      ((upTo(2) + 10) * 2 + (upTo(2) + 10) * 0.5 + (upTo(5) - upTo(2)) * 2) / 1e6,
      12,
    )
    expect(report.dollars?.output).toBeCloseTo((sizes[2] ?? 0) + (sizes[5] ?? 0), 9)
    expect(report.cost).toBeCloseTo(upTo(2) * 2 + upTo(2) * 0.5 + (upTo(5) - upTo(2)) * 2, 9)

    const long = { above: upTo(2) + 10, input: 10, output: 0, cacheRead: 5, cacheWrite: 20 }
    const tiered = replay(view, { budget: 1000, model: { ...flat, long }, toolTokens: 10 })
    expect(tiered.dollars?.output).toBeCloseTo(sizes[2] ?? 0, 9)
    expect(tiered.dollars?.input).toBeCloseTo(
      ((upTo(2) + 10) * 2 + (upTo(2) + 10) * 5 + (upTo(5) - upTo(2)) * 20) / 1e6,
      12,
    )
    expect(replay(view, { budget: 1000 }).dollars).toBe(undefined)
  })
})
