/** Proofs that a message is in a record with a known head, for someone without the store or the other messages. */
import { checkStore } from '../record/store-of.ts'
import { bytesToHex } from '@noble/hashes/utils.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { blockIdOf, portableSha256, type BlockId } from '../../proof/internal.ts'
import { createHistory } from '../../history/index.ts'
import {
  checkArgument,
  base64Of,
  bytesOfBase64,
  freezeResult,
  hasOnly,
  type Immutable,
  isLeft,
  isObject,
  present,
  right,
  optionsOf,
  ownField,
  ownFields,
  isCount,
} from '../../json/index.ts'
import type { Message } from '../../message/index.ts'
import type { PageKind } from '../../pages/index.ts'
import { decodeRow, isRowText, takeMessage } from '../../entry/internal.ts'
import type { Head, Store, StoreFaultOf, StoredRow } from '../../store/index.ts'
import {
  erasureOf,
  inclusionPath,
  isMoment,
  isSalt,
  ledgerContent,
  rangeAt,
  headOf,
  rowLeaf,
} from '../../store/internal.ts'
import { sessionSteps, type ReadSessionFault, type SessionFaultOf } from '../fault.ts'
import { fail, need, type Steps, type Task } from '../../task/index.ts'
import { headMismatch, badProof } from '../erasing/receipt.ts'
import { isHead, isPath, isProofOf, leadsTo } from '../record/head-proof.ts'
import type { SessionInfo } from '../record/metadata.ts'
import { describeSession } from '../opening/open.ts'
import { blocksOf, decodeRows } from '../record/loaded-record.ts'

/** The proof of one message, as JSON. */
export interface EntryProof {
  readonly indelible: 'proof'
  /** The version of this format. */
  readonly version: 1
  /** The id of the session. The proof does not cover it. */
  readonly session: string
  /** The position of the message in the log of messages and notes. */
  readonly row: number
  /** The stored text of the row. */
  readonly body: string
  /** The time of the row, in milliseconds since 1970. */
  readonly at: number
  /** The salt of the row. */
  readonly salt?: string
  /** The blocks that the row references, in base64, by id. */
  readonly blocks: { readonly [id: string]: string }
  /** The head that the proof leads to. A checker must know it from elsewhere. */
  readonly head: Head
  /** The hashes on the path from the row to the root, bottom up, in hexadecimal. */
  readonly path: readonly string[]
}

/** The result of a valid proof. */
export interface Proven {
  /** The id that the proof names. The proof does not cover it. */
  readonly session: string
  /** The position of the row in the log of messages and notes. */
  readonly row: number
  /** The head that the proof is for. */
  readonly head: Head
  /** The message. */
  readonly message: Immutable<Message>
  /** Its page kind. */
  readonly page: PageKind
  /** The time of the append by the writer's clock, in milliseconds since 1970. The head covers it. */
  readonly at: number
}

/** The head to prove against. */
interface ProveOptions {
  /** The size of an earlier head, in rows. Default: the current head. */
  readonly size?: number
}

/**
 * Prove that a message is in a session.
 *
 * Cost    O(log length) rows and nodes, and the blocks of the message
 *
 * @param store the store that has the session
 * @param id the id of the session
 * @param position the position of the message in the record; a negative one counts from the end
 * @param options the earlier head to prove against
 * @returns the proof; or `NoSuchLog`, `BeyondEnd`, `MessageErased`, `MessageEncrypted`
 */
export const proveEntry = (
  store: Store,
  id: string,
  position: number,
  options: ProveOptions = {},
): Task<
  ReadSessionFault | StoreFaultOf<'BeyondEnd' | 'NotALedger'> | SessionFaultOf<'MessageErased' | 'MessageEncrypted'>,
  EntryProof
> => {
  checkStore('proveEntry', store)
  checkArgument('proveEntry', typeof position === 'number', 'a position', position)
  const { size } = optionsOf('proveEntry', options, { size: true })
  return sessionSteps(async function* () {
    const { row, info } = yield* rowOfMessage(store, id, position)
    const { head: now } = info
    if (row.erased !== undefined) {
      const content = yield* need(ledgerContent(store))
      const identities = yield* need(store.identities(id))
      const { at, reason, by } = erasureOf(content, row, identities, store.hash) ?? {}
      return yield* fail({
        _tag: 'MessageErased',
        id,
        position: row.index,
        ...present({ at, reason, by }),
      })
    }
    if (size !== undefined && (!Number.isSafeInteger(size) || size <= row.position || size > now.size))
      return yield* fail({ _tag: 'BeyondEnd', id, at: size, size: now.size })
    const range = size === undefined ? undefined : yield* need(rangeAt(store, id, size))
    if (info.encrypted) return yield* fail({ _tag: 'MessageEncrypted', id, position: row.index })
    const head = range === undefined ? now : headOf(range, store.hash)
    const decoded = yield* need(decodeRows(id, [row]))
    const blocks = yield* need(blocksOf(store, id, decoded))
    const path = yield* need(inclusionPath(store, id, row.position, head.size))
    const proof: EntryProof = {
      indelible: 'proof',
      version: 1,
      session: id,
      row: row.position,
      body: row.body,
      at: row.at,
      ...saltOf(row),
      blocks: Object.fromEntries(
        [...blocks].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([block, bytes]) => [block, base64Of(bytes)]),
      ),
      head,
      path: path.map(bytesToHex),
    }
    return isLeft(checkProof(proof)) ? yield* fail(headMismatchFault(id, row)) : freezeResult(proof)
  }, 'proveEntry')
}

