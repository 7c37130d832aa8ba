/** Hydrates refs into a history with content. */
import * as E from '#fp-ts/Either'
import { pipe } from '#fp-ts/function'
import type { Either } from 'fp-ts/lib/Either.js'
import { createHistory, type History } from 'indelible/history'
import type { Message, Role } from 'indelible/message'
import { checkMessage } from 'indelible/internal/message'
import type { BlockId } from 'indelible/internal/proof'
import type { BlockStore } from 'indelible/store'
import {
  attachedTo,
  placeholderFault,
  placeholderOf,
  decodeRow,
  takeMessage,
  type DecodedRow,
} from 'indelible/internal/entry'
import {
  partialOf,
  storedOf,
  type ContentState,
  type MissingMessage,
  type PartialHistory,
  type StoredHistory,
} from './content.ts'
import { fail, need, type Steps, type Task } from 'indelible/internal/task'
import { refsSteps, type HydrateFault, type HydratePartialFault, type RefsFaultOf } from './fault.ts'
import { blocksOfRef, type MessageRef } from './ref.ts'
import { checkBlockStore, checkRefHistory, type RefHistory } from './ref-history.ts'
import { refsOf } from './tree.ts'
import { isLeft, right, textOfUtf8 } from 'indelible/internal/json'
import type { BlockFault } from 'indelible/internal/store'

/**
 * Read the content of refs from a store: all of it, or a fault.
 *
 * With `cachedBlocks(store, cache)` it reads only blocks that were not read or written before.
 * Attachments must exist, but are not read.
 *
 * Cost    one `getBlocks` with each id once, one more for each level of a tree, and one `hasBlocks` if there are
 *         attachments; then O(content) (bench: refs)
 *
 * @returns the content; or `MissingBlock` with every missing id, `DamagedBlock`, `MalformedBlock`, `OtherScope`
 * @example
 * const history = await hydrate(store, refs)
 */
export const hydrate = (store: BlockStore, refs: RefHistory): Task<HydrateFault, StoredHistory> => {
  checkBlockStore('hydrate', store)
  checkRefHistory(refs)
  return refsSteps(async function* () {
    const { inside, missing, faults } = yield* contentOf(store, refs)
    const absent = [...new Set(missing.flatMap(({ ids, reason }) => (reason === missingReason ? ids : [])))]
    if (absent.length > 0) return yield* fail({ _tag: 'MissingBlock', ids: absent })
    return faults[0] === undefined ? storedOf(inside) : yield* fail(faults[0])
  }, 'hydrate')
}

/**
 * `hydrate` with a placeholder for each message whose content is missing or damaged, to read the rest.
 * The result can't be continued, persisted or encoded, so a placeholder never replaces the real message.
 *
 * @returns the content with placeholders; or a store fault
 */
export const hydratePartial = (store: BlockStore, refs: RefHistory): Task<HydratePartialFault, PartialHistory> => {
  checkBlockStore('hydratePartial', store)
  checkRefHistory(refs)
  return refsSteps(async function* () {
    const { inside, missing } = yield* contentOf(store, refs, true)
    return partialOf(inside, missing)
  }, 'hydratePartial')
}

interface Read {
  readonly inside: ContentState & { readonly store: BlockStore }
  readonly missing: readonly MissingMessage[]
  readonly faults: readonly RefsFaultOf<'MalformedBlock'>[]
}

const missingReason = 'it is not in the store'

async function* contentOf(
  store: BlockStore,
  refHistory: RefHistory,
  lenient = false,
): Steps<HydratePartialFault, Read> {
  const { scope, session } = checkRefHistory(refHistory)
  if (store.scope !== scope) return yield* fail({ _tag: 'OtherScope', expected: store.scope, found: scope })
  const refs = yield* need(refsOf(store, refHistory))
  const parts = refs.map(blocksOfRef)
  const wanted = new Set(parts.flatMap(({ stored }) => stored))
  const attachments = [...new Set(parts.flatMap(({ attachments }) => attachments))].filter((id) => !wanted.has(id))
  const read = await Promise.all([blocksOf(store, [...wanted], lenient), attachmentsOf(store, attachments)])
  const [found, there] = [yield* need(read[0]), yield* need(read[1])]
  const history = createHistory<Message>()
  const missing: MissingMessage[] = []
  const faults: RefsFaultOf<'MalformedBlock'>[] = []
  for (const [position, ref] of refs.entries()) {
    const problem = appendRef(history, ref, found, there)
    if (problem === undefined) continue
    missing.push(Object.freeze({ position, ...problem, ids: Object.freeze(problem.ids) }))
    if (problem.reason !== missingReason)
      faults.push({ _tag: 'MalformedBlock', position, id: problem.ids[0] as BlockId, reason: problem.reason })
    history.append(placeholderOf(ref, problem))
  }
  const view = history.view()
  return {
    inside: { scope, session, view: () => view, store, refs, flowOf: () => undefined },
    missing,
    faults,
  }
}

