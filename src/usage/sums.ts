/** The sums of explained calls. */
import type { UsageCause } from './call.ts'
import type { ExplainedCall } from './explain.ts'

/** Tokens and cost of one cause, over several calls. */
export interface CauseSum {
  readonly cause: UsageCause
  readonly tokens: number
  /** US dollars of the calls whose price is known. */
  readonly dollars: number
  /** In how many calls. */
  readonly calls: number
}

/** Sums over calls. */
export interface UsageSums {
  readonly calls: number
  /** US dollars at list prices of the calls whose price is known. */
  readonly dollars: number
  /** The number of calls with tokens but without a known price. */
  readonly unpriced: number
  /** The number of answered calls without token counts. */
  readonly uncounted: number
  /** The number of calls whose answers may hold more tokens than were counted: the cost is at least `dollars`. */
  readonly undercounted: number
  /** By cause: the one that cost most first. */
  readonly causes: readonly CauseSum[]
}

/** Add up calls. Those that count in another session are left out. Cost: O(calls). */
export const sumCalls = (explained: Iterable<ExplainedCall>): UsageSums => {
  const sums = { calls: 0, dollars: 0, unpriced: 0, uncounted: 0, undercounted: 0 }
  const causes = new Map<UsageCause, { tokens: number; dollars: number; calls: number }>()
  for (const { isShared, isUndercounted, isFailed, usage, dollars, parts, calls } of explained) {
    if (isShared === true) continue
    const count = Math.max(1, calls ?? 1)
    if (usage !== undefined || isFailed !== true) sums.calls += count
    if (usage === undefined && isFailed !== true) sums.uncounted += count
    if (isUndercounted === true) sums.undercounted += 1
    if (usage !== undefined && dollars === undefined) sums.unpriced += count
    sums.dollars += dollars ?? 0
    for (const part of parts) {
      const sum = causes.get(part.cause) ?? { tokens: 0, dollars: 0, calls: 0 }
      sum.tokens += part.tokens
      sum.dollars += part.dollars ?? 0
      sum.calls += count
      causes.set(part.cause, sum)
    }
  }
  return {
    ...sums,
    causes: Array.from(causes, ([cause, sum]) => ({ cause, ...sum })).toSorted(
      (a, b) => b.dollars - a.dollars || b.tokens - a.tokens,
    ),
  }
}
