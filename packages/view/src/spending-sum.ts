/** Summed-up calls, or parts of them where they are by cause. */
export interface SpendingSum {
  calls: number
  failed: number
  input: number
  cacheRead: number
  cacheWrite: number
  cacheWriteHour: number
  output: number
  /** US dollars of the calls whose model has a known price. */
  dollars: number
  /** The number of calls whose answers may hold more tokens than were counted. */
  undercounted: number
  /** The number of calls with tokens but without a known price. */
  unpriced: number
  /** The number of answered calls without token counts. */
  uncounted: number
}

/** A sum with what it is of: a cause, a day, a project. */
export interface SpendingRow {
  readonly keys: readonly string[]
  readonly sum: SpendingSum
}
