import { expect, it } from 'vitest'
import { isLeft, left } from 'fp-ts/lib/Either.js'
import { memoryStore, orThrow, type Store } from 'indelible'
import { ownStore, storeTask } from 'indelible/internal/store'
import { Places } from '../src/conversations/places.ts'
import { ok } from '../../../test/task-results.ts'
import { rounds } from '../../../test/rounds.ts'

it('a place is found after more were added than fit in memory', async () => {
  const places = new Places(memoryStore())
  const many = rounds(25_000, 60_000)
  for (let from = 0; from < many; from += 5000) {
    const keys = Array.from({ length: 5000 }, (_, index) => from + index)
    await ok(async () => places.add(keys.map((key) => [`m:${key}`, { session: `s${key}`, len: 1 }] as const)))
  }
  for (const key of [0, 1, 2, many / 2, many - 1])
    expect(orThrow(await places.find(`m:${key}`))).toEqual([{ session: `s${key}`, len: 1 }])
  expect(orThrow(await places.find('m:none'))).toEqual([])
})

it('each further place of a log is one update of its metadata', async () => {
  const inner = memoryStore()
  const calls: string[] = []
  const store = new Proxy(inner, {
    get: (target, name) => {
      if (['create', 'append', 'update', 'read'].includes(String(name))) calls.push(String(name))
      return Reflect.get(target, name) as unknown
    },
  })
  const places = new Places(store)
  for (let len = 1; len < 4; len++) orThrow(await places.add([['c:one', { session: 's', len }]]))
  expect(calls.slice(-2)).toEqual(['update', 'update'])
  orThrow(await places.add([['c:one', { session: 's', len: 2 }]]))
  expect(orThrow(await places.find('c:one')).map(({ len }) => len)).toEqual([3, 2, 1])
  expect(orThrow(await new Places(store).find('c:one')).map(({ len }) => len)).toEqual([3, 2, 1])
  expect(orThrow(await places.find('c:other'))).toEqual([])
  calls.length = 0
  expect(orThrow(await places.add([]))).toBeUndefined()
  expect(calls).toEqual([])
})

it('places that two processes add at once are all found, by them and by a third', async () => {
  const store = memoryStore()
  const [a, b] = [new Places(store), new Places(store)]
  const keys = Array.from({ length: 300 }, (_, index) => `m:${index}` as const)
  const addEach = async (places: Places, parity: number): Promise<void> => {
    for (const [index, key] of keys.entries())
      if (index % 2 === parity) orThrow(await places.add([[key, { session: `s${index % 7}`, len: index }]]))
  }
  await Promise.all([addEach(a, 0), addEach(b, 1)])
  for (const places of [a, b, new Places(store)])
    for (const [index, key] of keys.entries())
      expect(orThrow(await places.find(key))).toEqual([{ session: `s${index % 7}`, len: index }])
})

it('a place is found, once, if the process dies before its row is out of the metadata', async () => {
  const inner = memoryStore()
  const died: string[] = []
  const store: Store = {
    ...inner,
    append: (id, append) => {
      died.push(id)
      return inner.append(id, append)
    },
    update: (id, update) =>
      died.length > 0
        ? storeTask(async () => left({ _tag: 'Io', operation: 'update', cause: 'killed' }), 'update')
        : inner.update(id, update),
  }
  const places = new Places(store)
  let added = 0
  while (!isLeft(await places.add([['c:one', { session: 's', len: added }]]))) added++
  expect(added).toBeGreaterThan(10)
  const found = orThrow(await new Places(inner).find('c:one')).map(({ len }) => len)
  expect(found).toEqual(Array.from({ length: added + 1 }, (_, index) => added - index))
})

it('places are added and found after the index was removed and made again', async () => {
  const store = memoryStore()
  const places = new Places(store)
  for (let len = 0; len < 3; len++) orThrow(await places.add([['c:one', { session: 's', len }]]))
  for (const { id } of (await ok(store.list())).logs) if (id.endsWith('.places')) await ok(ownStore(store).remove(id))
  orThrow(await new Places(store).add([['c:other', { session: 't', len: 1 }]]))
  orThrow(await places.add([['c:one', { session: 's', len: 9 }]]))
  expect(orThrow(await places.find('c:one'))).toEqual([{ session: 's', len: 9 }])
  expect(orThrow(await places.find('c:other'))).toEqual([{ session: 't', len: 1 }])
})

it('a look-up reads the rows of a log once, and then only those added since', async () => {
  const inner = memoryStore()
  const ranges: unknown[] = []
  const store: Store = {
    ...inner,
    read: (id, range) => {
      if (id.endsWith('.places')) ranges.push(range)
      return inner.read(id, range)
    },
  }
  const [writer, reader] = [new Places(inner), new Places(store)]
  const add = async (from: number, to: number): Promise<void> => {
    for (let len = from; len < to; len++) orThrow(await writer.add([['c:one', { session: 's', len }]]))
  }
  await add(0, 70) // two rows, and a few in the metadata
  for (let look = 0; look < 3; look++) expect(orThrow(await reader.find('c:one'))).toHaveLength(70)
  expect(ranges).toEqual([{ from: 0, to: 2 }])
  await add(70, 100)
  expect(orThrow(await reader.find('c:one'))).toHaveLength(100)
  expect(ranges).toEqual([
    { from: 0, to: 2 },
    { from: 2, to: 3 },
  ])
})

it('an index whose secret can not be read or stored is a fault, and nothing is added', async () => {
  const inner = memoryStore()
  const io = { _tag: 'Io', operation: 'x', cause: 'the disk is gone' } as const
  const failing = (call: 'read' | 'create'): Store => ({
    ...inner,
    [call]: () => storeTask(async () => left(io), call),
  })
  for (const call of ['read', 'create'] as const) {
    const places = new Places(failing(call))
    expect(await places.add([['c:one', { session: 's', len: 1 }]])).toEqual(left(io))
    expect(await places.find('c:one')).toEqual(left(io))
  }
  expect((await ok(inner.list())).logs).toEqual([])
})
