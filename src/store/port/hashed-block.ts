/**
 * Blocks that were hashed when they were taken out of a message: the append that brings them does not hash them again.
 * Bytes can change, so what is stored is a copy that was made before hashing, and that nobody else has seen.
 */
import { ReturnsArgument } from '../../json/index.ts'
import { blockIdOf, type BlockId, type Hash } from '../../proof/kit.ts'
import type { Block } from './driver.ts'

const Bytes = Uint8Array // taken when this module loads

/**
 * Hash bytes that an append is going to bring. They keep a copy of themselves and its id, for one append.
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
 * The block of bytes that were hashed before, if its id is one of these. It is given once: a driver may keep it.
 * Changed bytes give the block that they were, which is the one that the id names.
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
