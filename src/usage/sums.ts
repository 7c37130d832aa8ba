/** The sums of explained calls. */
import type { UsageCause, UsagePart } from './call.ts'
import type { ExplainedCall } from './explain.ts'

/** What a session's calls paid for. */
export interface ExplainedUsage {
  /** The number of calls that have an answer, or a part of one. */
  readonly calls: number
  /** US dollars at list prices of the calls whose price is known. */
  readonly dollars: number
  /** The number of calls with tokens but without a known price. */
  readonly unpriced: number
  /** The number of answered calls without token counts. */
  readonly uncounted: number
  /** The number of calls whose answers may hold more tokens than were counted: the cost is at least `dollars`. */
  readonly undercounted: number
  /** The sums by cause, over `calls` calls each: the one that cost most first. */
  readonly causes: readonly {
    readonly cause: UsagePart['cause']
    readonly tokens: number
    readonly dollars: number
    readonly calls: number
  }[]
  /** Each call, in order; those of an imported file first. */
  readonly explained: readonly ExplainedCall[]
}

/** Add up calls. Those that count in another session are left out. Cost: O(calls). */
export const sumCalls = (explained: Iterable<ExplainedCall>): Omit<ExplainedUsage, 'explained'> => {
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
