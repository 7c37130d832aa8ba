/**
 * Degradation, the last resort: if a policy's choices exceed the budget, candidates are lowered row
 * by row of one table, the oldest first, until they fit.
 */
import type { ResidencyLevel } from '../../pages/index.ts'
import type { Candidate, Choice, Selection } from './policy.ts'
import { rankOf } from '../deriving/unit.ts'

/**
 * Lowers choices until they fit the budget. If not even the minimum fits, every candidate ends at its minimum.
 *
 * Messages outside the active turn are lowered first, to a line and then to a pointer. Then summaries are dropped and
 * rules reduced to an outline. Next come the active turn (evidence first), cuts of the newest messages, the rules of
 * the turn, and last the messages the policy keeps.
 *
 * Cost    O(candidates) per row of the table
 *
 * @param from the initial choices, one per candidate
 */
export const degrade = (selection: Selection, from: readonly Choice[]): readonly Choice[] => {
  const { candidates, budget } = selection
  const now = adjustableChoices(selection, from)
  if (now.total <= budget) return now.levels
  const newest = newestOf(selection, from)
  for (const { of, to } of table) {
    for (const [index, candidate] of candidates.entries()) {
      if (now.total <= budget) return raiseWhereCheaper(selection, now)
      if (!of(candidate, index >= newest)) continue
      lowerTo(now, index, candidate, to === 'cut' ? { tokens: Math.max(0, budget - now.without(index)) } : to)
    }
    raiseWhereCheaper(selection, now)
  }
  return now.levels
}

interface Row {
  readonly of: (candidate: Candidate, isNewest: boolean) => boolean
  readonly to: ResidencyLevel | 'cut'
}

export const isOutside = ({ active, kept }: Candidate): boolean => !active && !kept
const isOfTurn = ({ active, kept }: Candidate): boolean => active && !kept
const isFree = (candidate: Candidate, isNewest: boolean): boolean => !isNewest && !isProtected(candidate)
const isLast = (candidate: Candidate, isNewest: boolean): boolean =>
  (isNewest || candidate.asked) && !candidate.kept && !isProtected(candidate)

/** Which candidates are lowered, and to which level. */
const table: readonly Row[] = [
  { of: (one, isNewest) => isOutside(one) && isFree(one, isNewest) && one.inMarker, to: 'structured' },
  { of: (one, isNewest) => isOutside(one) && isFree(one, isNewest) && !isSummary(one), to: 'pointer' },
  { of: (one) => isOutside(one) && isSummary(one), to: 'pointer' },
  { of: (one) => isOutside(one) && isProtected(one), to: 'structured' },
  { of: (one, isNewest) => isOfTurn(one) && isFree(one, isNewest) && isEvidence(one), to: 'structured' },
  { of: (one, isNewest) => isOfTurn(one) && isFree(one, isNewest) && !one.asked, to: 'structured' },
  { of: (one, isNewest) => isOfTurn(one) && isFree(one, isNewest) && !one.asked, to: 'pointer' },
  { of: isLast, to: 'cut' },
  { of: isLast, to: 'structured' },
  { of: isLast, to: 'pointer' },
  { of: (one) => isOfTurn(one) && isProtected(one), to: 'structured' },
  { of: (one) => one.kept && !isProtected(one) && isEvidence(one), to: 'structured' },
  { of: (one) => one.kept && !isProtected(one), to: 'structured' },
  { of: (one) => one.kept && !isProtected(one), to: 'pointer' },
  { of: (one) => one.kept, to: 'structured' },
]

/** Lowers a candidate to a row's level, or to the nearest level above it that the candidate allows. */
const lowerTo = (now: Levels, index: number, candidate: Candidate, to: Choice): void => {
  const level = now.levels[index] as Choice
  if (typeof to === 'object') {
    if (candidate.tokens(level) > to.tokens && candidate.tokens(to) < candidate.tokens(level)) now.set(index, to)
    return
  }
  const least = candidate.levels.findLast((allowed) => rankOf(allowed) <= rankOf(to))
  if (least !== undefined && rankOf(least) > rankOf(levelOf(level))) now.set(index, least)
}

/** Choices that change one at a time, with their total tokens. */
export interface Levels {
  readonly levels: Choice[]
  readonly total: number
  readonly set: (index: number, to: Choice) => void
  /** The total if this candidate were shown and took no tokens. */
  readonly without: (index: number) => number
}

/** The tokens of candidates at these levels, including the markers of hidden ones. */
export const measure = (selection: Selection, levels: readonly Choice[]): number =>
  adjustableChoices(selection, levels).total

