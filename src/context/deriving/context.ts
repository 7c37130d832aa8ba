/** A derived context as a value: its messages, where they come from, and what was derived of them. */
import type { View } from '../../history/index.ts'
import { jsonEqual, ownField } from '../../json/index.ts'
import type { Message, Settled } from '../../message/index.ts'
import { rangeDigest } from '../../notes/internal.ts'
import type { ResidencyLevel } from '../../pages/index.ts'
import { defaultPrices } from '../../prices/internal.ts'
import type { Prices } from '../../prices/index.ts'
import { spanOf, type Range, type ReadonlySpan, type Sequence } from '../../sequence/index.ts'
import { endOf } from '../positions.ts'
import { textVersion } from '../showing/represent.ts'
import type { ContextSource, Shown } from './group.ts'

/** The context of the last call. A `DerivedContext` saves work; with any other value only the messages are compared. */
export interface SentContext {
  /** The messages that were sent. */
  readonly messages: Sequence<Message>
}

/** The context of one model call, the source of each of its messages, and the level of each recorded one. */
export interface DerivedContext {
  /** The messages to send. They are always settled. */
  readonly messages: Settled<ReadonlySpan<Message>>
  /** The source of each message. */
  readonly sources: ReadonlySpan<ContextSource>
  /** The level of each recorded position; `pointer` for positions outside the conversation. */
  readonly residency: ReadonlySpan<ResidencyLevel>
  /** The ranges represented only by a marker or a summary. Positions up to, not including, `to`. */
  readonly dropped: readonly Range[]
  /** How the context was derived: `epoch:2`, `whole` or `shortened`, `mended`, `interrupted`. */
  readonly provenance: readonly string[]
  /** The tokens of the messages, by the estimator. */
  readonly tokens: number
  /** The tokens available for messages, by the estimator: with a `factor` of 1.25, 4/5 of the real number. */
  readonly budget: number
  /** With `model`: the uncorrected estimate for messages, tools and system prompt. Stored in receipts. */
  readonly estimated?: number
  /** Settings to derive this context again, for receipts. Absent with `keep`, a custom estimator or recall name. */
  readonly derivedBy?: DerivedBy
  /** With `model`: the tokens that the provider counts per estimated token, from the receipts. */
  readonly factor?: number
  /** The number of messages in the record, including retracted ones. */
  readonly length: number
  /** The position where the active turn starts: the latest substantive user message, or 0 if there is none. */
  readonly activeFrom: number
  /** The number of leading messages that equal those of the previous context. */
  readonly stablePrefix: number
  /** The tokens of those messages: a provider's prompt cache can hold them. */
  readonly stableTokens: number
  /** The cost of sending this context, in tokens of plain input. */
  readonly cost: number
  /**
   * 0 while the record is sent as it is; grows with each compaction. Between two compactions each context extends the previous
   * one, if each is derived where a model call can follow: after a user message, or after the results of the latest calls.
   */
  readonly epoch: number
  /** SHA-256 over the JSON of the messages, one line each. Computed when you read it. */
  readonly digest: string
}

/** The settings of a context that are not in the record. With them `deriveContext` derives it again. */
export interface DerivedBy {
  /** The design that derived it. Contexts of another one can't be derived again. */
  readonly policy: string
  /** The version of its choices and texts. */
  readonly version?: string
  /** The tokens for messages before correction of the estimate. */
  readonly budget: number
  /** The tokens of tools and system prompt. */
  readonly reserved: number
  /** Whether markers name the tool `recall`. */
  readonly recall: boolean
}

/** The design and version in receipts. */
export const design: Required<Pick<DerivedBy, 'policy' | 'version'>> = Object.freeze({
  policy: 'paged',
  version: `${textVersion}`,
})

/** What a context consists of. */
interface ContextParts {
  readonly view: View<Message>
  /** The first `length` of these, which may grow, with the tokens before each; and what follows them. */
  readonly shown: readonly Shown[]
  readonly length: number
  readonly sums: readonly number[]
  readonly tail: readonly Shown[]
  readonly count: (message: Message) => number
  /** How many of the first messages need no repair. */
  readonly mendedAt: number
  /** The tokens of all messages. */
  readonly tokens: number
  readonly budget: number
  readonly epoch: number
  readonly isWhole: boolean
  readonly activeFrom: number
  readonly more?: Pick<DerivedContext, 'estimated' | 'factor' | 'derivedBy'>
}

