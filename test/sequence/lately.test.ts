import { expect, it } from 'vitest'
import { Lately } from '../../src/sequence/index.ts'

it('keeps what was used last, however much it is given', () => {
  const kept = new Lately<number, string>(3)
  const passed: (number | undefined)[] = []
  for (let key = 0; key < 1000; key++) {
    passed.push(kept.set(key, `value ${key}`))
    expect(kept.get(0)).toBe('value 0') // used again and again
  }
  expect([kept.size, [...kept.keys()]]).toEqual([3, [998, 999, 0]])
  expect(passed.slice(0, 5)).toEqual([undefined, undefined, undefined, 1, 2])
  expect([kept.delete(0), kept.get(0), kept.size]).toEqual([true, undefined, 2])
})
