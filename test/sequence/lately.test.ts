/** Maps that keep what was used last. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { RecentMap } from '../../src/sequence/index.ts'

it('RecentMap keeps the most recently used entries, whatever is added', () => {
  const kept = new RecentMap<number, string>(3)
  const passed: (number | undefined)[] = []
  for (let key = 0; key < 1000; key++) {
    passed.push(kept.set(key, `value ${key}`))
    expect(kept.get(0)).toBe('value 0') // used again and again
  }
  expect([kept.size, [...kept.keys()]]).toEqual([3, [998, 999, 0]])
  expect(passed.slice(0, 5)).toEqual([undefined, undefined, undefined, 1, 2])
  expect([kept.delete(0), kept.get(0), kept.size]).toEqual([true, undefined, 2])
})

it('RecentMap keeps at most its weight limit and no single entry above it', () => {
  const kept = new RecentMap<string, string>(10, ({ length }) => length)
  for (const text of ['four', 'three', 'a word of eleven', '1']) kept.set(text, text)
  expect([[...kept.keys()], kept.weight, kept.has('four')]).toEqual([['four', 'three', '1'], 10, true])
  expect([kept.set('six', 'sixsix'), [...kept.keys()], kept.weight]).toEqual(['three', ['1', 'six'], 7])
  kept.set('six', '6')
  expect([kept.delete('1'), kept.weight]).toEqual([true, 1])
})

it('property: RecentMap is a list in order of use, trimmed from its start to the limit', () => {
  const key = fc.nat(4)
  const deed = fc.oneof(
    fc.record({ does: fc.constant('set' as const), key, weight: fc.nat(7) }),
    fc.record({
      does: fc.constantFrom('get' as const, 'has' as const, 'delete' as const),
      key,
      weight: fc.constant(0),
    }),
  )
  fc.assert(
    fc.property(fc.nat(6), fc.array(deed, { maxLength: 20 }), (most, deeds) => {
      const map = new RecentMap<number, number>(most, (weight) => weight)
      let list: (readonly [key: number, weight: number])[] = []
      const sum = (): number => list.reduce((total, [, weight]) => total + weight, 0)
      for (const { does, key, weight } of deeds) {
        const found = list.find(([other]) => other === key)
        const rest = list.filter((one) => one !== found)
        if (does === 'has') expect(map.has(key)).toBe(found !== undefined)
        else if (does === 'get') {
          expect(map.get(key)).toBe(found?.[1])
          list = [...rest, ...(found === undefined ? [] : [found])]
        } else if (does === 'delete') {
          expect(map.delete(key)).toBe(found !== undefined)
          list = rest
        } else {
          list = [...rest, ...(weight > most ? [] : [[key, weight] as const])]
          let gone: number | undefined
          while (sum() > most) gone = list.shift()?.[0]
          expect(map.set(key, weight)).toBe(gone)
        }
        expect([[...map.keys()], map.size, map.weight]).toEqual([list.map(([one]) => one), list.length, sum()])
      }
    }),
  )
})
