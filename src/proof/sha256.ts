/**
 * SHA-256 without Node: for digests of ranges and contexts, and for stores in a browser.
 *
 * Source  FIPS 180-4, by @noble/hashes (audited, no dependencies)
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'

/**
 * A hash function with 32 bytes of output.
 *
 * @param bytes the input
 * @returns the hash
 */
export type Hash = (bytes: Uint8Array) => Uint8Array

/**
 * The default `Hash`. In Node, `crypto.hash` is several times faster.
 *
 * @param bytes the input
 * @returns 32 bytes
 */
export const portableSha256: Hash = (bytes) => sha256(bytes)

/**
 * The SHA-256 of bytes, or of the UTF-8 of a text.
 *
 * @param content the bytes or the text
 * @returns 64 lowercase hexadecimal digits
 */
export const digestOf = (content: string | Uint8Array): string =>
  bytesToHex(sha256(typeof content === 'string' ? utf8ToBytes(content) : content))

/**
 * The SHA-256 of a name: of its JSON, because in UTF-8 half of a surrogate pair is U+FFFD.
 *
 * @param name any text
 * @returns 64 lowercase hexadecimal digits, of no other name
 */
export const digestOfName = (name: string): string => digestOf(JSON.stringify(name))
