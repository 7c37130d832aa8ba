/** The sums of a session's calls: counts and positions only, so that other prices need no new ones. */
import { pricesOf } from '../prices/index.ts'
import { isArray, isCount, isObject, ownField } from '../json/index.ts'
import type { UsageCause, UsagePart } from './call.ts'
import { dayOf, inputTaker, shortenings, usedCounts, type ExplainedCall } from './explain.ts'

/** Changes when the same calls give other sums: a cause is decided in another way, or the form is another one. */
export const sumsVersion = 1

/** The sums of one session. */
export interface SessionSums {
  readonly models: readonly string[]
  /** In ISO 8601; empty where a call has no time. */
  readonly days: readonly string[]
  readonly groups: readonly CallGroup[]
  /** The calls that cost most, at the prices of the version that added them up: at most ten. */
  readonly dearest: readonly DearestCall[]
}

/** Calls of one model and day with the same rates. */
export interface CallGroup extends RateGroup {
  /** The calls with an answer, or a part of one. */
  calls: number
  failed: number
  /** The answered calls without token counts. */
  uncounted: number
  /** The calls whose answers may hold more tokens than were counted. */
  undercounted: number
  /** The calls with tokens. */
  counted: number
  /** How many times a conversation became shorter, and the tokens that later requests did not send because of it. */
  shortened: number
  spared: number
  readonly causes: CauseGroup[]
}

/** Where the price of calls is found. */
interface RateGroup {
  /** The index of the model. */
  readonly model: number
  /** The index of the day. */
  readonly day: number
  /** Whether they have the rates of long requests. */
  readonly isLong: boolean
  /** From how many tokens on a request is long, by the price table: 0 if there are no other rates, -1 if it has no price. */
  readonly above: number
}

/** Tokens with one cause, by their rates: kept for an hour, kept for minutes, the others. */
interface CauseGroup extends TokenGroup {
  readonly cause: UsageCause
  parts: number
}

interface TokenGroup {
  hour: number
  written: number
  /** Neither read nor written; of `read` and `answer`, all tokens. */
  fresh: number
}

/** One call, with what its price is made of. */
export interface DearestCall extends RateGroup, Readonly<TokenGroup> {
  /** Its number among the session's calls, from 1. */
  readonly number: number
  readonly read: number
  readonly output: number
}

/** In the order of their numbers in stored sums: append only. */
const causes: readonly UsageCause[] = [
  ...(['read', 'answer', 'new', 'first', 'agent', 'ends', 'uncached', 'tools', 'system', 'messages'] as const),
  ...(['effort', 'model', 'compaction', 'rewind', 'shortened', 'expired', 'missed', 'unknown', 'uncounted'] as const),
]

export const mostDearest = 10

/** Sums of explained calls, in their order. Those that count in another session are left out. Cost: O(calls). */
export const sessionSums = (calls: Iterable<ExplainedCall>): SessionSums => {
  const [models, days] = [new Index(), new Index()]
  const groups = new Map<string, CallGroup>()
  let dearest: { readonly dollars: number; readonly call: DearestCall }[] = []
  const shortenedBy = new Map<string, number>()
  for (const explained of calls) {
    if (explained.isShared === true) continue
    const { model, usage, isFailed, isUndercounted, dollars, parts, shortenedBy: spared = 0, chain = '' } = explained
    const day = dayOf(explained) ?? ''
    const above = longAbove(model)
    const { calls: several, isLong: areLong = false } = explained
    const isLong = above > 0 && (areLong || ((several ?? 1) === 1 && (usage?.input ?? 0) > above))
    const of = { model: models.of(model), day: days.of(day), isLong, above }
    const group = groupOf(groups, of)
    const count = several ?? 1
    if (usage !== undefined || isFailed !== true) group.calls += count
    if (isFailed === true) group.failed += 1
    if (usage === undefined && isFailed !== true) group.uncounted += count
    if (isUndercounted === true) group.undercounted += 1
    if (usage === undefined) continue
    group.spared += spared
    const isChanged = spared !== (shortenedBy.get(chain) ?? 0)
    if (spared > 0 && (isChanged || parts.some(({ cause }) => shortenings.has(cause)))) group.shortened += 1
    shortenedBy.set(chain, spared)
    const counts = usedCounts(usage)
    if (counts.input + counts.output > 0) group.counted += Math.max(1, count)
    const taken = inputTaker(counts)
    const [read, output] = [counts.cacheRead, counts.output]
    for (const part of parts) addPart(group.causes, part, Math.max(1, count), taken)
    if (several !== undefined || dollars === undefined || dollars === 0) continue
    const last = dearest.at(-1)
    if (dearest.length === mostDearest && last !== undefined && last.dollars >= dollars) continue
    const [hour, written, fresh] = inputTaker(counts)(counts.input - read)
    const call = { number: explained.number, ...of, hour, written, fresh, read, output }
    dearest = [...dearest, { dollars, call }].toSorted((a, b) => b.dollars - a.dollars).slice(0, mostDearest)
  }
  return {
    models: models.names,
    days: days.names,
    groups: [...groups.values()],
    dearest: dearest.map(({ call }) => call),
  }
}

/** Whether the price table still has the same limits of long requests; otherwise calls would have the wrong rates. */
export const fitsPrices = ({ models, groups }: SessionSums): boolean =>
  groups.every(({ model, above }) => longAbove(models[model] ?? '') === above)