interface Blocks {
  readonly bytes: ReadonlyMap<BlockId, Uint8Array>
  readonly damaged: ReadonlySet<BlockId>
}

const blocksOf = async (
  store: BlockStore,
  ids: readonly BlockId[],
  lenient: boolean,
): Promise<Either<BlockFault, Blocks>> => {
  const damaged = new Set<BlockId>()
  if (ids.length === 0) return right({ bytes: new Map(), damaged })
  for (;;) {
    const wanted = ids.filter((id) => !damaged.has(id))
    const found = await store.getBlocks(wanted)()
    if (!isLeft(found)) {
      const bytes = wanted.flatMap((id, index) =>
        found.right[index] === undefined ? [] : [[id, found.right[index]] as const],
      )
      return right({ bytes: new Map(bytes), damaged })
    }
    const { left: fault } = found
    const known = damaged.size
    if (fault._tag === 'DamagedBlock') for (const id of fault.ids) damaged.add(id)
    if (!lenient || damaged.size === known) return found
  }
}

const attachmentsOf = async (
  store: BlockStore,
  ids: readonly BlockId[],
): Promise<Either<BlockFault, ReadonlySet<BlockId>>> => {
  if (ids.length === 0) return right(new Set())
  return pipe(
    await store.hasBlocks(ids)(),
    E.map((found) => new Set(ids.filter((_, index) => found[index] === true))),
  )
}

/** Append the message of a ref, or return the problem. */
const appendRef = (
  history: History<Message>,
  ref: MessageRef,
  { bytes, damaged }: Blocks,
  attachments: ReadonlySet<BlockId>,
): Omit<MissingMessage, 'position'> | undefined => {
  const { blockIds, role } = ref
  const { stored } = blocksOfRef(ref)
  const absent = blockIds.filter((id) => !bytes.has(id) && !attachments.has(id))
  if (absent.length > 0)
    return {
      ids: absent,
      reason: absent.every((id) => damaged.has(id)) ? 'its bytes do not match its id' : missingReason,
    }
  const main = blockIds[0] as BlockId // a ref has at least one
  const mismatch = (reason: string) => ({ ids: [main], reason })
  let row: Either<string, DecodedRow>
  try {
    row = decodeRow(textOfUtf8(bytes.get(main) as Uint8Array))
  } catch {
    return mismatch('is not text')
  }
  if (isLeft(row)) return mismatch('is not a stored message')
  if (row.right.blocks.some(({ id }) => !stored.includes(id))) return mismatch(unnamedBlock)
  const own = [main, ...row.right.blocks.map(({ id }) => id)]
  const reason = takeMessage(
    history,
    row.right,
    bytes,
    (message) =>
      checkMessage(message) ??
      placeholderFault(message as Message) ??
      refMismatch(message as Message, role, blockIds, own),
  )
  return reason === undefined ? undefined : mismatch(`does not hold the message: ${reason}`)
}

const unnamedBlock = 'references a block that the ref does not list'

/** Why a message does not match its ref; undefined if it does. */
const refMismatch = (
  message: Message,
  role: Role,
  blockIds: readonly BlockId[],
  own: readonly BlockId[],
): string | undefined => {
  if (message.role !== role) return `its role is not ${role} as in the ref`
  const attached = attachedTo(message)
  if (!attached.every((id) => blockIds.includes(id))) return `it ${unnamedBlock}`
  const all = new Set([...own, ...attached])
  return blockIds.every((id) => all.has(id)) ? undefined : 'the ref lists a block that it does not reference'
}
