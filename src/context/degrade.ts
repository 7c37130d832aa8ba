/**
 * Degrading: from levels that take too much to levels that fit, each step the one that loses the least for the tokens it
 * gives back.
 *
 * First falls what is not of the active turn and has no minimum above a pointer, down to its goal. Only what is then still
 * over `budget` goes further: instructions and rules to their structure, then the evidence of the active turn, then the
 * rest of it, and last, in the same order, what the policy keeps.
 */
import type { PageKind, ResidencyLevel } from '../pages/index.ts'
import type { Candidate, Selection } from './policy.ts'
import { rankOf } from './unit.ts'

/**
 * Levels for the candidates that fit `budget`, if any do: what exceeds it even at every minimum is left so.
 *
 * Cost    O(n log n) in the candidates
 */
export const degrade = (
  { candidates, budget, markerTokens }: Selection,
  from: readonly ResidencyLevel[],
  goals: Goals,
): readonly ResidencyLevel[] => {
  const state = stateOf(candidates, from, markerTokens)
  const { rest, active, kept = budget } = goals
  const groups: readonly (readonly [goal: number, belongs: (candidate: Candidate) => boolean])[] = [
    [rest, (candidate) => isOther(candidate) && !isProtected(candidate)],
    [budget, (candidate) => isOther(candidate) && isProtected(candidate)],
    [active, (candidate) => isActive(candidate) && !isProtected(candidate) && isEvidence(candidate)],
    [active, (candidate) => isActive(candidate) && !isProtected(candidate) && !isEvidence(candidate)],
    [Math.max(active, budget), (candidate) => isActive(candidate) && isProtected(candidate)],
    [kept, (candidate) => candidate.kept && !isProtected(candidate) && isEvidence(candidate)],
    [kept, (candidate) => candidate.kept && !isProtected(candidate) && !isEvidence(candidate)],
    [kept, (candidate) => candidate.kept && isProtected(candidate)],
  ]
  for (const [index, [goal, belongs]] of groups.entries()) {
    if (state.total <= (index === 0 ? goal : budget)) break
    const taken: (readonly [index: number, from: ResidencyLevel])[] = []
    for (const step of stepsOf(state, belongs)) {
      if (state.total <= goal) break
      taken.push([step.index, state.levels[step.index] as ResidencyLevel])
      take(state, step.index, step.to)
    }
    giveBack(state, taken, goal)
    raiseCheaper(state)
  }
  return state.levels
}

/** How much all candidates together may take before the next group falls. */
export interface Goals {
  readonly rest: number
  readonly active: number
  /** Default: the budget. */
  readonly kept?: number
}

/** Levels that change one at a time, with what they take in all. */
export interface Levels {
  readonly levels: ResidencyLevel[]
  readonly total: number
}

/** What candidates take at levels, with the markers of what is not shown. */
export const measure = ({ candidates, markerTokens }: Selection, levels: readonly ResidencyLevel[]): number =>
  stateOf(candidates, levels, markerTokens).total

/** Levels to change, and the function that changes one. */
export const adjusting = ({ candidates, markerTokens }: Selection, from: readonly ResidencyLevel[]): readonly [Levels, (index: number, to: ResidencyLevel) => void] => {
  const state = stateOf(candidates, from, markerTokens)
  return [state, (index, to) => take(state, index, to)]
}

/** Whether it must stay readable: instructions and rules. */
export const isProtected = ({ levels }: Candidate): boolean => levels.at(-1) !== 'pointer'

const isOther = ({ active, kept }: Candidate): boolean => !active && !kept

const isActive = ({ active, kept }: Candidate): boolean => active && !kept

export const isEvidence = ({ kinds }: Candidate): boolean => kinds.includes('evidence')

interface State extends Levels {
  readonly candidates: readonly Candidate[]
  readonly markerTokens: number
  total: number
}

interface Step {
  readonly index: number
  readonly to: ResidencyLevel
  readonly price: number
}

