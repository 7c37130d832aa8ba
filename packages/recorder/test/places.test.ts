import { expect, it } from 'vitest'
import { memoryStore, orThrow } from 'indelible'
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
    expect(orThrow(await places.find(`m:${key}`))).toEqual([{ session: `s${key}`, len: 1 }])
  expect(orThrow(await places.find('m:none'))).toEqual([])
})

it('each further place of a log is one append', async () => {
  const inner = memoryStore()
  const calls: string[] = []
  const store = new Proxy(inner, {
    get: (target, name) => {
      if (['create', 'append', 'read'].includes(String(name))) calls.push(String(name))
      return Reflect.get(target, name) as unknown
    },
  })
  const places = new Places(store)
  for (let len = 1; len < 4; len++) orThrow(await places.add([['c:one', { session: 's', len }]]))
  expect(calls.slice(-2)).toEqual(['append', 'append'])
  orThrow(await places.add([['c:one', { session: 's', len: 2 }]]))
  expect(orThrow(await places.find('c:one')).map(({ len }) => len)).toEqual([3, 2, 1])
  expect(orThrow(await new Places(store).find('c:one')).map(({ len }) => len)).toEqual([3, 2, 1])
  expect(orThrow(await places.find('c:other'))).toEqual([])
  calls.length = 0
  expect(orThrow(await places.add([]))).toBeUndefined()
  expect(calls).toEqual([])
})
