/** Appends exported rows to a session: messages with the times of their source, and notes of kept files with their bytes. */
import type { JsonObject } from '../../json/index.ts'
import type { BlockId } from '../../proof/internal.ts'
import { termsOf } from '../../entry/internal.ts'
import type { Head, Store } from '../../store/index.ts'
import { need, type Task } from '../../task/index.ts'
import { ownStore } from '../../store/internal.ts'
import { sessionSteps, type ImportFault } from '../fault.ts'
import { inheritedRows, sessionInfo, storedMeta } from '../record/metadata.ts'
import { newSalt } from '../record/rows.ts'
import { encodedOf, storeRows, type TimedExport } from './store-rows.ts'

/** Rows for a session. */
interface RowsToAppend {
  /** The head that they continue; undefined creates the session with them. */
  readonly head: Head | undefined
  /**
   * The metadata of a new session, or of one without messages whose metadata nobody changed; undefined: it stays as it is.
   */
  readonly metadata: JsonObject | undefined
  readonly rows: readonly TimedExport[]
  /** The blocks that notes of kept files name, by id. */
  readonly blocks: ReadonlyMap<BlockId, Uint8Array>
}

/**
 * Append rows to a session that is not sealed, in pieces, or create it with them, in one commit.
 *
 * @returns the new head; or `Conflict` if the session has grown, `LogExists` if it exists already
 */
export const appendRows = (store: Store, id: string, input: RowsToAppend): Task<ImportFault, Head> =>
  sessionSteps(async function* () {
    const { head, metadata, rows, blocks } = input
    if (head !== undefined) {
      const log = yield* need(store.info(id))
      const info = yield* need(sessionInfo(log))
      if (metadata !== undefined) {
        const meta = yield* need(storedMeta(metadata, info.forkedFrom, info.erasable, inheritedRows(log)))
        yield* need(ownStore(store).update(id, { expected: log.version, meta }))
      }
      const salted = info.erasable === true ? rows.map((row) => ({ ...row, salt: newSalt() })) : rows
      return yield* storeRows(store, id, head, salted, { blocks })
    }
    const meta = yield* need(storedMeta(metadata ?? {}))
    const encoded = []
    for (const [index, row] of rows.entries()) encoded.push(yield* need(encodedOf(row, store, index)))
    const first = {
      rows: encoded.map(({ row }) => row),
      blocks: [...encoded.flatMap((item) => item.blocks), ...blocks.values()],
    }
    return (yield* need(store.create({ id, meta, ...first, terms: termsOf, encrypt: true }))).head
  }, 'appendRows')
