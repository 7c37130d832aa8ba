/**
 * Blocks stored on their own: attachments and refs. The caller knows the digest of their content, but no one else may
 * learn it. So the encrypted block is referenced by a log whose name is an HMAC of the digest with the scope's secret.
 */
import * as E from '#fp-ts/Either'
import { pipe } from '#fp-ts/function'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right, utf8Of } from 'indelible/internal/json'
import { blockIdOf, isBlockId, type BlockId } from 'indelible/internal/proof'
import type { Store, StoreFault } from 'indelible/store'
import { hashedBlock, ownStore, type BlockFault } from 'indelible/internal/store'
import { hex, mac } from './aes.ts'
import { blockKey } from './row-cipher.ts'
import { openBytes, sealBytes } from './sealed.ts'

/** The prefix of these logs' ids. */
const blockPrefix = 'indelible.block.'
const markKey = 'indelible.block'

const nameOf = (scope: Uint8Array, digest: BlockId): string =>
  `${blockPrefix}${hex(mac(scope, utf8Of(`name ${digest}`)))}`

/** Store a block, encrypted. An existing block is not stored again. */
export const putNamed = async (
  store: Store,
  scope: Uint8Array,
  bytes: Uint8Array,
): Promise<Either<StoreFault, BlockId>> => {
  const digest = hashedBlock(bytes, store.hash)
  const sealed = sealBytes(blockKey(scope, digest), bytes)
  const id = hashedBlock(sealed, store.hash)
  const created = await ownStore(store).create({
    id: nameOf(scope, digest),
    meta: { [markKey]: id },
    rows: [{ kind: 'note', body: '', blocks: [id] }],
    blocks: [sealed],
    encrypt: false,
  })()
  if (!isLeft(created)) return right(digest)
  if (created.left._tag !== 'LogExists') return created
  const there = await store.hasBlocks([id])()
  if (isLeft(there)) return there
  if (there.right[0] === true) return right(digest)
  return pipe(
    await store.putBlocks([sealed])(),
    E.map(() => digest),
  ) // the stored block was damaged or missing
}

/** The ids of blocks' encrypted forms; undefined for a block that has none. */
const readStored = async (
  store: Store,
  scope: Uint8Array,
  digests: readonly BlockId[],
): Promise<Either<BlockFault, readonly (BlockId | undefined)[]>> => {
  const ids: (BlockId | undefined)[] = []
  for (const digest of digests) {
    const found = await store.info(nameOf(scope, digest))()
    if (isLeft(found) && found.left._tag !== 'NoSuchLog') return left(found.left as BlockFault)
    const id = isLeft(found) ? undefined : found.right.meta[markKey]
    ids.push(isBlockId(id) ? id : undefined)
  }
  return right(ids)
}

/** The contents of blocks. A block without an encrypted form is read by its own id. */
export const getNamed = async (
  store: Store,
  scope: Uint8Array,
  digests: readonly BlockId[],
): Promise<Either<BlockFault, readonly (Uint8Array | undefined)[]>> => {
  const ids = await readStored(store, scope, digests)
  if (isLeft(ids)) return ids
  const found = await store.getBlocks(digests.map((digest, index) => ids.right[index] ?? digest))()
  if (isLeft(found)) return found
  const contents: (Uint8Array | undefined)[] = []
  for (const [index, bytes] of found.right.entries()) {
    const digest = digests[index] as BlockId
    const plain =
      bytes === undefined || ids.right[index] === undefined ? bytes : openBytes(blockKey(scope, digest), bytes)
    if (bytes !== undefined && (plain === undefined || blockIdOf(plain, store.hash) !== digest))
      return left({ _tag: 'DamagedBlock', ids: [digest] })
    contents.push(plain)
  }
  return right(Object.freeze(contents))
}

export const hasNamed = async (
  store: Store,
  scope: Uint8Array,
  digests: readonly BlockId[],
): Promise<Either<BlockFault, readonly boolean[]>> => {
  const ids = await readStored(store, scope, digests)
  return isLeft(ids) ? ids : store.hasBlocks(digests.map((digest, index) => ids.right[index] ?? digest))()
}
