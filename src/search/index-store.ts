/** Making the index that searches use. */
import { right } from '../json/index.ts'
import { termsOf } from '../entry/kit.ts'
import { checkStore } from '../session/kit.ts'
import { aFlag, aFunction, checkOptions } from './checked.ts'
import type { Store, StoreFaultOf } from '../store/index.ts'
import { callCallback, fail, need, type Task } from '../task/index.ts'
import { searchSteps, searchTask, type IndexFault } from './fault.ts'

/** How to index a store. */
export interface IndexOptions {
  /** True: make the index anew. Default: add what it lacks. */
  readonly rebuild?: boolean
  /**
   * Called after each piece.
   *
   * @param rows the number of rows indexed so far
   * @param of the number of rows to index, as far as it is known now
   */
  readonly progress?: (rows: number, of: number) => void
}

/** How many rows are indexed between two reports. */
const piece = 2000

/**
 * Make the search index of a store, or add the rows that it lacks. The index is one for all scopes. From then on appends
 * are indexed in their own transaction, by every process that opens the store.
 *
 * It may run beside appends and searches. One that is killed is continued by the next.
 *
 * Cost    O(rows that are not indexed), in pieces (bench: search)
 *
 * @param options whether to begin anew, and a callback for progress
 * @returns the number of rows indexed, without encrypted ones, of which an index has nothing; or `NoFullText`, if the store can have no index
 */
export const indexStore = (store: Store, options: IndexOptions = {}): Task<IndexFault, number> => {
  checkStore('indexStore', store)
  const { rebuild = false, progress } = checkOptions('indexStore', options, {
    rebuild: aFlag,
    progress: aFunction,
  })
  return searchSteps(async function* () {
    const { index } = store
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

/** Remove the search index of a store. Its disk space is free for other rows. */
export const dropIndex = (store: Store): Task<IndexFault, void> => {
  checkStore('dropIndex', store)
  return searchTask(async () => (store.index === undefined ? right(undefined) : store.index.drop()()), 'dropIndex')
}

const noIndex: StoreFaultOf<'NoFullText'> = Object.freeze({
  _tag: 'NoFullText',
  reason: 'this kind of store keeps none',
})
