/** A record in chunks: what is shared, at every length around the ends of chunks and groups, and what is copied. */
import { describe, expect, it } from 'vitest'
import { createHistory, type History, type PageKind } from 'indelible'
import { omitRanges } from 'indelible/history'
import { pageKinds } from 'indelible/pages'
import { chunkLength } from '../../src/history/state.ts'
import { isFull } from '../rounds.ts'

const kindAt = (position: number): PageKind => pageKinds[(position * 5 + (position >> 3)) % 6] as PageKind
const filled = (len: number): History<number> => {
  const history = createHistory<number>()
  for (let position = 0; position < len; position++) history.append(position, kindAt(position))
  return history
}
const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index)

/** As `toEqual`, for long lists of plain values. */
const expectSame = (actual: readonly unknown[], expected: readonly unknown[]): void => {
  const isSame = actual.length === expected.length && actual.every((value, index) => value === expected[index])
  if (!isSame) expect(actual).toEqual(expected)
}

const expectNumbers = (history: History<number>, expected: readonly number[]): void => {
  const view = history.view()
  const kinds = expected.map(kindAt)
  expectSame(view.toArray(), expected)
  expectSame([...view], expected)
  expectSame(view.pages.toArray(), kinds)
  expectSame([...view.pages], kinds)
  for (const at of [0, 1, expected.length >> 1, -1, -2, expected.length]) {
    expect(view.at(at)).toBe(expected.at(at))
    expect(view.pages.at(at)).toBe(expected.length === 0 ? undefined : pageKindAt(expected, at))
  }
}
const pageKindAt = (expected: readonly number[], at: number): PageKind | undefined => {
  const found = expected.at(at)
  return found === undefined ? undefined : kindAt(found)
}

it('chunks have the size of this test run', () => {
  expect(chunkLength).toBe(process.env['INDELIBLE_SMALL_CHUNKS'] === 'yes' ? 2 : 128)
})

/** Lengths around the ends of chunks, and of groups of 64 chunks: of those of two, hundreds of messages are enough. */
const lengths = [0, 1, 2, 3, 4, 5, 7, 8, 9, 127, 128, 129, 255, 256, 257, 8191, 8192, 8193, 8320, 16_500].filter(
  (length) => isFull || length < 4096 || chunkLength > 2,
)

it.each(lengths)('a record of %i messages reads back, and each of its views is unchanged', (len) => {
  const history = filled(len)
  const view = history.view()
  expectNumbers(history, numbers(0, len))
  for (let more = 0; more < 300; more++) history.append(len + more, kindAt(len + more))
  expectSame(view.toArray(), numbers(0, len))
  expectSame(view.pages.toArray(), numbers(0, len).map(kindAt))
  expectNumbers(history, numbers(0, len + 300))
})

describe('a fork continues on its own', () => {
  it.each(lengths)('from each of the lengths up to %i', (len) => {
    const history = filled(len)
    const early = history.view()
    for (let more = 0; more < 130; more++) history.append(len + more, kindAt(len + more))
    for (const cut of [...lengths, len].filter((each) => each <= len))
      for (const view of [early, history.view()]) {
        const [a, b] = [0, 1].map(() => createHistory<number>({ from: view.slice(0, cut) })) as [
          History<number>,
          History<number>,
        ]
        for (const fork of [a, b])
          for (let more = 0; more < 5; more++) expect(fork.append(cut + more, kindAt(cut + more))).toBe(cut + more)
        expectNumbers(a, numbers(0, cut + 5))
        expectNumbers(b, numbers(0, cut + 5))
      }
    expectNumbers(history, numbers(0, len + 130))
  })
  it('from a view with a later start or omitted messages, which the fork lacks', () => {
    const view = filled(300).view()
    const gaps = [
      { from: 3, to: 5 },
      { from: 127, to: 130 },
      { from: 290, to: 400 },
    ]
    const left = numbers(0, 300).filter((each) => !gaps.some(({ from, to }) => each >= from && each < to))
    expectNumbers(createHistory<number>({ from: omitRanges(view, gaps) }), left)
    expectNumbers(createHistory<number>({ from: view.slice(1) }), numbers(1, 300))
    expectNumbers(createHistory<number>({ from: omitRanges(view, gaps).slice(2, -1) }), left.slice(2, -1))
  })
  it('from a view that omits only later messages, like any prefix', () => {
    const view = omitRanges(filled(300).view(), [{ from: 260, to: 300 }])
    expectNumbers(createHistory<number>({ from: view.slice(0, 260) }), numbers(0, 260))
  })
})

it('a refused message at a full chunk changes nothing', () => {
  for (const len of [chunkLength - 1, chunkLength, chunkLength + 1]) {
    const history = filled(len)
    expect(() => history.append(1, 'gossip' as PageKind)).toThrow('is not a page kind')
    expect(() => history.append(NaN)).toThrow(TypeError)
    expectNumbers(history, numbers(0, len))
    history.append(len, kindAt(len))
    expectNumbers(history, numbers(0, len + 1))
  }
})

it.each([undefined, null, 5, 'x', {}])('omitRanges refuses %s, which is no view', (given) => {
  expect(() => omitRanges(given as never, [])).toThrow(/^omitRanges needs a view/)
})
