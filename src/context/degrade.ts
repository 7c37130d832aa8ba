/**
 * Degrading: from levels that take too much to levels that fit, each step the one that loses the least for the tokens it
 * gives back.
 *
 * First falls what is not of the active turn and has no minimum above a pointer, down to its goal. Only what is then still
 * over `limit` goes further: summaries, instructions and rules to their structure, then the evidence of the active turn, then the
 * rest of it, then the newest, and last, in the same order, what the policy keeps.
 */
import type { PageKind, ResidencyLevel } from '../pages/index.ts'
import type { Candidate, Choice, Selection } from './policy.ts'
import { rankOf } from './unit.ts'

/**
 * Lower the levels of candidates until they fit the budget. If not even the minimum fits, every candidate ends at its
 * minimum.
 *
 * Cost    O(n log n) in the candidates
 *
 * @param selection the candidates and the budget
 * @param from the choices to start from, one for each candidate
 * @param goals the tokens at which each group of candidates stops falling
 * @returns a choice for each candidate
 */
export const degrade = (
  { candidates, budget, markerTokens }: Selection,
  from: readonly Choice[],
  goals: Goals,
): readonly Choice[] => {
  const state = stateOf(candidates, from, markerTokens)
  const { rest, active, kept = budget, limit = budget, spare = () => false, keepsGist = false } = goals
  const newest = newestOf(candidates, from, budget * newestShare, budget * lastShare)
  const staysFirst = (candidate: Candidate): boolean => isProtected(candidate) || isSummary(candidate)
  const groups: readonly (readonly [goal: number, belongs: (candidate: Candidate, index: number) => boolean])[] = [
    [rest, (candidate, index) => index < newest && isOther(candidate) && !staysFirst(candidate) && !spare(candidate)],
    [budget, (candidate) => isOther(candidate) && isSummary(candidate)],
    [budget, (candidate) => isOther(candidate) && isProtected(candidate)],
    [
      active,
      (candidate, index) =>
        index < newest && isActive(candidate) && !isProtected(candidate) && isEvidence(candidate) && !spare(candidate),
    ],
    [
      active,
      (candidate, index) =>
        index < newest && isActive(candidate) && !isProtected(candidate) && !isEvidence(candidate) && !spare(candidate),
    ],
    [Math.max(active, budget), (candidate, index) => index >= newest && !candidate.kept && !isProtected(candidate)],
    [Math.max(active, budget), (candidate) => isActive(candidate) && isProtected(candidate)],
    [kept, (candidate) => candidate.kept && !isProtected(candidate) && isEvidence(candidate)],
    [kept, (candidate) => candidate.kept && !isProtected(candidate) && !isEvidence(candidate)],
    [kept, (candidate) => candidate.kept && isProtected(candidate)],
  ]
  for (const [index, [goal, belongs]] of groups.entries()) {
    if (state.total <= (index === 0 ? goal : limit)) break
    const taken: (readonly [index: number, from: Choice])[] = []
    for (const step of stepsOf(state, belongs, keepsGist && withGist.has(index))) {
      if (state.total <= goal) break
      taken.push([step.index, state.levels[step.index] as Choice])
      take(state, step.index, step.to)
    }
    giveBack(state, taken, goal)
    raiseCheaper(state)
  }
  return state.levels
}

/** Of the groups, those of single messages: the rest, and the active turn but for the newest. */
const withGist: ReadonlySet<number> = new Set([0, 3, 4])

/** How much all candidates together may take before the next group falls. */
export interface Goals {
  readonly rest: number
  readonly active: number
  /** Default: the budget. */
  readonly kept?: number
  /** What the active turn may take, with all else, before it falls to its goal. Default: the budget. */
  readonly limit?: number
  /** Whether everything but the newest keeps its line in a marker. Default: no. */
  readonly keepsGist?: boolean
  /** What stays as it is while the budget holds. Default: nothing. */
  readonly spare?: (candidate: Candidate) => boolean
}

/** Choices that change one at a time, with what they take in all. */
export interface Levels {
  readonly levels: Choice[]
  readonly total: number
  readonly set: (index: number, to: Choice) => void
  /** What all would take if this candidate were shown and took nothing. */
  readonly without: (index: number) => number
}

/** What candidates take at levels, with the markers of what is not shown. */
export const measure = ({ candidates, markerTokens }: Selection, levels: readonly Choice[]): number =>
  stateOf(candidates, levels, markerTokens).total

