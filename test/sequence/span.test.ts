/** Spans over a storage in pieces, held against the array of the same values; and how they show themselves. */
import { inspect } from 'node:util'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  defineGetter,
  getterFrom,
  itemAt,
  sealClass,
  consoleTextOf,
  Span,
  type SpanKind,
} from '../../src/sequence/index.ts'

const chunk = 3 // values in a piece

/** A span over the numbers that are their own ranks. */
class Numbers extends Span<number> {
  static readonly kind: SpanKind<Numbers, number> = {
    name: 'Numbers',
    read: (_span, rank) => rank,
    piece: (_span, rank) => {
      const first = rank - (rank % chunk)
      const values = Array.from({ length: chunk }, (_, index) => first + index)
      return { values, index: rank % chunk, count: chunk - (rank % chunk) }
    },
  }
  constructor(from: number, to: number) {
    super(Numbers.kind as SpanKind<never, number>, from, to)
  }
}

it('property: a span reads like the array of its values', () => {
  fc.assert(
    fc.property(fc.nat(10), fc.nat(10), fc.integer({ min: -12, max: 12 }), (from, length, at) => {
      const span = new Numbers(from, from + length)
      const values = Array.from({ length }, (_, index) => from + index)
      const whole = span.toArray()
      expect([span.length, [...span], whole, JSON.stringify(span)]).toEqual([
        length,
        values,
        values,
        JSON.stringify(values),
      ])
      expect([Object.isFrozen(whole), Object.getPrototypeOf(whole)]).toEqual([true, Array.prototype])
      expect(span.at(at)).toBe(values.at(at))
      if (at >= 0) expect([itemAt(span, at), itemAt(values, at)]).toEqual([values[at], values[at]])
      const iterator = span[Symbol.iterator]()
      for (let step = 0; step < length; step++) iterator.next()
      expect(iterator.next()).toEqual({ done: true, value: undefined })
      expect([span.at, span.toArray, span.toJSON]).toEqual([span.at, span.toArray, span.toArray])
      expect(`${span[Symbol.toPrimitive]()}`).toBe(`Numbers(${length})`)
    }),
  )
})

it.each([
  [0, 'Numbers(0) []'],
  [1, 'Numbers(1) [ 0 ]'],
  [3, 'Numbers(3) [ 0, 1, 2 ]'],
  [4, 'Numbers(4) [ 1 earlier, 1, 2, 3 ]'],
  [9, 'Numbers(9) [ 6 earlier, 6, 7, 8 ]'],
])('the console shows the last three of %i values', (length, shown) => {
  const span = new Numbers(0, length)
  expect(inspect(span)).toBe(shown)
  expect(inspect({ span }, { depth: 0 })).toBe(`{ span: [Numbers(${length})] }`)
  expect(consoleTextOf('it', span, 0, {}, inspect)).toBe(shown.replace(/Numbers.\d+./, 'it'))
  expect(consoleTextOf('it', span, -1, {}, inspect)).toBe('[it]')
  expect(consoleTextOf('it', span, 2, {}, undefined)).toBe('[it]')
})

it('a sealed class has no constructor to reach, and frozen methods', () => {
  class Base {
    own(): void {}
  }
  sealClass(Base)
  expect([new Base().constructor, Object.isFrozen(Base.prototype), Object.keys(new Base())]).toEqual([Object, true, []])
})

it('a getter is taken from a prototype and given to an instance, as a property that comparisons read', () => {
  class Counted {
    get count(): number {
      return (this as { own?: number }).own ?? 0
    }
  }
  const getter = getterFrom(Counted, 'count')
  expect(Reflect.ownKeys(Counted.prototype)).toEqual(['constructor'])
  const one = Object.assign(new Counted(), { own: 3 })
  expect(one.count).toBeUndefined()
  defineGetter(one, 'count', getter)
  expect([one.count, Object.keys(one), { ...one }]).toEqual([3, ['own', 'count'], { own: 3, count: 3 }])
})
