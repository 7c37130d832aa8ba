/**
 * Fitting: how much of each candidate to show if not everything fits. The longest are cut first and
 * only as far as needed, the newest last; the remaining budget goes to earlier messages.
 */
import type { ResidencyLevel } from '../../pages/index.ts'
import { adjustableChoices, isOutside, isProtected, measure, raiseWhereCheaper, type Levels } from './degrade.ts'
import type { Candidate, Choice, Selection } from './policy.ts'

/** Every candidate at its minimum, except those that stay as they are. */
const minimumExcept = ({ candidates }: Selection, stays: (candidate: Candidate) => boolean): readonly Choice[] =>
  candidates.map((candidate) => (stays(candidate) ? candidate.level : leastOf(candidate)))

const isActiveOrKept = ({ active, kept }: Candidate): boolean => active || kept

/** Whether kept candidates fit unchanged, with everything else at its minimum. */
export const keptFits = (selection: Selection): boolean =>
  measure(
    selection,
    minimumExcept(selection, ({ kept }) => kept),
  ) <= selection.budget

/**
 * Whether the active turn and kept candidates fit unchanged, with everything else at its minimum. A
 * turn that was shortened before did not fit.
 */
export const activeFits = (selection: Selection): boolean =>
  selection.candidates.every(({ active, level }) => !active || level === 'full') &&
  measure(selection, minimumExcept(selection, isActiveOrKept)) <= selection.budget

/**
 * Cuts the active turn so that everything takes at most `goal`, with the other candidates at their
 * minimum. Rules, then the question, then the newest messages share the room. The room is the
 * largest step of a ladder with which everything fits, so a larger goal never shows less.
 *
 * Cost    O(candidates) per step above the one that fits; a few
 */
export const fitBudget = (selection: Selection, goal: number): readonly Choice[] => {
  const { candidates } = selection
  const least = candidates.map((candidate): Choice => {
    if (candidate.asked) return cutToTokens(candidate, 0)
    return candidate.kept ? candidate.level : leastOf(candidate)
  })
  const of = (belongs: (candidate: Candidate) => boolean): readonly number[] =>
    [...candidates.keys()].filter((index) => belongs(candidates[index] as Candidate)).toReversed()
  const rules = of((candidate) => candidate.active && !candidate.kept && !canShrink(candidate))
  const asks = of((candidate) => canShrink(candidate) && candidate.asked)
  const order = [...rules, ...asks, ...of((candidate) => canShrink(candidate) && !candidate.asked)]
  const most = Math.min(goal, (goal - measure(selection, least)) * 1.1 + 2 * selection.markerTokens)
  for (let rung = rungBelow(most); rung >= 0; rung--) {
    const choices = shareRoom(candidates, least, order, lowestRung * rungStep ** rung)
    if (measure(selection, choices) <= goal) return choices
  }
  return least
}

/**
 * Distributes room to candidates in order: rules in full, each other at most an eighth, and more if
 * all are satisfied.
 */
const shareRoom = (
  candidates: readonly Candidate[],
  least: readonly Choice[],
  order: readonly number[],
  room: number,
): readonly Choice[] => {
  const choices = [...least]
  const sizes = order
    .filter((index) => canShrink(candidates[index] as Candidate))
    .map((index) => tokensIn(candidates, index))
  const rules = sum(order.map((index) => tokensIn(candidates, index))) - sum(sizes)
  const share = Math.max(stepBelow(levelFor(sizes, Math.max(0, room - rules))), room * largestShare)
  // In steps, because a cut that changed with every call would invalidate the provider's cache.
  const step = (room * largestShare) / 2
  let left = room
  for (const index of order) {
    const candidate = candidates[index] as Candidate
    const size = tokensIn(candidates, index)
    const wanted = canShrink(candidate) ? Math.min(size, share) : size
    choices[index] = cutToTokens(candidate, wanted <= left ? wanted : Math.floor(left / step) * step)
    left -= wanted
    if (left <= 0) break
  }
  return choices
}

const rungBelow = (room: number): number => Math.floor(Math.log(Math.max(room, 1) / lowestRung) / Math.log(rungStep))

const lowestRung = 16
const rungStep = 1.03

/** Rounds a limit down to one of a few steps, so that it stays the same from call to call. */
const stepBelow = (limit: number): number => limitStep ** Math.floor(Math.log(limit) / Math.log(limitStep))

const limitStep = 1.1

/**
 * Choices for a policy that chooses at every call: the active turn; instructions and rules, long
 * ones limited to a third of the budget in total; then the others in order, with the first that
 * does not fit cut to size. A larger budget never shows less of anything.
 */
