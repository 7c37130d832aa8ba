/**
 * Policies: how a context is derived when the record no longer fits. A policy is a value with one function that chooses
 * for every candidate how much of it is shown; `deriveContext` keeps the laws around it. Whatever is chosen, no page ends
 * below its minimum, the latest message of the user stays readable, calls and results stay together, what the policy
 * keeps and the active turn stay full while they can, and the budget holds.
 */
import type { Message } from '../../message/index.ts'
import type { PageKind, ResidencyLevel } from '../../pages/index.ts'

/** How to choose what a context shows: a level for each candidate. */
export interface Policy {
  /** The name, for provenance and results. */
  readonly name: string
  /**
   * The version of its choices, for states that are kept for another process: another name or version does not continue them.
   * Default: none; contexts of the policy have no state.
   */
  readonly version?: string
  /**
   * When to choose levels. `always`: at each derive, as soon as the record exceeds the budget. `epochs`: only when the
   * context has grown to the budget, and never upwards; until then every context extends the last one.
   */
  readonly choose: 'always' | 'epochs'
  /**
   * Positions to keep. They stay whole where they fit beside the minimum of everything else, and are shortened last, after
   * the active turn. With `epochs`, a page shortened by one compaction stays so. Default: none.
   */
  readonly keeps?: ReadonlySet<number>
  /**
   * With `epochs`: the share of the budget below which a compacted context is not compacted again. Above it a compaction comes
   * when the calls since the last one have read more than it rewrites is worth. Default: 1. A record that fits whole is never
   * compacted.
   */
  readonly highWater?: number
  /**
   * With `epochs`: the share of the budget that a compaction fills at least. What the policy leaves free of it goes to the
   * newest messages that fell. Default: 0.
   */
  readonly fills?: number
  /**
   * With `epochs`: whether markers of a record without tools hold whole messages beside lines, and `select` is only asked
   * where the active turn is too long for that. Default: false.
   */
  readonly talks?: boolean
  /** Choose a level for each candidate. It must be pure: the same selection gives the same choices. */
  readonly select: (selection: Selection) => readonly Choice[]
}

/** The least share of the budget that a compaction of the library's own policies uses, unless a law forbids it. */
export const leastUsed: { readonly [Choose in Policy['choose']]: number } = Object.freeze({
  always: 0.85,
  epochs: 0.45,
})

/** How much of a candidate to show: a level, or as much as fits a number of tokens. */
export type Choice = ResidencyLevel | Cut

/**
 * Compressed to at most so many tokens: the longest texts, results and arguments are cut to head and tail, only as far as
 * needed; instructions and rules are cut to an outline. A candidate that can't be cut so far falls to the next level.
 */
export interface Cut {
  /** The most tokens that it may take. */
  readonly tokens: number
}

/** The input of a policy. */
export interface Selection {
  /** Everything recorded, oldest first. */
  readonly candidates: readonly Candidate[]
  /** The tokens available for all messages together. */
  readonly budget: number
  /** The most tokens of the marker of a range that is not shown, without its lines. Neighbouring ranges share one. */
  readonly markerTokens: number
}

/** A message, or calls with their results; or a range that was replaced by a marker or a summary before. */
export interface Candidate {
  /** The first position. */
  readonly from: number
  /** The position after its last message. */
  readonly to: number
  /** Its current level. It can only fall, along `levels`. */
  readonly level: ResidencyLevel
  /** The levels it can have, from `level` down to the minimum. */
  readonly levels: readonly ResidencyLevel[]
  /** True for the active turn: the latest substantive user message, and everything after it. */
  readonly active: boolean
  /** True if the policy `keeps` one of its positions. */
  readonly kept: boolean
  /** True if the context before the latest compaction had it: changing it then changes the provider's cached prefix. */
  readonly settled: boolean
  /**
   * True for the latest user message, and the latest one that asks for something: these never fall below `compressed`.
   */
  readonly asked: boolean
  /** The page kinds of its messages. */
  readonly kinds: readonly PageKind[]
  /**
   * True if its `structured` level is a line in the marker of its range. Neighbours that are structured or not shown share
   * one marker. Instructions and rules are messages of their own at every level.
   */
  readonly inMarker: boolean
  /** The recorded messages; empty for a range. */
  readonly messages: readonly Message[]
  /**
   * The tokens of the candidate with a choice. At `pointer` that is 0, and in a marker the tokens of its line: see
   * `markerTokens`. A cut that is not possible gives `Infinity`. Cost: each level is computed once; a cut is searched for.
   */
  readonly tokens: (choice: Choice) => number
}
