/** Adds up the calls of many sessions by any of their fields, from the sums of each session. */
import { pricesOf } from 'indelible/context'
import { ratesAt, type Rates } from 'indelible/internal/prices'
import {
  inputDollars,
  mostDearest,
  sessionSums,
  type CallGroup,
  type SessionSums,
  type UsageCause,
} from 'indelible/internal/usage'
import type { ExplainedCall } from 'indelible/usage'
import type { SpendingRow, SpendingSum } from '../protocol.ts'
import { isLoss } from '../texts/cause-text.ts'
import { countText, dollarsText } from '../texts/format-text.ts'

/** What a sum is of. `content` is not among them: it is of one session. */
export const spendingFields = ['cause', 'day', 'model', 'session', 'program', 'project'] as const
export type SpendingField = (typeof spendingFields)[number]

/** The session of calls, as sums name it. */
export interface SpendingSession {
  readonly session: string
  readonly program: string
  readonly project: string
}

/** A call, and the session that it belongs to. */
export interface SpentCall {
  readonly session: string
  readonly call: ExplainedCall
}

export const emptySum = (): SpendingSum => ({
  ...{ calls: 0, failed: 0, input: 0, cacheRead: 0, cacheWrite: 0, cacheWriteHour: 0, output: 0 },
  ...{ dollars: 0, undercounted: 0, unpriced: 0, uncounted: 0 },
})

/** Reads all calls of a session again, with their evidence, which the sums do not have. */
type ReadCalls = () => Promise<readonly ExplainedCall[]>

interface AddedSession {
  readonly of: SpendingSession
  readonly sums: SessionSums
  readonly calls: ReadCalls
}

/** A call that may be one of the dearest. */
interface Candidate {
  readonly session: AddedSession
  readonly number: number
  readonly dollars: number
}

export class Spending {
  readonly #sessions: AddedSession[] = []
  readonly #total = emptySum()
  readonly #causes = new Map<UsageCause, SpendingSum>()
  readonly #unpriced = new Set<string>()
  #dearest: Candidate[] = []
  /** The pauses beyond the cache's lifetime, and the dollars that they cost more than reads from the cache. */
  readonly expired = { calls: 0, more: 0 }
  /**
   * How often conversations became shorter; the dollars that it cost more than reads from the cache; and the dollars that later calls
   * did not pay for reading what was taken out.
   */
  readonly shortened = { times: 0, more: 0, saved: 0 }

  /** Add the calls of a session. Those that count in another session are left out. */
  add(of: SpendingSession, calls: readonly ExplainedCall[]): void {
    this.addSums(of, sessionSums(calls), async () => calls)
  }

  /**
   * Add the sums of a session.
   *
   * @param calls reads its calls, if one of them is among the dearest
   */
  addSums(of: SpendingSession, sums: SessionSums, calls: ReadCalls): void {
    const session = { of, sums, calls }
    this.#sessions.push(session)
    for (const group of sums.groups) {
      const model = sums.models[group.model] ?? ''
      const rates = ratesOf(sums, group)
      addGroup(this.#total, group, rates)
      if (rates === undefined && group.counted > 0) this.#unpriced.add(model)
      for (const cause of group.causes) addCause(this.#causeSum(cause.cause), group, cause, rates)
      if (rates !== undefined) this.#addLosses(group, rates)
    }
    for (const call of sums.dearest) this.#keepDearest(session, call)
  }

  #causeSum(cause: UsageCause): SpendingSum {
    const there = this.#causes.get(cause) ?? emptySum()
    this.#causes.set(cause, there)
    return there
  }

  #addLosses(group: CallGroup, rates: Rates): void {
    this.shortened.times += group.shortened
    this.shortened.saved += (group.spared * rates.cacheRead) / 1e6
    for (const cause of group.causes) {
      const more = inputDollars([cause.hour, cause.written, cause.fresh], rates) - readDollars(tokensOf(cause), rates)
      if (cause.cause === 'expired') {
        this.expired.calls += cause.parts
        this.expired.more += more
      } else if (cause.cause === 'compaction' || cause.cause === 'shortened') this.shortened.more += more
    }
  }

  #keepDearest(session: AddedSession, call: SessionSums['dearest'][number]): void {
    const rates = ratesOf(session.sums, call)
    if (rates === undefined) return
    const { hour, written, fresh, read, output, number } = call
    const input = inputDollars([hour, written, fresh], rates) + readDollars(read, rates)
    const dollars = input + (output * rates.output) / 1e6
    const last = this.#dearest.at(-1)
    if (this.#dearest.length === mostDearest && last !== undefined && last.dollars >= dollars) return
    this.#dearest = [...this.#dearest, { session, number, dollars }]
      .toSorted((a, b) => b.dollars - a.dollars)
      .slice(0, mostDearest)
  }

  get total(): Readonly<SpendingSum> {
    return this.#total
  }

