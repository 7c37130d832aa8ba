/** Logs of imports and copies that have not finished. */
import { isLeft, left, right } from '../../json/index.ts'
import type { Store, ListFault, RemoveFault } from '../../store/index.ts'
import { ownStore } from '../../store/kit.ts'
import type { Task } from '../../task/index.ts'
import { sessionTask } from '../fault.ts'
import { isPartial, partialMeta, type PartialOf } from '../record/metadata.ts'

/** The log of an import or a copy that has not finished. */
export interface Unfinished {
  /** The id of the session to be. */
  readonly id: string
  /** The function that began it. */
  readonly by: PartialOf
  /** The number of rows stored so far. */
  readonly rows: number
  /** The time of creation, in milliseconds since 1970. */
  readonly created: number
}

/**
 * List the logs of imports and copies that have not finished. Some may still be running: `removeUnfinished` makes such an
 * import or copy fail, and loses nothing else.
 *
 * Cost    O(logs of the scope)
 *
 * @param store the store to look in
 * @returns the logs
 */
export const listUnfinished = (store: Store): Task<ListFault, readonly Unfinished[]> =>
  sessionTask(async () => {
    const found: Unfinished[] = []
    for (const by of ['import', 'copy'] as const) {
      let after: string | undefined
      do {
        const page = await store.list({ where: partialMeta(by), ...(after !== undefined && { after }) })()
        if (isLeft(page)) return page
        for (const { id, head, created } of page.right.logs) found.push({ id, by, rows: head.size, created })
        after = page.right.next
      } while (after !== undefined)
    }
    return right(found)
  }, 'listUnfinished')

/**
 * Remove the log of an import or a copy that has not finished.
 *
 * @param store the store that has it
 * @param id the id that `listUnfinished` gave
 * @returns nothing; or `NoSuchLog` if there is no such log, also if it has become a session meanwhile
 */
export const removeUnfinished = (store: Store, id: string): Task<RemoveFault, void> =>
  sessionTask(async () => {
    const found = await store.info(id)()
    if (isLeft(found)) return found
    return isPartial(found.right) ? ownStore(store).remove(id)() : left({ _tag: 'NoSuchLog', id })
  }, 'removeUnfinished')