/** Choices that can change one at a time. */
export const adjustableChoices = ({ candidates, markerTokens }: Selection, from: readonly Choice[]): Levels => {
  const levels = [...from]
  const sizes: number[] = []
  const standings: MarkerUse[] = []
  let total = 0
  for (let index = 0; index < candidates.length; index++) {
    const candidate = candidates[index] as Candidate
    const level = levels[index] as Choice
    const size = candidate.tokens(level)
    sizes.push(size)
    standings.push(markerUseOf(candidate, level))
    total += size
    if (startsMarker(standings[index - 1], standings[index])) total += markerTokens
  }
  /** The tokens of markers that start at a candidate or directly after it. */
  const markersAt = (index: number, own: MarkerUse | undefined): number =>
    (Number(startsMarker(standings[index - 1], own)) + Number(startsMarker(own, standings[index + 1]))) * markerTokens
  return {
    levels,
    get total() {
      return total
    },
    set: (index, to) => {
      const candidate = candidates[index] as Candidate
      if (to === levels[index]) return
      const [size, own] = [candidate.tokens(to), markerUseOf(candidate, to)]
      total += size - (sizes[index] as number)
      if (own !== standings[index]) total += markersAt(index, own) - markersAt(index, standings[index])
      levels[index] = to
      sizes[index] = size
      standings[index] = own
    },
    without: (index) =>
      total - (sizes[index] as number) - markersAt(index, standings[index]) + markersAt(index, 'shown'),
  }
}

/** A candidate is shown as messages, shares a marker with its neighbours, or has its own unchanged marker. */
type MarkerUse = 'shown' | 'shares' | 'own'

const markerUseOf = (candidate: Candidate, choice: Choice): MarkerUse =>
  !isHidden(candidate, choice) ? 'shown' : isLines(candidate) && choice === candidate.level ? 'own' : 'shares'

/** Whether a marker starts between two neighbours. */
const startsMarker = (before: MarkerUse | undefined, own: MarkerUse | undefined): boolean =>
  own === 'own' || (own === 'shares' && before !== 'shares')

/**
 * The index of the first of the newest candidates: those within a small share of the budget, or the
 * last one if it takes slightly more.
 */
export const newestOf = ({ candidates, budget }: Selection, choices: readonly Choice[]): number => {
  let index = candidates.length
  for (let room = budget * newestShare; index > 0; index--) {
    const taken = (candidates[index - 1] as Candidate).tokens(choices[index - 1] as Choice)
    room -= taken
    if (room < 0 && (index < candidates.length || taken > budget * lastShare)) break
  }
  return index
}

/** The newest candidates, up to this share of the budget, are lowered last; the last one also if it takes more. */
const newestShare = 0.04
const lastShare = 0.07

/** A summary of a range: small, and all that is left of many messages. */
const isSummary = ({ messages, inMarker, level }: Candidate): boolean =>
  messages.length === 0 && !inMarker && level !== 'pointer'

export const isLines = ({ messages, inMarker, level }: Candidate): boolean =>
  messages.length === 0 && inMarker && level !== 'pointer'

/** Whether a marker represents it, with or without a line. */
const isHidden = ({ inMarker, messages }: Candidate, choice: Choice): boolean =>
  choice === 'pointer' ||
  (inMarker && (choice === 'structured' || (messages.length === 0 && typeof choice === 'object')))

/** The level of a choice. A cut counts as compressed. */
export const levelOf = (choice: Choice): ResidencyLevel => (typeof choice === 'string' ? choice : 'compressed')

/** Whether it must stay readable and is not the user's current question: instructions and rules. */
export const isProtected = ({ levels, asked }: Candidate): boolean => !asked && levels.at(-1) !== 'pointer'

export const isEvidence = ({ kinds }: Candidate): boolean => kinds.includes('evidence')

/** Shows candidates again if their marker takes more tokens than they do. */
export const raiseWhereCheaper = ({ candidates, markerTokens }: Selection, now: Levels): readonly Choice[] => {
  const { levels } = now
  for (let start = 0; start < levels.length; start++) {
    if (!isHidden(candidates[start] as Candidate, levels[start] as Choice)) continue
    let end = start
    let tokens = 0
    for (; end < levels.length && isHidden(candidates[end] as Candidate, levels[end] as Choice); end++)
      tokens += levels[end] === 'pointer' ? (leastShown(candidates[end] as Candidate)?.tokens ?? Infinity) : Infinity
    if (tokens <= markerTokens)
      for (let index = start; index < end; index++)
        now.set(index, leastShown(candidates[index] as Candidate)?.level ?? 'pointer')
    start = end
  }
  return levels
}

/** The cheapest visible level of a candidate; of equal ones the fullest. */
const leastShown = (candidate: Candidate): { readonly level: ResidencyLevel; readonly tokens: number } | undefined => {
  let least: { readonly level: ResidencyLevel; readonly tokens: number } | undefined
  for (const level of candidate.levels)
    if (!isHidden(candidate, level) && (least === undefined || candidate.tokens(level) < least.tokens))
      least = { level, tokens: candidate.tokens(level) }
  return least
}
