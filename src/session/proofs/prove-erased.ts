/**
 * Proofs of erased messages: a record has a row with a certain leaf, and the ledger records its
 * erasure. A holder of an earlier proof of the message, or of its text and salt, can compare the leaf.
 */
import { checkStore } from '../record/store-of.ts'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { checkArgument, freezeResult, isLeft, optionsOf, present, right, isCount } from '../../json/index.ts'
import type { Head, Store, StoreFaultOf } from '../../store/index.ts'
import { erasureOf, inclusionPath, isLeaf, ledgerContent, type Erasure } from '../../store/internal.ts'
import { fail, need, type Task } from '../../task/index.ts'
import { sessionSteps, type ReadSessionFault, type SessionFaultOf } from '../fault.ts'
import { headMismatchFault, rowOfMessage } from './prove.ts'
import {
  headMismatch,
  badProof,
  isErasureProof,
  proofOf,
  erasureFromProof,
  type ErasureProof,
} from '../erasing/receipt.ts'
import { isHead, isPath, isProofOf, leadsTo } from '../record/head-proof.ts'

/** The proof of an erased message, as JSON. */
export interface ErasedProof {
  readonly indelible: 'erased'
  readonly version: 1
  /** The id of the session. The proof does not cover it. */
  readonly session: string
  /** The position of the message in the log of messages and notes. */
  readonly row: number
  /** The leaf of the message, unchanged by the erasure: 64 hexadecimal digits. */
  readonly leaf: string
  /** The head that the proof leads to. A checker must know it from elsewhere. */
  readonly head: Head
  /** The hashes on the path from the leaf to the root, bottom up, in hexadecimal. */
  readonly path: readonly string[]
  /** The head of the ledger. */
  readonly ledger: Head
  /** The ledger row that records the erasure. */
  readonly said: ErasureProof
}

/** The result of a valid proof. */
export interface ProvenErased extends Pick<ErasedProof, 'session' | 'row' | 'leaf' | 'head' | 'ledger'> {
  /** The ledger's entry: the session that the message was erased in, when, why and by whom. */
  readonly said: Pick<Erasure, 'id' | 'reason' | 'by' | 'at'>
}

/**
 * Prove that an erased message was in a session, by its leaf, and that the ledger records its erasure.
 *
 * Cost    O(new rows of the ledger), and O(log length) rows and nodes
 *
 * @param store the store that has the session
 * @param id the id of the session
 * @param position the position of the message in the record; a negative one counts from the end
 * @returns the proof; or `NoSuchLog`, `BeyondEnd`, `BadProof` if the message is not erased
 * @example
 * const proof = await proveErased(store, 'support-1', 0)
 */
export const proveErased = (
  store: Store,
  id: string,
  position: number,
): Task<ReadSessionFault | StoreFaultOf<'BeyondEnd' | 'NotALedger'> | SessionFaultOf<'BadProof'>, ErasedProof> => {
  checkStore('proveErased', store)
  checkArgument('proveErased', typeof position === 'number', 'a position', position)
  return sessionSteps(async function* () {
    const { row, info } = yield* rowOfMessage(store, id, position)
    const content = yield* need(ledgerContent(store))
    const identities = yield* need(store.identities(id))
    const erasure = erasureOf(content, row, identities, store.hash)
    const { head: ledger } = content
    if (erasure === undefined || ledger === undefined || row.erased === undefined)
      return yield* fail({ _tag: 'BadProof', reason: `message ${row.index} of ${JSON.stringify(id)} is not erased` })
    const path = yield* need(inclusionPath(store, id, row.position, info.head.size))
    const erasureProof = yield* proofOf(store, erasure.row, ledger.size)
    const proof: ErasedProof = {
      indelible: 'erased',
      version: 1,
      session: id,
      row: row.position,
      leaf: row.erased,
      head: info.head,
      path: path.map(bytesToHex),
      ledger,
      said: erasureProof,
    }
    return isLeft(checkErased(proof)) ? yield* fail(headMismatchFault(id, row)) : freezeResult(proof)
  }, 'proveErased')
}

/** The heads that a checker of an erased message knows from elsewhere. */
export interface TrustedErasedHeads {
  /** The head of the session. */
  readonly head: Head
  /** The head of the ledger of the store that erased it, such as that of a signed checkpoint. */
  readonly ledger: Head
}

/**
 * Check the proof of an erased message, without a store.
 *
 * With both heads, it proves that the session with that head has the leaf at that row, and that the ledger with that
 * head records its erasure. The session's head alone would prove nothing about the erasure: anyone can import an
 * exported session into an own store, and erase the message there. Without heads, the proof is only checked against the
 * heads that it contains.
 *
 * Throws  TypeError if `trusted` lacks one of the heads
 *
 * @param proof the proof; untrusted data
 * @param trusted the heads that you know: of the session and of its store's ledger. Default: those in the proof
 * @returns the leaf, its place, and the ledger's entry; or `BadProof` with the reason
 * @example
 * checkErased(proof, { head, ledger })
 */
export const checkErased = (
  proof: unknown,
  trusted?: TrustedErasedHeads,
): Either<SessionFaultOf<'BadProof'>, ProvenErased> => {
  const { head, ledger } = optionsOf('checkErased', trusted, { head: true, ledger: true })
  if (trusted !== undefined && !(isHead(head) && isHead(ledger)))
    throw new TypeError('checkErased needs two trusted heads: `head` of the session and `ledger` of its ledger')
  if (!isErasedProof(proof)) return badProof('it is not a proof of an erased message')
  const other = headMismatch(head, proof.head) ?? headMismatch(ledger, proof.ledger)
  if (other !== undefined) return badProof(other)
  const { session, row, leaf, head: own, ledger: book } = proof
  if (!leadsTo(own, row, hexToBytes(leaf), proof.path))
    return badProof(`the leaf is not at row ${row} of the record with that head`)
  const read = erasureFromProof(proof.said, book)
  if (isLeft(read)) return badProof(read.left)
  const { id, rows, reason, by } = read.right
  if (!rows.some((erased) => erased.row === row && erased.leaf === leaf && erased.kind === 'entry'))
    return badProof(`the ledger does not record that row ${row} was erased`)
  const { at } = proof.said
  const facts = Object.freeze({ id, at, ...present({ reason, by }) })
  return right(Object.freeze({ session, row, leaf, head: own, ledger: book, said: facts }))
}

const isErasedProof = (value: unknown): value is ErasedProof =>
  isProofOf('erased', value) &&
  isCount(value['row']) &&
  isLeaf(value['leaf']) &&
  isHead(value['head']) &&
  isHead(value['ledger']) &&
  isPath(value['path']) &&
  isErasureProof(value['said'])
