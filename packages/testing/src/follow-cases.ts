/** Following logs: every row of every writer once, in order. */
import { isRight } from 'indelible/internal/json'
import { followLog, type Store, type StoredRow } from 'indelible/store'
import { mustCome, valueOrThrow, mustHold, mustEqual } from './check.ts'
import { add, storedRowsOf, entry, storeInScope, createLogWith, someRows } from './rows.ts'
import type { StoreCases } from './store-cases.ts'

const nextOf = async <T>(rows: AsyncIterator<T>): Promise<T> => {
  const next = await mustCome(rows.next())
  if (next.done === true) throw new Error('the rows have ended')
  return next.value
}

/** The next `count` rows of a follower. */
const takeRows = async (store: Store, id: string, from: number, count: number): Promise<readonly StoredRow[]> => {
  const rows: StoredRow[] = []
  const following = followLog(store, id, { from })[Symbol.asyncIterator]()
  while (rows.length < count) rows.push(await nextOf(following))
  await following.return?.()
  return rows
}

const thrownTag = async (work: Promise<unknown>): Promise<unknown> => {
  try {
    await mustCome(work)
  } catch (error) {
    return ((error as { readonly fault?: { readonly _tag?: unknown } }).fault ?? {})._tag ?? String(error)
  }
  return 'nothing was thrown'
}