/** Choices to change one at a time. */
export const adjusting = ({ candidates, markerTokens }: Selection, from: readonly Choice[]): Levels => {
  const state = stateOf(candidates, from, markerTokens)
  return {
    levels: state.levels,
    get total() {
      return state.total
    },
    set: (index, to) => take(state, index, to),
    without: (index) => {
      const level = state.levels[index] as Choice
      const candidate = candidates[index] as Candidate
      return state.total - candidate.tokens(level) - (isHidden(candidate, level) ? markersMade(state, index) : 0)
    },
  }
}

/** Where the newest begin: those that together take so many tokens, and the very last if it takes no more than `last`. */
export const newestOf = (
  candidates: readonly Candidate[],
  choices: readonly Choice[],
  tokens: number,
  last: number,
): number => {
  let index = candidates.length
  for (let room = tokens; index > 0; index--) {
    const taken = (candidates[index - 1] as Candidate).tokens(choices[index - 1] as Choice)
    room -= taken
    if (room < 0 && (index < candidates.length || taken > last)) break
  }
  return index
}

/** Of a range, what a summary says: little, and all that is left of many. */
const isSummary = ({ messages, level }: Candidate): boolean => messages.length === 0 && level !== 'pointer'

/** Whether a marker stands for it, with or without a line of it. */
const isHidden = ({ inMarker, messages }: Candidate, choice: Choice): boolean =>
  choice === 'pointer' ||
  (inMarker && (choice === 'structured' || (messages.length === 0 && typeof choice === 'object')))

/** The level of a choice: a cut is compressed. */
export const levelOf = (choice: Choice): ResidencyLevel => (typeof choice === 'string' ? choice : 'compressed')

/** Whether it must stay readable, and is not what the user asks now: instructions and rules. */
export const isProtected = ({ levels, asked }: Candidate): boolean => !asked && levels.at(-1) !== 'pointer'

const isOther = ({ active, kept }: Candidate): boolean => !active && !kept

const isActive = ({ active, kept }: Candidate): boolean => active && !kept

export const isEvidence = ({ kinds }: Candidate): boolean => kinds.includes('evidence')

interface State {
  readonly candidates: readonly Candidate[]
  readonly levels: Choice[]
  readonly markerTokens: number
  total: number
}

interface Step {
  readonly index: number
  readonly to: ResidencyLevel
  readonly price: number
}

const stateOf = (candidates: readonly Candidate[], from: readonly Choice[], markerTokens: number): State => {
  const levels = [...from]
  let total = 0
  for (const [index, candidate] of candidates.entries()) {
    const level = levels[index] as Choice
    total += candidate.tokens(level)
    if (
      isHidden(candidate, level) &&
      !(index > 0 && isHidden(candidates[index - 1] as Candidate, levels[index - 1] as Choice))
    )
      total += markerTokens
  }
  return { candidates, levels, markerTokens, total }
}

const take = (state: State, index: number, to: Choice): void => {
  const { candidates, levels } = state
  const candidate = candidates[index] as Candidate
  const level = levels[index] as Choice
  if (to === level) return
  state.total += candidate.tokens(to) - candidate.tokens(level)
  const [isNow, was] = [isHidden(candidate, to), isHidden(candidate, level)]
  if (isNow !== was) state.total += (isNow ? 1 : -1) * markersMade(state, index)
  levels[index] = to
}

/** What markers take more where a candidate is not shown: one begins, grows by one entry, or joins two. */
const markersMade = ({ candidates, levels, markerTokens }: State, index: number): number => {
  const isMarker = (at: number): boolean =>
    levels[at] !== undefined && isHidden(candidates[at] as Candidate, levels[at])
  return (1 - Number(isMarker(index - 1)) - Number(isMarker(index + 1))) * markerTokens
}

/** The steps down of a group, cheapest first. Along one candidate each costs more than the one before. */
const stepsOf = (
  { candidates, levels }: State,
  belongs: (candidate: Candidate, index: number) => boolean,
  keepsGist: boolean,
): readonly Step[] => {
  const steps: Step[] = []
  const opening = candidates.findIndex(({ messages }) => messages[0]?.role === 'user')
  for (const [index, candidate] of candidates.entries()) {
    if (!belongs(candidate, index)) continue
    // What was asked first does not age: the rest of the conversation is about it.
    const worth = worthOf(candidate)
    const age = index === opening ? 0 : candidates.length - 1 - index
    let level = levels[index] as Choice
    for (;;) {
      let best: Step | undefined
      for (const to of candidate.levels) {
        if (keepsGist && to === 'pointer' && candidate.inMarker) continue
        const saved = candidate.tokens(level) - candidate.tokens(to)
        if (saved <= 0 || (rankOf(to) <= rankOf(levelOf(level)) && (typeof level === 'string' || to === 'full')))
          continue
        const price = (worth * lossOf(worthIn(candidate, level), worthAt[to], age)) / saved
        if (best === undefined || price <= best.price) best = { index, to, price }
      }
      if (best === undefined) break
      steps.push(best)
      level = best.to
    }
  }
  return steps.toSorted((a, b) => a.price - b.price || a.index - b.index)
}

