/** Verification: whether a session is what was appended, down to the bytes of its blocks. */
import { isLeft } from '../json/index.ts'
import { createHistory } from '../history/index.ts'
import type { BlockId } from '../proof/index.ts'
import type { Message } from '../message/index.ts'
import { attachedTo, takeMessage } from '../entry/index.ts'
import { verifyLog, type Head, type InspectRows, type Store } from '../store/index.ts'
import { called, type Task } from '../task/index.ts'
import { sessionTask, type VerifySessionFault } from './fault.ts'
import { sessionInfo, type SessionInfo } from './metadata.ts'
import { blocksOf, decodeRows, noteOf, readBlocks, type Damage } from './mirror.ts'

/** What a session is compared with. */
export interface VerifyOptions {
  /** A head that it had before. What was appended after it is no matter; what it stands for must not have changed. */
  readonly head?: Head
  /** Told how many rows have been read so far. */
  readonly progress?: (rows: number) => void
}

/**
 * Read a whole session and hold every row and block against the tree. `DamagedLog` names the first position of the log
 * that is altered, missing or in another place; `Diverged` says that it does not continue the head that was given.
 *
 * Without a head from elsewhere, somebody who can write to the store can make a whole new record that is good in itself.
 * With one, they can't change anything that it stands for.
 *
 * Cost    O(rows + bytes of blocks), in pieces
 */
export const verifySession = (
  store: Store,
  id: string,
  { head, progress }: VerifyOptions = {},
): Task<VerifySessionFault, SessionInfo> =>
  sessionTask(async () => {
    const log = await verifyLog(store, id, head, inspector(store, id, progress))()
    return isLeft(log) ? log : sessionInfo(log.right)
  })

const inspector = (store: Store, id: string, progress: VerifyOptions['progress']): InspectRows => {
  let sealed = false
  let seen = 0
  return async (rows) => {
    const all = decodeRows(id, rows)
    // What is wrong with the blocks of an earlier row comes first.
    const good = isLeft(all)
      ? decodeRows(
          id,
          rows.filter(({ position }) => position < all.left.position),
        )
      : all
    if (isLeft(good)) return good.left
    const blocks = await blocksOf(store, id, good.right)
    if (isLeft(blocks)) return blocks.left
    const history = createHistory<Message>()
    const attachments = new Map<BlockId, number>() // with the first row that names it
    let damage: Damage | undefined
    for (const row of good.right) {
      const note = row.kind === 'note' ? noteOf(row.body) : undefined
      const reason =
        row.kind === 'entry'
          ? takeMessage(history, row.entry, blocks.right)
          : note !== undefined && isLeft(note)
            ? note.left
            : undefined
      if (sealed || reason !== undefined) {
        damage = { _tag: 'DamagedLog', id, position: row.position, reason: reason ?? 'the row stands behind the seal' }
        break
      }
      sealed = note !== undefined && !isLeft(note) && note.right.type === 'seal'
      if (row.kind === 'entry')
        for (const block of attachedTo(history.view().at(-1) as Message))
          if (!attachments.has(block)) attachments.set(block, row.position)
    }
    const held = await readBlocks(store, id, attachments)
    if (isLeft(held)) return held.left
    if (damage !== undefined) return damage
    if (isLeft(all)) return all.left
    seen += rows.length
    const told = called('progress', () => progress?.(seen))
    return isLeft(told) ? told.left : undefined
  }
}
