/**
 * SHA-256 without Node: for digests of ranges and contexts, and for stores in a browser.
 *
 * Source  FIPS 180-4, by @noble/hashes (audited, no dependencies)
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'

/** A hash function over bytes: 32 bytes out. */
export type Hash = (bytes: Uint8Array) => Uint8Array

/** The default `Hash`. Node's own `crypto.hash` is several times faster, where there is Node. */
export const portableSha256: Hash = (bytes) => sha256(bytes)

/** The SHA-256 of bytes, or of the UTF-8 of a text: 64 lowercase hexadecimal digits. */
export const digestOf = (content: string | Uint8Array): string =>
  bytesToHex(sha256(typeof content === 'string' ? utf8ToBytes(content) : content))
