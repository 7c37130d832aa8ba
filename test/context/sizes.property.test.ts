/** The sizes from which contexts are planned, against a list of sums: whole chunks, their parts, gaps, and messages that follow one by one. */
import * as fc from 'fast-check'
import { expect, it, vi } from 'vitest'
import { createHistory, user, type Message, type View } from 'indelible'
import { omitRanges } from 'indelible/history'
import { Sizes } from '../../src/context/internal.ts'

// Chunks of four messages, so that there are many.
vi.mock('../../src/history/chunk-size.ts', () => ({ chunkBits: 2, groupBits: 1 }))

const textOf = (length: number): Message => user('x'.repeat(length))
/** Characters of JSON beside the text. */
const frame = JSON.stringify(textOf(0)).length
const mostCounted = 14_800

const expectSizes = (view: View<Message>, sizes: Sizes): void => {
  const sums = { length: [0], counted: [0] }
  for (const message of view) {
    const own = JSON.stringify(message).length
    sums.length.push((sums.length.at(-1) as number) + own)
    sums.counted.push((sums.counted.at(-1) as number) + Math.min(own, mostCounted))
  }
  expect(sizes.count).toBe(view.length)
  expect(sizes.counted).toBe((sums.counted.at(-1) as number) / 3.7)
  for (const [index, sum] of sums.length.entries()) expect(sizes.before(index)).toBe(sum / 3.7)
  for (const name of ['length', 'counted'] as const)
    for (const sum of [-1, ...sums[name]])
      for (const size of [sum / 3.7, (sum - 1) / 3.7, (sum + 1) / 3.7]) {
        const index = sums[name].findIndex((before) => before / 3.7 > size)
        expect(sizes.indexAbove(size, name)).toBe(index === -1 ? view.length + 1 : index)
      }
}

it('sizes are those of a list of sums, however the record was made and read', () => {
  const length = fc.oneof(
    { weight: 20, arbitrary: fc.nat(300) },
    fc.integer({ min: mostCounted - frame - 2, max: 30_000 }),
  )
  fc.assert(
    fc.property(
      fc.array(length, { maxLength: 40, size: 'max' }),
      fc.array(fc.tuple(fc.nat(40), fc.nat(9)), { maxLength: 3 }),
      fc.array(fc.nat(40), { maxLength: 4 }),
      fc.boolean(),
      (lengths, gaps, stops, isLoaded) => {
        const messages = lengths.map(textOf)
        const history = createHistory<Message>({ from: isLoaded ? messages : [] })
        if (!isLoaded) for (const message of messages) history.append(message)
        const view = omitRanges(
          history.view(),
          gaps.map(([from, count]) => ({ from, to: from + count })),
        )
        const sizes = new Sizes()
        const single = Array.from({ length: 5 }, (_, more) => view.length - more)
        for (const stop of [...stops, ...single].toSorted((a, b) => a - b))
          if (stop >= 0 && stop <= view.length) expectSizes(view.slice(0, stop), sizes.measure(view.slice(0, stop)))
      },
    ),
    { numRuns: 200 },
  )
}, 60_000)
