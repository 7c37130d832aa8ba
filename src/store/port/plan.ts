/**
 * Plans: rows that are checked, hashed and added to the tree before their append. A writer that sends
 * appends without waiting needs the next head in advance; with a plan, the store does not compute it again.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, ownFields, right } from '../../json/index.ts'
import { grow, hexOf, rootOf, type CompactRange, type GrownTree, type Hash } from '../../proof/internal.ts'
import { checkRows, type CheckedRow, type RowContext } from './checked-row.ts'
import type { AppendFault, StoreFault, StoreFaultOf } from '../fault.ts'
import type { Head, Row } from './row.ts'
import type { Append, AppendedRows, Store } from './store.ts'

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
 * @param given the rows
 * @param context the hash function (SHA-256) and the clock: those of the store
 * @returns the plan; or `InvalidRow`, `InvalidId`
 */
export const planAppend = (
  before: CompactRange,
  expected: Head,
  given: readonly Row[],
  context: RowContext,
): Either<StoreFaultOf<'InvalidRow' | 'InvalidId'>, Plan> => {
  const { hash } = context
  const rows = checkRows(given, context)
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
export const planOf = (rows: readonly Row[], hash: Hash): Plan | undefined => {
  const known = plans.get(rows)
  return known?.hash === hash ? known.plan : undefined
}

/** `Store.append` for the library's own callers: without a task, and without a check of the names and the id. */
type PlannedAppend = (id: string, append: Append) => Promise<Either<StoreFault, AppendedRows>>

/** The planned appends of this library's stores. A store that another program wraps has none, so its own `append` is called. */
const plannedAppends = new WeakMap<Store, PlannedAppend>()

/** Make `appendPlanned` call a function for this store. */
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