  /** The sums by cause: the one that cost most first. */
  get causes(): readonly (readonly [UsageCause, Readonly<SpendingSum>])[] {
    return [...this.#causes].toSorted(([, a], [, b]) => bySize(a, b))
  }

  /** The calls that cost most, at most ten. Cost: O(calls) of their sessions */
  async dearest(): Promise<readonly SpentCall[]> {
    const found: SpentCall[] = []
    const read = new Map<AddedSession, readonly ExplainedCall[]>()
    for (const { session, number } of this.#dearest) {
      const calls = read.get(session) ?? (await session.calls())
      read.set(session, calls)
      const call = calls.find((call) => call.number === number)
      if (call !== undefined) found.push({ session: session.of.session, call })
    }
    return found
  }

  /** The models without a known price. */
  get unpricedModels(): readonly string[] {
    return [...this.#unpriced]
  }

  /** The sums by one or more fields: by day in their order, or else the dearest first. Cost: O(groups of all sessions) */
  rows(by: readonly SpendingField[]): readonly SpendingRow[] {
    if (by.length === 1 && by[0] === 'cause') return this.causes.map(([cause, sum]) => ({ keys: [cause], sum }))
    const rows = new Map<string, SpendingRow>()
    const rowOf = (keys: readonly string[]): SpendingSum => {
      const key = keys.join('\n')
      const row = rows.get(key) ?? { keys, sum: emptySum() }
      rows.set(key, row)
      return row.sum
    }
    for (const { of, sums } of this.#sessions)
      for (const group of sums.groups) {
        const [model, day] = [sums.models[group.model] ?? '', sums.days[group.day] ?? '']
        const rates = ratesOf(sums, group)
        const keysOf = (cause: string): readonly string[] =>
          by.map((field) => (field === 'cause' ? cause : field === 'day' ? day : field === 'model' ? model : of[field]))
        if (by.includes('cause'))
          for (const cause of group.causes) addCause(rowOf(keysOf(cause.cause)), group, cause, rates)
        else addGroup(rowOf(keysOf('')), group, rates)
      }
    return by[0] === 'day'
      ? [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
      : [...rows.values()].toSorted((a, b) => bySize(a.sum, b.sum))
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

type Cause = CallGroup['causes'][number]

const ratesOf = (
  { models, days }: SessionSums,
  { model, day, isLong }: Pick<CallGroup, 'model' | 'day' | 'isLong'>,
): Rates | undefined => {
  const prices = pricesOf(models[model] ?? '')
  return prices && ratesAt(prices, isLong ? Infinity : 0, days[day] || undefined)
}

const readDollars = (tokens: number, { cacheRead }: Rates): number => (tokens * cacheRead) / 1e6

const tokensOf = ({ hour, written, fresh }: Cause): number => hour + written + fresh

const dollarsOf = (cause: Cause, rates: Rates): number =>
  cause.cause === 'read'
    ? readDollars(cause.fresh, rates)
    : cause.cause === 'answer'
      ? (cause.fresh * rates.output) / 1e6
      : inputDollars([cause.hour, cause.written, cause.fresh], rates)

const addGroup = (sum: SpendingSum, group: CallGroup, rates: Rates | undefined): void => {
  sum.calls += group.calls
  sum.failed += group.failed
  sum.uncounted += group.uncounted
  sum.undercounted += group.undercounted
  if (rates === undefined) sum.unpriced += group.counted
  for (const cause of group.causes) {
    addTokens(sum, cause)
    if (rates !== undefined) sum.dollars += dollarsOf(cause, rates)
  }
}

const addCause = (sum: SpendingSum, group: CallGroup, cause: Cause, rates: Rates | undefined): void => {
  sum.calls += cause.parts
  addTokens(sum, cause)
  if (cause.cause === 'answer') sum.undercounted += group.undercounted
  if (rates === undefined) sum.unpriced += cause.parts
  else sum.dollars += dollarsOf(cause, rates)
}

const addTokens = (sum: SpendingSum, cause: Cause): void => {
  const tokens = tokensOf(cause)
  if (cause.cause === 'answer') {
    sum.output += tokens
    return
  }
  sum.input += tokens
  if (cause.cause === 'read') sum.cacheRead += tokens
  sum.cacheWrite += cause.hour + cause.written
  sum.cacheWriteHour += cause.hour
}

/** What pauses and shortenings cost more than reading the cache, and what later calls did not send. */
export const spendingAdvice = ({ expired, shortened }: Pick<Spending, 'expired' | 'shortened'>): readonly string[] => {
  const advice: string[] = []
  if (expired.calls > 0 && expired.more > 0)
    advice.push(
      `${countText(expired.calls, 'pause')} longer than the cache's lifetime cost ${dollarsText(expired.more)} more than reading it from the cache`,
    )
  if (shortened.times > 0)
    advice.push(
      `${countText(shortened.times, 'shortening')} cost ${dollarsText(Math.max(0, shortened.more))} more than reading the cache, and saved ${dollarsText(shortened.saved)}: reading what later calls did not send`,
    )
  return advice
}
