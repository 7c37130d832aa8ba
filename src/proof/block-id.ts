/** Block ids: the SHA-256 of stored bytes. */
import { hexOf } from './sha256.ts'
import type { Hash } from './sha256.ts'

/** The SHA-256 of a stored block: 64 lowercase hexadecimal digits. Branded: checked by `isBlockId`. */
export type BlockId = string & { readonly [blockId]: true }
declare const blockId: unique symbol

/**
 * Whether a value is a block id: 64 lowercase hexadecimal digits.
 *
 * @param value any value
 * @returns true for a block id
 */
export const isBlockId = (value: unknown): value is BlockId => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)

/**
 * The id of a block: the SHA-256 of its bytes.
 *
 * @param bytes the content of the block
 * @param hash the hash function: SHA-256
 */
export const blockIdOf = (bytes: Uint8Array, hash: Hash): BlockId => hexOf(hash(bytes)) as BlockId // 32 bytes have 64 digits
