/** Contexts of a record, as policies derive them: what the worker of the page does. */
import { faultMessage } from 'indelible'
import { deriveContext, estimateTokens, type DerivedContext } from 'indelible/context'
import { design, type DerivedBy } from 'indelible/internal/context'
import { defaultPrices } from 'indelible/internal/prices'
import { policies, type ComparedPolicy } from './policies.ts'
import { createHistory, omitRanges, type View } from 'indelible/history'
import { isLeft } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import { rangeDigest, retractedBy, type Note } from 'indelible/internal/notes'
import { residencyLevels, type PageKind } from 'indelible/pages'
import type { CallPlace, NoteAtRow } from './model-calls.ts'
import type { ContextMessage } from './sent-pairs.ts'

/** A context as one thread gives it to another. */
export interface SentContext {
  /** Whole messages of the record by their positions, others as they are. */
  readonly messages: readonly (number | ContextMessage)[]
  /** The residency level of each position, as an index into `residencyLevels`. */
  readonly levels: Uint8Array
  readonly prefix: number
  readonly stableTokens: number
  readonly tokens: number
  readonly cost: number
  readonly budget: number
  readonly epoch: number
  readonly activeFrom: number
}

/** One policy over all calls. */
export interface Series {
  readonly policy: string
  /** Tokens of each call; null where the budget was too small. */
  readonly tokens: readonly (number | null)[]
  /** The cost up to each call, in tokens of plain input. */
  readonly cost: readonly (number | null)[]
  /** Of the tokens of each call: those of the cached prefix. */
  readonly stable: readonly number[]
  /** The share of all tokens that a cache could hold. */
  readonly cached: number
  readonly epochs: number
}

/** The calls up to one, whose epoch is looked for. */
export interface Epoch extends PolicyAt {
  readonly calls: readonly CallPlace[]
}

/** What can be asked, each with its answer. */
export interface Questions {
  readonly context: (
    question: PolicyAt & { readonly call: CallPlace; readonly before?: CallPlace | undefined },
  ) => SentContext | string
  /** What a run was sent, derived again; undefined if that has another digest. */
  readonly again: (question: {
    readonly call: CallPlace
    readonly before?: CallPlace | undefined
    readonly digest: string
    readonly model: string
    readonly by: DerivedBy | undefined
  }) => SentContext | undefined
  /** The tokens of messages, and of the first `prefix` of them. */
  readonly sums: (question: { readonly messages: readonly (number | Message)[]; readonly prefix: number }) => {
    readonly tokens: number
    readonly cached: number
  }
  /** The tokens of the messages that have come, up to each and with it. */
  readonly ends: (question: object) => Float64Array
}

interface PolicyAt {
  readonly policy: string
  readonly budget: number
}

/** The most contexts kept: a call that follows one of them continues it. */
const mostKept = 8

export class Deriver implements Questions {
  readonly #history = createHistory<Message>()
  readonly #notes: NoteAtRow[] = []
  readonly #kept = new Map<string, DerivedContext>()
  readonly #ends: number[] = []
  /** How many contexts were derived. */
  derived = 0

  /** Take messages and notes that came since. */
  add(messages: readonly (readonly [Message, PageKind])[], notes: readonly NoteAtRow[]): void {
    for (const [message, page] of messages) this.#history.append(message, page)
    for (const note of notes) this.#notes.push(note)
  }

  context: Questions['context'] = ({ call, before, policy, budget }) => {
    const previous = before && this.#derive(before, findPolicy(policy), budget, undefined)
    const derived = this.#derive(call, findPolicy(policy), budget, typeof previous === 'string' ? undefined : previous)
    return typeof derived === 'string' ? derived : sentContextOf(derived)
  }

  /** Where the epoch of the last call began. Others are answered between two of its contexts. Cost: O(log calls) contexts */
  async epoch(
    { calls, policy, budget }: Epoch,
    pause: (share: number) => Promise<boolean>,
  ): Promise<number | undefined> {
    const chosen = findPolicy(policy)
    const epochAt = (at: number): number => {
      const derived = this.#derive(calls[at] as CallPlace, chosen, budget, undefined, at === calls.length - 1)
      return typeof derived === 'string' ? -1 : derived.epoch
    }
    let [low, high] = [0, calls.length - 1]
    const own = chosen.hasEpochs ? epochAt(high) : 0
    if (own <= 0) return undefined
    while (low < high) {
      if (!(await pause(0))) return undefined
      const middle = (low + high) >> 1
      if (epochAt(middle) < own) low = middle + 1
      else high = middle
    }
    return calls[low]?.len
  }

  again: Questions['again'] = ({ call, before, digest, model, by }) => {
    const { conversation, notes } = this.#momentOf(call)
    // Without a budget the whole conversation is sent.
    if (rangeDigest(conversation) === digest) return this.#whole(conversation, before)
    // What an earlier version derived, this one can't derive again.
    if (by === undefined || by.policy !== design.policy || by.version !== design.version) return undefined
    const { budget, reserved, recall } = by
    const options = { budget: budget + reserved, systemTokens: reserved, model, ...(!recall && { tools: [] }) }
    const derive = (
      view: View<Message>,
      written: readonly Note[],
      previous?: DerivedContext,
    ): DerivedContext | undefined => {
      this.derived += 1
      const derived = deriveContext(view, { ...options, toolTokens: 0, notes: written, ...(previous && { previous }) })
      return isLeft(derived) ? undefined : derived.right
    }
    const earlier = before && this.#momentOf(before)
    const derived = derive(conversation, notes, earlier && derive(earlier.conversation, earlier.notes))
    return derived?.digest === digest ? sentContextOf(derived) : undefined
  }

