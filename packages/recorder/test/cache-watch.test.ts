/** What consecutive token counts say of the provider's cache, and what they sum up to. */
import { describe, expect, it } from 'vitest'
import { CacheWatch, missedText, otherModelText } from '../src/cache-watch.ts'
import { Tally } from '../src/summary.ts'

const usage = (input: number, cacheRead?: number, cacheWrite?: number) => ({
  ...{ input, output: 1 },
  ...(cacheRead !== undefined && { cacheRead }),
  ...(cacheWrite !== undefined && { cacheWrite }),
})
type Counts = ReturnType<typeof usage>

describe('the next call', () => {
  /** What the last of these calls, all of one model, is found to be. */
  const last = (...all: readonly (Counts | readonly [model: string, Counts] | readonly [string, Counts, true])[]) => {
    const watch = new CacheWatch()
    let found
    for (const one of all) {
      const [model, counts, named = false] = 'input' in one ? (['m', one] as const) : one
      found = watch.next(model, counts, named)
    }
    return found
  }
  const same = { other: undefined, broke: false }

  it.each<readonly [string, ReturnType<typeof last>, ReturnType<typeof last>]>([
    ['without counts of the cache', last(usage(5000)), undefined],
    ['that is the first', last(usage(5000, 0, 5000)), { again: 0, isUpperBound: false, ...same }],
    ['that reads all', last(usage(5000, 0, 5000), usage(6000, 5000, 1000)), { again: 0, isUpperBound: false, ...same }],
    [
      'that misses 1023 tokens',
      last(usage(5000, 0, 5000), usage(6000, 3977)),
      { again: 0, isUpperBound: false, ...same },
    ],
    [
      'that misses 1024 tokens',
      last(usage(5000, 0, 5000), usage(6000, 3976)),
      { again: 1024, isUpperBound: false, ...same },
    ],
    ['that misses half', last(usage(5000, 0, 5000), usage(6000, 2500)), { again: 2500, isUpperBound: false, ...same }],
    ['that misses more than half', last(usage(5000, 0, 5000), usage(6000, 2499)), { again: 2501, isUpperBound: false, other: undefined, broke: true }], // oxfmt-ignore
    ['that is as large', last(usage(5000, 0, 5000), usage(5000, 0)), { again: 5000, isUpperBound: true, other: undefined, broke: true }], // oxfmt-ignore
    ['that is smaller', last(usage(5000, 0, 5000), usage(4000, 4000)), { again: 0, isUpperBound: true, ...same }],
    ['of another model', last(usage(5000, 0, 5000), ['n', usage(6000, 0)]), { again: 5000, isUpperBound: true, other: 'm', broke: true }], // oxfmt-ignore
    ['with a named break of few tokens', last(usage(500, 0, 500), ['m', usage(600, 0), true]), { again: 500, isUpperBound: false, other: undefined, broke: true }], // oxfmt-ignore
    ['where nothing was ever cached', last(usage(5000, 0, 0), usage(6000, 0, 0)), { again: 5000, isUpperBound: false, ...same }], // oxfmt-ignore
    ['where writes are not counted and nothing was read', last(usage(5000, 0), usage(6000, 0)), { again: 5000, isUpperBound: false, ...same }], // oxfmt-ignore
    ['after one that left nothing in the cache', last(usage(5000, 0, 5000), usage(5000, 0, 0), usage(6000, 0, 0)), { again: 5000, isUpperBound: false, ...same }], // oxfmt-ignore
    ['after one without counts', last(usage(5000, 0, 5000), usage(5500), usage(6000, 0)), { again: 5500, isUpperBound: false, other: undefined, broke: true }], // oxfmt-ignore
  ])('%s', (_, found, expected) => {
    expect(found).toEqual(expected)
  })
})

