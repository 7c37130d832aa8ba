/**
 * Blocks hashed when they were extracted from a message, so that their append does not hash them again.
 * Bytes can change, so the stored bytes are a copy made before hashing, which no other code has seen.
 */
import { blockIdOf, type BlockId, type Hash } from '../../proof/internal.ts'
import type { Block } from './driver.ts'

/** For the bytes given to `hashedBlock`: a copy, its id, and the hash function. */
const hashed = new WeakMap<Uint8Array, { readonly block: Block; readonly hash: Hash }>()

/**
 * Hash bytes before their append. A copy of the bytes and its id stay attached to them, for one append.
 *
 * Cost    that of hashing and copying the bytes
 *
 * @param bytes the content of the block
 */
export const hashedBlock = (bytes: Uint8Array, hash: Hash): BlockId => {
  const own = new Uint8Array(bytes) // a Buffer's `slice` is no copy
  const id = blockIdOf(own, hash)
  hashed.set(bytes, { block: { id, bytes: own }, hash })
  return id
}

/**
 * The block of bytes hashed before, if its id is one of these. It is returned once, because a driver
 * may keep it. If the bytes were changed since, the block has the original bytes, which match the id.
 */
export const takeHashed = (bytes: Uint8Array, hash: Hash, named: ReadonlySet<BlockId>): Block | undefined => {
  const known = hashed.get(bytes)
  if (known === undefined || known.hash !== hash || !named.has(known.block.id)) return undefined
  hashed.delete(bytes)
  return known.block
}
