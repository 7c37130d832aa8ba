/**
 * `paged`, the default policy: residency by page, in epochs.
 *
 * Until the context reaches the budget, nothing that was sent changes, so the provider's prompt
 * cache stays valid. Then one compaction reduces it to the low-water mark: messages become lines in
 * the marker of their range, the oldest first. Messages that came since the last compaction go
 * first of all, so that everything before them stays cached.
 */
import { textVersion } from '../showing/marker.ts'
import { optionsOf } from '../../json/index.ts'
import { adjustableChoices, degrade, isEvidence, isLines, isProtected, newestOf } from './degrade.ts'
import { activeFits, fillRoom } from './fit.ts'
import { leastUsed, type Candidate, type Choice, type Policy, type Selection } from './policy.ts'

/** Options of the paged policy. */
export interface PagedOptions {
  /**
   * The share of the budget that a compaction leaves. Default: 0.45. A lower value costs less and
   * shows less of the past; contexts below 0.45 report `unused:policy`. Without effect in a record without tool
   * calls, where a compaction leaves 60 %.
   */
  readonly lowWater?: number
}

/**
 * The default policy: chooses a level for each page and changes levels only between epochs.
 *
 * @returns the policy; the same value for the same threshold, because a context only continues one
 * with the same policy
 * @throws TypeError if the threshold is not above 0 and at most 1
 */
export const paged = (options: PagedOptions = {}): Policy => {
  const { lowWater = 0.45 } = optionsOf('paged', options, { lowWater: true })
  if (!(lowWater > 0 && lowWater <= 1))
    throw new TypeError(`lowWater is ${String(lowWater)}; expected a share of the budget: above 0, at most 1`)
  const policy = policies.get(lowWater) ?? createPaged(lowWater)
  policies.set(lowWater, policy)
  return policy
}

const policies = new Map<number, Policy>()

const createPaged = (lowWater: number): Policy =>
  Object.freeze<Policy>({
    name: 'paged',
    version: `${textVersion}/${lowWater}`,
    choose: 'epochs',
    talks: true,
    highWater: lowWater,
    fills: Math.min(lowWater, leastUsed.epochs),
    select: (selection) => {
      const { candidates, budget } = selection
      const low = budget * lowWater
      const fits = activeFits(selection)
      const turn = candidates.reduce((sum, { active, level, tokens }) => sum + (active ? tokens(level) : 0), 0)
      const goal = fits ? Math.max(low, Math.min(turn, budget * mostOfTurn)) : low
      const most = Math.max(goal, low + budget * roomForSettled)
      const lines = thinRanges(selection, low * mostLines)
      const givers = lineOrder(selection, fits)
      let now = adjustableChoices(selection, lines)
      for (const to of settledBoundaries(candidates)) {
        const from = candidates.map((one, index) => (one.to <= to ? one.level : (lines[index] as Choice)))
        now = adjustableChoices(selection, from)
        for (const index of givers) {
          if (now.total <= low) break
          if ((candidates[index] as Candidate).to > to) now.set(index, 'structured')
        }
        if (now.total <= most) return now.levels
      }
      // A long question is cut before lines are dropped.
      for (const [index, { asked, active, kept }] of candidates.entries())
        if (now.total > budget && asked && active && !kept)
          now.set(index, { tokens: Math.max(budget * leastAsked, low - now.without(index)) })
      return fillRoom(selection, degrade(selection, now.levels), low)
    },
  })

/** The indexes that become lines: outside the active turn, then (if the turn does not fit) its evidence, its rest. */
const lineOrder = (selection: Selection, fits: boolean): readonly number[] => {
  const { candidates } = selection
  const newest = newestOf(
    selection,
    candidates.map(({ level }) => level),
  )
  const groups: readonly [number[], number[], number[]] = [[], [], []]
  for (const [index, candidate] of candidates.entries()) {
    const { inMarker, messages, active, kept } = candidate
    if (!inMarker || messages.length === 0 || kept || index >= newest || isProtected(candidate)) continue
    if (!active) groups[0].push(index)
    else if (!fits) groups[isEvidence(candidate) ? 1 : 2].push(index)
  }
  return groups.flat()
}

/** Keeps everything, but thins the lines of each range if lines take more than `most` in total. */
const thinRanges = ({ candidates }: Selection, most: number): readonly Choice[] => {
  const taken = candidates.reduce((sum, one) => sum + (isLines(one) ? one.tokens(one.level) : 0), 0)
  return candidates.map((one): Choice =>
    taken > most && isLines(one)
      ? { tokens: Math.floor((one.tokens(one.level) * most * thinTarget) / taken) }
      : one.level,
  )
}

/** Positions up to which candidates may stay unchanged: all settled ones, three quarters, a half, a quarter, none. */
const settledBoundaries = (candidates: readonly Candidate[]): readonly number[] => {
  const settled = candidates.filter((candidate) => candidate.settled)
  const sizes = settled.map(({ level, tokens }) => tokens(level))
  const all = sizes.reduce((sum, size) => sum + size, 0)
  const places = [0]
  let [before, quarter] = [0, 1]
  for (const [index, { to }] of settled.entries()) {
    before += sizes[index] as number
    if (before < (all * quarter) / 4) continue
    places.push(to)
    quarter = Math.floor((4 * before) / Math.max(all, 1)) + 1
  }
  return places.toReversed()
}

/** The share of a compacted context that lines may take, and how far they are thinned beyond it. */
const mostLines = 0.35
const thinTarget = 0.8
/** The share of the budget that an active turn may take before anything else must shrink for it. */
const mostOfTurn = 0.75
/** The share of the budget for the question while lines can still be dropped. */
const leastAsked = 1 / 8
/** The extra share of the budget that a compaction may leave to keep a cached prefix. */
const roomForSettled = 0.06
