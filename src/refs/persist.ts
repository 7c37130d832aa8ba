/** Persisting: from a history with content to refs of it. */
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { classify, type PageKind } from '../pages/index.ts'
import { messageFaultText, type BlockId, type Message } from '../message/index.ts'
import { blockIdOf, sameBlocks, type BlockStore } from '../store/index.ts'
import { insideOf, storedOf, type PendingHistory, type StoredHistory } from './content.ts'
import type { RefsTask } from './fault.ts'
import type { MessageRef } from './ref.ts'
import { encodeRow } from './row.ts'

/** A message as the blocks that are put for it, and the ref that stands for them. */
export interface EncodedMessage {
  readonly ref: MessageRef
  readonly blocks: readonly Uint8Array[]
}

/**
 * Put the content of a history into the store, and give it as one that is stored. Until then there are no refs of it.
 *
 * Ids are digests of content: after any failure, half-way too, trying again gives the same refs and stores nothing twice.
 * The pending history stays as it is and can be appended to; what is appended later is not part of what this gives.
 *
 * Cost    one `putBlocks` of what the store did not have when it was hydrated, none if that is nothing; O(len) in memory
 *         (bench: refs)
 * Throws  TypeError, on a history that can't be persisted
 */
export const persist = (store: BlockStore, history: PendingHistory | StoredHistory): RefsTask<StoredHistory> => {
  const inside = insideOf(history)
  const { scope, session } = inside
  return async () => {
    if (store.scope !== scope) return left({ _tag: 'OtherScope', expected: store.scope, found: scope })
    const known = inside.store !== undefined && sameBlocks(inside.store, store) ? inside.refs : []
    const view = history.view()
    const refs = [...known]
    const blocks: Uint8Array[] = []
    for (let position = known.length; position < view.length; position++) {
      const encoded = encodeMessage(store, view.at(position) as Message, view.pages.at(position) as PageKind)
      refs.push(encoded.ref)
      blocks.push(...encoded.blocks)
    }
    if (blocks.length > 0) {
      const put = await store.putBlocks(blocks)()
      if (isLeft(put)) return put
    }
    return right(storedOf({ scope, session, store, view: () => view, refs: Object.freeze(refs) }))
  }
}

export const encodeMessage = (store: BlockStore, message: Message, page: PageKind): EncodedMessage => {
  const encoded = encodeRow(message, page, page !== classify(message), store.hash)
  if (isLeft(encoded)) throw new TypeError(messageFaultText(encoded.left)) // no history with content takes a placeholder
  const { row, blocks } = encoded.right
  const bytes = utf8ToBytes(row.body)
  const ids = new Set<BlockId>([blockIdOf(bytes, store.hash), ...(row.blocks ?? [])])
  return { ref: Object.freeze({ blockIds: Object.freeze([...ids]), role: message.role }), blocks: [bytes, ...blocks] }
}
