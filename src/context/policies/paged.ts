/**
 * `paged`, the default: residency by page, in epochs.
 *
 * Until the context has grown to the budget, nothing that was sent before changes, so that a provider's prompt cache
 * holds. Then one compaction takes it down to the low-water mark: messages become lines in the marker of their range,
 * the oldest first, and first of all those that came since the last compaction, so that what stands before them stays
 * cached.
 */
import { textVersion } from '../showing/marker.ts'
import { optionsOf } from '../../json/index.ts'
import { adjusting, degrade, isEvidence, isLines, isProtected, newestOf } from './degrade.ts'
import { activeFits, fillRoom } from './fit.ts'
import { leastUsed, type Candidate, type Choice, type Policy, type Selection } from './policy.ts'

/** The threshold of a paged policy. */
export interface PagedOptions {
  /**
   * The share of the budget that a compaction leaves. Default: 0.45. Lower: less money, less of the past, and a context that
   * says `unused:policy` below 0.45.
   */
  readonly lowWater?: number
}

/**
 * The default policy: it chooses a level for each page, and changes the levels only in epochs.
 *
 * @returns the policy, the same one for the same threshold: a context continues those of the same policy value
 * @throws TypeError if the threshold is not above 0 and at most 1
 */
export const paged = (options: PagedOptions = {}): Policy => {
  const { lowWater = 0.45 } = optionsOf('paged', options, { lowWater: true })
  if (!(lowWater > 0 && lowWater <= 1))
    throw new TypeError(`lowWater is ${String(lowWater)}; expected a share of the budget: above 0, at most 1`)
  const policy = policies.get(lowWater) ?? pagedOf(lowWater)
  policies.set(lowWater, policy)
  return policy
}

const policies = new Map<number, Policy>()

const pagedOf = (lowWater: number): Policy =>
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
      const givers = giversIn(selection, fits)
      let now = adjusting(selection, lines)
      for (const to of sparedTo(candidates)) {
        const from = candidates.map((one, index) => (one.to <= to ? one.level : (lines[index] as Choice)))
        now = adjusting(selection, from)
        for (const index of givers) {
          if (now.total <= low) break
          if ((candidates[index] as Candidate).to > to) now.set(index, 'structured')
        }
        if (now.total <= most) return now.levels
      }
      // What is asked can be longer than all else: it is cut before lines are lost.
      for (const [index, { asked, active, kept }] of candidates.entries())
        if (now.total > budget && asked && active && !kept)
          now.set(index, { tokens: Math.max(budget * leastAsked, low - now.without(index)) })
      return fillRoom(selection, degrade(selection, now.levels), low)
    },
  })

/** Who becomes a line, in order: what is not of the active turn; of a turn that does not fit its evidence, then its rest. */
const giversIn = (selection: Selection, fits: boolean): readonly number[] => {
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

/** Everything as it is; but where the lines of ranges take more than `most`, each range with less of them. */
const thinRanges = ({ candidates }: Selection, most: number): readonly Choice[] => {
  const taken = candidates.reduce((sum, one) => sum + (isLines(one) ? one.tokens(one.level) : 0), 0)
  return candidates.map((one): Choice =>
    taken > most && isLines(one)
      ? { tokens: Math.floor((one.tokens(one.level) * most * thinnedTo) / taken) }
      : one.level,
  )
}

/** Positions up to which everything may be spared: all that is settled, then three quarters of it, a half, a quarter, and nothing. */
const sparedTo = (candidates: readonly Candidate[]): readonly number[] => {
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

/** The share of a compacted context that lines of ranges may take, and to which they are thinned if they take more. */
const mostLines = 0.35
const thinnedTo = 0.8
/** A turn that fits may take so much of the budget before anything else is asked of it. */
const mostOfTurn = 0.75
/** What is asked keeps so much of the budget, while lines can fall. */
const leastAsked = 1 / 8
/** A compaction that leaves so much of the budget more spares what is cached. */
const roomForSettled = 0.06
