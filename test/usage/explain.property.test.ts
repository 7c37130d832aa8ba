/** The account of calls: its parts add up, and it names the causes that were planted. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { usageDollars } from '../../src/prices/internal.ts'
import { explainCalls, packCalls, sumCalls, unpackCalls, type UsageCause } from '../../src/usage/internal.ts'
import type { ExplainedCall, UsageCall } from '../../src/usage/index.ts'
import {
  anthropic,
  anthropicHour,
  causeOfEvent,
  events,
  openai,
  simulate,
  type Rules,
  type Step,
} from './simulated-cache.ts'

const tokensOf = (call: ExplainedCall, isOf: (cause: UsageCause) => boolean): number =>
  call.parts.reduce((sum, { cause, tokens }) => (isOf(cause) ? sum + tokens : sum), 0)

const expectToAddUp = (calls: readonly UsageCall[]): void => {
  for (const [index, call] of explainCalls(calls).entries()) {
    const { usage = { input: 0, output: 0 }, model } = calls[index] as UsageCall
    expect(tokensOf(call, (cause) => cause !== 'answer')).toBe(usage.input)
    expect(tokensOf(call, (cause) => cause === 'answer')).toBe(usage.output)
    const dollars = usageDollars(model, usage)
    expect(call.dollars === undefined).toBe(dollars === undefined)
    expect(Math.abs((call.dollars ?? 0) - (dollars ?? 0))).toBeLessThan(1e-9)
    const sum = call.parts.reduce((all, part) => all + (part.dollars ?? 0), 0)
    expect(Math.abs(sum - (dollars ?? 0))).toBeLessThan(1e-9)
  }
}

const steps = fc.array(
  fc.record<Step>({
    event: fc.oneof({ weight: 3, arbitrary: fc.constant('plain' as const) }, fc.constantFrom(...events)),
    fresh: fc.integer({ min: 10, max: 8000 }),
    output: fc.integer({ min: 1, max: 2000 }),
    wait: fc.integer({ min: 0, max: 200_000 }),
  }),
  { minLength: 1, maxLength: 12 },
)

const expected: ReadonlySet<UsageCause> = new Set(['read', 'new', 'first', 'ends', 'answer'])

const expectCausesOf = (session: readonly Step[], rules: Rules): void => {
  const calls = simulate(session, rules)
  expectToAddUp(calls)
  for (const [index, call] of explainCalls(calls).entries()) {
    const { event } = session[index] as Step
    const planted = index === 0 ? undefined : causeOfEvent[event]
    const losses = call.parts.filter(({ cause }) => !expected.has(cause))
    expect([event, losses.map(({ cause }) => cause).filter((cause) => cause !== planted)]).toEqual([event, []])
    // A cause that took tokens out of the cache is named, with all of them.
    const before = calls[index - 1]?.usage
    const again =
      before === undefined || call.usage === undefined
        ? 0
        : Math.min(before.input, call.usage.input) - (call.usage.cacheRead ?? 0)
    if (planted !== undefined && again >= 256) {
      expect([event, losses.map(({ cause, known }) => [cause, known])]).toEqual([event, [[planted, 'proved']]])
      expect(again - (losses[0]?.tokens ?? 0)).toBeLessThanOrEqual(rules.countsWrites ? 3 : 0)
    }
  }
}

describe('the causes of tokens that are sent again', () => {
  it.each([
    ['Anthropic, five minutes', anthropic, 4000],
    ['Anthropic, an hour', anthropicHour, 3000],
    ['OpenAI', openai, 3000],
  ] as const)('%s: no plain call is accused, and each planted cause is named', (_, rules, numRuns) => {
    fc.assert(
      fc.property(steps, (session) => expectCausesOf(session, rules)),
      { numRuns },
    )
  })

  it('a pause as long as the lifetime is no cause, and one that is longer is', () => {
    const at = 1_767_225_600_000
    const call = (began: number, cacheRead: number): UsageCall => ({
      ...{ model: 'claude-opus-4-5', began, at: began + 1, seenIn: 'lines' },
      usage: { input: 10_000, output: 1, cacheRead, cacheWrite: 10_000 - cacheRead },
    })
    const causesAfter = (pause: number): readonly string[] =>
      explainCalls([call(at, 0), call(at + pause, 0)])[1]?.parts.map(({ cause }) => cause) ?? []
    expect(causesAfter(300_000)).toEqual(['unknown', 'answer'])
    expect(causesAfter(300_001)).toEqual(['expired', 'answer'])
  })

  it.each([
    ['claude-opus-5', 1_767_225_600_000, 5],
    ['gpt-5.2-codex', 1_767_225_600_000, 10],
    ['gpt-4o', 1_767_225_600_000, 10],
    ['gpt-5.2-codex', 1_790_000_000_000, 24 * 60],
    ['o3', 1_790_000_000_000, 24 * 60],
    ['openai/gpt-5.5-pro', 1_777_000_000_000, 24 * 60],
    ['gpt-5.6-terra', 1_790_000_000_000, 30],
    ['gpt-5.10', 1_790_000_000_000, 30],
    ['gpt-6', 1_790_000_000_000, 30],
  ])('the cache of %s at %d is kept for %d minutes', (model, at, minutes) => {
    const call = (began: number): UsageCall => ({
      ...{ model, began, at: began, seenIn: 'lines' },
      usage: { input: 50_000, output: 1, cacheRead: 0, cacheWrite: 50_000 },
    })
    const causeAfter = (pause: number): unknown => explainCalls([call(at), call(at + pause)])[1]?.parts[0]?.cause
    expect([causeAfter(minutes * 60_000), causeAfter(minutes * 60_000 + 1)]).toEqual(['unknown', 'expired'])
  })

  it.each([
    ['gemini-2.5-pro', 2048],
    ['gemini-3-pro-preview', 4096],
    ['gemini-3.5-flash', 4096],
    ['gemini-3-flash-preview', 1024],
    ['gpt-5', 1024],
  ])('%s caches requests from %d tokens', (model, fewest) => {
    const call = (input: number): UsageCall => ({ model, usage: { input, output: 1, cacheRead: 0 } })
    const causesOf = (input: number): unknown => explainCalls([call(input), call(input)])[1]?.parts[0]?.known
    expect([causesOf(fewest - 1), causesOf(fewest)]).toEqual(['likely', 'unknown'])
  })

  it('an unknown cause says what is ruled out, and no model without a published lifetime has an expired one', () => {
    const call = (began: number): UsageCall => ({
      ...{ model: 'gemini-2.5-pro', began, at: began, seenIn: 'lines' },
      usage: { input: 50_000, output: 1, cacheRead: 0, cacheWrite: 0 },
    })
    const [, second] = explainCalls([call(0), call(1e9)])
    expect(second?.parts[0]).toMatchObject({
      cause: 'unknown',
      known: 'unknown',
      ruledOut: ['another model', 'a compaction', 'a change in the file'],
    })
  })

  it('calls of one chain are not compared with those of another', () => {
    const call = (chain: string, input: number): UsageCall => ({
      ...{ model: 'claude-opus-4-5', chain, isAgent: chain !== 'main' },
      usage: { input, output: 1, cacheRead: 0, cacheWrite: input },
    })
    const causes = explainCalls([call('main', 9000), call('a', 5000), call('b', 6000)]).map(
      ({ parts }) => parts[0]?.cause,
    )
    expect(causes).toEqual(['first', 'agent', 'agent'])
  })

  it('a change before a call without counts belongs to the call that repeats it', () => {
    const usage = { input: 9000, output: 1, cacheRead: 0, cacheWrite: 9000 }
    const model = 'claude-opus-4-5'
    const evidence = { cause: 'tools', because: 'the tool list changed', known: 'proved' } as const
    const [, failed, repeated] = explainCalls([
      { model, usage },
      { model, evidence, isFailed: true },
      { model, usage },
    ])
    expect(failed?.parts).toEqual([])
    expect(repeated?.parts[0]).toMatchObject({ cause: 'tools', tokens: 9000 })
  })
})

const counts = fc.record(
  {
    input: fc.nat(1_000_000),
    output: fc.nat(100_000),
    cacheRead: fc.nat(1_000_000),
    cacheWrite: fc.nat(1_000_000),
    cacheWriteHour: fc.nat(1_000_000),
  },
  { requiredKeys: ['input', 'output'] },
)

describe('the account of any counts', () => {
  it('adds up, whatever was read and written, in any order of models', () => {
    const call = fc.record<UsageCall>({
      model: fc.constantFrom(
        'claude-opus-4-5',
        'gpt-5.4',
        'gemini-3.1-pro',
        'none',
        'claude-haiku-5-5',
        'gpt-5 (batch)',
      ),
      usage: counts.map(({ input, output, cacheRead = 0, cacheWrite = 0, cacheWriteHour = 0 }) => ({
        input: input + cacheRead + cacheWrite,
        output,
        cacheRead,
        cacheWrite,
        cacheWriteHour: Math.min(cacheWrite, cacheWriteHour),
      })),
      at: fc.nat(1e12),
    })
    fc.assert(fc.property(fc.array(call, { maxLength: 6 }), expectToAddUp))
  })
  it('is made of counts that can be true: negative, broken and contradicting ones count as far as they can', () => {
    const odd = { input: -5, output: Number.NaN, cacheRead: 7, cacheWrite: 1e300 }
    const contradicting = { input: 10, output: 1, cacheRead: 50, cacheWrite: 50, cacheWriteHour: 90 }
    const [a, b] = explainCalls([
      { model: 'gpt-5', usage: odd },
      { model: 'gpt-5', usage: contradicting },
    ])
    expect(a?.parts).toEqual([])
    expect(b?.parts.map(({ cause, tokens }) => [cause, tokens])).toEqual([
      ['read', 10],
      ['answer', 1],
    ])
  })
  it('is empty without calls, and of one call all is its first', () => {
    expect(explainCalls([])).toEqual([])
    expect(sumCalls([])).toMatchObject({ calls: 0, dollars: 0, causes: [] })
    const [only] = explainCalls([{ model: 'gpt-5', usage: { input: 9, output: 2, cacheRead: 0 } }])
    expect(only?.parts.map(({ cause, tokens }) => [cause, tokens])).toEqual([
      ['first', 9],
      ['answer', 2],
    ])
  })
})

it('packed calls are explained as the calls are', () => {
  fc.assert(
    fc.property(steps, fc.boolean(), (session, isHour) => {
      const calls: UsageCall[] = []
      for (const { evidence: _, ...call } of simulate(session, isHour ? anthropicHour : anthropic))
        calls.push(Object.assign(call, { position: calls.length, seenIn: 'lines' as const }))
      const unpacked = unpackCalls(JSON.parse(JSON.stringify(packCalls(calls))))
      expect(explainCalls(unpacked)).toEqual(explainCalls(calls))
    }),
    { numRuns: 300 },
  )
})

it.each([undefined, null, 4, [], {}, { calls: 1, models: [] }, { calls: [[1], 'x', [1.5], [null]], models: [3] }])(
  'packed calls that are damaged are read as far as they can: %j',
  (value) => {
    expect(() => explainCalls(unpackCalls(value))).not.toThrow()
  },
)
