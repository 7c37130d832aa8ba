/**
 * Appends as a driver receives them: rows and blocks, copied, checked and hashed. A plan has the rows before their append, with the
 * tree and the head after them: a writer that sends appends without waiting needs the next head in advance, and the store does not
 * compute it again.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, ownField, ownFields, right } from '../../json/index.ts'
import {
  blockIdOf,
  grow,
  hashRow,
  hexOf,
  rootOf,
  type BlockId,
  type CompactRange,
  type GrownTree,
  type Hash,
  type HashedRow,
} from '../../proof/internal.ts'
import { latest, momentOf } from './clock.ts'
import type { AppendFault, StoreFault, StoreFaultOf } from '../fault.ts'
import { invalidBlockId, invalidId, isLeaf } from './id.ts'
import { claimIn, type LeaseClaim } from './lease.ts'
import type { TermsOf } from './row-terms.ts'
import type { Head, Row } from './row.ts'
import type { Append, AppendedRows, Store } from './store.ts'

/** A row to store, with its leaf. */
export type CheckedRow = HashedRow<BlockId>

/** A block with its id. */
export interface Block {
  /** The SHA-256 of its bytes, in hexadecimal. */
  readonly id: BlockId
  /** The driver's own copy. */
  readonly bytes: Uint8Array
}

/** An append as a driver receives it. */
export interface CheckedAppend extends LeaseClaim {
  /** The head that the rows continue. */
  readonly expected: Head
  /** The rows, with their leaf hashes. At least one. */
  readonly rows: readonly CheckedRow[]
  /** The rows' blocks that came with the append. */
  readonly blocks: readonly Block[]
  /** The operation id of the append, if it has one. */
  readonly operation: string | undefined
  /** The plan of the rows, if it was computed already. Pass it to `growth` of the rules. */
  readonly plan: Plan | undefined
  /** Returns the terms of a row, for a driver with an index. */
  readonly terms: TermsOf | undefined
  /** The key that the log must have; the fault for another key is `Diverged`. Compare it with `hasKey` of the rules. */
  readonly ownKey: string | null | undefined
}

/** A store's hash function and clock. */
export interface RowContext {
  /** SHA-256. */
  readonly hash: Hash
  /**
   * The clock.
   *
   * @returns milliseconds since 1970
   */
  readonly now: () => number
}

/** Frozen copies with their leaves, or the problem of the first invalid row. */
export const checkRows = (
  input: readonly Row[],
  { hash, now }: RowContext,
): Either<StoreFaultOf<'InvalidRow' | 'InvalidId'>, readonly CheckedRow[]> => {
  const rows: CheckedRow[] = []
  let moment: number | undefined
  for (const row of input) {
    const { kind, body } = row
    const at = ownField(row, 'at') ?? (moment ??= momentOf(now))
    const [blocks, salt, erased] = [ownField(row, 'blocks') ?? [], ownField(row, 'salt'), ownField(row, 'erased')]
    const reason = rowFault(kind, body, at, salt) ?? erasedRowFault(erased, salt, blocks)
    if (reason !== undefined) return left({ _tag: 'InvalidRow', index: rows.length, reason })
    const ids = Object.freeze([...blocks])
    const badBlock = ids.length === 0 ? undefined : invalidBlockId(ids)
    if (badBlock !== undefined) return left(badBlock)
    rows.push(hashRow({ kind, body, at, salt, erased }, ids, hash))
  }
  return right(Object.freeze(rows))
}

const rowFault = (kind: unknown, body: unknown, at: unknown, salt: unknown): string | undefined => {
  if (kind !== 'entry' && kind !== 'note') return 'is neither an entry nor a note'
  if (typeof body !== 'string') return 'has a body that is not a string'
  if (!body.isWellFormed()) return 'has a lone surrogate'
  if (!isMoment(at)) return 'has an `at` that is not a time in whole milliseconds since 1970'
  if (salt !== undefined && !isSalt(salt)) return 'has a `salt` that is not 32 lowercase hexadecimal digits'
  return undefined
}

const erasedRowFault = (erased: unknown, salt: unknown, blocks: readonly unknown[]): string | undefined => {
  if (erased === undefined) return undefined
  if (!isLeaf(erased)) return 'has an `erased` that is not 64 lowercase hexadecimal digits'
  return salt === undefined && blocks.length === 0 ? undefined : 'was erased, and has a salt or blocks'
}

/**
 * Whether a value is a time: whole milliseconds since 1970, in the range of `Date`.
 *
 * @returns true for a time
 */
export const isMoment = (value: unknown): value is number =>
  Number.isInteger(value) && Math.abs(value as number) <= latest

/**
 * Whether a value is a salt: 16 bytes as 32 lowercase hexadecimal digits.
 *
 * @returns true for a salt
 */
export const isSalt = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{32}$/.test(value)

/** An append, fully computed. */
export interface Plan {
  /** The head that the rows continue: an append's `expected`. */
  readonly expected: Head
  /** The tree before the rows. */
  readonly before: CompactRange
  /** The rows of an append. The store recognizes the plan by this array. */
  readonly rows: readonly CheckedRow[]
  /** The tree after them with its root, and the nodes to store beside the rows. */
  readonly grown: GrownTree & { readonly root: string }
  /** The head after the rows. */
  readonly head: Head
}

/** Plans by their row arrays, with the hash function used. */
const plans = new WeakMap<readonly Row[], { readonly plan: Plan; readonly hash: Hash }>()

/**
 * Check rows, hash them, and compute the head after them.
 *
 * Cost    that of hashing the rows
 *
 * @param before the tree before the rows
 * @param expected its head
 * @param input the rows
 * @param context the hash function (SHA-256) and the clock: those of the store
 * @returns the plan; or `InvalidRow`, `InvalidId`
 */
