/** Spans, gaps and bounded maps read only what they hold, whatever is added to prototypes. */
import { expect, it } from 'vitest'
import {
  addGaps,
  consoleTextOf,
  countWhile,
  itemAt,
  positionOfRank,
  rankAt,
  RecentMap,
  runLengthAt,
  sliceBounds,
  Span,
  type Range,
  type SpanKind,
} from '../../src/sequence/index.ts'
import { changedBy } from '../pollution.ts'

const stored = Array.from({ length: 6 }, (_, index) => ({ index }))

class Stored extends Span<{ readonly index: number }> {
  static readonly #kind: SpanKind<Stored, { readonly index: number }> = {
    name: 'Stored',
    read: (_, rank) => stored[rank] as { index: number },
    piece: (_, rank) => ({ values: stored.slice(rank - (rank % 2)), index: rank % 2, count: 2 - (rank % 2) }),
  }
  constructor(from: number, to: number) {
    super(Stored.#kind, from, to)
  }
}

it('nothing that sequence does reads a property of a prototype', () => {
  const run = (): unknown => {
    const span = new Stored(1, 5)
    const gaps = addGaps(addGaps(undefined, [{ from: 2, to: 3 }]), [
      { from: 7, to: 9 },
      { from: 5, to: 5 },
    ])
    const map = new RecentMap<string, number>(2)
    for (const [value, key] of ['a', 'b', 'c'].entries()) map.set(key, value)
    let refused = ''
    try {
      addGaps(undefined, [{ from: 1 } as Range])
    } catch (error) {
      refused = (error as Error).message
    }
    return [
      refused,
      [span.toArray(), [...span], span.at(-1), span.at(4) === undefined, itemAt(span, 0), span.toJSON()],
      [gaps, rankAt(gaps, 8), positionOfRank(gaps, 4), runLengthAt(gaps, 0), addGaps(undefined, []) === undefined],
      [sliceBounds(5, -2, undefined), countWhile(5, (index) => index < 3)],
      [map.size, [...map.keys()], map.get('a') === undefined],
      consoleTextOf('Stored(4)', span, 1, {}, (list: unknown[]) => `${list.length}`),
    ]
  }
  expect(changedBy(['from', 'to', 'at', 'values', 'index', 'count', 'froms', 'tos', 'ranks', 'name'], run)).toEqual([])
})