export const followCases: StoreCases = {
  'a follower gets the existing rows, then the new ones, once and in order': async (store) => {
    const rows = someRows(20)
    await createLogWith(store, 'a', rows.slice(0, 7))
    const following = takeRows(store, 'a', 0, 20)
    const late = takeRows(store, 'a', 12, 8) // beyond the end
    for (let from = 7; from < 20; from += 3) await add(store, 'a', rows.slice(from, Math.min(20, from + 3)))
    mustEqual(await following, storedRowsOf(rows))
    mustEqual(await late, storedRowsOf(rows).slice(12))
  },
  'a follower reads a log with more rows than one read returns': async (store) => {
    const rows = someRows(1203)
    await createLogWith(store, 'a', rows)
    mustEqual(await takeRows(store, 'a', 0, 1203), storedRowsOf(rows))
  },
  'a follower of a fork gets the shared rows': async (store) => {
    const rows = someRows(9)
    await createLogWith(store, 'a', rows)
    await valueOrThrow(store.fork('a', { id: 'b', at: 5 }))
    const following = takeRows(store, 'b', 2, 4)
    await add(store, 'a', [entry('not in the fork')])
    await add(store, 'b', [entry('in the fork')])
    mustEqual(await following, storedRowsOf([...rows.slice(0, 5), entry('in the fork')]).slice(2))
  },
  'a follower sees the appends of another handle, but not those of another scope': async (store, place) => {
    await createLogWith(store, 'a')
    const other = place.lasting ? await place.open() : store
    const scoped = storeInScope(other, 'other')
    await createLogWith(scoped, 'a')
    const following = takeRows(store, 'a', 0, 2)
    const elsewhere = takeRows(scoped, 'a', 0, 1)
    await add(scoped, 'a', [entry('of the other scope')])
    await add(other, 'a', [entry('one')])
    await add(store, 'a', [entry('two')])
    mustEqual(await following, storedRowsOf([entry('one'), entry('two')]))
    mustEqual(await elsewhere, storedRowsOf([entry('of the other scope')]))
  },
  'a follower that reads no rows blocks nobody, and gets them all later': async (store) => {
    const rows = someRows(60)
    await createLogWith(store, 'a', rows.slice(0, 2))
    const following = followLog(store, 'a')[Symbol.asyncIterator]()
    const first = await nextOf(following)
    for (const row of rows.slice(2)) await mustCome(add(store, 'a', [row]))
    const found = [first]
    while (found.length < rows.length) found.push(await nextOf(following))
    mustEqual(found, storedRowsOf(rows))
    await following.return?.()
  },
  'with concurrent writers and followers, every follower gets every row, once and in order': async (store) => {
    await createLogWith(store, 'a')
    const following = Array.from({ length: 4 }, (_, index) => takeRows(store, 'a', index * 3, 80 - index * 3))
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let index = 0; index < 20;) {
        const { head } = await valueOrThrow(store.info('a'))
        const appended = await store.append('a', { expected: head, rows: [entry(`${writer}:${index}`)] })()
        if (isRight(appended)) index += 1
      }
    })
    await Promise.all(writers)
    const stored = await valueOrThrow(store.read('a'))
    for (const [index, rows] of (await Promise.all(following)).entries()) mustEqual(rows, stored.slice(index * 3))
  },
  'a follower ends when its signal aborts, also while it waits': async (store) => {
    await createLogWith(store, 'a', [entry('x')])
    for await (const row of followLog(store, 'a')) {
      mustEqual(row.body, 'x')
      break
    }
    const waiting = followLog(store, 'a', { from: 1 })[Symbol.asyncIterator]()
    const next = waiting.next()
    await new Promise((resolve) => setTimeout(resolve, 20))
    await waiting.return?.()
    mustEqual(await mustCome(next), { done: true, value: undefined })
    const abort = new AbortController()
    const aborted = followLog(store, 'a', { from: 1, signal: abort.signal })[Symbol.asyncIterator]()
    const none = aborted.next()
    await new Promise((resolve) => setTimeout(resolve, 20))
    abort.abort()
    mustEqual(await mustCome(none), { done: true, value: undefined })
    mustEqual(await mustCome(aborted.next()), { done: true, value: undefined })
  },
  'a follower fails if its log is missing or removed, or the store is closed': async (store) => {
    const nextIn = (id: string): Promise<unknown> => followLog(store, id, { from: 1 })[Symbol.asyncIterator]().next()
    mustEqual(await thrownTag(nextIn('none')), 'NoSuchLog')
    await createLogWith(store, 'a', [entry('x')])
    const removed = thrownTag(nextIn('a'))
    await new Promise((resolve) => setTimeout(resolve, 20))
    await valueOrThrow(store.remove('a'))
    mustEqual(await removed, 'NoSuchLog')
    await createLogWith(store, 'b', [entry('x')])
    const closed = thrownTag(nextIn('b'))
    await new Promise((resolve) => setTimeout(resolve, 20))
    await valueOrThrow(store.close())
    mustEqual(await closed, 'Closed')
  },
  'a follower of a removed log never gets the rows of another log with its id': async (store) => {
    for (const isWaiting of [true, false]) {
      await createLogWith(store, 'a', [entry('of ann')])
      await createLogWith(store, 'other', [entry('of ann')])
      const following = followLog(store, 'a')[Symbol.asyncIterator]()
      mustEqual((await nextOf(following)).body, 'of ann')
      const next = isWaiting ? thrownTag(following.next()) : undefined
      await new Promise((resolve) => setTimeout(resolve, 20))
      await valueOrThrow(store.remove('a'))
      if (isWaiting) await valueOrThrow(store.fork('other', { id: 'a', at: 1 }))
      else await createLogWith(store, 'a', [entry('of ann')])
      await add(store, 'a', [entry('of bob')])
      mustEqual(await (next ?? thrownTag(following.next())), 'NoSuchLog')
      mustEqual(await takeRows(store, 'a', 1, 1), storedRowsOf([entry('of ann'), entry('of bob')]).slice(1))
      for (const id of ['a', 'other']) await valueOrThrow(store.remove(id))
    }
  },
  'a watcher is called after each change, until it ends its watch': async (store) => {
    await createLogWith(store, 'a')
    let calls = 0
    const stop = await valueOrThrow(store.watch('a', () => void (calls += 1)))
    await add(store, 'a', [entry('x')])
    mustHold(calls > 0, 'the watcher was called')
    stop()
    const before = calls
    await add(store, 'a', [entry('y')])
    await new Promise((resolve) => setTimeout(resolve, 50))
    mustEqual(calls, before, 'the calls after the end')
    stop()
  },
}