export const planAppend = (
  before: CompactRange,
  expected: Head,
  input: readonly Row[],
  context: RowContext,
): Either<StoreFaultOf<'InvalidRow' | 'InvalidId'>, Plan> => {
  const { hash } = context
  const rows = checkRows(input, context)
  if (isLeft(rows)) return rows
  const leaves = rows.right.map(({ leaf }) => leaf)
  const { range, nodes } = grow(before, leaves, hash)
  const grown = { range, nodes, root: hexOf(rootOf(range, hash)) }
  const head = Object.freeze({ size: range.size, root: grown.root })
  const plan: Plan = Object.freeze({ expected, before, rows: rows.right, grown, head })
  plans.set(plan.rows, { plan, hash })
  return right(plan)
}

/** Whether an array of rows belongs to a plan. */
export const isPlanned = (rows: unknown): boolean => plans.has(rows as readonly Row[])

/** The plan of an array of rows, if there is one. */
const planOf = (rows: readonly Row[], hash: Hash): Plan | undefined => {
  const known = plans.get(rows)
  return known?.hash === hash ? known.plan : undefined
}

/**
 * Checks and copies an append. The rows of a plan are checked already.
 *
 * @param append the own fields of what the caller gave, without a prototype
 */
export const checkAppend = (append: Append, context: RowContext): Either<StoreFault, CheckedAppend> => {
  const { expected, operation, blocks: brought = [], terms, ownKey } = append
  const { hash } = context
  const problem = operation === undefined ? undefined : invalidId('operation', operation)
  if (problem !== undefined) return left(problem)
  const plan = planOf(append.rows, hash)
  const rows = plan === undefined ? checkRows(append.rows, context) : right(plan.rows)
  if (isLeft(rows)) return rows
  const blocks = brought.length === 0 ? right(noBlocks) : checkBlocks(brought, rows.right, hash)
  if (isLeft(blocks)) return blocks
  return right({
    expected: { size: expected.size, root: expected.root },
    rows: rows.right,
    blocks: blocks.right,
    operation,
    plan,
    terms,
    ...claimIn(append),
    ownKey,
  })
}

const noBlocks: readonly Block[] = Object.freeze([])

/** Copies of the blocks that rows bring, each once. Some of them were hashed before. */
const checkBlocks = (
  brought: readonly Uint8Array[],
  rows: readonly CheckedRow[],
  hash: Hash,
): Either<StoreFaultOf<'UnusedBlock'>, readonly Block[]> => {
  const named = new Set(rows.flatMap((row) => row.blocks))
  const blocks = uniqueBlocks(Array.from(brought, (bytes) => takeHashed(bytes, hash, named) ?? blockOf(bytes, hash)))
  const unused = blocks.filter(({ id }) => !named.has(id)).map(({ id }) => id)
  return unused.length > 0 ? left({ _tag: 'UnusedBlock', ids: unused }) : right(blocks)
}

/** A copy of bytes, with its id: the caller may change its bytes before they are stored. */
const blockOf = (bytes: Uint8Array, hash: Hash): Block => {
  const own = new Uint8Array(bytes) // a Buffer's `slice` is no copy
  return { id: blockIdOf(own, hash), bytes: own }
}

export const uniqueBlocks = (blocks: readonly Block[]): Block[] => [
  ...new Map(blocks.map((block) => [block.id, block])).values(),
]

/** For the bytes given to `hashedBlock`: a copy, its id, and the hash function. */
const hashed = new WeakMap<Uint8Array, { readonly block: Block; readonly hash: Hash }>()

/**
 * Hash the bytes of a block when it is taken out of a message, so that its append does not hash it again. The
 * bytes are copied. The copy and its id are remembered with them until an append has used them.
 *
 * Cost    that of hashing and copying the bytes
 *
 * @param bytes the content of the block
 */
export const hashedBlock = (bytes: Uint8Array, hash: Hash): BlockId => {
  const block = blockOf(bytes, hash)
  hashed.set(bytes, { block, hash })
  return block.id
}

/**
 * The block of bytes hashed before, if its id is one of these. It is returned once, because a driver
 * may keep it. If the bytes were changed since, the block has the original bytes, which match the id.
 */
const takeHashed = (bytes: Uint8Array, hash: Hash, named: ReadonlySet<BlockId>): Block | undefined => {
  const known = hashed.get(bytes)
  if (known === undefined || known.hash !== hash || !named.has(known.block.id)) return undefined
  hashed.delete(bytes)
  return known.block
}

/** `Store.append` for the library's own callers: without a task, and without a check of the names and the id. */
type PlannedAppend = (id: string, append: Append) => Promise<Either<StoreFault, AppendedRows>>

/** The planned appends of this library's stores. A store that another program wraps has none, so its own `append` is called. */
const plannedAppends = new WeakMap<Store, PlannedAppend>()

/**
 * Make `appendPlanned` call a function for this store. Three kinds of stores have one: the store of a driver
 * (store/rules/handle.ts), a store under a lease (session/writing/lease.ts), and a store with keys (with-keys.ts of
 * `@indelible/encryption`). The last two call that of the store below them.
 */
export const definePlannedAppend = (store: Store, append: PlannedAppend): void => void plannedAppends.set(store, append)

/**
 * Append the rows of a plan to a log that the caller has opened.
 *
 * @param append a fresh object, of which only the own fields are read
 */
export const appendPlanned = (store: Store, id: string, append: Append): Promise<Either<AppendFault, AppendedRows>> => {
  const planned = plannedAppends.get(store)
  // The only cast: the faults are those of `append`.
  return planned === undefined
    ? store.append(id, append)()
    : (planned(id, ownFields(append)) as Promise<Either<AppendFault, AppendedRows>>)
}
