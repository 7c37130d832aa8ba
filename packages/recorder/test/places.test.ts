import { expect, it } from 'vitest'
import { memoryStore } from 'indelible'
import { Places } from '../src/places.ts'
import { ok } from '../../../test/task-results.ts'

it('a place is found after more were added than fit in memory', async () => {
  const places = new Places(memoryStore())
  const many = 60_000
  for (let from = 0; from < many; from += 5000) {
    const keys = Array.from({ length: 5000 }, (_, index) => from + index)
    await ok(async () => places.add(keys.map((key) => [`m:${key}`, { session: `s${key}`, len: 1 }] as const)))
  }
  for (const key of [0, 1, 2, many / 2, many - 1])
    expect(await ok(async () => places.find(`m:${key}`))).toEqual([{ session: `s${key}`, len: 1 }])
  expect(await ok(async () => places.find('m:none'))).toEqual([])
})
