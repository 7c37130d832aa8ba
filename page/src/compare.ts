/** Policies beside each other: what each sends and what it costs, call by call. */
import type { DerivedContext, Policy } from 'indelible/context'
import type { ModelCall } from './calls.ts'
import type { SessionRecord } from './record.ts'
import { derive, policies } from './saw-context.ts'

/** One policy over all calls. */
export interface Series {
  readonly policy: string
  /** Tokens of each call; null where the budget was too small. */
  readonly tokens: readonly (number | null)[]
  /** The cost up to each call, in tokens of plain input. */
  readonly cost: readonly (number | null)[]
  /** The share of all tokens that a cache could hold. */
  readonly cached: number
  readonly epochs: number
}

const longestPiece = 12 // milliseconds

/** Derive every call with every policy, between two frames. Gives each policy when it is done. */
export async function* compared(
  record: SessionRecord,
  calls: readonly ModelCall[],
  budget: number,
  gone: AbortSignal,
  progress: (share: number) => void,
): AsyncGenerator<Series> {
  let since = performance.now()
  let done = 0
  for (const policy of policies) {
    const series = { tokens: [] as (number | null)[], cost: [] as (number | null)[] }
    let sum = { tokens: 0, stable: 0, cost: 0, epochs: 0 }
    let previous: DerivedContext | undefined
    for (const call of calls) {
      if (performance.now() - since > longestPiece) {
        progress(done / (calls.length * policies.length))
        await new Promise((resolve) => setTimeout(resolve))
        if (gone.aborted) return
        since = performance.now()
      }
      done += 1
      const derived: DerivedContext | string = derive(record, call, policy as Policy, budget, previous)
      if (typeof derived === 'string') {
        series.tokens.push(null)
        series.cost.push(null)
        continue
      }
      sum = {
        tokens: sum.tokens + derived.tokens,
        stable: sum.stable + derived.stableTokens,
        cost: sum.cost + derived.cost,
        epochs: derived.epoch,
      }
      series.tokens.push(derived.tokens)
      series.cost.push(sum.cost)
      previous = derived
    }
    yield { policy: policy.name, ...series, cached: sum.tokens === 0 ? 0 : sum.stable / sum.tokens, epochs: sum.epochs }
  }
}
