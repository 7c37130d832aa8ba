/**
 * `paged`, the default: residency by page, in epochs.
 *
 * Until the context has grown to the budget, nothing that was sent before changes, so that a provider's prompt cache
 * holds. Then one compaction takes it down to the low-water mark. The mark is half of the budget; where the active turn
 * takes much of that, a quarter of the budget more than the active turn, so that the past is not emptied for it.
 */
import { degrade } from './degrade.ts'
import type { Policy } from './policy.ts'

export interface PagedOptions {
  /** The share of the budget that a compaction goes down to. Default: 0.5. Lower: fewer epochs, less of the past. */
  readonly lowWater?: number
}

/** A paged policy with marks of your own. Make it once: a context continues from one of the same policy value only. */
export const pagedWith = ({ lowWater = 0.5 }: PagedOptions): Policy => {
  if (!(lowWater > 0 && lowWater <= 1)) throw new TypeError(`lowWater is ${String(lowWater)}; expected a share of the budget: above 0, at most 1`)
  return Object.freeze<Policy>({
    name: 'paged',
    choose: 'epochs',
    select: (selection) => {
      const { candidates, budget } = selection
      const low = budget * lowWater
      const active = candidates.reduce((sum, candidate) => sum + (candidate.active ? candidate.tokens(candidate.level) : 0), 0)
      const rest = Math.max(low, Math.min(active + budget * roomAboveActive, budget * highestMark))
      return degrade(selection, candidates.map(({ level }) => level), { rest, active: low })
    },
  })
}

/** Residency by page, in epochs: the default. */
export const paged: Policy = pagedWith({})

const roomAboveActive = 0.25
const highestMark = 0.75