/** The last steps are often larger than what was missing. Take back those that fit, dearest first. */
const giveBack = (state: State, taken: readonly (readonly [index: number, from: Choice])[], goal: number): void => {
  const stuck = new Set<number>() // of one candidate only the last step can be taken back
  for (const [index, from] of taken.toReversed()) {
    if (stuck.has(index)) continue
    const to = state.levels[index] as Choice
    take(state, index, from)
    if (state.total <= goal) continue
    take(state, index, to)
    stuck.add(index)
  }
}

/** Where a marker takes more than what it hides, show that instead. */
const raiseCheaper = (state: State): void => {
  const { candidates, levels, markerTokens } = state
  for (let start = 0; start < levels.length; start++) {
    if (!isHidden(candidates[start] as Candidate, levels[start] as Choice)) continue
    let end = start
    let tokens = 0
    for (; end < levels.length && isHidden(candidates[end] as Candidate, levels[end] as Choice); end++)
      tokens += levels[end] === 'pointer' ? (leastShown(candidates[end] as Candidate)?.tokens ?? Infinity) : Infinity
    if (tokens <= markerTokens)
      for (let index = start; index < end; index++)
        take(state, index, leastShown(candidates[index] as Candidate)?.level ?? 'pointer')
    start = end
  }
}

/** The cheapest way to show something of a candidate, and the fullest among those. */
const leastShown = (candidate: Candidate): { readonly level: ResidencyLevel; readonly tokens: number } | undefined => {
  let least: { readonly level: ResidencyLevel; readonly tokens: number } | undefined
  for (const level of candidate.levels)
    if (!isHidden(candidate, level) && (least === undefined || candidate.tokens(level) < least.tokens))
      least = { level, tokens: candidate.tokens(level) }
  return least
}

/** How much of what a page says is still there at a level. */
const worthAt = { full: 1, compressed: 0.8, structured: 0.6, pointer: 0.05 } as const satisfies {
  readonly [Level in ResidencyLevel]: number
}

/** A cut says the more of it, the more it takes. */
const worthIn = (candidate: Candidate, choice: Choice): number =>
  typeof choice === 'string'
    ? worthAt[choice]
    : worthAt.compressed +
      ((worthAt.full - worthAt.compressed) * candidate.tokens(choice)) / Math.max(1, candidate.tokens(candidate.level))

const worthOfKind = {
  bootstrap: 40,
  constraint: 40,
  plan: 12,
  preference: 8,
  conversation: 3,
  evidence: 1,
} as const satisfies { readonly [Kind in PageKind]: number }

/** A summary is all that is left of many pages, whatever their age. */
const worthOfSummary = 12

/** The newest, up to this share of the budget, fall last; the very last also if it takes more. */
const newestShare = 0.04
const lastShare = 0.1

/** What is lost between two worths: the gist of a page, which its structure has, ages less than its wording. */
const lossOf = (from: number, to: number, age: number): number => {
  const gist = Math.max(0, Math.min(from, worthAt.structured) - to)
  return aged(gist, halfAgeOfGist, age) + aged(from - to - gist, halfAge, age)
}

const aged = (worth: number, half: number, age: number): number => (worth * half) / (half + age)

/** Of calls that were made again since: their answers are out of date. And of those that are made again and again. */
const worthOutdated = 0.3
const worthRepeated = 5

/** After so many units the wording of a page is worth half of what it was, and its gist. */
const halfAge = 8
const halfAgeOfGist = 200

const worthOf = ({ kinds, messages, outdated, repeated }: Candidate): number => {
  if (messages.length === 0) return worthOfSummary
  const again = outdated ? worthOutdated : repeated ? worthRepeated : 1
  // Calls are as good as what they found; what only speaks is more, and what the user says most.
  const spoken = kinds.includes('evidence') ? kinds.filter((kind) => kind !== 'conversation') : kinds
  const worth = Math.max(...spoken.map((kind) => worthOfKind[kind]))
  const byUser = messages.length === 1 && messages[0]?.role === 'user' && worth === worthOfKind.conversation
  return again * (byUser ? 2 * worth : worth)
}
