/** Spans over a storage in pieces, held against the array of the same values; and how they show themselves. */
import { inspect } from 'node:util'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  defineGetter,
  getterFrom,
  itemAt,
  seclude,
  consoleTextOf,
  Span,
  spanPrototype,
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
      for (const value of iterator) if (value === from + 1) break
      expect([...iterator]).toEqual(values.slice(2)) // it goes on where it was left
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

it('a secluded prototype exposes nothing and keeps what comparison libraries read', () => {
  class Base {
    own(): void {}
  }
  class Further extends Base {
    more(): void {}
  }
  seclude(Base.prototype)
  seclude(Further.prototype, Base.prototype)
  for (const [prototype, parent, names] of [
    [Base.prototype, null, ['own', 'valueOf', 'toString']],
    [Further.prototype, Base.prototype, ['more']],
  ] as const)
    expect([
      Reflect.ownKeys(prototype),
      Object.getPrototypeOf(prototype) === parent,
      Object.isFrozen(prototype),
    ]).toEqual([names, true, true])
  const { valueOf, toString } = new Further()
  expect([valueOf, toString]).toEqual([Object.prototype.valueOf, Object.prototype.toString])
  expect([Object.isFrozen(spanPrototype), Object.getPrototypeOf(spanPrototype)]).toEqual([true, null])
})

it('a getter is taken from a prototype and given to an instance, as a property that comparisons read', () => {
  class Counted {
    get count(): number {
      return (this as { own?: number }).own ?? 0
    }
  }
  const getter = getterFrom(Counted.prototype, 'count')
  expect(Reflect.ownKeys(Counted.prototype)).toEqual(['constructor'])
  const one = Object.assign(new Counted(), { own: 3 })
  expect(one.count).toBeUndefined()
  defineGetter(one, 'count', getter)
  expect([one.count, Object.keys(one), { ...one }]).toEqual([3, ['own', 'count'], { own: 3, count: 3 }])
})
