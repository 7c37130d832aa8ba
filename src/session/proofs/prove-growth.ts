/** Proofs of growth: a record with a later head still starts with the record of an earlier head. */
import { checkStore } from '../record/store-of.ts'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { checkArgument, freezeResult, isObject, right } from '../../json/index.ts'
import { verifyConsistency } from '../../proof/internal.ts'
import type { Head, Store, StoreFaultOf } from '../../store/index.ts'
import { consistencyPath, headOf, rangeAt, sameHead } from '../../store/internal.ts'
import { fail, need, type Task } from '../../task/index.ts'
import { sessionSteps, type ReadSessionFault, type SessionFaultOf } from '../fault.ts'
import { badProof } from '../erasing/receipt.ts'
import { isHead, isPath, isProofOf } from '../record/head-proof.ts'
import { describeSession } from '../opening/open.ts'

/** The proof that a record extends an earlier one, as JSON. */
export interface GrowthProof {
  readonly indelible: 'growth'
  readonly version: 1
  /** The id of the session. The proof does not cover it. */
  readonly session: string
  /** The earlier head. */
  readonly from: Head
  /** The head of the session when the proof was made. */
  readonly head: Head
  /** The hashes of RFC 6962, section 2.1.2, in hexadecimal. */
  readonly path: readonly string[]
}

/**
 * Prove that the record of a session extends the record of an earlier head.
 *
 * Cost    O(log length) rows and nodes
 *
 * @param store the store that has the session
 * @param id the id of the session
 * @param earlier the earlier head, of at least one row
 * @returns the proof; or `NoSuchLog`, or `Diverged` if the record is shorter or starts differently
 */
export const proveGrowth = (
  store: Store,
  id: string,
  earlier: Head,
): Task<ReadSessionFault | StoreFaultOf<'Diverged'>, GrowthProof> => {
  checkStore('proveGrowth', store)
  checkArgument('proveGrowth', isObject(earlier), 'a head, as session.head() returns it', earlier)
  const from = { size: earlier.size, root: earlier.root }
  return sessionSteps(async function* () {
    const { head } = yield* need(describeSession(store, id))
    if (!Number.isSafeInteger(from.size) || from.size < 1 || from.size > head.size)
      return yield* fail({ _tag: 'Diverged', id, expected: from, actual: head })
    const then = headOf(yield* need(rangeAt(store, id, from.size)), store.hash)
    if (then.root !== from.root) return yield* fail({ _tag: 'Diverged', id, expected: from, actual: head })
    const path = yield* need(consistencyPath(store, id, from.size, head.size))
    const proof: GrowthProof = {
      indelible: 'growth',
      version: 1,
      session: id,
      from: then,
      head,
      path: path.map(bytesToHex),
    }
    return freezeResult(proof)
  }, 'proveGrowth')
}

/**
 * Check a proof of growth, without a store. Pass the earlier head that you trust: a valid proof
 * shows that the record of the proof's `head` starts with the rows of that head.
 *
 * @param proof the proof; untrusted data
 * @param known a trusted head, the earlier or the later one. Default: none; only the proof itself is checked
 * @returns the proof; or `BadProof` with the reason
 */
export const checkGrowth = (proof: unknown, known?: Head): Either<SessionFaultOf<'BadProof'>, GrowthProof> => {
  if (!isGrowth(proof)) return badProof('it is not a proof of growth of this library')
  const { from, head, path } = proof
  if (known !== undefined && !sameHead(known, from) && !sameHead(known, head))
    return badProof(`it leads from the head ${headText(from)} to ${headText(head)}, and neither is ${headText(known)}`)
  const holds = verifyConsistency({
    oldSize: from.size,
    oldRoot: hexToBytes(from.root),
    size: head.size,
    root: hexToBytes(head.root),
    proof: path.map(hexToBytes),
  })
  return holds ? right(proof) : badProof(`the record with the head ${headText(head)} does not extend ${headText(from)}`)
}

const headText = ({ size, root }: Head): string => `${size} ${root}`

const isGrowth = (value: unknown): value is GrowthProof =>
  isProofOf('growth', value) && isHead(value['from']) && isHead(value['head']) && isPath(value['path'])
