/** The sums of a session's calls. */
import { expect, it } from 'vitest'
import { user } from 'indelible'
import type { ReceiptNote } from 'indelible/internal/notes'
import { figuresOf, sumsOf, sumsText, type CallFigures } from '../src/calls/call-figures.ts'
import { callsOf, type CallRecord } from '../src/calls/model-calls.ts'

const call = (number: number, beside: Partial<CallFigures>): CallFigures =>
  ({ number, isShared: false, isCounted: true, hasAnswer: true, input: 2000, output: 10, ...beside }) as CallFigures

it('a failed call and the call that repeats it have one cache break', () => {
  const broke = 'The tool list changed.'
  const failed = call(2, { broke, failed: 'overloaded', hasAnswer: false })
  const repeated = call(3, { broke, repeats: 2 })
  expect(sumsOf([call(1, {}), failed, repeated])).toMatchObject({ breaks: 1, failed: 1, calls: 2 })
  expect(sumsOf([call(1, {}), call(2, { failed: 'overloaded' }), repeated]).breaks).toBe(1)
})

it.each<readonly [string, number | undefined, readonly Partial<CallFigures>[]]>([
  ['the most dollars', 2, [{ dollars: 1 }, { dollars: 3 }, { dollars: 2 }]],
  ['the first of equal ones', 1, [{ dollars: 3 }, { dollars: 3 }]],
  [
    'the price, whatever the tokens',
    2,
    [
      { dollars: 1, input: 9000 },
      { dollars: 2, input: 100 },
    ],
  ],
  ['no cost is a price', 2, [{ isCounted: false }, { dollars: 0 }]],
  ['the most input not cached, where no price is known', 2, [{ cached: 1000 }, {}, { cached: 1 }]],
  ['the first with as much, where no price is known', 1, [{ cached: 1000 }, { input: 3000, cached: 2000 }]],
  ['the same where one price is not known', 1, [{ input: 3000 }, { dollars: 9 }]],
  ['no call without input', undefined, [{ input: 0, dollars: 1 }]],
  ['no call of the original of a fork', 2, [{ isShared: true, dollars: 9 }, { dollars: 1 }]],
])('the dearest call has %s', (_, number, calls) => {
  expect(sumsOf(calls.map((each, index) => call(index + 1, each))).dearest?.number).toBe(number)
})

it('sums count own calls, and say what is not known', () => {
  const priced = call(1, { dollars: 1, cached: 500 })
  expect(sumsOf([])).toEqual({ calls: 0, input: 0, output: 0, breaks: undefined, failed: 0, unpriced: 0, isUndercounted: false, uncounted: 0 }) // oxfmt-ignore
  expect(sumsOf([priced, call(2, { dollars: 2 })])).toMatchObject({ input: 4000, cached: 500, output: 20, dollars: 3, unpriced: 0 }) // oxfmt-ignore
  expect(sumsOf([priced, call(2, {})])).toMatchObject({ dollars: 1, unpriced: 1, breaks: undefined })
  expect(sumsOf([priced, call(2, { cached: 0, isShared: true })])).toMatchObject({ calls: 1, input: 2000, breaks: 0 })
  expect(sumsOf([priced, call(2, { isCounted: false, dollars: 5 })])).toMatchObject({
    input: 2000,
    output: 10,
    dollars: 1,
  })
  expect(sumsOf([priced, call(2, { isUndercounted: true })]).isUndercounted).toBe(true)
  const uncounted = { isCounted: false, output: 0 }
  expect(
    sumsText(sumsOf([priced, call(2, uncounted), call(3, { ...uncounted, failed: 'overloaded', hasAnswer: false })])),
  ).toBe('2 calls · 2K tokens in · 25 % cached · 10 out · at least $1.00 · 1 failed · 1 without token counts')
})

/** The figures of calls with these receipts, one second apart; of a fork that was created at `forkedAt`. */
const figuresWith = (
  receipts: readonly {
    readonly usage?: object
    readonly digest?: string
    readonly model?: string
    readonly of?: object | null
  }[],
  forkedAt?: number,
): readonly CallFigures[] => {
  const notes = receipts.map(({ usage, digest, model = 'nobody-knows', of }, index) => {
    const details = of !== null && { api: 'openai-chat', at: 1000 * index, duration: 1, sent: [[0, 1]], ...of }
    const contextDigest = (digest ?? `${index}`).repeat(64)
    const note = { type: 'receipt', len: 1, contextDigest, model, ...(details && { details }), ...(usage && { usage }) } as unknown as ReceiptNote // oxfmt-ignore
    return { row: index + 1, index, after: 0, at: 1000 * index, note }
  })
  const forkedFrom = { id: 'original', at: 1 }
  const record: CallRecord = {
    info: { value: { created: forkedAt ?? 0, metadata: {}, ...(forkedAt !== undefined && { forkedFrom }) } },
    entries: [{ position: 0, row: 0, at: 0, message: user('hi'), state: undefined }],
    notes,
  }
  return figuresOf(record, callsOf(record))
}
const used = (input: number, cacheRead: number): object => ({ input, output: 1, cacheRead, cacheWrite: 0 })
const broke = { broke: { where: 'tools', because: 'the tool list changed' } }
const partsOf = (figures: readonly CallFigures[]): readonly object[] =>
  figures.map(({ parts }) => Object.fromEntries(parts))

