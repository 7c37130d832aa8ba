/**
 * Policies: how a context is derived when the record no longer fits. A policy is a value with one function that chooses
 * a level for every candidate; `deriveContext` keeps the laws around it. Whatever is chosen, no page ends below its
 * minimum, calls and results stay together, what the policy keeps and the active turn stay full while they can, and the
 * budget holds.
 */
import type { Message } from '../message/index.ts'
import type { PageKind, ResidencyLevel } from '../pages/index.ts'

export interface Policy {
  readonly name: string
  /**
   * When levels are chosen. `always`: anew at each derive, as soon as the record exceeds the budget. `epochs`: only
   * when the context has grown to the budget, and never upwards; until then every context extends the one before.
   */
  readonly choose: 'always' | 'epochs'
  /**
   * Positions that it keeps: where they fit whole beside the least of all else they are whole, and only after everything
   * else, the active turn too, they fall. Default: none.
   */
  readonly keeps?: ReadonlySet<number>
  /** Whether a range that is not shown is summed up by the library's own extract where no note does it. */
  readonly extracts?: boolean
  /** A level for each candidate, in their order. Pure: the same selection gives the same levels. */
  readonly select: (selection: Selection) => readonly ResidencyLevel[]
}

/** A policy that knows the future of a recorded conversation: `replay` takes it, `deriveContext` does not. */
export interface EvaluationPolicy {
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
  /** The most that the marker of a range which is not shown takes. Neighbours share one. */
  readonly markerTokens: number
}

/** A message, or calls with their results; or a range that was degraded to a marker or a summary before. */
export interface Candidate {
  /** Positions, up to, not including, `to`. */
  readonly from: number
  readonly to: number
  /** Where it stands now. It can only fall, along `levels`. */
  readonly level: ResidencyLevel
  /** Where it can stand, from `level` to the minimum. */
  readonly levels: readonly ResidencyLevel[]
  /** Of the latest substantive user message, or after it. */
  readonly active: boolean
  /** With a position that the policy `keeps`. */
  readonly kept: boolean
  readonly kinds: readonly PageKind[]
  /** As recorded; empty for a range. */
  readonly messages: readonly Message[]
  /** What it takes at a level. At `pointer` that is 0: see `markerTokens`. */
  readonly tokens: (level: ResidencyLevel) => number
}
