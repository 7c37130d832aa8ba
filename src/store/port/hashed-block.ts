/**
 * Blocks hashed when they were extracted from a message, so that their append does not hash them again.
 * Bytes can change, so the stored bytes are a copy made before hashing, which no other code has seen.
 */
import { ReturnsArgument } from '../../json/index.ts'
import { blockIdOf, type BlockId, type Hash } from '../../proof/kit.ts'
import type { Block } from './driver.ts'

const Bytes = Uint8Array // taken when this module loads

/**
 * Hash bytes before their append. A copy of the bytes and its id stay attached to them, for one append.
 *
 * Cost    that of hashing and copying the bytes
 *
 * @param bytes the content of the block
 */
export const hashedBlock = (bytes: Uint8Array, hash: Hash): BlockId => {
  const own = new Bytes(bytes)
  const id = blockIdOf(own, hash)
  HashedBlock.mark(bytes, { id, bytes: own }, hash)
  return id
}

/**
 * The block of bytes hashed before, if its id is one of these. It is returned once, because a driver
 * may keep it. If the bytes were changed since, the block has the original bytes, which match the id.
 */
export const takeHashed = (bytes: Uint8Array, hash: Hash, named: ReadonlySet<BlockId>): Block | undefined =>
  HashedBlock.take(bytes, hash, named)

class HashedBlock extends ReturnsArgument {
  #known: { readonly block: Block; readonly hash: Hash } | undefined

  static mark(bytes: Uint8Array, block: Block, hash: Hash): void {
    const marked = #known in bytes ? bytes : (new HashedBlock(bytes) as unknown as HashedBlock)
    marked.#known = { block, hash }
  }

  static take(bytes: Uint8Array, hash: Hash, named: ReadonlySet<BlockId>): Block | undefined {
    if (!(#known in bytes)) return undefined
    const known = bytes.#known
    if (known === undefined || known.hash !== hash || !named.has(known.block.id)) return undefined
    bytes.#known = undefined
    return known.block
  }
}