export const packWindow = (selection: Selection, order: readonly number[]): readonly Choice[] => {
  const { candidates, budget } = selection
  if (!activeFits(selection))
    return raiseWhereCheaper(selection, adjustableChoices(selection, fitBudget(selection, budget)))
  const now = adjustableChoices(selection, minimumExcept(selection, isActiveOrKept))
  const choices = [...raiseWhereCheaper(selection, now)]
  const rules = [...candidates.keys()].filter(
    (index) => isOutside(candidates[index] as Candidate) && isProtected(candidates[index] as Candidate),
  )
  const least = sum(rules.map((index) => (candidates[index] as Candidate).tokens(choices[index] as Choice)))
  const forRules = Math.min(budget - now.total + least, Math.max(least, budget * shareOfRules))
  const most = levelFor(
    rules.map((index) => tokensIn(candidates, index)),
    forRules,
  )
  let unused = 0
  for (const index of rules) {
    const candidate = candidates[index] as Candidate
    if (tokensIn(candidates, index) <= most) now.set(index, candidate.level)
    else if (candidate.tokens({ tokens: most }) < Infinity) now.set(index, { tokens: most })
    unused += Math.max(0, Math.min(tokensIn(candidates, index), most) - candidate.tokens(now.levels[index] as Choice))
  }
  for (const index of order) {
    const candidate = candidates[index] as Candidate
    if (!isOutside(candidate) || isProtected(candidate)) continue
    const room = budget - unused - now.without(index)
    const isWhole = tokensIn(candidates, index) <= room
    if (isWhole || now.total + unused < fillTarget * budget) raiseToFit(now, index, candidate, budget - unused)
    if (!isWhole) break
  }
  return now.levels
}

/** Gives the room left below `goal` to the newest lowered candidates: in full, or as much as fits. */
export const fillRoom = (selection: Selection, from: readonly Choice[], goal: number): readonly Choice[] => {
  const now = adjustableChoices(selection, from)
  for (let index = from.length - 1; index >= 0 && goal - now.total > leastRoomToFill; index--) {
    const candidate = selection.candidates[index] as Candidate
    if (now.levels[index] !== candidate.level) raiseToFit(now, index, candidate, goal)
  }
  return now.levels
}

/** Shows a candidate in full if the total then stays within `goal`, otherwise as much of it as fits. */
const raiseToFit = (now: Levels, index: number, candidate: Candidate, goal: number): void => {
  const before = now.levels[index] as Choice
  const part = cutToTokens(candidate, goal - now.without(index))
  if (part === 'pointer' || candidate.tokens(part) <= candidate.tokens(before)) return
  now.set(index, part)
  if (now.total > goal) now.set(index, before) // as short as its line in a shared marker
}

/** A candidate cut to `tokens`; if that is impossible, the fullest level within them. */
const cutToTokens = (candidate: Candidate, tokens: number): Choice => {
  const whole = candidate.tokens(candidate.level)
  // A cut says how much is missing, so the shortest cut of a question can take more than the question.
  if (whole <= tokens || (candidate.asked && candidate.tokens({ tokens }) >= whole)) return candidate.level
  if (candidate.asked || (tokens >= leastCut && candidate.tokens({ tokens }) < Infinity)) return { tokens }
  return candidate.levels.find((level) => candidate.tokens(level) <= tokens) ?? leastOf(candidate)
}

/** The limit per candidate that makes the total at most `room`: larger ones are limited first. */
const levelFor = (sizes: readonly number[], room: number): number => {
  let left = room
  const rising = sizes.toSorted((a, b) => a - b)
  for (const [index, size] of rising.entries()) {
    const each = left / (rising.length - index)
    if (size > each) return Math.max(0, Math.floor(each))
    left -= size
  }
  return Infinity
}

const leastOf = ({ levels }: Candidate): ResidencyLevel => levels.at(-1) as ResidencyLevel

const tokensIn = (candidates: readonly Candidate[], index: number): number => {
  const candidate = candidates[index] as Candidate
  return candidate.tokens(candidate.level)
}

/** Whether it belongs to the active turn and may be cut. A summary may not: it is all that is left of many messages. */
const canShrink = (candidate: Candidate): boolean =>
  candidate.active && !candidate.kept && !isProtected(candidate) && candidate.messages.length > 0

export const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)

/** The share of the room that one message of the active turn gets while others are cut, too. */
export const largestShare: number = 1 / 8
/**
 * When this share of the budget is used, the first message that does not fit is not cut, because a
 * cut changes with every call and invalidates the provider's cache. Slightly more than the required
 * use, as lines may take less than reserved.
 */
const fillTarget = 0.92
const shareOfRules = 1 / 3
/** A shorter cut would only show that something was cut. */
const leastCut = 64
/** Fewer tokens are not worth filling. */
const leastRoomToFill = 32
