/**
 * SHA-256, which is Node's own or an implementation in JavaScript outside Node, the hexadecimal digits of bytes, and the two hashes
 * of a Merkle tree. Each of these has a prefix, so that a leaf can't pass for a node, nor a node for a leaf.
 *
 * Source  FIPS 180-4, by OpenSSL or by @noble/hashes (audited, no dependencies); RFC 6962 §2.1
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'

/**
 * A hash function with 32 bytes of output.
 *
 * @param bytes the input
 */
export type Hash = (bytes: Uint8Array) => Uint8Array

/** The part of `node:crypto` used here. Outside Node there are no types for it. */
type NodeHash = (algorithm: 'sha256', bytes: Uint8Array, encoding: 'latin1') => string

const nodeCryptoHash = ((): NodeHash | undefined => {
  const { process } = globalThis as { readonly process?: { readonly getBuiltinModule?: (name: string) => unknown } }
  try {
    return (process?.getBuiltinModule?.('node:crypto') as { readonly hash?: NodeHash } | undefined)?.hash
  } catch {
    return undefined // another runtime without this function
  }
})()

/**
 * The default `Hash`: Node's SHA-256, or an implementation in JavaScript outside Node.
 *
 * @param bytes the input
 * @returns 32 bytes
 */
export const portableSha256: Hash =
  nodeCryptoHash === undefined
    ? (bytes) => sha256(bytes)
    : (bytes) => {
        const text = nodeCryptoHash('sha256', bytes, 'latin1') // takes half the time of a buffer
        const digest = new Uint8Array(32)
        for (let index = 0; index < 32; index++) digest[index] = text.charCodeAt(index)
        return digest
      }

/**
 * The SHA-256 of bytes, or of the UTF-8 of a text.
 *
 * @param content the bytes or the text
 * @returns 64 lowercase hexadecimal digits
 */
export const digestOf = (content: string | Uint8Array): string =>
  hexOf(portableSha256(typeof content === 'string' ? utf8ToBytes(content) : content))

/**
 * The SHA-256 of a name's JSON. In plain UTF-8, all lone surrogates would become U+FFFD.
 *
 * @param name any text
 * @returns 64 lowercase hexadecimal digits, different for each name
 */
export const digestOfName = (name: string): string => digestOf(JSON.stringify(name))

/** Two lowercase digits for each byte. */
export const hexOf: (bytes: Uint8Array) => string = bytesToHex

/** The bytes of lowercase digits. The caller has checked the digits. */
export const bytesOfHex = (text: string): Uint8Array => {
  const bytes = new Uint8Array(text.length / 2)
  for (let index = 0; index < text.length; index += 2)
    bytes[index / 2] = digitAt(text, index) * 16 + digitAt(text, index + 1)
  return bytes
}

/** `0` to `9` are 48 to 57, `a` to `f` 97 to 102. */
const digitAt = (text: string, index: number): number => {
  const code = text.charCodeAt(index)
  return code < 58 ? code - 48 : code - 87
}

/** The byte that precedes a leaf's content in its hash. */
export const leafMark = 0

/**
 * The hash of a node, from the roots of the two subtrees below it.
 *
 * @param left the root of the left subtree
 * @param right the root of the right subtree
 * @param hash the hash function. Default: `portableSha256`
 * @returns 32 bytes
 */
export const nodeHash = (left: Uint8Array, right: Uint8Array, hash: Hash = portableSha256): Uint8Array => {
  const middle = 1 + left.length
  const length = middle + right.length
  const bytes = length === nodeLength ? shared : new Uint8Array(length)
  bytes[0] = 1
  bytes.set(left, 1)
  bytes.set(right, middle)
  return hash(bytes)
}

/**
 * The root of the empty tree.
 *
 * @param hash the hash function. Default: `portableSha256`
 * @returns 32 bytes
 */
export const emptyRoot = (hash: Hash = portableSha256): Uint8Array => hash(new Uint8Array(0))

/**
 * Whether two byte arrays are equal.
 *
 * @param left one array
 * @param right the other array
 * @returns true if they have the same bytes
 */
export const equalBytes = (left: Uint8Array, right: Uint8Array): boolean =>
  left.length === right.length && left.every((byte, index) => byte === right[index])

/** Whether all have the length of a hash. Otherwise two different pairs could be concatenated to the same bytes. */
export const areHashes = (hashes: readonly Uint8Array[], length: number): boolean =>
  length > 0 && hashes.every((hash) => hash.length === length)

/** The length of a prefix and two SHA-256. Nodes of this length share one buffer, which takes half of the time. */
const nodeLength = 65
const shared = new Uint8Array(nodeLength)
