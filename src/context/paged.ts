/**
 * `paged`, the default: residency by page, in epochs.
 *
 * Until the context has grown to the budget, nothing that was sent before changes, so that a provider's prompt cache
 * holds. Then one compaction takes it down to the low-water mark. From then on a compaction comes at the high-water mark:
 * each call pays for all that the context holds, so a smaller one is worth a compaction now and then. A compaction first
 * takes from what came since the last one, so that what stands before it stays cached.
 */
import { degrade, measure } from './degrade.ts'
import { activeFits, filled, shortened } from './fit.ts'
import type { Candidate, Choice, Policy } from './policy.ts'

/** The thresholds of a paged policy. */
export interface PagedOptions {
  /** The share of the budget that a compaction leaves. Default: 0.475. Lower: fewer epochs, and less of the past. */
  readonly lowWater?: number
  /** The share of the budget at which a compacted context is compacted again. Default: 0.9. */
  readonly highWater?: number
}

/**
 * A paged policy with thresholds of your own. Make it once: a context only continues a context of the same policy
 * value.
 *
 * @param options the thresholds
 * @returns the policy
 * @throws TypeError if a threshold is not above 0 and at most 1
 */
export const pagedWith = ({ lowWater = 0.475, highWater = 0.9 }: PagedOptions): Policy => {
  isShare('lowWater', lowWater)
  isShare('highWater', highWater)
  return Object.freeze<Policy>({
    name: 'paged',
    choose: 'epochs',
    highWater,
    select: (selection) => {
      const { candidates, budget } = selection
      const low = budget * lowWater
      const fits = activeFits(selection)
      const active = candidates.reduce((sum, { active, level, tokens }) => sum + (active ? tokens(level) : 0), 0)
      const rest = fits ? Math.max(low, Math.min(active + budget * roomAboveActive, budget * highestMark)) : low
      const from = fits ? candidates.map(({ level }): Choice => level) : shortened(selection, low * shareOfTurn)
      const goals = fits ? { rest, active: low } : { rest: low, active: low, limit: low }
      // First what came since the last compaction: what stands before it then stays in the provider's cache.
      const near = Math.max(rest, Math.min(low + budget * roomForSettled, budget))
      const first = degrade(
        selection,
        from.map((choice, index) => settledAs(candidates[index] as Candidate, choice)),
        { rest: near, active: near, limit: fits ? budget : near, spare: ({ settled }) => settled },
      )
      const isEnough = candidates.some(({ settled }) => settled) && measure(selection, first) <= near
      return filled(selection, isEnough ? first : degrade(selection, from, goals), low)
    },
  })
}

/** The default policy: it chooses a level for each page, and changes the levels only in epochs. */
export const paged: Policy = pagedWith({})

function isShare(name: string, value: number): void {
  if (!(value > 0 && value <= 1))
    throw new TypeError(`${name} is ${String(value)}; expected a share of the budget: above 0, at most 1`)
}

const settledAs = (candidate: Candidate, choice: Choice): Choice => (candidate.settled ? candidate.level : choice)

/** Of what a turn that is too long is cut to: the rest is for the turns before it. */
const shareOfTurn = 0.8
const roomAboveActive = 0.1
const highestMark = 0.75
const roomForSettled = 0.09
