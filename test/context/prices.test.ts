/** What models cost. */
import { describe, expect, it } from 'vitest'
import { modelPrices, pricesOf } from 'indelible/context'
import { unitsOf, usageDollars } from '../../src/context/kit.ts'

describe('pricesOf', () => {
  it('finds prices by model name, dated or with a provider prefix, and for no other model', () => {
    const opus = modelPrices['claude-opus-4-5']
    for (const name of ['claude-opus-4-5', 'claude-opus-4-5-20251101', 'anthropic/claude-opus-4-5', 'Claude-Opus-4-5'])
      expect(pricesOf(name)).toBe(opus)
    expect(pricesOf('claude-opus-5-20260724')).toBe(modelPrices['claude-opus-5'])
    expect(pricesOf('gpt-5-2025-08-07')).toMatchObject({ input: 1.25, cacheRead: 0.125, output: 10 })
    expect(pricesOf('claude-opus-5-5')).toBe(modelPrices['claude-opus-5-5'])
    for (const name of ['claude-opus-4', 'gpt-5.5-nano', 'gpt-5-nano', '', 'toString', 'claude-opus-4-5x'])
      expect([name, pricesOf(name)]).toEqual([name, undefined])
  })
  it('returns prices with their source, in a consistent order', () => {
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
      expect([name, units.cached <= (name.startsWith('grok-') ? 0.25 : 0.1) + 1e-9]).toEqual([name, true])
      expect(units.fresh).toBeLessThanOrEqual(1.25 + 1e-9)
    }
  })
  it("finds a preview's prices, and none for other models with the same prefix", () => {
    for (const name of ['gemini-3.1-pro', 'gemini-3.1-pro-preview', 'google/gemini-3.1-pro-preview-05-06'])
      expect(pricesOf(name)).toBe(modelPrices['gemini-3.1-pro'])
    expect(pricesOf('gemini-2.5-flash-lite')).toBeUndefined()
    expect(pricesOf('claude-sonnet-4-7')).toBeUndefined()
  })

  it('prices several calls at the short-context rates', () => {
    const usage = { input: 300_000, output: 1000 }
    expect(usageDollars('gemini-2.5-pro', usage)).toBeCloseTo(0.3 * 2.5 + 0.015, 9)
    expect(usageDollars('gemini-2.5-pro', usage, 2)).toBeCloseTo(0.3 * 1.25 + 0.01, 9)
    expect(usageDollars('unheard-of', usage)).toBeUndefined()
    expect(usageDollars(undefined, { input: 0, output: 0 })).toBe(0)
  })
})
