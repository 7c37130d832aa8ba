/**
 * `paged`, the default: residency by page, in epochs.
 *
 * Until the context has grown to the budget, nothing that was sent before changes, so that a provider's prompt cache
 * holds. Then one compaction takes it down to the low-water mark. From then on each call pays for all that the context
 * has grown, and a compaction for what it rewrites; it comes when the calls have paid as much. A compaction first takes from what
 * came since the last one, down to a line of each message, so that what stands before it stays cached.
 */
import { degrade, isEvidence, measure } from './degrade.ts'
import { activeFits, filled, shortened } from './fit.ts'
import { leastUsed, type Candidate, type Choice, type Policy, type Selection } from './policy.ts'

/** The thresholds of a paged policy. */
export interface PagedOptions {
  /**
   * The share of the budget that a compaction leaves. Default: 0.45. Lower: less money, less of the past, and a context that
   * says `unused:policy` below 0.45.
   */
  readonly lowWater?: number
  /** The share of the budget below which a compacted context is not compacted again. Default: `lowWater`. */
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
export const pagedWith = (options: PagedOptions): Policy => pagedAs('paged', options)

const pagedAs = (name: string, { lowWater = 0.45, highWater = lowWater }: PagedOptions): Policy => {
  isShare('lowWater', lowWater)
  isShare('highWater', highWater)
  return Object.freeze<Policy>({
    name,
    choose: 'epochs',
    highWater,
    fills: Math.min(lowWater, leastUsed.epochs),
    select: (selection) => {
      const { candidates, budget } = selection
      const low = budget * lowWater
      const fits = activeFits(selection)
      const active = candidates.reduce((sum, { active, level, tokens }) => sum + (active ? tokens(level) : 0), 0)
      const rest = fits ? Math.max(low, Math.min(active + budget * roomAboveActive, budget * highestMark)) : low
      const talks = !candidates.some(isEvidence)
      const whole = fits ? candidates.map(({ level }): Choice => level) : shortened(selection, low * shareOfTurn)
      const from = thinned(selection, whole, talks ? linesOfTalk : lowWater * linesOfWork)
      const goals = fits ? { rest, active: low } : { rest: low, active: low, limit: low }
      // First what came last, as long as that is enough: what stands before it then stays in the provider's cache.
      const near = Math.max(rest, Math.min(low + budget * roomForSettled, budget))
      for (const to of sparedTo(candidates)) {
        const spare = (candidate: Candidate): boolean => candidate.to <= to
        const inLine = (choice: Choice, candidate: Candidate): Choice =>
          choice === 'pointer' && candidate.inMarker ? 'structured' : choice
        const first = degrade(
          selection,
          from.map((choice, index) => {
            const candidate = candidates[index] as Candidate
            return spare(candidate) ? candidate.level : inLine(choice, candidate)
          }),
          { rest: low, active: low, limit: fits ? budget : low, spare, keepsGist: true },
        )
        if (measure(selection, first) <= near) return filled(selection, first, low)
      }
      // In a conversation without tools nothing is cheap: there a line of each message stays, up to most of the budget.
      const inLines = talks ? degrade(selection, from, { ...goals, keepsGist: true }) : []
      if (talks && measure(selection, inLines) <= budget * mostForGist) return filled(selection, inLines, low)
      const most = talks && fits ? { ...goals, rest: Math.max(rest, budget * gistGoal) } : goals
      return filled(selection, degrade(selection, from, most), low)
    },
  })
}

/** The default policy: it chooses a level for each page, and changes the levels only in epochs. */
export const paged: Policy = pagedAs('paged', {})

/**
 * `paged` with a low-water mark of 0.25: about a fifth less money than `paged` on coding sessions, for a part of what it
 * keeps. A compaction leaves a quarter of the budget, so the law that it uses at least 45 % does not hold.
 */
export const thrifty: Policy = pagedAs('thrifty', { lowWater: 0.25 })

function isShare(name: string, value: number): void {
  if (!(value > 0 && value <= 1))
    throw new TypeError(`${name} is ${String(value)}; expected a share of the budget: above 0, at most 1`)
}

/** The lines of ranges thinned, where they take more than their share. */
const thinned = ({ candidates, budget }: Selection, from: readonly Choice[], most: number): readonly Choice[] => {
  const isLines = ({ inMarker, messages, level }: Candidate): boolean =>
    inMarker && messages.length === 0 && level !== 'pointer'
  const taken = candidates.reduce((sum, one) => sum + (isLines(one) ? one.tokens(one.level) : 0), 0)
  if (taken <= budget * most) return from
  return from.map((choice, index) => {
    const one = candidates[index] as Candidate
    return isLines(one) ? { tokens: Math.floor((one.tokens(one.level) * budget * most * thinnedTo) / taken) } : choice
  })
}

/** Positions up to which everything may be spared: all that is settled, then less and less of it. */
const sparedTo = (candidates: readonly Candidate[]): readonly number[] => {
  const settled = candidates.filter((candidate) => candidate.settled)
  const sizes = settled.map(({ level, tokens }) => tokens(level))
  const all = sizes.reduce((sum, size) => sum + size, 0)
  let before = 0
  const places: number[] = []
  for (const [index, { to }] of settled.entries()) {
    before += sizes[index] as number
    for (const share of spared)
      if (before >= all * share && before - (sizes[index] as number) < all * share) places.push(to)
  }
  return [...new Set(places)].toReversed()
}

const spared = [0.25, 0.5, 0.75, 1]

/** Of what a turn that is too long is cut to: the rest is for the turns before it. */
const shareOfTurn = 0.8
/**
 * Lines are thinned where they take more: of what a compaction leaves; where nobody but people talks, and they are all, of the
 * budget.
 */
const linesOfWork = 0.5
const linesOfTalk = 0.85
/** So much of that is left of them. */
const thinnedTo = 0.8
const mostForGist = 0.85
const gistGoal = 0.75
const roomAboveActive = 0.03
const highestMark = 0.75
const roomForSettled = 0.07
