/** Positions that are left out, held against a plain list of those that are kept. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  indexAt,
  positionOfRank,
  runLengthAt,
  rankAt,
  sliceBounds,
  addGaps,
  type Gaps,
  type Range,
} from '../../src/sequence/index.ts'

const length = 30
const ranges = fc.array(
  fc.tuple(fc.nat(length), fc.nat(length)).map(([a, b]): Range => ({ from: Math.min(a, b), to: Math.max(a, b) })),
  { maxLength: 4 },
)

it('property: gaps added at once or one by one match a filtered list', () => {
  fc.assert(
    fc.property(ranges, ranges, (first, second) => {
      const all: Gaps | undefined = addGaps(addGaps(undefined, first), second)
      const isKept = (position: number): boolean =>
        ![...first, ...second].some(({ from, to }) => position >= from && position < to)
      const kept = Array.from({ length: 2 * length }, (_, position) => position).filter(isKept)
      for (const [rank, position] of kept.entries()) {
        expect([rankAt(all, position), positionOfRank(all, rank)]).toEqual([rank, position])
        const next = kept.findIndex((other, index) => index > rank && other !== position + index - rank)
        expect(runLengthAt(all, rank)).toBe(next === -1 ? Infinity : next - rank)
      }
    }),
  )
})

it('property: gaps are maximal ordered ranges with ranks, and immutable', () => {
  fc.assert(
    fc.property(ranges, (given) => {
      const gaps = addGaps(undefined, given)
      const isLeftOut = (position: number): boolean => given.some(({ from, to }) => position >= from && position < to)
      const froms = Array.from({ length }, (_, index) => index).filter((at) => isLeftOut(at) && !isLeftOut(at - 1))
      const tos = Array.from({ length }, (_, index) => index + 1).filter((at) => isLeftOut(at - 1) && !isLeftOut(at))
      const ranks = froms.map(
        (from) => Array.from({ length: from }, (_, at) => at).filter((at) => !isLeftOut(at)).length,
      )
      expect(gaps === undefined).toBe(froms.length === 0)
      if (gaps === undefined) return
      const lists = [gaps.froms, gaps.tos, gaps.ranks]
      expect(lists.map((list) => Array.from(list))).toEqual([froms, tos, ranks])
      expect([gaps, ...lists].filter((one) => !Object.isFrozen(one))).toEqual([])
    }),
  )
})

it("property: positions and ranges of a span match an array's, and a fraction is none", () => {
  const position = fc.oneof(
    fc.integer({ min: -9, max: 9 }),
    fc.constantFrom(0.5, -0.5, NaN, Infinity, -Infinity, 2 ** 32),
  )
  fc.assert(
    fc.property(fc.nat(6), fc.nat(6), position, fc.option(position, { nil: undefined }), (start, length, from, to) => {
      const places = Array.from({ length }, (_, index) => start + index)
      const expected = Number.isInteger(from) ? (places.at(from) ?? -1) : -1
      expect(indexAt(from, start, start + length)).toBe(expected)
      const bounds = sliceBounds(length, from, to)
      expect(places.slice(bounds.start, bounds.end)).toEqual(places.slice(from, to))
      expect(bounds.start <= bounds.end && bounds.end <= length).toBe(true)
    }),
  )
})

it.each([
  { from: -1, to: 1 },
  { from: 2, to: 1 },
  { from: 0.5, to: 1 },
  { from: 0, to: Infinity },
])('%j is refused as a gap: it is not a range of positions', (range) => {
  expect(() => addGaps(undefined, [range])).toThrow('range 0 is invalid')
})