  sums: Questions['sums'] = ({ messages, prefix }) => {
    const view = this.#history.view()
    let [tokens, cached] = [0, 0]
    for (const [index, entry] of messages.entries()) {
      const message = typeof entry === 'number' ? view.at(entry) : entry
      if (message !== undefined) tokens += estimateTokens(message)
      if (index < prefix) cached = tokens
    }
    return { tokens, cached }
  }

  ends: Questions['ends'] = () => {
    const view = this.#history.view()
    for (let at = this.#ends.length; at < view.length; at++)
      this.#ends.push((this.#ends.at(-1) ?? 0) + estimateTokens(view.at(at) as Message))
    return Float64Array.from(this.#ends)
  }

  /** Every call with every policy, each policy when it is done. Others are answered between two pieces of the work. */
  async *compare(
    calls: readonly CallPlace[],
    budget: number,
    pause: (share: number) => Promise<boolean>,
  ): AsyncGenerator<Series> {
    let since = performance.now()
    let done = 0
    for (const policy of policies) {
      const series = { tokens: [] as (number | null)[], cost: [] as (number | null)[], stable: [] as number[] }
      let sum = { tokens: 0, stable: 0, cost: 0, epochs: 0 }
      let previous: DerivedContext | undefined
      for (const call of calls) {
        if (performance.now() - since > longestPiece) {
          if (!(await pause(done / (calls.length * policies.length)))) return
          since = performance.now()
        }
        done += 1
        const derived = this.#derive(call, policy, budget, previous, false)
        if (typeof derived === 'string') {
          series.tokens.push(null)
          series.cost.push(null)
          series.stable.push(0)
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
        series.stable.push(derived.stableTokens)
        previous = derived
      }
      yield {
        policy: policy.name,
        ...series,
        cached: sum.tokens === 0 ? 0 : sum.stable / sum.tokens,
        epochs: sum.epochs,
      }
    }
  }

  /** The messages and notes before a call, less what was retracted by then. Cost: O(notes). */
  #momentOf({ len, end }: CallPlace): { readonly conversation: View<Message>; readonly notes: readonly Note[] } {
    const before = this.#notes.filter(({ row }) => row < end)
    const ranges = before.flatMap(({ note, after }) => retractedBy(note, after + 1) ?? [])
    const view = this.#history.view().slice(0, len)
    return {
      conversation: ranges.length === 0 ? view : omitRanges(view, ranges),
      notes: before.map(({ note }) => note),
    }
  }

  /** One context after another, each continuing the one before. */
  #derive(
    call: CallPlace,
    policy: ComparedPolicy,
    budget: number,
    previous: DerivedContext | undefined,
    isKept = true,
  ): DerivedContext | string {
    const key = `${policy.name} ${budget} ${call.len} ${call.end}`
    const known = this.#kept.get(key)
    if (known !== undefined && previous === undefined) return known
    this.derived += 1
    const { conversation, notes } = this.#momentOf(call)
    const derived = policy.derive(conversation, { budget, notes, ...(previous && { previous }) })
    if (isLeft(derived)) return faultMessage(derived.left)
    if (!isKept) return derived.right
    this.#kept.delete(key)
    this.#kept.set(key, derived.right)
    if (this.#kept.size > mostKept) this.#kept.delete(this.#kept.keys().next().value as string)
    return derived.right
  }

  /** A conversation that was sent whole, after another that was. */
  #whole(conversation: View<Message>, before: CallPlace | undefined): SentContext {
    const positions = Array.from(conversation, (_, index) => conversation.positionAt(index) as number)
    const earlier = before === undefined ? undefined : this.#momentOf(before).conversation
    let prefix = 0
    while (prefix < (earlier?.length ?? 0) && earlier?.positionAt(prefix) === positions[prefix]) prefix++
    const { tokens, cached } = this.sums({ messages: positions, prefix })
    const levels = new Uint8Array((positions.at(-1) ?? -1) + 1).fill(residencyLevels.indexOf('pointer'))
    for (const position of positions) levels[position] = residencyLevels.indexOf('full')
    const cost = cached * defaultPrices.cached + (tokens - cached) * defaultPrices.fresh
    return {
      messages: positions,
      levels,
      prefix,
      stableTokens: cached,
      tokens,
      cost,
      budget: tokens,
      epoch: 0,
      activeFrom: 0,
    }
  }
}

const longestPiece = 12 // milliseconds, after which others are answered

const findPolicy = (wanted: string): ComparedPolicy => policies.find(({ name }) => name === wanted) as ComparedPolicy

const sentContextOf = (derived: DerivedContext): SentContext => {
  const sources = [...derived.sources]
  const { stablePrefix: prefix, stableTokens, tokens, cost, budget, epoch, activeFrom, length } = derived
  return {
    messages: sources.map((source, index) =>
      source.type === 'clone' && source.mended !== true
        ? source.position
        : { message: derived.messages.at(index) as Message, source },
    ),
    levels: Uint8Array.from({ length }, (_, at) => residencyLevels.indexOf(derived.residency.at(at) ?? 'pointer')),
    ...{ prefix, stableTokens, tokens, cost, budget, epoch, activeFrom },
  }
}
