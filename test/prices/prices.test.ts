/** What models cost. */
import { describe, expect, it } from 'vitest'
import { modelPrices, pricesOf, type ModelPrices } from 'indelible/context'
import { unitsOf, usageDollars } from '../../src/prices/internal.ts'
import { explainCalls } from '../../src/usage/internal.ts'
import type { Rates } from '../../src/prices/internal.ts'

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
  it('returns prices with their source', () => {
    for (const [name, prices] of Object.entries(modelPrices)) {
      expect([name, new URL(prices.source).protocol]).toEqual([name, 'https:'])
      expect([name, Number.isNaN(Date.parse(prices.read))]).toEqual([name, false])
    }
  })
  it('has prices in the ratios of their provider', () => {
    // Output, cached input and cache writes, relative to plain input.
    const perInput = (rates: Rates): string => {
      const { cached, fresh } = unitsOf(rates)
      return [rates.output / rates.input, cached, fresh].map((ratio) => Number(ratio.toFixed(3))).join(' ')
    }
    const ratiosOf = (prices: ModelPrices): string => {
      const { long } = prices
      if (long === undefined) return perInput(prices)
      return `${perInput(prices)}, above ${long.above}: ${long.input / prices.input} × ${perInput(long)}`
    }
    const byRatios = Object.groupBy(Object.keys(modelPrices), (name) => ratiosOf(modelPrices[name] as ModelPrices))
    expect(Object.entries(byRatios).map(([ratios, names]) => `${ratios}: ${names?.join(' ')}`)).toEqual([
      '5 0.05 1.25: claude-opus-5-5 claude-sonnet-5-5',
      '5 0.1 1.25: claude-opus-5 claude-opus-4-8 claude-opus-4-7 claude-opus-4-6 claude-opus-4-5 claude-sonnet-5 claude-sonnet-4-6 claude-sonnet-4-5 claude-sonnet-4 claude-fable-5 claude-haiku-4-5',
      '5 0.1 1.25, above 100000: 5 × 5 0.1 1.25: claude-haiku-5-5',
      '5 0.05 1.25, above 272000: 2 × 3.75 0.05 1.25: gpt-6.2-sol gpt-6.2-astra',
      '6 0.1 1.25, above 200000: 2 × 4.5 0.1 1.25: gpt-5.6-luna',
      '6 0.1 1.25, above 272000: 2 × 4.5 0.1 1.25: gpt-5.6-sol gpt-5.6-terra',
      '6 0.1 1, above 272000: 2 × 4.5 0.1 1: gpt-5.5 gpt-5.4',
      '6 0.1 1: gpt-5.4-mini gemini-3.5-flash gemini-3-flash',
      '6.25 0.1 1: gpt-5.4-nano',
      '8 0.1 1: gpt-5.3-codex gpt-5.2-codex gpt-5.2 gpt-5 gpt-5-codex gpt-5-mini',
      '4 0.25 1: o3',
      '5 0.05 1: gemini-4-argon gemini-4-neon gemini-4-hydrogen',
      '6 0.1 1, above 200000: 2 × 4.5 0.1 1: gemini-3.1-pro gemini-3-pro',
      '8 0.1 1, above 200000: 2 × 6 0.1 1: gemini-2.5-pro',
      '8.333 0.1 1: gemini-2.5-flash',
      '3 0.25 1, above 200000: 2 × 3 0.25 1: grok-4.6 grok-4.5',
    ])
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

  it('prices a call at the rates of its day', () => {
    const usage = { input: 1_000_000, output: 1_000_000, cacheRead: 500_000 }
    const dollarsOn = (day: string, model = 'gemini-4-argon'): unknown => usageDollars(model, usage, 1, day)
    expect([dollarsOn('2026-11-30'), dollarsOn('2026-12-01')]).toEqual([11.05, 22.1])
    expect(dollarsOn('2026-11-30', 'gemini-4-argon (batch)')).toBe(5.525)
    expect(dollarsOn('2020-01-01', 'gemini-4-neon')).toBe(dollarsOn('2030-01-01', 'gemini-4-neon'))
    const at = Date.UTC(2026, 10, 30, 23, 59)
    const calls = explainCalls([
      { model: 'gemini-4-argon', usage, at },
      { model: 'gemini-4-argon', usage, at: at + 60_000 },
      { model: 'gemini-4-argon', usage, day: '2026-12-01', calls: 3 },
    ])
    expect(calls.map(({ dollars }) => dollars)).toEqual([11.05, 22.1, 22.1])
  })
})
