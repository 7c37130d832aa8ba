/** Texts are found in bytes of any length. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { byteFinderOf } from '../../src/store/kit.ts'
import { isFull, rounds } from '../rounds.ts'

it('bytes contain a text exactly if their text does', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '😀'), maxLength: 30 })
  fc.assert(
    fc.property(fc.array(text, { maxLength: 8 }), fc.array(text, { maxLength: 5 }), (texts, pieces) => {
      const whole = pieces.join('')
      const isIn = texts.some((one) => whole.includes(one))
      expect(byteFinderOf(texts)(new TextEncoder().encode(whole))).toBe(isIn)
    }),
    { numRuns: rounds(1000, 50_000) },
  )
})

// Half a gigabyte: at full size only.
if (isFull)
  it('a text is found in bytes that are longer than a string can be', () => {
    const bytes = new Uint8Array(2 ** 29)
    bytes.set(new TextEncoder().encode('the end'), bytes.length - 7)
    expect(byteFinderOf(['the end'])(bytes)).toBe(true)
  })
