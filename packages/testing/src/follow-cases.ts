/** Following logs: every row of every writer once, in order. */
import { isRight } from 'indelible/json/kit'
import { followLog, type Store, type StoredRow } from 'indelible/store'
import { come, valueOrThrow, holds, same } from './check.ts'
import { add, asStored, entry, inScope, logWith, someRows } from './rows.ts'
import type { StoreCases } from './store-cases.ts'

/** The next row. */
const nextOf = async <T>(rows: AsyncIterator<T>): Promise<T> => {
  const next = await come(rows.next())
  if (next.done === true) throw new Error('the rows have ended')
  return next.value
}

/** The next `count` rows of a follower. */
const taken = async (store: Store, id: string, from: number, count: number): Promise<readonly StoredRow[]> => {
  const rows: StoredRow[] = []
  const following = followLog(store, id, { from })[Symbol.asyncIterator]()
  while (rows.length < count) rows.push(await nextOf(following))
  await following.return?.()
  return rows
}

/** The tag of the thrown fault. */
const thrownBy = async (work: Promise<unknown>): Promise<unknown> => {
  try {
    await come(work)
  } catch (error) {
    return ((error as { readonly fault?: { readonly _tag?: unknown } }).fault ?? {})._tag ?? String(error)
  }
  return 'nothing was thrown'
}

export const followCases: StoreCases = {
  'a follower gets the existing rows, then the new ones, once and in order': async (store) => {
    const rows = someRows(20)
    await logWith(store, 'a', rows.slice(0, 7))
    const following = taken(store, 'a', 0, 20)
    const late = taken(store, 'a', 12, 8) // beyond the end
    for (let from = 7; from < 20; from += 3) await add(store, 'a', rows.slice(from, Math.min(20, from + 3)))
    same(await following, asStored(rows))
    same(await late, asStored(rows).slice(12))
  },
  'a follower reads a log with more rows than one read returns': async (store) => {
    const rows = someRows(1203)
    await logWith(store, 'a', rows)
    same(await taken(store, 'a', 0, 1203), asStored(rows))
  },
  'a follower of a fork gets the shared rows': async (store) => {
    const rows = someRows(9)
    await logWith(store, 'a', rows)
    await valueOrThrow(store.fork('a', { id: 'b', at: 5 }))
    const following = taken(store, 'b', 2, 4)
    await add(store, 'a', [entry('not in the fork')])
    await add(store, 'b', [entry('in the fork')])
    same(await following, asStored([...rows.slice(0, 5), entry('in the fork')]).slice(2))
  },
  'a follower sees the appends of another handle, but not those of another scope': async (store, place) => {
    await logWith(store, 'a')
    const other = place.lasting ? await place.open() : store
    const scoped = inScope(other, 'other')
    await logWith(scoped, 'a')
    const following = taken(store, 'a', 0, 2)
    const elsewhere = taken(scoped, 'a', 0, 1)
    await add(scoped, 'a', [entry('of the other scope')])
    await add(other, 'a', [entry('one')])
    await add(store, 'a', [entry('two')])
    same(await following, asStored([entry('one'), entry('two')]))
    same(await elsewhere, asStored([entry('of the other scope')]))
    if (other !== store) await valueOrThrow(other.close())
  },
  'a follower that reads no rows blocks nobody, and gets them all later': async (store) => {
    const rows = someRows(60)
    await logWith(store, 'a', rows.slice(0, 2))
    const following = followLog(store, 'a')[Symbol.asyncIterator]()
    const first = await nextOf(following)
    for (const row of rows.slice(2)) await come(add(store, 'a', [row]))
    const found = [first]
    while (found.length < rows.length) found.push(await nextOf(following))
    same(found, asStored(rows))
    await following.return?.()
  },
  'with concurrent writers and followers, every follower gets every row, once and in order': async (store) => {
    await logWith(store, 'a')
    const following = Array.from({ length: 4 }, (_, index) => taken(store, 'a', index * 3, 80 - index * 3))
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let index = 0; index < 20;) {
        const { head } = await valueOrThrow(store.info('a'))
        const appended = await store.append('a', { expected: head, rows: [entry(`${writer}:${index}`)] })()
        if (isRight(appended)) index += 1
      }
    })
    await Promise.all(writers)
    const stored = await valueOrThrow(store.read('a'))
    for (const [index, rows] of (await Promise.all(following)).entries()) same(rows, stored.slice(index * 3))
  },
  'a follower ends when its signal aborts, also while it waits': async (store) => {
    await logWith(store, 'a', [entry('x')])
    for await (const row of followLog(store, 'a')) {
      same(row.body, 'x')
      break
    }
    const waiting = followLog(store, 'a', { from: 1 })[Symbol.asyncIterator]()
    const next = waiting.next()
    await new Promise((resolve) => setTimeout(resolve, 20))
    await waiting.return?.()
    same(await come(next), { done: true, value: undefined })
    const abort = new AbortController()
    const aborted = followLog(store, 'a', { from: 1, signal: abort.signal })[Symbol.asyncIterator]()
    const none = aborted.next()
    await new Promise((resolve) => setTimeout(resolve, 20))
    abort.abort()
    same(await come(none), { done: true, value: undefined })
    same(await come(aborted.next()), { done: true, value: undefined })
  },
  'a follower fails if its log is missing or removed, or the store is closed': async (store) => {
    const nextIn = (id: string): Promise<unknown> => followLog(store, id, { from: 1 })[Symbol.asyncIterator]().next()
    same(await thrownBy(nextIn('none')), 'NoSuchLog')
    await logWith(store, 'a', [entry('x')])
    const removed = thrownBy(nextIn('a'))
    await new Promise((resolve) => setTimeout(resolve, 20))
    await valueOrThrow(store.remove('a'))
    same(await removed, 'NoSuchLog')
    await logWith(store, 'b', [entry('x')])
    const closed = thrownBy(nextIn('b'))
    await new Promise((resolve) => setTimeout(resolve, 20))
    await valueOrThrow(store.close())
    same(await closed, 'Closed')
  },
  'a watcher is called after each change, until it ends its watch': async (store) => {
    await logWith(store, 'a')
    let calls = 0
    const stop = await valueOrThrow(store.watch('a', () => void (calls += 1)))
    await add(store, 'a', [entry('x')])
    holds(calls > 0, 'the watcher was called')
    stop()
    const before = calls
    await add(store, 'a', [entry('y')])
    await new Promise((resolve) => setTimeout(resolve, 50))
    same(calls, before, 'the calls after the end')
    stop()
  },
}