it('a call that repeats a failed one names the first of them', () => {
  const failed = { digest: 'f', of: { status: 529, error: 'overloaded' } }
  const figures = figuresWith([{ usage: used(2000, 0) }, failed, failed, { digest: 'f', usage: used(3000, 2000) }, {}])
  expect(figures.map(({ number, failed, repeats }) => [number, failed, repeats])).toEqual([
    [1, undefined, undefined],
    [2, 'HTTP 529: overloaded', undefined],
    [3, 'HTTP 529: overloaded', 2],
    [4, undefined, 2],
    [5, undefined, undefined],
  ])
})

it('a failed call is named by its status or its end, with at most 120 columns of its error', () => {
  const failures = [
    { status: 400 },
    { status: 500, error: 'e'.repeat(120) },
    { status: 500, error: 'e'.repeat(121) },
    { cut: true },
    { error: 'no route' },
    { status: 399 },
  ]
  const figures = figuresWith(failures.map((of, index) => ({ digest: `${index}`, of })))
  expect(figures.map(({ failed }) => failed)).toEqual([
    'HTTP 400',
    `HTTP 500: ${'e'.repeat(120)}`,
    `HTTP 500: ${'e'.repeat(119)}…`,
    'the answer broke off',
    'no answer: no route',
    undefined,
  ])
})

it('the input of a call is divided by its causes', () => {
  const figures = figuresWith([
    { usage: used(2000, 0) },
    { usage: used(5000, 2000) },
    { usage: used(6000, 1000) },
    { usage: used(8000, 1500), of: broke },
    { usage: used(8000, 8000), model: 'other' },
    { usage: { input: 900, output: 1 } },
    {},
  ])
  expect(partsOf(figures)).toEqual([
    { first: 2000 },
    { read: 2000, new: 3000 },
    { read: 1000, new: 1000, missed: 4000 },
    { read: 1500, new: 2000, tools: 4500 },
    { read: 8000 },
    { uncounted: 900 },
    {},
  ])
  expect(figures.map((figure) => figure.broke)).toEqual([
    undefined,
    undefined,
    expect.stringContaining('the prefix was no longer in the provider’s cache'),
    'The tool list changed.',
    undefined,
    undefined,
    undefined,
  ])
  expect(figures.map(({ isCounted, input }) => [isCounted, input]).slice(5)).toEqual([
    [true, 900],
    [false, 0],
  ])
})

it('the first own call of a fork is compared with the last call that it shares', () => {
  const figures = figuresWith(
    [{ usage: used(9000, 0) }, { usage: used(9500, 9000) }, { usage: used(3000, 500), of: broke }],
    2000,
  )
  expect(figures.map(({ isShared }) => isShared)).toEqual([true, true, false])
  expect(partsOf(figures)[2]).toEqual({ read: 500, tools: 2500 })
  const failed = { status: 529, error: 'overloaded' }
  const repeated = figuresWith(
    [{ usage: used(9000, 0) }, { of: { ...broke, ...failed } }, { usage: used(3000, 500) }],
    2000,
  )
  expect([repeated[2]?.broke, partsOf(repeated)[2]]).toEqual(['The tool list changed.', { read: 500, tools: 2500 }])
})

it('a call says where its tokens went', () => {
  const whyOf = (...receipts: Parameters<typeof figuresWith>[0]): string | undefined =>
    figuresWith(receipts).at(-1)?.why
  expect(whyOf({ usage: used(2000, 0) })).toBe('The first call, 2,000 tokens.')
  expect(whyOf({ usage: used(2000, 0) }, { usage: used(9000, 2000) })).toBe('Mostly new content, 7,000 tokens.')
  expect(whyOf({ usage: used(9000, 9000) }, { usage: used(9500, 9000) })).toBe(
    'Mostly read again from the cache, 9,000 tokens.',
  )
  expect(whyOf({ usage: used(9000, 0) }, { usage: used(9500, 1000) })).toBe(
    '8,000 tokens were sent again 1.0 s after the last answer; nothing changed, but the prefix was no longer in the provider’s cache.',
  )
  expect(whyOf({ usage: { input: 900, output: 1 } })).toBe('900 tokens, of which nobody counted the cached ones.')
  expect(whyOf({ usage: used(9000, 8000) }, { usage: used(9500, 0), of: null })).toBe(
    'Nothing was cached; unknown; ruled out: another model.',
  )
})
