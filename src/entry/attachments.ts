/**
 * Attachments: blocks that a message names as sources of its images and files. They contain none of its text, so
 * they need not be read with it. Code that stores the message must check that they exist, and reference them.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import type { BlockId } from '../proof/internal.ts'
import { isLeft, left, right } from '../either/index.ts'
import type { Message } from '../message/index.ts'
import type { BlockStore, StoreFaultOf } from '../store/index.ts'
import { sameBlocks, type BlockFault } from '../store/internal.ts'

/**
 * The attachments of a message: the blocks that its images and files reference.
 *
 * @returns their ids, each once
 */
export const attachedTo = ({ content }: Pick<Message, 'content'>): readonly BlockId[] => {
  const found = new Set<BlockId>()
  addAttachments(content, found)
  return Object.freeze([...found])
}

const addAttachments = (content: Message['content'], found: Set<BlockId>): void => {
  for (const part of content) {
    if (part.type === 'tool_result') addAttachments(part.content, found)
    if ((part.type === 'image' || part.type === 'file') && part.source.type === 'block') found.add(part.source.id)
  }
}

/**
 * Whether a message may have attachments, by its JSON text: then it contains `"block"`, perhaps with escaped letters.
 *
 * @param text the message as JSON
 * @returns false if it has none
 */
export const mayHaveAttachments = (text: string): boolean => blockWord.test(text)

const blockWord = /"block"|\\u006/ // each letter of block is between 0x60 and 0x6f

/**
 * Read the blocks that a store lacks from another store.
 *
 * Cost    one `hasBlocks`; one `getBlocks` of the missing blocks
 *
 * @param store the store that needs the blocks
 * @param ids the ids of the blocks
 * @param from the store to read them from; undefined if there is none
 * @returns the bytes of the missing blocks; or `MissingBlock` if neither store has them
 */
export const missingBlocks = async (
  store: BlockStore,
  ids: readonly BlockId[],
  from: BlockStore | undefined,
): Promise<Either<BlockFault | StoreFaultOf<'MissingBlock'>, readonly Uint8Array[]>> => {
  if (ids.length === 0) return right([])
  const there = await store.hasBlocks(ids)()
  if (isLeft(there)) return there
  const missing = ids.filter((_, index) => there.right[index] !== true)
  if (missing.length === 0) return right([])
  if (from === undefined || sameBlocks(from, store)) return left({ _tag: 'MissingBlock', ids: missing })
  const found = await from.getBlocks(missing)()
  if (isLeft(found)) return found
  const nowhere = missing.filter((_, index) => found.right[index] === undefined)
  return nowhere.length > 0 ? left({ _tag: 'MissingBlock', ids: nowhere }) : right(found.right as readonly Uint8Array[]) // none is undefined
}
