/** Findings of a whole store's check, and their repairs: an fsck, for stores with bookkeeping of their own. */

import type { SignalLike } from '../../task/index.ts'

/** The options of `store.check`, `store.repair` and `store.remove`. */
export interface CheckOptions {
  /** Aborting this signal ends the call with `Cancelled`. Default: none. */
  readonly signal?: SignalLike
}

/** A contradiction within the store. */
export interface StoreFinding {
  /** The table of the finding; `file` for damage below all tables. */
  readonly table: string
  /** The row, for people: the scope and id of a log, or the number of a segment. Undefined: the whole table. */
  readonly where: string | undefined
  /** The damage, in words. */
  readonly what: string
  /** Whether `repair` can rebuild it from other data. Recorded rows are never overwritten. */
  readonly repairable: boolean
}

/** A finding, and the action of a repair. */
export interface StoreRepair extends Omit<StoreFinding, 'repairable'> {
  /** The action; undefined if it can't be repaired, so the store must be restored from a backup. */
  readonly done: string | undefined
}

/** A finding as a sentence for people. */
export const findingText = ({ table, where, what }: Omit<StoreFinding, 'repairable'>): string =>
  `${table}${where === undefined ? '' : ` ${where}`}: ${what}`
