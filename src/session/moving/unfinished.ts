/** Logs of unfinished imports and copies. */
import { checkStore } from '../record/store-of.ts'
import type { Store, ListFault, RemoveFault } from '../../store/index.ts'
import { ownStore } from '../../store/internal.ts'
import { fail, need, pagesOf, type Task } from '../../task/index.ts'
import { sessionSteps } from '../fault.ts'
import { isPartial, partialMeta } from '../record/metadata.ts'

/** The log of an unfinished import or copy. */
export interface UnfinishedLog {
  /** The id: of the copied session, or of the import's own log. */
  readonly id: string
  /** The function that started it. */
  readonly by: 'import' | 'copy'
  /** The number of rows stored so far. */
  readonly rows: number
  /** The time of creation, in milliseconds since 1970. */
  readonly created: number
}

/**
 * List the logs of unfinished imports and copies. Some may still be running. Passing such a log to
 * `removeUnfinished` makes its import or copy fail, and loses nothing else.
 *
 * Cost    O(logs of the scope)
 *
 * @param store the store to look in
 * @returns the logs
 */
export const listUnfinished = (store: Store): Task<ListFault, readonly UnfinishedLog[]> => {
  checkStore('listUnfinished', store)
  return sessionSteps(async function* () {
    const found: UnfinishedLog[] = []
    for (const by of ['import', 'copy'] as const)
      for await (const page of pagesOf((from) => store.list({ where: partialMeta(by), ...from })()))
        for (const { id, head, created } of (yield* need(page)).logs)
          found.push(Object.freeze({ id, by, rows: head.size, created }))
    return Object.freeze(found)
  }, 'listUnfinished')
}

/**
 * Remove the log of an unfinished import or copy.
 *
 * @param store the store that has it
 * @param id an id from `listUnfinished`
 * @returns nothing; or `NoSuchLog` if there is no such log, or if it has become a session meanwhile
 */
export const removeUnfinished = (store: Store, id: string): Task<RemoveFault, void> => {
  checkStore('removeUnfinished', store)
  return sessionSteps(async function* () {
    const found = yield* need(store.info(id))
    if (!isPartial(found)) return yield* fail({ _tag: 'NoSuchLog', id })
    return yield* need(ownStore(store).remove(id))
  }, 'removeUnfinished')
}
