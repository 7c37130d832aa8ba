/** Follows a log: yields its rows as they are committed, by this process or any other. */
import { optionsOf, isCount } from '../../json/index.ts'
import { FaultError } from '../../task/index.ts'
import { storeFaultText, type StoreFault } from '../fault.ts'
import type { SignalLike } from '../../task/index.ts'
import type { Store } from '../port/store.ts'
import type { StoredRow } from '../port/row.ts'
import { sliceRows } from '../port/slices.ts'

/** The options of `followLog`. */
export interface FollowOptions {
  /** The position of the first row. If it is beyond the end, the iteration waits for it. Default: 0. */
  readonly from?: number
  /** Aborting this signal ends the iteration without an error. Default: only `break` ends it. */
  readonly signal?: SignalLike
}

/**
 * Follow a log from a position: first its stored rows, then each new row after its commit, by this
 * process or any other. Each row comes once, in order.
 *
 * Each iteration starts at `from` again. Rows are read when you ask for them, so a slow reader delays
 * no one else and takes no memory. After an error, continue at the last row's position plus 1.
 *
 * Cost    a read of up to 256 rows and of the log's identity for each signal; when idle that of `Store.watch`
 *
 * @param options the first position, and a signal that ends the iteration
 * @throws TypeError if `from` is not a whole number of at least 0. While iterating, a FaultError
 * with the store's fault: `NoSuchLog` when the log is removed, even if another one gets its id,
 * `Closed` when the store is closed
 * @example
 * for await (const row of followLog(store, 's', { from: 10 })) console.log(row.position, row.body)
 */
export const followLog = (
  store: Pick<Store, 'read' | 'watch' | 'identities'>,
  id: string,
  options: FollowOptions = {},
): AsyncIterable<StoredRow> => {
  return followRows(store, id, options, () => false)
}

/** Like `followLog`. The iteration ends after the first row for which `isLast` is true. */
export const followRows = (
  store: Pick<Store, 'read' | 'watch' | 'identities'>,
  id: string,
  options: FollowOptions,
  isLast: (row: StoredRow) => boolean,
): AsyncIterable<StoredRow> => {
  const { from = 0, signal } = optionsOf('follow', options, { from: true, signal: true })
  if (!isCount(from)) throw new TypeError(`from is ${String(from)}; expected a whole number of at least 0`)
  return { [Symbol.asyncIterator]: () => follower(store, id, from, signal, isLast) }
}

/** Wraps a generator so that it can end while it waits. By itself, a generator delays a `return` until the next row. */
const follower = (
  store: Pick<Store, 'read' | 'watch' | 'identities'>,
  id: string,
  from: number,
  signal: SignalLike | undefined,
  isLast: (row: StoredRow) => boolean,
): AsyncIterableIterator<StoredRow> => {
  let unwatch: (() => void) | undefined
  let ended = signal?.aborted === true
  let news = true // there may be unread rows
  let wait: (() => void) | undefined

  const wake = (): void => {
    news = true
    wait?.()
  }
  const end = (): void => {
    ended = true
    signal?.removeEventListener('abort', end)
    unwatch?.()
    unwatch = undefined
    wake()
  }
  const isOver = (): boolean => ended // another function may end it during an `await`
  if (!ended) signal?.addEventListener('abort', end)

  /** The identity of the log for its own rows, which no other log has. */
  const identityOf = async (): Promise<string | undefined> => (await store.identities(id)).at(-1)?.log

  async function* follow(): AsyncGenerator<StoredRow, undefined> {
    try {
      if (isOver()) return
      unwatch = await store.watch(id, wake)
      const identity = await identityOf()
      for (let position = from; !isOver();) {
        if (!news) await new Promise<void>((resolve) => (wait = resolve))
        news = false
        const rows = isOver() ? [] : await store.read(id, { from: position, to: position + sliceRows })
        // After the read: another log may have got the id at any time before.
        if (rows.length > 0 && (await identityOf()) !== identity) throw noSuchLog(id)
        news ||= rows.length === sliceRows
        for (const row of rows) {
          if (isOver()) return
          position = row.position + 1
          yield row
          if (isLast(row)) return
        }
      }
    } finally {
      end()
    }
  }

  const rows = follow()
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next: () => rows.next(),
    return: async () => {
      end()
      return { done: true, value: undefined }
    },
  }
}

const noSuchLog = (id: string): FaultError<StoreFault> => {
  const fault: StoreFault = { _tag: 'NoSuchLog', id }
  return new FaultError(fault, storeFaultText(fault))
}
