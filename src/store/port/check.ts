/** What a check of a whole store finds, and what a repair does about it: an fsck, for places that keep bookkeeping of their own. */

/** A part of the store that contradicts the rest. */
export interface StoreFinding {
  /** The table of the finding; `file` for damage below all tables. */
  readonly table: string
  /** The row, for people: the scope and id of a log, the number of a segment. Undefined: the whole table. */
  readonly where: string | undefined
  /** The damage, in words. */
  readonly what: string
  /** Whether `repair` can rebuild it from the rest. Recorded rows are never overwritten. */
  readonly repairable: boolean
}

/** A finding, and the action that a repair took. */
export interface StoreRepair extends Omit<StoreFinding, 'repairable'> {
  /** The action; undefined if it can't be repaired: restore the store from a backup. */
  readonly done: string | undefined
}

/** A finding as a sentence for people. */
export const findingText = ({ table, where, what }: Omit<StoreFinding, 'repairable'>): string =>
  `${table}${where === undefined ? '' : ` ${where}`}: ${what}`
