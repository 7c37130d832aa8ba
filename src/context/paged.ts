/**
 * `paged`, the default: residency by page, in epochs.
 *
 * Until the context has grown to the budget, nothing that was sent before changes, so that a provider's prompt cache
 * holds. Then one compaction takes it down to the low-water mark. From then on a compaction comes at the high-water mark:
 * each call pays for all that the context holds, so a smaller one is worth a compaction now and then. A compaction first
 * takes from what came since the last one, so that what stands before it stays cached.
 */
import { degrade, isEvidence, measure } from './degrade.ts'
import { activeFits, filled, shortened } from './fit.ts'
import type { Candidate, Choice, Policy, Selection } from './policy.ts'

/** The thresholds of a paged policy. */
export interface PagedOptions {
  /** The share of the budget that a compaction leaves. Default: 0.465. Lower: fewer epochs, and less of the past. */
  readonly lowWater?: number
  /** The share of the budget at which a compacted context is compacted again, if it has grown by some thousand tokens. Default: 0.6. */
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
export const pagedWith = ({ lowWater = 0.465, highWater = 0.6 }: PagedOptions): Policy => {
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
      const talks = !candidates.some(isEvidence)
      const whole = fits ? candidates.map(({ level }): Choice => level) : shortened(selection, low * shareOfTurn)
      const from = thinned(selection, whole, talks ? mostLines.talk : mostLines.work)
      const goals = fits ? { rest, active: low } : { rest: low, active: low, limit: low }
      // First what came last, as long as that is enough: what stands before it then stays in the provider's cache.
      const near = Math.max(rest, Math.min(low + budget * roomForSettled, budget))
      for (const to of sparedTo(candidates)) {
        const spare = (candidate: Candidate): boolean => candidate.to <= to
        const first = degrade(
          selection,
          from.map((choice, index) => {
            const candidate = candidates[index] as Candidate
            return spare(candidate) ? candidate.level : choice
          }),
          { rest: near, active: near, limit: fits ? budget : near, spare },
        )
        if (measure(selection, first) <= near && gistLost(candidates, first) <= budget * mostGistLost)
          return filled(selection, first, low)
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
export const paged: Policy = pagedWith({})

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

/** The tokens of lines that could stand in markers and do not, of what falls now. */
const gistLost = (candidates: readonly Candidate[], choices: readonly Choice[]): number =>
  candidates.reduce(
    (sum, { level, inMarker, tokens }, index) =>
      choices[index] === 'pointer' && level !== 'pointer' && inMarker ? sum + tokens('structured') : sum,
    0,
  )

const mostGistLost = 0.03
const mostForGist = 0.85
const gistGoal = 0.75

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
/** Lines are thinned where they take more of the budget, to so much of that. Where nobody but people talks they are all. */
const mostLines = { work: 0.3, talk: 0.85 } as const
const thinnedTo = 0.8
const roomAboveActive = 0.03
const highestMark = 0.75
const roomForSettled = 0.02
