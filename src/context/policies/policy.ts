/**
 * Policies: how to derive a context when the record no longer fits. A policy has one function that chooses how much
 * of each candidate is shown; `deriveContext` enforces the guarantees. Whatever it chooses, no page falls below its
 * minimum, the latest user message stays readable, calls and results stay together, kept messages and the active turn
 * stay complete while they fit, and the budget is not exceeded.
 */
import type { Message } from '../../message/index.ts'
import type { PageKind, ResidencyLevel } from '../../pages/index.ts'

/** Chooses what a context shows: a level for each candidate. */
export interface Policy {
  /** The name, shown in provenance and results. */
  readonly name: string
  /**
   * The version of its choices. A saved state only continues with the same name and version.
   * Default: none; contexts of the policy then have no state.
   */
  readonly version?: string
  /**
   * When to choose levels. `always`: at each derive, once the record exceeds the budget. `epochs`: only when the
   * context has reached the budget, and only downwards; until then every context extends the last one.
   */
  readonly choose: 'always' | 'epochs'
  /**
   * Positions to keep. They stay complete if they fit together with the minimum of everything else, and are shortened
   * last, after the active turn. With `epochs`, a page shortened by one compaction stays shortened. Default: none.
   */
  readonly keeps?: ReadonlySet<number>
  /**
   * With `epochs`: the share of the budget below which a compacted context is not compacted again.
   * Above it, a compaction runs once the calls since the last one have read more than the rewrite
   * costs. Default: 1. A record that fits completely is never compacted.
   */
  readonly highWater?: number
  /**
   * With `epochs`: the least share of the budget that a compaction fills. If the policy leaves room
   * below it, the newest shortened messages get that room. Default: 0.
   */
  readonly fills?: number
  /**
   * With `epochs`: whether markers of a record without tools may hold whole messages as well as
   * lines. `select` is then called only if the active turn is too long for that. Default: false.
   */
  readonly talks?: boolean
  /**
   * How much of the end of a long record `select` chooses from, in budgets; between a quarter of it and all of it is
   * read. With `always`, a message or a call with its results is at most an eighth of a budget here, and a rule nothing.
   * Older messages are only counted, in a marker, except rules and positions to keep. Default: 16 with `epochs`, all of
   * the record (`Infinity`) with `always`.
   */
  readonly reads?: number
  /** Chooses a level for each candidate. Must be pure: the same selection gives the same choices. */
  readonly select: (selection: Selection) => readonly Choice[]
}

/** How many budgets of a record a policy reads closely. */
export const budgetsRead = ({ reads, choose }: Policy): number => reads ?? (choose === 'epochs' ? 16 : Infinity)

/** The least share of the budget that the library's policies use after a compaction, unless a guarantee forbids it. */
export const leastUsed: { readonly [Choose in Policy['choose']]: number } = Object.freeze({
  always: 0.85,
  epochs: 0.45,
})

/** How much of a candidate to show: a level, or a cut to a number of tokens. */
export type Choice = ResidencyLevel | Cut

/**
 * Compressed to at most this many tokens. The longest texts, results and arguments are cut to head
 * and tail, only as far as needed; instructions and rules are cut to an outline. A candidate that
 * can't be cut that far falls to the next level.
 */
export interface Cut {
  /** The maximum tokens. */
  readonly tokens: number
}

/** The input to a policy. */
export interface Selection {
  /** Everything recorded, oldest first. */
  readonly candidates: readonly Candidate[]
  /** The tokens available for all messages together. */
  readonly budget: number
  /** The maximum tokens of a marker for a hidden range, without its lines. Neighbouring ranges share one. */
  readonly markerTokens: number
}

/** A message, or calls with their results; or a range already replaced by a marker or a summary. */
export interface Candidate {
  /** The first position. */
  readonly from: number
  /** The position after its last message. */
  readonly to: number
  /** Its current level. It can only fall, along `levels`. */
  readonly level: ResidencyLevel
  /** The levels it can have, from `level` down to the minimum. */
  readonly levels: readonly ResidencyLevel[]
  /** True for the active turn: the latest substantive user message and everything after it. */
  readonly active: boolean
  /** True if the policy `keeps` one of its positions. */
  readonly kept: boolean
  /** True if the latest compaction already had it: changing it then changes the provider's cached prefix. */
  readonly settled: boolean
  /** True for the latest user message and the latest substantive one: these never fall below `compressed`. */
  readonly asked: boolean
  /** The page kinds of its messages. */
  readonly kinds: readonly PageKind[]
  /**
   * True if its `structured` level is a line in a marker. Adjacent candidates that are structured
   * or hidden share one marker. Instructions and rules remain separate messages at every level.
   */
  readonly inMarker: boolean
  /** The recorded messages; empty for a range. */
  readonly messages: readonly Message[]
  /**
   * The tokens of the candidate with a choice. At `pointer` that is 0, and in a marker the tokens of its line: see
   * `markerTokens`. `Infinity` if a cut is impossible. Cost: each level is computed once; a cut needs a search.
   */
  readonly tokens: (choice: Choice) => number
}
