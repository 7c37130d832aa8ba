import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { Heights } from '../../page/src/elements/heights.ts'

it('item heights sum and search like a plain list', () => {
  const height = fc.integer({ min: 1, max: 500 })
  fc.assert(
    fc.property(
      fc.array(height, { maxLength: 70 }),
      fc.array(fc.tuple(fc.nat(69), height), { maxLength: 20 }),
      fc.nat(40_000),
      (given, changes, offset) => {
        const plain = [...given]
        const heights = new Heights(plain.length, (index) => plain[index] as number)
        for (const [index, next] of changes) {
          if (index >= plain.length) continue
          expect(heights.set(index, next)).toBe(next - (plain[index] as number))
          plain[index] = next
        }
        const starts = plain.map((_, index) => plain.slice(0, index).reduce((sum, one) => sum + one, 0))
        for (const [index, start] of starts.entries()) expect(heights.startOf(index)).toBe(start)
        expect(heights.startOf(plain.length)).toBe(plain.reduce((sum, one) => sum + one, 0))
        expect(heights.at(offset)).toBe(
          Math.max(
            0,
            starts.findLastIndex((start) => start <= offset),
          ),
        )
      },
    ),
  )
})