/** From how many tokens on a request has other rates: 0 if there are none, -1 without a price. */
const longAbove = (model: string): number => {
  const prices = pricesOf(model)
  return prices === undefined ? -1 : (prices.long?.above ?? 0)
}

const groupOf = (groups: Map<string, CallGroup>, of: RateGroup): CallGroup => {
  const key = `${of.model} ${of.day} ${of.isLong} ${of.above}`
  const found = groups.get(key)
  if (found !== undefined) return found
  const counts = { calls: 0, failed: 0, uncounted: 0, undercounted: 0, counted: 0, shortened: 0, spared: 0 }
  const group: CallGroup = { ...of, ...counts, causes: [] }
  groups.set(key, group)
  return group
}

const addPart = (
  groups: CauseGroup[],
  { cause, tokens }: UsagePart,
  parts: number,
  taken: ReturnType<typeof inputTaker>,
): void => {
  let group = groups.find((group) => group.cause === cause)
  if (group === undefined) groups.push((group = { cause, parts: 0, hour: 0, written: 0, fresh: 0 }))
  group.parts += parts
  const [hour, written, fresh] = cause === 'read' || cause === 'answer' ? [0, 0, tokens] : taken(tokens)
  group.hour += hour
  group.written += written
  group.fresh += fresh
}

/** Names, each with its number. */
class Index {
  readonly names: string[] = []
  readonly #numbers = new Map<string, number>()

  of(name: string): number {
    const found = this.#numbers.get(name) ?? this.names.length
    if (found === this.names.length) {
      this.names.push(name)
      this.#numbers.set(name, found)
    }
    return found
  }
}

/** Sums as they are stored: text is read much faster than lists of lists. */
export interface PackedSums {
  readonly models: readonly string[]
  readonly days: readonly string[]
  /** Groups, with `;` between them: 11 numbers each, then 5 of each cause. */
  readonly groups: string
  /** Calls, with `;` between them: 10 numbers each. */
  readonly dearest: string
}

export const packSums = ({ models, days, groups, dearest }: SessionSums): PackedSums => ({
  ...{ models, days },
  groups: groups.map((group) => [...rateNumbers(group), ...countsOf(group)].join(' ')).join(';'),
  dearest: dearest
    .map((call) =>
      [...rateNumbers(call), call.number, call.hour, call.written, call.fresh, call.read, call.output].join(' '),
    )
    .join(';'),
})

const rateNumbers = ({ model, day, isLong, above }: RateGroup): readonly number[] => [model, day, isLong ? 1 : 0, above]

const countsOf = (group: CallGroup): readonly number[] => [
  ...[group.calls, group.failed, group.uncounted, group.undercounted, group.counted, group.shortened, group.spared],
  ...group.causes.flatMap(({ cause, parts, hour, written, fresh }) => [
    causes.indexOf(cause),
    ...[parts, hour, written, fresh],
  ]),
]

/** Unpack sums; undefined if the value is something else. */
export const unpackSums = (value: unknown): SessionSums | undefined => {
  if (!isObject(value)) return undefined
  const [models, days] = [textsIn(ownField(value, 'models')), textsIn(ownField(value, 'days'))]
  const [groups, dearest] = [numbersIn(ownField(value, 'groups')), numbersIn(ownField(value, 'dearest'))]
  if (models === undefined || days === undefined || groups === undefined || dearest === undefined) return undefined
  const unpacked: CallGroup[] = []
  for (const numbers of groups) {
    const [model = -1, day = -1, isLong, above = 0, calls = 0, failed = 0, uncounted = 0, undercounted = 0, counted = 0, shortened = 0, spared = 0, ...parts] = numbers // oxfmt-ignore
    if (numbers.length < 11 || parts.length % 5 !== 0 || models[model] === undefined || days[day] === undefined) return undefined // oxfmt-ignore
    const found: CauseGroup[] = []
    for (let at = 0; at < parts.length; at += 5) {
      const [number = -1, count = 0, hour = 0, written = 0, fresh = 0] = parts.slice(at, at + 5)
      const cause = causes[number]
      if (cause === undefined) return undefined
      found.push({ cause, parts: count, hour, written, fresh })
    }
    const counts = { calls, failed, uncounted, undercounted, counted, shortened, spared }
    unpacked.push({ model, day, isLong: isLong === 1, above, ...counts, causes: found })
  }
  const calls: DearestCall[] = []
  for (const numbers of dearest) {
    const [model = -1, day = -1, isLong, above = 0, number = 0, hour = 0, written = 0, fresh = 0, read = 0, output = 0] = numbers // oxfmt-ignore
    if (numbers.length !== 10 || models[model] === undefined || days[day] === undefined) return undefined
    calls.push({ model, day, isLong: isLong === 1, above, number, hour, written, fresh, read, output })
  }
  return { models, days, groups: unpacked, dearest: calls }
}

const textsIn = (value: unknown): readonly string[] | undefined =>
  isArray(value) && value.every((text) => typeof text === 'string') ? (value as readonly string[]) : undefined

const numbersIn = (value: unknown): readonly (readonly number[])[] | undefined => {
  if (typeof value !== 'string') return undefined
  const lists = value === '' ? [] : value.split(';').map((list) => list.split(' ').map(Number))
  return lists.every((list) => list.every((number, at) => isCount(number) || (at === 3 && number === -1)))
    ? lists
    : undefined
}