/** The context, compared with the one before. */
export const contextOf = (
  parts: ContextParts,
  previous: SentContext | undefined,
  prices: Prices = defaultPrices,
): DerivedContext => {
  const { view, shown, length, tail, tokens, budget, epoch, isWhole, activeFrom, more } = parts
  const end = endOf(view)
  const shownAt = (index: number): Shown => (index < length ? shown[index] : tail[index - length]) as Shown
  const messages = spanOf(length + tail.length, (index) => shownAt(index).message)
  const sources = spanOf(messages.length, (index) => shownAt(index).source)
  const prefix = prefixOf(parts, messages, previous)
  let stable = parts.sums[Math.min(prefix, length)] as number
  for (let index = length; index < prefix; index++) stable += parts.count(shownAt(index).message)
  let digest: string | undefined
  let levels: readonly ResidencyLevel[] | undefined
  let dropped: readonly Range[] | undefined
  const context = Object.freeze<DerivedContext>({
    // The cast adds the brand: groups are settled, and every test that derives checks this.
    messages: messages as Settled<ReadonlySpan<Message>>,
    sources,
    residency: spanOf(end, (position) => (levels ??= levelsOf(sources.toArray(), end))[position] as ResidencyLevel),
    get dropped() {
      return (dropped ??= droppedRanges(sources.toArray()))
    },
    provenance: Object.freeze([
      `epoch:${epoch}`,
      isWhole ? 'whole' : 'shortened',
      ...(parts.mendedAt < length ? ['mended'] : []),
      ...(tail.some(({ source }) => source.type === 'synthetic') ? ['interrupted'] : []),
    ]),
    tokens,
    budget,
    ...more,
    length: end,
    activeFrom,
    stablePrefix: prefix,
    stableTokens: stable,
    cost: stable * prices.cached + (tokens - stable) * prices.fresh,
    epoch,
    get digest() {
      return (digest ??= rangeDigest(messages))
    },
  })
  partsOf.set(context, parts)
  return context
}

const partsOf = new WeakMap<SentContext, ContextParts>()

/** The leading messages equal to the previous context's. The shared part of one epoch is not compared. */
const prefixOf = (parts: ContextParts, messages: Sequence<Message>, previous: SentContext | undefined): number => {
  if (previous === undefined) return 0
  const before = partsOf.get(previous)
  let prefix = before?.shown === parts.shown ? Math.min(before.length, parts.length) : 0
  for (; prefix < messages.length && prefix < previous.messages.length; prefix++)
    if (!jsonEqual(messages.at(prefix), previous.messages.at(prefix))) break
  return prefix
}

/** The level of each position. What nothing shows is only pointed at. */
const levelsOf = (sources: readonly ContextSource[], end: number): readonly ResidencyLevel[] => {
  const levels: ResidencyLevel[] = Array.from({ length: end }, () => 'pointer' as const)
  for (const source of sources) {
    if (source.type === 'clone') levels[source.position] = 'full'
    else if (source.type === 'representation') {
      if (source.level !== 'pointer') levels[source.from] = source.level
      for (const position of ownField(source, 'briefs') ?? []) levels[position] = 'structured'
    }
  }
  return levels
}

/** The ranges that a marker or a summary replaces. */
const droppedRanges = (sources: readonly ContextSource[]): readonly Range[] => {
  const ranges: Range[] = []
  const add = (from: number, to: number): void => {
    if (from < to) ranges.push(Object.freeze({ from, to }))
  }
  for (const source of sources)
    if (source.type === 'summary') add(source.from, source.to)
    else if (source.type === 'representation' && source.level === 'pointer') {
      let from = source.from
      for (const position of ownField(source, 'briefs') ?? []) {
        add(from, position)
        from = position + 1
      }
      add(from, source.to)
    }
  return Object.freeze(ranges)
}

/** Whether a message of a context is not as it was recorded because the record is damaged there. */
export const isMended = ({ source }: Shown): boolean =>
  source.type === 'synthetic' || (source.type === 'clone' && ownField(source, 'mended') === true)
