/** Builds and drops the search index. */
import { right } from '../json/index.ts'
import { termsOf } from '../entry/internal.ts'
import { checkStore } from '../session/internal.ts'
import { aFlag, aFunction, aSignal, checkOptions } from './check-options.ts'
import { withSignal, type Store, type StoreFaultOf } from '../store/index.ts'
import { callCallback, fail, need, type SignalLike, type Task } from '../task/index.ts'
import { searchSteps, searchTask, type IndexFault } from './fault.ts'

/** Options for indexing a store. */
interface IndexOptions {
  /** Whether to rebuild the index. Default: add missing rows. */
  readonly rebuild?: boolean
  /** Aborting this signal ends it with `Cancelled`. The rows that are indexed stay so. Default: none. */
  readonly signal?: SignalLike
  /**
   * Called after each batch.
   *
   * @param rows the number of rows indexed so far
   * @param of the total number of rows to index, as known now
   */
  readonly progress?: (rows: number, of: number) => void
}

/** The number of rows per batch. */
const piece = 2000

/**
 * Builds a store's search index, or adds missing rows. One index covers all scopes. From then on,
 * every process that opens the store indexes its appends in the same transaction.
 *
 * It may run during appends and searches. If it is interrupted, the next call continues.
 *
 * Cost    O(rows not yet indexed), in batches (bench: search)
 *
 * @param options whether to rebuild, and a progress callback
 * @returns the number of rows indexed, without encrypted ones, which are not indexed; or
 * `NoFullText`, if the store can't have an index
 */
export const indexStore = (indexed: Store, options: IndexOptions = {}): Task<IndexFault, number> => {
  checkStore('indexStore', indexed)
  const {
    rebuild = false,
    signal,
    progress,
  } = checkOptions('indexStore', options, {
    rebuild: aFlag,
    signal: aSignal,
    progress: aFunction,
  })
  return searchSteps(async function* () {
    const { index } = withSignal(indexed, signal)
    if (index === undefined) return yield* fail(noIndex)
    if (rebuild) yield* need(index.drop())
    yield* need(index.make())
    let [rows, encrypted] = [0, 0]
    for (;;) {
      const added = yield* need(index.add(termsOf, piece))
      rows += added.rows
      encrypted += added.encrypted ?? 0
      yield* need(callCallback('progress', () => progress?.(rows, rows + added.behind)))
      if (added.behind === 0 || added.rows === 0) return rows - encrypted
    }
  }, 'indexStore')
}

/**
 * Removes a store's search index. Its disk space can be reused for other rows.
 *
 * @param options a signal that ends it before the index is removed
 */
export const dropIndex = (store: Store, options: Pick<IndexOptions, 'signal'> = {}): Task<IndexFault, void> => {
  checkStore('dropIndex', store)
  const { index } = withSignal(store, checkOptions('dropIndex', options, { signal: aSignal }).signal)
  return searchTask(async () => (index === undefined ? right(undefined) : index.drop()()), 'dropIndex')
}

const noIndex: StoreFaultOf<'NoFullText'> = Object.freeze({
  _tag: 'NoFullText',
  reason: 'this kind of store does not support one',
})
