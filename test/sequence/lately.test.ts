import { expect, it } from 'vitest'
import { RecentMap } from '../../src/sequence/index.ts'

it('keeps what was used last, however much it is given', () => {
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

it('keeps as much as it may weigh, and nothing that weighs more', () => {
  const kept = new RecentMap<string, string>(10, ({ length }) => length)
  for (const text of ['four', 'three', 'a word of eleven', '1']) kept.set(text, text)
  expect([[...kept.keys()], kept.weight, kept.has('four')]).toEqual([['four', 'three', '1'], 10, true])
  expect([kept.set('six', 'sixsix'), [...kept.keys()], kept.weight]).toEqual(['three', ['1', 'six'], 7])
  kept.set('six', '6')
  expect([kept.delete('1'), kept.weight]).toEqual([true, 1])
})
