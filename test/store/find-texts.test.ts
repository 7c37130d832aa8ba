/** Texts are found in bytes of any length. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { byteFinderOf, finderOf } from '../../src/store/internal.ts'
import { makeFinder } from '../../src/store/port/find-texts.ts'
import { isFull, rounds } from '../rounds.ts'

it('bytes contain a text exactly if their text does', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '😀'), maxLength: 30 })
  fc.assert(
    fc.property(fc.array(text, { maxLength: 8 }), fc.array(text, { maxLength: 5 }), (texts, pieces) => {
      const whole = pieces.join('')
      const isIn = texts.some((text) => whole.includes(text))
      expect(byteFinderOf(texts)(new TextEncoder().encode(whole))).toBe(isIn)
    }),
    { numRuns: rounds(1000, 50_000) },
  )
})

it('texts that begin alike, short ones and those within each other are found as one by one', () => {
  const unit = fc.constantFrom('a', 'b', '😀')
  const text = fc.oneof(
    fc.string({ unit, maxLength: 6 }),
    fc.string({ unit, maxLength: 20 }).map((end) => `the same beginning ${end}`),
    fc.string({ unit, minLength: 12, maxLength: 30 }),
  )
  fc.assert(
    fc.property(fc.array(text, { minLength: 5, maxLength: 40 }), fc.array(text, { maxLength: 6 }), (texts, pieces) => {
      const whole = pieces.join('')
      const found = texts.filter((text) => text !== '')
      const isIn = found.some((one) => whole.includes(one))
      expect(finderOf(found)(whole)).toBe(isIn)
      if (found.length > 0) expect(byteFinderOf(found)(new TextEncoder().encode(whole))).toBe(isIn)
    }),
    { numRuns: rounds(2000, 50_000) },
  )
})

it('each of thousands of texts that begin alike is found, and they are sorted in pieces', () => {
  const numbers = Array.from({ length: 3000 }, (_, index) => (index * 1013) % 3000) // in no order
  const texts = numbers.map((number) => `the same beginning ${number}.`)
  const [isIn, isInBytes] = [finderOf(texts), byteFinderOf(texts)]
  const wrong = numbers.filter((number) => {
    const [there, other] = [`… the same beginning ${number}. …`, `… the same beginning ${number}! …`]
    const found = [isIn(there), isIn(other), isInBytes(utf8(there)), isInBytes(utf8(other))]
    return found.join() !== 'true,false,true,false'
  })
  expect(wrong).toEqual([])
  const grouping = texts.length + 1
  expect([...makeFinder(texts)].length - grouping).toBeGreaterThan(10)
})

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

it('a search costs the same whether its texts begin alike or not', () => {
  const searched = (beginning: (index: number) => string): number => {
    const texts = Array.from({ length: 3000 }, (_, index) => `${beginning(index)} number ${index}.`)
    let compared = 0
    const isIn = finderOf(texts)
    const { startsWith, slice } = String.prototype
    const counted: Pick<string, 'startsWith' | 'slice'> & ThisType<string> = {
      startsWith(...given) {
        compared += 1
        return startsWith.apply(this, given)
      },
      slice(...given) {
        compared += 1
        return slice.apply(this, given)
      },
    }
    Object.assign(String.prototype, counted)
    try {
      for (let index = 0; index < 300; index++) expect(isIn(`${beginning(index)} number ${index}!`)).toBe(false)
    } finally {
      Object.assign(String.prototype, { startsWith, slice })
    }
    return compared
  }
  expect(searched(() => 'message with the same beginning')).toBeLessThan(300 * 40)
})

// Half a gigabyte: at full size only.
if (isFull)
  it('a text is found in bytes that are longer than a string can be', () => {
    const bytes = new Uint8Array(2 ** 29)
    bytes.set(new TextEncoder().encode('the end'), bytes.length - 7)
    expect(byteFinderOf(['the end'])(bytes)).toBe(true)
  })
