/**
 * Fitting: how much of each candidate is shown, where not everything can be. The longest give first and just as far as
 * needed, the newest last; what then remains of the budget goes to what stands before.
 */
import type { ResidencyLevel } from '../../pages/index.ts'
import { adjusting, isOutside, isProtected, measure, raisedCheaper, type Levels } from './degrade.ts'
import type { Candidate, Choice, Selection } from './policy.ts'

/** Everything at the least that the laws allow, but for what stays as it is. */
const leastBeside = ({ candidates }: Selection, stays: (candidate: Candidate) => boolean): readonly Choice[] =>
  candidates.map((candidate) => (stays(candidate) ? candidate.level : leastOf(candidate)))

const isActiveOrKept = ({ active, kept }: Candidate): boolean => active || kept

/** Whether what the policy keeps fits as it is, beside the least of all else. */
export const keptFits = (selection: Selection): boolean =>
  measure(
    selection,
    leastBeside(selection, ({ kept }) => kept),
  ) <= selection.budget

/**
 * Whether the active turn, and what the policy keeps, fit the budget beside the least of all else. A turn that fell before did
 * not fit.
 */
export const activeFits = (selection: Selection): boolean =>
  selection.candidates.every(({ active, level }) => !active || level === 'full') &&
  measure(selection, leastBeside(selection, isActiveOrKept)) <= selection.budget

/**
 * The active turn, cut so that all candidates take no more than `goal`, with the others at their least: rules, what is
 * asked, and then the newest share some room. It is the largest of a ladder with which all fit, so a larger goal never shows
 * less.
 *
 * Cost    O(candidates) for each rung above the one that fits; a few
 */
export const fitBudget = (selection: Selection, goal: number): readonly Choice[] => {
  const { candidates } = selection
  const least = candidates.map((candidate): Choice => {
    if (candidate.asked) return within(candidate, 0)
    return candidate.kept ? candidate.level : leastOf(candidate)
  })
  const of = (belongs: (candidate: Candidate) => boolean): readonly number[] =>
    [...candidates.keys()].filter((index) => belongs(candidates[index] as Candidate)).toReversed()
  const rules = of((candidate) => candidate.active && !candidate.kept && !gives(candidate))
  const asks = of((candidate) => gives(candidate) && candidate.asked)
  const order = [...rules, ...asks, ...of((candidate) => gives(candidate) && !candidate.asked)]
  const most = Math.min(goal, (goal - measure(selection, least)) * 1.1 + 2 * selection.markerTokens)
  for (let rung = rungBelow(most); rung >= 0; rung--) {
    const choices = shareRoom(candidates, least, order, lowestRung * rungStep ** rung)
    if (measure(selection, choices) <= goal) return choices
  }
  return least
}

/**
 * Choices where the candidates in their order get what they need of some room: rules whole, each other at most an eighth,
 * and more where all have theirs.
 */
const shareRoom = (
  candidates: readonly Candidate[],
  least: readonly Choice[],
  order: readonly number[],
  room: number,
): readonly Choice[] => {
  const choices = [...least]
  const sizes = order
    .filter((index) => gives(candidates[index] as Candidate))
    .map((index) => tokensIn(candidates, index))
  const rules = sum(order.map((index) => tokensIn(candidates, index))) - sum(sizes)
  const share = Math.max(stepBelow(levelFor(sizes, Math.max(0, room - rules))), room * largestShare)
  // In steps: a cut that changed with every call would change what a provider's cache holds.
  const step = (room * largestShare) / 2
  let left = room
  for (const index of order) {
    const candidate = candidates[index] as Candidate
    const size = tokensIn(candidates, index)
    const wanted = gives(candidate) ? Math.min(size, share) : size
    choices[index] = within(candidate, wanted <= left ? wanted : Math.floor(left / step) * step)
    left -= wanted
    if (left <= 0) break
  }
  return choices
}

const rungBelow = (room: number): number => Math.floor(Math.log(Math.max(room, 1) / lowestRung) / Math.log(rungStep))

const lowestRung = 16
const rungStep = 1.03

/** The largest of a few limits: so that one stays the same from call to call. */
const stepBelow = (limit: number): number => limitStep ** Math.floor(Math.log(limit) / Math.log(limitStep))

const limitStep = 1.1

/**
 * Choices for a policy that chooses anew at each call: the active turn; instructions and rules, of long ones as much as a
 * third of the budget holds; then the others in their order, and of the first that does not fit as much as does. A larger
 * budget never shows less of anything.
 */
export const packWindow = (selection: Selection, order: readonly number[]): readonly Choice[] => {
  const { candidates, budget } = selection
  if (!activeFits(selection)) return raisedCheaper(selection, adjusting(selection, fitBudget(selection, budget)))
  const choices = leastBeside(selection, isActiveOrKept)
  const now = adjusting(selection, choices)
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
    if (isWhole || now.total < enough * budget) raise(now, index, candidate, budget - unused)
    if (!isWhole) break
  }
  return now.levels
}

/** Choices with what remains up to `goal` given to the newest that fell: whole, or as much of it as fits. */
export const fillRoom = (selection: Selection, from: readonly Choice[], goal: number): readonly Choice[] => {
  const now = adjusting(selection, from)
  for (let index = from.length - 1; index >= 0 && goal - now.total > worthFilling; index--) {
    const candidate = selection.candidates[index] as Candidate
    if (now.levels[index] !== candidate.level) raise(now, index, candidate, goal)
  }
  return now.levels
}

/** Show a candidate as it is, if all then take no more than `goal`; else as much of it as fits. */
const raise = (now: Levels, index: number, candidate: Candidate, goal: number): void => {
  const before = now.levels[index] as Choice
  const part = within(candidate, goal - now.without(index))
  if (part === 'pointer' || candidate.tokens(part) <= candidate.tokens(before)) return
  now.set(index, part)
  if (now.total > goal) now.set(index, before) // as little as in a marker, which it then shares
}

/** A candidate cut to so many tokens; where that can't be done, the fullest level that takes no more. */
const within = (candidate: Candidate, tokens: number): Choice => {
  if (candidate.tokens(candidate.level) <= tokens) return candidate.level
  if (candidate.asked || (tokens >= leastCut && candidate.tokens({ tokens }) < Infinity)) return { tokens }
  return candidate.levels.find((level) => candidate.tokens(level) <= tokens) ?? leastOf(candidate)
}

/** The most that each may take so that together they take no more than `room`: those that take more give first. */
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

/** Of the active turn, and free to give. A summary does not: it is all that is left of many. */
const gives = (candidate: Candidate): boolean =>
  candidate.active && !candidate.kept && !isProtected(candidate) && candidate.messages.length > 0

export const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)

const largestShare = 1 / 8
/**
 * So much of a room is enough, so that the first that does not fit need not be cut: a cut changes with every call, and what
 * a provider's cache holds with it. A little more than what must be used, for lines that take less than was set aside.
 */
const enough = 0.92
const shareOfRules = 1 / 3
/** Less than this says nothing but that something was cut. */
const leastCut = 64
/** Tokens that are not worth another look. */
const worthFilling = 32