/** The row of a message of a session. */
export async function* rowOfMessage(
  store: Store,
  id: string,
  position: number,
): Steps<ReadSessionFault | StoreFaultOf<'BeyondEnd'>, { readonly row: StoredRow; readonly info: SessionInfo }> {
  const info = yield* need(describeSession(store, id))
  const { len } = info
  const index = position < 0 ? len + position : position
  const [row] = yield* need(store.read(id, { only: 'entry', from: index, to: index + 1 }))
  return !Number.isInteger(index) || index < 0 || row === undefined || row.index !== index
    ? yield* fail({ _tag: 'BeyondEnd', id, at: position, size: len })
    : { row, info }
}

/** The fault for a stored row that does not lead to the stored head. */
export const headMismatchFault = (id: string, { position }: StoredRow): StoreFaultOf<'DamagedLog'> => ({
  _tag: 'DamagedLog',
  id,
  position,
  reason: 'the row does not lead to the head',
})

/**
 * Check a proof, without a store. Pass a head that you trust: a valid proof shows that the message
 * is in that record. Without one, the proof is only checked against the head that it contains.
 *
 * @param proof the proof; untrusted data
 * @param head a trusted head. Default: the head in the proof
 * @returns the message and its place; or `BadProof` with the reason
 */
export const checkProof = (proof: unknown, head?: Head): Either<SessionFaultOf<'BadProof'>, Proven> => {
  if (!isProof(proof)) return badProof('it is not a proof of this library')
  const otherHead = headMismatch(head, proof.head)
  if (otherHead !== undefined) return badProof(otherHead)
  const leaf = rowLeaf({ kind: 'entry', body: proof.body, at: proof.at, ...saltOf(proof) }, portableSha256)
  if (!leadsTo(proof.head, proof.row, leaf, proof.path))
    return badProof(`the message is not at row ${proof.row} of the record with that head`)
  const entry = decodeRow(proof.body)
  if (isLeft(entry)) return badProof(`the row ${entry.left}`)
  if (!isRowText(proof.body, entry.right)) return badProof('the row is not in the form that this library writes')
  const other = Object.keys(proof.blocks).find((id) => !entry.right.blocks.some((block) => block.id === id))
  if (other !== undefined) return badProof(`block ${other} does not belong to the message`)
  const bytes = new Map<BlockId, Uint8Array>()
  for (const { id } of entry.right.blocks) {
    const content = bytesOfBase64(proof.blocks[id] ?? '?')
    if (content === undefined || blockIdOf(content, portableSha256) !== id)
      return badProof(`block ${id} is missing or is not what was appended`)
    bytes.set(id, content)
  }
  const history = createHistory<Message>()
  const reason = takeMessage(history, entry.right, bytes)
  const message = history.view().at(0)
  if (reason !== undefined || message === undefined) return badProof(reason ?? 'it contains no message')
  return right(
    Object.freeze({
      session: proof.session,
      row: proof.row,
      head: proof.head,
      message,
      page: entry.right.page,
      at: proof.at,
    }),
  )
}

const saltOf = (row: Pick<StoredRow, 'salt'>): Pick<EntryProof, 'salt'> => {
  const salt = ownField(row, 'salt')
  return salt === undefined ? {} : { salt }
}

/** Whether a value has the members of a proof, and no others. */
const isProof = (value: unknown): value is EntryProof => {
  if (!isProofOf('proof', value)) return false
  const { session, row, body, at, salt, blocks, head, path } = ownFields(value)
  return (
    hasOnly(value, ['indelible', 'version', 'session', 'row', 'body', 'at', 'salt', 'blocks', 'head', 'path']) &&
    isObject(blocks) &&
    isHead(head) &&
    hasOnly(head, ['size', 'root']) &&
    isPath(path) &&
    [session, body, ...Object.values(blocks)].every((text) => typeof text === 'string' && text.isWellFormed()) &&
    isMoment(at) &&
    (salt === undefined || isSalt(salt)) &&
    isCount(row)
  )
}