const stateOf = (candidates: readonly Candidate[], from: readonly ResidencyLevel[], markerTokens: number): State => {
  const levels = [...from]
  let total = 0
  for (const [index, candidate] of candidates.entries()) {
    const level = levels[index] as ResidencyLevel
    total += candidate.tokens(level)
    if (level === 'pointer' && levels[index - 1] !== 'pointer') total += markerTokens
  }
  return { candidates, levels, markerTokens, total }
}

const take = (state: State, index: number, to: ResidencyLevel): void => {
  const { candidates, levels, markerTokens } = state
  const candidate = candidates[index] as Candidate
  const level = levels[index] as ResidencyLevel
  if (to === level) return
  state.total += candidate.tokens(to) - candidate.tokens(level)
  // A marker begins, grows by one entry, or joins two.
  const neighbours = (levels[index - 1] === 'pointer' ? 1 : 0) + (levels[index + 1] === 'pointer' ? 1 : 0)
  if (to === 'pointer') state.total += (1 - neighbours) * markerTokens
  else if (level === 'pointer') state.total -= (1 - neighbours) * markerTokens
  levels[index] = to
}

/** The steps down of a group, cheapest first. Along one candidate each costs more than the one before. */
const stepsOf = ({ candidates, levels }: State, belongs: (candidate: Candidate) => boolean): readonly Step[] => {
  const steps: Step[] = []
  const opening = candidates.findIndex(({ messages }) => messages[0]?.role === 'user')
  for (const [index, candidate] of candidates.entries()) {
    if (!belongs(candidate)) continue
    // What was asked first does not age: the rest of the conversation is about it.
    const worth = worthOf(candidate, index === opening ? 0 : candidates.length - 1 - index)
    let level = levels[index] as ResidencyLevel
    for (;;) {
      let best: Step | undefined
      for (const to of candidate.levels) {
        const saved = candidate.tokens(level) - candidate.tokens(to)
        if (rankOf(to) <= rankOf(level) || saved <= 0) continue
        const price = (worth * (worthAt[level] - worthAt[to])) / saved
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
const giveBack = (state: State, taken: readonly (readonly [index: number, from: ResidencyLevel])[], goal: number): void => {
  const stuck = new Set<number>() // of one candidate only the last step can be taken back
  for (const [index, from] of taken.toReversed()) {
    if (stuck.has(index)) continue
    const to = state.levels[index] as ResidencyLevel
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
    if (levels[start] !== 'pointer') continue
    let end = start
    let tokens = 0
    for (; end < levels.length && levels[end] === 'pointer'; end++) tokens += leastShown(candidates[end] as Candidate)?.tokens ?? Infinity
    if (tokens <= markerTokens) for (let index = start; index < end; index++) take(state, index, leastShown(candidates[index] as Candidate)?.level ?? 'pointer')
    start = end
  }
}

/** The cheapest way to show something of a candidate, and the fullest among those. */
const leastShown = (candidate: Candidate): { readonly level: ResidencyLevel; readonly tokens: number } | undefined => {
  let least: { readonly level: ResidencyLevel; readonly tokens: number } | undefined
  for (const level of candidate.levels)
    if (level !== 'pointer' && (least === undefined || candidate.tokens(level) < least.tokens)) least = { level, tokens: candidate.tokens(level) }
  return least
}

/** How much of what a page says is still there at a level. */
const worthAt = { full: 1, compressed: 0.75, structured: 0.4, pointer: 0.05 } as const satisfies { readonly [Level in ResidencyLevel]: number }

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

/** After so many units a page is worth half of what it was. */
const halfAge = 8

const worthOf = ({ kinds, messages }: Candidate, age: number): number => {
  if (messages.length === 0) return worthOfSummary
  // Calls are as good as what they found; what only speaks is more, and what the user says most.
  const spoken = kinds.includes('evidence') ? kinds.filter((kind) => kind !== 'conversation') : kinds
  const worth = Math.max(...spoken.map((kind) => worthOfKind[kind]))
  const byUser = messages.length === 1 && messages[0]?.role === 'user' && worth === worthOfKind.conversation
  return ((byUser ? 2 * worth : worth) * halfAge) / (halfAge + age)
}
