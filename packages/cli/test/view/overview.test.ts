/** What an overview of a session costs beside what was erased from others, and that it counts what was erased from it. */
import { expect, it } from 'vitest'
import { assistant, createSession, forkSession, memoryStore, user, type Store } from 'indelible'
import { eraseMessages } from 'indelible/session'
import { storeTask } from 'indelible/store/kit'
import { overviewsOf } from '../../src/view/overview.ts'

/** A store that counts how often a log is looked up. */
const counting = (store: Store): { readonly store: Store; lookups: number } => {
  const counted = { lookups: 0, store }
  const { info, identities, read } = store
  counted.store = {
    ...store,
    info: (id) => storeTask(async () => (counted.lookups++, info(id)()), 'info'),
    identities: (id) => storeTask(async () => (counted.lookups++, identities(id)()), 'identities'),
    read: (id, range) => storeTask(async () => (counted.lookups++, read(id, range)()), 'read'),
  }
  return counted
}

it('an overview looks up as much beside many erasures as beside one', async () => {
  const lookups = async (erasures: number): Promise<number> => {
    const inner = memoryStore()
    await (await createSession(inner, { id: 'own' })).append([user('hello'), assistant('hi')])
    for (let index = 0; index < erasures; index++) {
      await (await createSession(inner, { id: `e${index}` })).append([user('a secret'), assistant('noted')])
      await eraseMessages(inner, `e${index}`, [0])
    }
    const counted = counting(inner)
    const overviews = overviewsOf(counted.store)
    await overviews(['own'])
    const before = counted.lookups
    expect(await overviews(['own'])).toMatchObject([{ id: 'own', words: 'hello' }])
    return counted.lookups - before
  }
  expect(await lookups(20)).toBe(await lookups(1))
})

it('an overview counts the erased messages that a session has, its own and those that it shares with a fork', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 'a' })
  await session.append(['one', 'two', 'three'].map((text) => user(text)))
  await forkSession(store, 'a', { id: 'early', at: 1 })
  await forkSession(store, 'a', { id: 'late', at: 3 })
  const overviews = overviewsOf(store)
  const erased = async (): Promise<readonly unknown[]> =>
    (await overviews(['a', 'early', 'late'])).map((overview) => overview.erased)
  expect(await erased()).toEqual([undefined, undefined, undefined])
  await eraseMessages(store, 'late', [1])
  expect(await erased()).toEqual([1, undefined, 1])
  await eraseMessages(store, 'a', [0])
  expect(await erased()).toEqual([2, 1, 2])
  await store.remove('a')
  await createSession(store, { id: 'a' })
  expect(await erased()).toEqual([undefined, 1, 2])
})
