/**
 * Policies: how a context is derived when the record no longer fits. A policy is a value with one function that chooses
 * for every candidate how much of it is shown; `deriveContext` keeps the laws around it. Whatever is chosen, no page ends
 * below its minimum, the latest message of the user stays readable, calls and results stay together, what the policy
 * keeps and the active turn stay full while they can, and the budget holds.
 */
import type { Message } from '../message/index.ts'
import type { PageKind, ResidencyLevel } from '../pages/index.ts'

/** How a context is chosen: a level for each candidate. */
export interface Policy {
  /** Its name, as provenance and results print it. */
  readonly name: string
  /**
   * When levels are chosen. `always`: anew at each derive, as soon as the record exceeds the budget. `epochs`: only
   * when the context has grown to the budget, and never upwards; until then every context extends the one before.
   */
  readonly choose: 'always' | 'epochs'
  /**
   * Positions that it keeps: where they fit whole beside the least of all else they are whole, and only after everything
   * else, the active turn too, they fall. With `epochs`, what fell at one compaction stays so. Default: none.
   */
  readonly keeps?: ReadonlySet<number>
  /**
   * With `epochs`: the share of the budget at which a context that was compacted before is compacted again. Default: 1, when
   * the budget is reached. What fits whole is never compacted.
   */
  readonly highWater?: number
  /** Whether a range that is not shown is summed up by the library's own extract where no note does it. */
  readonly extracts?: boolean
  /** A choice for each candidate, in their order. Pure: the same selection gives the same choices. */
  readonly select: (selection: Selection) => readonly Choice[]
}

/** The least share of the budget that a compaction of the library's own policies uses, unless a law forbids it. */
export const leastUsed: { readonly [Choose in Policy['choose']]: number } = Object.freeze({
  always: 0.85,
  epochs: 0.45,
})

/** How much of a candidate is shown: a level, or as much of it as a number of tokens holds. */
export type Choice = ResidencyLevel | Cut

/**
 * Compressed to at most so many tokens: the longest of its texts, results and arguments are cut to head and tail, just as
 * far as needed; instructions and rules to a longer outline than their minimum. What can't be cut so far falls to the next
 * level.
 */
export interface Cut {
  /** The most tokens that it may take. */
  readonly tokens: number
}

/** A policy that knows the future of a recorded conversation: `replay` takes it, `deriveContext` does not. */
export interface EvaluationPolicy {
  /** Its name, as results print it. */
  readonly name: string
  readonly evaluationOnly: true
  /** The policy for a call that sees the record up to `position`. */
  readonly at: (recording: readonly Message[], position: number) => Policy
}

/** What a policy chooses from. */
export interface Selection {
  /** Everything recorded, oldest first. */
  readonly candidates: readonly Candidate[]
  /** The tokens that all messages may take together. */
  readonly budget: number
  /** The most that the marker of a range which is not shown takes, without its lines. Neighbours share one. */
  readonly markerTokens: number
}

/** A message, or calls with their results; or a range that was degraded to a marker or a summary before. */
export interface Candidate {
  /** Positions, up to, not including, `to`. */
  readonly from: number
  /** The position after its last message. */
  readonly to: number
  /** Where it stands now. It can only fall, along `levels`. */
  readonly level: ResidencyLevel
  /** Where it can stand, from `level` to the minimum. */
  readonly levels: readonly ResidencyLevel[]
  /** Of the latest substantive user message, or after it. */
  readonly active: boolean
  /** With a position that the policy `keeps`. */
  readonly kept: boolean
  /**
   * Whether it stands before the end of what the latest compaction shortened: then changing it changes most of what a
   * provider's cache holds.
   */
  readonly settled: boolean
  /** The latest message of the user, or the latest that asks for something: never below `compressed`. */
  readonly asked: boolean
  /** The page kinds of its messages. */
  readonly kinds: readonly PageKind[]
  /**
   * Whether it is `structured` as a line of the marker that stands for its range: neighbours that are so, or not shown, share
   * one. Instructions and rules are messages of their own at every level.
   */
  readonly inMarker: boolean
  /** As recorded; empty for a range. */
  readonly messages: readonly Message[]
  /**
   * What it takes as chosen. At `pointer` that is 0, and in a marker what its line takes: see `markerTokens`. `Infinity` for a cut that is not possible. Cost: that
   * of a message is found once for each level; a cut is searched for.
   */
  readonly tokens: (choice: Choice) => number
}
