/** What a check of a whole store finds, and what a repair does about it: an fsck, for places that keep bookkeeping of their own. */

/** Something that is not as the rest of the store says it should be. */
export interface StoreFinding {
  /** The table that it is in; `file` for what is below all tables. */
  readonly table: string
  /** Which row of it, for people: the scope and the id of a log, the number of a segment. Undefined: the table as a whole. */
  readonly where: string | undefined
  /** What is wrong, in words. */
  readonly what: string
  /** Whether `repair` can rebuild it from the rest. Rows that were recorded are never overwritten. */
  readonly repairable: boolean
}

/** What a repair found, and what it did about it. */
export interface StoreRepair extends Omit<StoreFinding, 'repairable'> {
  /** What was done; undefined where nothing can be: restore the store from a backup. */
  readonly done: string | undefined
}

/** A finding as a sentence for people. */
export const findingText = ({ table, where, what }: Omit<StoreFinding, 'repairable'>): string =>
  `${table}${where === undefined ? '' : ` ${where}`}: ${what}`
