/** Sessions that another process removes, and perhaps creates again, while they are read: they are not damaged. */
import { isLeft } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import {
  createSession,
  memoryStore,
  openSession,
  orThrow,
  readSession,
  user,
  verifySession,
  type Store,
} from 'indelible'
import { copySession, eraseMessages, findMessages, readRange } from 'indelible/session'
import { storeOf, type StoreDriver } from 'indelible/store/driver'
import { memoryDriver } from '../../src/store/memory/memory.ts'
import type { Task } from '../../src/task/index.ts'

const reads: Readonly<Record<string, (store: Store) => Task<{ readonly _tag: string }, unknown>>> = {
  openSession: (store) => openSession(store, 'a'),
  readSession: (store) => readSession(store, 'a'),
  findMessages: (store) => findMessages(store, 'a', { matching: /text/ }),
  readRange: (store) => readRange(store, 'a'),
  eraseMessages: (store) => eraseMessages(store, 'a', [0], { reason: 'asked to' }),
  copySession: (store) => copySession(store, memoryStore(), 'a'),
  verifySession: (store) => verifySession(store, 'a'),
}

/** A store with a session whose messages are stored as blocks, and which changes before this call of its driver. */
const changedBefore = async (
  call: 'read' | 'getBlocks',
  change: (store: Store) => Promise<unknown>,
): Promise<{ readonly store: Store; readonly isChanged: () => boolean }> => {
  let now = 0
  let isChanged = false
  const driver = memoryDriver({ now: () => ++now })
  const bare = orThrow(storeOf(driver))
  const changing =
    <A extends readonly unknown[], R>(inner: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (!isChanged) {
        isChanged = true
        await change(bare)
      }
      return inner(...args)
    }
  await createSession(bare, { id: 'a', messages: ['one', 'two', 'three'].map(longText) })
  const changed: StoreDriver = {
    ...driver,
    ...(call === 'read' ? { read: changing(driver.read) } : { getBlocks: changing(driver.getBlocks) }),
  }
  return { store: orThrow(storeOf(changed)), isChanged: () => isChanged }
}

const longText = (text: string) => user(`${text} text `.repeat(600))

const calls = ['read', 'getBlocks'] as const
const cases = Object.entries(reads).flatMap(([name, read]) => calls.map((call) => ({ name, call, read })))

it.each(cases)('$name of a session that is removed before `$call` is NoSuchLog', async ({ call, read }) => {
  const { store, isChanged } = await changedBefore(call, async (bare) => bare.remove('a'))
  const answer = await read(store)()
  expect(isChanged()).toBe(true)
  expect(answer).toMatchObject({ _tag: 'Left', left: { _tag: 'NoSuchLog', id: 'a' } })
})

// `readRange` reads a session without its description, so it can't tell another one. The memory driver throws if it is
// asked for nodes that it lacks, as `verifySession` does here before it looks for the log again.
it.each(cases.filter(({ name, call }) => name !== 'readRange' && !(name === 'verifySession' && call === 'read')))(
  '$name of a session that is removed and created again before `$call` reads the new one',
  async ({ call, read }) => {
    const { store, isChanged } = await changedBefore(call, async (bare) => {
      await bare.remove('a')
      await createSession(bare, { id: 'a', messages: [longText('another')] })
    })
    const answer = await read(store)()
    expect(isChanged()).toBe(true)
    expect(isLeft(answer) && answer.left).toBe(false)
    expect(await verifySession(store, 'a')).toMatchObject({ head: { size: 1 } })
  },
)
