/** What all proofs against a head share: their form as JSON, and the check that a row leads to the head. */
import { hexToBytes } from '@noble/hashes/utils.js'
import { isArray, isCount, isObject, ownFields, type JsonObject } from '../../json/index.ts'
import { verifyInclusion } from '../../proof/internal.ts'
import { isLeaf, type Head } from '../../store/internal.ts'

export const isHead = (value: unknown): value is Head =>
  isObject(value) && isCount(value['size']) && isLeaf(value['root'])

/** Whether a value has the members of every proof, and is of this kind. */
export const isProofOf = (kind: string, value: unknown): value is JsonObject => {
  if (!isObject(value)) return false
  const { indelible, version, session } = ownFields(value) as { readonly [member: string]: unknown }
  return indelible === kind && version === 1 && typeof session === 'string'
}

/** Whether a value is a list of hashes in hexadecimal, as a path is. */
export const isPath = (value: unknown): value is readonly string[] => isArray(value) && value.every(isLeaf)

/** Whether the path of a leaf leads from its row to the head. */
export const leadsTo = ({ size, root }: Head, row: number, leaf: Uint8Array, path: readonly string[]): boolean =>
  verifyInclusion({ position: row, size, leaf, proof: path.map(hexToBytes), root: hexToBytes(root) })
