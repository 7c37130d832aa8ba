/** Persists a history with content. */
import { checkBlockStore } from './ref-history.ts'
import { fail, need, type Task } from 'indelible/internal/task'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { isLeft } from 'indelible/internal/json'
import { classify, type PageKind } from 'indelible/pages'
import { type Message } from 'indelible/message'
import { messageFaultText } from 'indelible/internal/message'
import { blockIdOf, type BlockId } from 'indelible/internal/proof'
import type { BlockStore } from 'indelible/store'
import { sameBlocks } from 'indelible/internal/store'
import { missingBlocks, encodeRow } from 'indelible/internal/entry'
import { stateOf, storedOf, type PendingHistory, type StoredHistory } from './content.ts'
import { refsSteps, type PersistFault } from './fault.ts'
import { blocksOfRef, type MessageRef } from './ref.ts'

/** A message as blocks to store, and its ref. */
interface EncodedMessage {
  readonly ref: MessageRef
  readonly blocks: readonly Uint8Array[]
}

/**
 * Store the content of a history, and return it as a stored one, which has refs.
 *
 * Ids are digests of content, so a retry after any failure gives the same refs and stores nothing
 * twice. The pending history stays unchanged; messages appended to it later are not in the result.
 *
 * The blocks of messages that were hydrated or persisted before are not read again. If they were deleted since, the
 * refs are returned all the same, and `hydrate` fails with `MissingBlock`.
 *
 * Attachments are copied from the store that the history was hydrated from. If an attachment is in
 * neither store, the fault is `MissingBlock` and nothing is stored.
 *
 * Cost    one `putBlocks` for the blocks added since the history was hydrated, if any; one
 *         `hasBlocks` if there are attachments; O(len) in memory (bench: refs)
 *
 * @returns the stored history; or `OtherScope`, `MissingBlock`, a store fault
 * @throws TypeError if the history can't be persisted
 */
export const persist = (
  store: BlockStore,
  history: PendingHistory | StoredHistory,
): Task<PersistFault, StoredHistory> => {
  checkBlockStore('persist', store)
  const inside = stateOf(history)
  const { scope } = inside
  return refsSteps(async function* () {
    if (store.scope !== scope) return yield* fail({ _tag: 'OtherScope', expected: store.scope, found: scope })
    const known = inside.store !== undefined && sameBlocks(inside.store, store) ? inside.refs : []
    const view = history.view()
    const refs = [...known]
    const blocks: Uint8Array[] = []
    for (let position = known.length; position < view.length; position++) {
      const encoded = encodeMessage(store, view.at(position) as Message, view.pages.at(position) as PageKind)
      const flowId = position < inside.refs.length ? inside.refs[position]?.flowId : inside.flowOf(position)
      refs.push(flowId === undefined ? encoded.ref : Object.freeze({ ...encoded.ref, flowId }))
      blocks.push(...encoded.blocks)
    }
    const added = refs.slice(known.length).map(blocksOfRef)
    const own = new Set(added.flatMap(({ stored }) => stored))
    const attachments = new Set(added.flatMap(({ attachments }) => attachments).filter((id) => !own.has(id)))
    const brought = yield* need(missingBlocks(store, [...attachments], inside.store))
    if (blocks.length > 0) yield* need(store.putBlocks([...blocks, ...brought]))
    return storedOf({ ...inside, store, view: () => view, refs: Object.freeze(refs) })
  }, 'persist')
}

const encodeMessage = (store: BlockStore, message: Message, page: PageKind): EncodedMessage => {
  const encoded = encodeRow(message, page, page !== classify(message), store.hash)
  if (isLeft(encoded)) throw new TypeError(messageFaultText(encoded.left)) // histories with content have no placeholders
  const { row, blocks, attachments } = encoded.right
  const bytes = utf8ToBytes(row.body)
  const ids = new Set<BlockId>([blockIdOf(bytes, store.hash), ...(row.blocks ?? [])])
  return {
    ref: Object.freeze({
      blockIds: Object.freeze([...ids]),
      role: message.role,
      ...(attachments.length > 0 && { attached: attachments.length }),
    }),
    blocks: [bytes, ...blocks],
  }
}
