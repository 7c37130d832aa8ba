/** Proofs of growth: that a record with a later head still begins with the record of an earlier one. */
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, isObject, left, right } from '../../json/index.ts'
import { verifyConsistency } from '../../proof/kit.ts'
import type { Head, Store, StoreFaultOf } from '../../store/index.ts'
import { consistencyPath, headOf, rangeAt } from '../../store/kit.ts'
import type { Task } from '../../task/index.ts'
import { sessionTask, type ReadSessionFault, type SessionFaultOf } from '../fault.ts'
import { describeSession } from '../opening/open.ts'

/** The proof that a record continues an earlier one, as JSON. */
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
 * Prove that the record of a session continues the record of an earlier head.
 *
 * Cost    O(log length) rows and nodes
 *
 * @param store the store that keeps the session
 * @param id the id of the session
 * @param earlier the earlier head, of at least one row
 * @returns the proof; or `NoSuchLog`, or `Diverged` if the record is shorter or has another beginning
 */
export const proveGrowth = (
  store: Store,
  id: string,
  earlier: Head,
): Task<ReadSessionFault | StoreFaultOf<'Diverged'>, GrowthProof> =>
  sessionTask(async () => {
    const from = { size: earlier.size, root: earlier.root }
    const info = await describeSession(store, id)()
    if (isLeft(info)) return info
    const { head } = info.right
    if (!Number.isSafeInteger(from.size) || from.size < 1 || from.size > head.size)
      return left({ _tag: 'Diverged', id, expected: from, actual: head })
    const range = await rangeAt(store, id, from.size)()
    if (isLeft(range)) return range
    const then = headOf(range.right, store.hash)
    if (then.root !== from.root) return left({ _tag: 'Diverged', id, expected: from, actual: head })
    const path = await consistencyPath(store, id, from.size, head.size)()
    if (isLeft(path)) return path
    const proof: GrowthProof = {
      indelible: 'growth',
      version: 1,
      session: id,
      from: then,
      head,
      path: path.right.map(bytesToHex),
    }
    return right(Object.freeze(proof))
  }, 'proveGrowth')

/**
 * Check a proof of growth, without a store. Give the earlier head that you know: then the record of the proof's `head`
 * begins with the rows that you knew.
 *
 * @param proof the proof; untrusted data
 * @param known a head that you know: the earlier or the later one. Default: none, so the proof is only checked in itself
 * @returns the proof; or `BadProof` with the reason
 */
export const checkGrowth = (proof: unknown, known?: Head): Either<SessionFaultOf<'BadProof'>, GrowthProof> => {
  const bad = (reason: string): Either<SessionFaultOf<'BadProof'>, never> => left({ _tag: 'BadProof', reason })
  if (!isGrowth(proof)) return bad('it is not a proof of growth of this library')
  const { from, head, path } = proof
  if (known !== undefined && !isSame(known, from) && !isSame(known, head))
    return bad(`it leads from the head ${said(from)} to ${said(head)}, and neither is ${said(known)}`)
  const holds = verifyConsistency({
    oldSize: from.size,
    oldRoot: hexToBytes(from.root),
    size: head.size,
    root: hexToBytes(head.root),
    proof: path.map(hexToBytes),
  })
  return holds ? right(proof) : bad(`the record with the head ${said(head)} does not continue ${said(from)}`)
}

const isSame = (a: Head, b: Head): boolean => a.size === b.size && a.root === b.root

const said = ({ size, root }: Head): string => `${size} ${root}`

const isGrowth = (value: unknown): value is GrowthProof =>
  isObject(value) &&
  value['indelible'] === 'growth' &&
  value['version'] === 1 &&
  typeof value['session'] === 'string' &&
  isHead(value['from']) &&
  isHead(value['head']) &&
  Array.isArray(value['path']) &&
  value['path'].every(isHash)

const isHead = (value: unknown): boolean =>
  isObject(value) && Number.isSafeInteger(value['size']) && isHash(value['root'])

const isHash = (value: unknown): boolean => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
