/** Adds up explained calls of many sessions by any of their fields, in the memory of the sums. */
import { pricesOf } from 'indelible/context'
import { ratesAt } from 'indelible/internal/prices'
import type { UsageCause } from 'indelible/internal/usage'
import type { ExplainedCall } from 'indelible/usage'
import { isLoss } from '../texts/cause-text.ts'

/** What a sum is of. `content` is not among them: it is of one session. */
export const spendingFields = ['cause', 'day', 'model', 'session', 'program', 'project'] as const
export type SpendingField = (typeof spendingFields)[number]

/** The session of calls, as sums name it. */
export interface SpendingSession {
  readonly session: string
  readonly program: string
  readonly project: string
}

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

export interface SpendingRow {
  readonly keys: readonly string[]
  readonly sum: SpendingSum
}

/** A call, and the session that it belongs to. */
export interface SpentCall {
  readonly session: string
  readonly call: ExplainedCall
}

const mostDearest = 10

export const emptySum = (): SpendingSum => ({
  ...{ calls: 0, failed: 0, input: 0, cacheRead: 0, cacheWrite: 0, cacheWriteHour: 0, output: 0 },
  ...{ dollars: 0, undercounted: 0, unpriced: 0, uncounted: 0 },
})

export class Spending {
  readonly #by: readonly SpendingField[]
  readonly #isByCause: boolean
  readonly #rows = new Map<string, SpendingRow>()
  readonly #total = emptySum()
  readonly #causes = new Map<UsageCause, SpendingSum>()
  readonly #unpriced = new Set<string>()
  #dearest: SpentCall[] = []
  /** The pauses beyond the cache's lifetime, and the dollars that they cost more than reads from the cache. */
  readonly expired = { calls: 0, more: 0 }

  constructor(by: readonly SpendingField[]) {
    this.#by = by
    this.#isByCause = by.length === 1 && by[0] === 'cause'
  }

  /** Add the calls of a session. Those that count in another session are left out. */
  add(of: SpendingSession, calls: Iterable<ExplainedCall>): void {
    for (const call of calls) {
      if (call.isShared === true) continue
      if (call.usage !== undefined && call.dollars === undefined) this.#unpriced.add(call.model)
      addCall(this.#total, call)
      for (const part of call.parts) addPart(this.#causeSum(part.cause), call, part)
      if (!this.#isByCause) this.#addRow(of, call)
      this.#addPause(call)
      this.#keepDearest({ session: of.session, call })
    }
  }

  #causeSum(cause: UsageCause): SpendingSum {
    const there = this.#causes.get(cause) ?? emptySum()
    this.#causes.set(cause, there)
    return there
  }

  #addRow(of: SpendingSession, call: ExplainedCall): void {
    const day = call.day ?? (call.at === undefined ? '' : new Date(call.at).toISOString().slice(0, 10))
    const keysOf = (cause: string): readonly string[] =>
      this.#by.map((field) =>
        field === 'cause' ? cause : field === 'day' ? day : field === 'model' ? call.model : of[field],
      )
    if (this.#by.includes('cause')) for (const part of call.parts) addPart(this.#row(keysOf(part.cause)), call, part)
    else addCall(this.#row(keysOf('')), call)
  }

  #addPause({ model, usage, parts }: ExplainedCall): void {
    const part = parts.find(({ cause }) => cause === 'expired')
    const prices = part?.dollars === undefined ? undefined : pricesOf(model)
    if (part?.dollars === undefined || prices === undefined) return
    this.expired.calls += 1
    this.expired.more += part.dollars - (part.tokens * ratesAt(prices, usage?.input ?? 0).cacheRead) / 1e6
  }

  #row(keys: readonly string[]): SpendingSum {
    const key = keys.join('\n')
    const row = this.#rows.get(key) ?? { keys, sum: emptySum() }
    this.#rows.set(key, row)
    return row.sum
  }

  #keepDearest(spent: SpentCall): void {
    if ((spent.call.dollars ?? 0) === 0 || spent.call.calls !== undefined) return
    const costOf = ({ call }: SpentCall): number => call.dollars ?? 0
    const last = this.#dearest.at(-1)
    if (this.#dearest.length === mostDearest && last !== undefined && costOf(last) >= costOf(spent)) return
    this.#dearest = [...this.#dearest, spent].toSorted((a, b) => costOf(b) - costOf(a)).slice(0, mostDearest)
  }

  get total(): Readonly<SpendingSum> {
    return this.#total
  }

  /** The sums by cause: the one that cost most first. */
  get causes(): readonly (readonly [UsageCause, Readonly<SpendingSum>])[] {
    return [...this.#causes].toSorted(([, a], [, b]) => bySize(a, b))
  }

  /** The calls that cost most, at most ten. */
  get dearest(): readonly SpentCall[] {
    return this.#dearest
  }

  /** The models without a known price. */
  get unpricedModels(): readonly string[] {
    return [...this.#unpriced]
  }

  /** By day in their order, or else the dearest first. */
  get rows(): readonly SpendingRow[] {
    if (this.#isByCause) return this.causes.map(([cause, sum]) => ({ keys: [cause], sum }))
    return this.#by[0] === 'day'
      ? [...this.#rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
      : [...this.#rows.values()].toSorted((a, b) => bySize(a.sum, b.sum))
  }

  /** Dollars and tokens that were paid again. */
  get lost(): { readonly dollars: number; readonly tokens: number } {
    const lost = { dollars: 0, tokens: 0 }
    for (const [cause, { dollars, input }] of this.#causes)
      if (isLoss(cause)) {
        lost.dollars += dollars
        lost.tokens += input
      }
    return lost
  }
}

const bySize = (a: SpendingSum, b: SpendingSum): number =>
  b.dollars - a.dollars || b.input + b.output - a.input - a.output

const addCall = (sum: SpendingSum, { usage, calls, dollars, isFailed, isUndercounted }: ExplainedCall): void => {
  const count = Math.max(0, calls ?? 1)
  sum.input += usage?.input ?? 0
  sum.output += usage?.output ?? 0
  sum.cacheRead += usage?.cacheRead ?? 0
  sum.cacheWrite += usage?.cacheWrite ?? 0
  sum.cacheWriteHour += usage?.cacheWriteHour ?? 0
  sum.dollars += dollars ?? 0
  if (usage !== undefined || isFailed !== true) sum.calls += count
  if (isFailed === true) sum.failed += 1
  if (usage === undefined && isFailed !== true) sum.uncounted += count
  if (usage !== undefined && dollars === undefined) sum.unpriced += Math.max(1, count)
  if (isUndercounted === true) sum.undercounted += 1
}

const addPart = (
  sum: SpendingSum,
  { calls = 1, isUndercounted }: ExplainedCall,
  { cause, tokens, dollars }: ExplainedCall['parts'][number],
): void => {
  sum.calls += Math.max(1, calls)
  if (cause === 'answer') sum.output += tokens
  else sum.input += tokens
  if (cause === 'read') sum.cacheRead += tokens
  if (cause === 'answer' && isUndercounted === true) sum.undercounted += 1
  if (dollars === undefined) sum.unpriced += 1
  else sum.dollars += dollars
}
