/** The arguments of calls: each operation copies its arguments before it returns, so later changes have no effect. */
import { blockIdOf } from 'indelible/internal/proof'
import type { Store } from 'indelible/store'
import { bytes } from './block-contract.ts'
import { valueOrThrow, mustEqual, changeEverything } from './check.ts'
import { add, bodiesOf, canErase, entry, createLogWith, note } from './rows.ts'
import type { StoreCases } from './store-cases.ts'

/** Runs every operation, passing its arguments to `after` once the call has returned. Returns the answers. */
const everything = async (store: Store, id: string, after: (value: unknown) => void): Promise<readonly unknown[]> => {
  const answers: unknown[] = []
  const call = async <Given extends object, T>(
    value: Given,
    operation: (input: Given) => Parameters<typeof valueOrThrow<T>>[0],
  ): Promise<T> => {
    const called = operation(value)
    after(value)
    const answer = await valueOrThrow(called)
    answers.push(answer)
    return answer
  }
  const block = bytes(100)
  const ids = [blockIdOf(bytes(100), store.hash)]
  const made = await call(
    { id, meta: { n: [1] }, rows: [{ ...entry('one'), blocks: [...ids] }], blocks: [block], encrypt: false as const },
    (value) => store.create(value),
  )
  const two = { ...entry('two'), blocks: [blockIdOf(bytes(60), store.hash)] }
  await call({ expected: { ...made.head }, rows: [two, note('three')], blocks: [bytes(60)], operation: 'o' }, (value) =>
    store.append(id, value),
  )
  await call({ expected: 1, meta: { n: [2], of: id } }, (value) => store.update(id, value))
  await call({ id: `${id} fork`, at: 2, meta: { of: id } }, (value) => store.fork(id, value))
  await call({ from: 1, to: 3 }, (value) => store.read(id, value))
  await call({ only: 'note' as const }, (value) => store.read(id, value))
  await call([0, 2], (value) => store.nodes(id, value))
  await call({ where: { of: id }, limit: 1, by: 'appended' as const }, (value) => store.list(value))
  await call([bytes(50)], (value) => store.putBlocks(value))
  await call([...ids], (value) => store.getBlocks(value))
  await call([...ids], (value) => store.hasBlocks(value))
  const { number } = await call({ holder: 'h', ttl: 60_000 }, (value) => store.lease(id, value))
  await call({ number, ttl: 120_000 }, (value) => store.renew(id, value))
  await call({ id: `${id} gone`, encrypt: false as const }, (value) => store.create(value))
  await call({}, (value) => store.remove(`${id} gone`, value))
  answers.push(await valueOrThrow(store.read(id)), (await valueOrThrow(store.info(id))).meta)
  return answers
}

/** The answers without log ids and clock values, which must be equal for both logs. */
const comparable = (answers: readonly unknown[], id: string): string =>
  JSON.stringify(answers, (name, value: unknown) =>
    ['created', 'appended', 'expires', 'remaining', 'next'].includes(name)
      ? undefined
      : typeof value === 'string'
        ? value.replaceAll(id, 'ID')
        : value,
  )

export const argumentCases: StoreCases = {
  'changing an argument directly after the call has no effect': async (store) => {
    const kept = await everything(store, 'kept', () => {})
    mustEqual(comparable(await everything(store, 'gone', changeEverything), 'gone'), comparable(kept, 'kept'))
  },
  'changing a request to erase, or the texts to find, after the call has no effect': async (store) => {
    if (!(await canErase(store))) return
    await createLogWith(store, 'a')
    await add(store, 'a', [entry('one'), entry('two')])
    const texts = ['one']
    const looking = store.containing(texts)
    changeEverything(texts)
    mustEqual((await looking).rows, [{ id: 'a', position: 0 }])
    const request = {
      logs: [
        {
          id: 'a',
          expected: { ...(await valueOrThrow(store.info('a'))).head },
          rows: [{ position: 0, stub: '"gone"' }],
        },
      ],
      reason: 'asked to',
    }
    const erasing = store.erase(request)
    changeEverything(request)
    mustEqual((await valueOrThrow(erasing)).rows, 1)
    mustEqual(await bodiesOf(store, 'a'), ['"gone"', 'two'])
  },
}