describe('a break of the cache', () => {
  const named = { where: 'tools', because: 'f changed' } as const
  const start = usage(5000, 0, 5000)
  const lost = usage(6000, 0, 6000)
  /** The breaks at these calls. */
  const breaks = (...all: readonly (readonly [model: string, Counts | undefined, named?: true])[]) => {
    const watch = new CacheWatch()
    return all.map(([model, counts, isNamed]) => watch.breakAt(model, counts, isNamed && named))
  }
  const missed = { where: 'missed', because: missedText }

  it('is named, or found by the counts', () => {
    expect(breaks(['m', start], ['m', usage(6000, 5000)])).toEqual([undefined, undefined])
    expect(breaks(['m', start], ['m', lost])).toEqual([undefined, missed])
    expect(breaks(['m', start], ['m', lost, true])).toEqual([undefined, named])
    expect(breaks(['m', undefined, true])).toEqual([named])
  })

  it('is none where the call before left nothing in the cache', () => {
    expect(breaks(['m', usage(5000, 0, 0)], ['m', lost, true])).toEqual([undefined, undefined])
  })

  it('of a call to another model says so, before what changed', () => {
    const because = 'the previous call went to m, and each model has its own cache'
    expect(otherModelText('m')).toBe(because)
    expect(otherModelText('m'.repeat(65))).toBe(`the previous call went to ${'m'.repeat(63)}…, and each model has its own cache`) // oxfmt-ignore
    expect(breaks(['m', start], ['n', lost])[1]).toEqual({ where: 'model', because })
    expect(breaks(['m', start], ['n', lost, true])[1]).toEqual({ where: 'model', because: `${because}; f changed` })
  })

  it('of a call without counts is not that of the next call, too', () => {
    expect(breaks(['m', start], ['m', undefined, true], ['m', lost])).toEqual([undefined, named, undefined])
    expect(breaks(['m', start], ['m', undefined, true], ['m', undefined], ['m', lost])).toEqual([undefined, named, undefined, undefined]) // oxfmt-ignore
    expect(breaks(['m', start], ['m', undefined], ['m', lost])).toEqual([undefined, undefined, missed])
    expect(breaks(['m', start], ['m', undefined, true], ['m', usage(6000, 5000)], ['m', usage(7000, 0)])).toEqual([undefined, named, undefined, missed]) // oxfmt-ignore
  })
})

describe('the figures of recorded calls', () => {
  const call = { session: 's', model: 'm', failed: false, usage: undefined, broke: undefined }
  const nothing = {
    ...{ sessions: [], moreSessions: 0, calls: 0, silent: 0, failed: 0, passed: 0, lost: 0, unanswered: 0 },
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    ...{ breaks: [], moreBreaks: 0, models: new Map(), dollars: 0, unpriced: 0 },
  }

  it('are zero at the beginning, and frozen', () => {
    const summary = new Tally().summary()
    expect(summary).toEqual(nothing)
    for (const one of [summary, summary.sessions, summary.breaks]) expect(Object.isFrozen(one)).toBe(true)
  })

  it('count each call once, by what came of it', () => {
    const tally = new Tally()
    const broke = { where: 'missed', because: missedText, call: 2 } as const
    tally.called(call)
    tally.called({ ...call, failed: true })
    tally.called({ ...call, session: 't', usage: usage(7, 5, 2), broke })
    tally.called({ ...call, session: 's', model: 'n', failed: true, usage: usage(1) })
    tally.passed()
    tally.lost('request')
    tally.lost('answer')
    const m = { input: 7, output: 1, cacheRead: 5, cacheWrite: 2 }
    const n = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 }
    expect(tally.summary()).toEqual({
      ...nothing,
      ...{ sessions: ['t', 's'], calls: 4, silent: 1, failed: 2, passed: 1, lost: 2, unanswered: 1 },
      usage: { input: 8, output: 2, cacheRead: 5, cacheWrite: 2 },
      breaks: [{ ...broke, session: 't' }],
      models: new Map([
        ['m', m],
        ['n', n],
      ]),
      unpriced: 2,
    })
    const before = tally.summary()
    ;(before.models as Map<string, unknown>).clear()
    expect(tally.summary().models.size).toBe(2)
  })

  it('have the price of models that have one', () => {
    const tally = new Tally()
    tally.called({ ...call, model: 'claude-sonnet-4-5', usage: { input: 1_000_000, output: 0 } })
    const { dollars, unpriced } = tally.summary()
    expect([dollars > 0, unpriced]).toEqual([true, 0])
    tally.called({ ...call, model: 'claude-sonnet-4-5', usage: { input: 1_000_000, output: 0 } })
    expect(tally.summary().dollars).toBeCloseTo(2 * dollars, 9)
  })
})
