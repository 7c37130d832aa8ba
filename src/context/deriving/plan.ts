/**
 * The plan, the third step: where contexts start anew, and the epochs from there on.
 *
 * A rewrite starts at fixed multiples of the record's size, so it depends on no earlier context. From it the record is read group by
 * group. When the context has grown enough, an epoch starts: what was shown in full, except the newest, becomes one more marker,
 * and everything before it stays as it is. After a few epochs' size the next rewrite chooses all lines anew.
 */
import type { View } from '../../history/index.ts'
import type { Message } from '../../message/index.ts'
import { isSpoken, isSubstantive } from '../../message/internal.ts'
import type { PageKind, ResidencyLevel } from '../../pages/index.ts'
import { indexesOf } from '../../pages/internal.ts'
import { countWhile } from '../../sequence/index.ts'
import { memoize } from '../memoize.ts'
import { indexIn } from '../positions.ts'
import { isMended } from './context.ts'
import { groupAt, groupsIn, groupStart, withOwnIds, type Group, type Shown, type UsedIds } from './group.ts'
import { keptIn, type Keep } from '../keep.ts'
import { factorAt, kindsAt, summariesAt, type ReadNotes } from './notes.ts'
import {
  cutGroup,
  mustStay,
  renderRange,
  ruleKinds,
  summariesIn,
  tokensIn,
  tokensOfRules,
  type Facts,
  type Limits,
  type RecordToRender,
  type RenderedRange,
  type RuleTokens,
} from './render.ts'

/** The constants: shares of the budget, unless they say otherwise. Their neighbours' figures are in bench/RESULTS.md. */
const shape = {
  /** How much an epoch grows, and at most in tokens. */
  growth: 0.36,
  mostGrowth: 13_000,
  /** What lines take when everything is chosen anew, and what each later epoch adds. */
  lines: 0.27,
  moreLines: 0.1,
  /** The newest messages that an epoch starts with in full. */
  recent: 0.04,
  /** The most of a message when it is new, or of calls with their results. A longer one is cut. */
  largest: 0.17,
  /** After so many epochs' size, everything is chosen anew. */
  epochsPerRewrite: 4,
  /** How many budgets before a rewrite are read for lines. */
  reads: 4,
  /** The most that rules in full may take. */
  rules: 0.33,
  /** Of an epoch's growth, what its one range may take: the lines are chosen for less than is accepted; without lines, more is. */
  chosen: 0.25,
  accepted: 0.5,
  acceptedBare: 0.75,
  /** Without lines: the most of a question, and of a message that `keep` names. */
  largestBare: 0.125,
  /** In the least epoch: of `largest`, what a group of the newest messages may take, and the least of it in tokens. */
  leastRecent: 0.25,
  leastRecentTokens: 64,
  /** In the least epoch: the tokens of a question. */
  leastQuestion: 200,
} as const

/** The limits of ranges without lines. */
const noLines = { range: 0, lines: 0, outlinesRules: true } as const

/** The limits of the least epoch. */
const leastLimits: Limits = { ...noLines, question: shape.leastQuestion, kept: 0 }

/** What a context is planned with. */
export interface Planning extends RecordToRender {
  readonly notes: ReadNotes
  /** Page kinds set by pins, by position. They apply to the whole record. */
  readonly pinned: ReadonlyMap<number, PageKind>
  /** The tokens for messages, by the estimator. */
  readonly budget: number
  /** The tokens of tools and system prompt. */
  readonly reserved: number
  readonly keep: Keep | undefined
  /** The model whose receipts correct the estimate. */
  readonly model: string | undefined
}

export interface Epoch {
  /** The index of its rewrite; 0 if the record is read from its beginning. */
  readonly rewrite: number
  /** How many rewrites and epochs came before. */
  readonly number: number
  /** What is shortened, oldest first. */
  readonly ranges: readonly RenderedRange[]
  /** The messages, and before each index their tokens. */
  readonly shown: Shown[]
  readonly sums: number[]
  /** The ids of the calls in them. */
  readonly ids: UsedIds
  /** The next epoch starts above this many tokens; -1: not even the least fitted. */
  readonly high: number
  /** The provider's tokens per estimated token that it was planned with. */
  readonly factor: number
  /** The index where it started, and the index up to which it was read. */
  readonly start: number
  next: number
  /** How many of the first messages need no repair. */
  mendedAt: number
  last: Message | undefined
}

/** A context does not fit: the tokens of the least one. */
interface Unfit {
  readonly needed: number
  readonly shown: readonly Shown[]
  readonly floor: Floor
}

/** What no epoch goes below that starts after a failed one, until a note about one of these pages follows. */
interface Floor {
  /** The place of that note; for `least`, of one about any page before it. */
  readonly until: number
  readonly leastUntil: number
  /** What rules take, outlined, if everything is one range. */
  readonly least: RuleTokens
  /** The tokens of all rules, not outlined. */
  readonly full: number
  /** What rules take before the newest messages: outlined, and in full. */
  readonly outlined: RuleTokens
  readonly whole: RuleTokens
}

/** The tokens for messages if the provider counts more or less than was estimated. */
export const roomOf = ({ budget, reserved }: Pick<Planning, 'budget' | 'reserved'>, factor: number): number =>
  factor === 1 ? budget : Math.max(0, Math.floor((budget + reserved) / factor) - reserved)

/** How many tokens an epoch grows: less in a smaller room. */
const growthOf = (budget: number, space = budget): number =>
  Math.min(budget * shape.growth, shape.mostGrowth) * (budget === 0 ? 1 : space / budget)

/**
 * The most tokens of the ranges that an epoch starts with, for the first three attempts of {@link epochFrom}.
 *
 * @param recent the tokens of the newest messages
 */
const mostOfRanges = (space: number, growth: number, recent: number) => {
  const stay = space - growth - recent // so that the epoch can grow
  return {
    /** Of those that stay as they are, with the one that is added. */
    stay,
    /** Of one range with new lines: what the lines are chosen for, and what is accepted. */
    chosen: stay + growth * shape.chosen,
    accepted: stay + growth * shape.accepted,
    /** Of one range without lines. */
    acceptedBare: stay + growth * shape.acceptedBare,
  }
}

/** Whether rules take so much that they are outlined in any epoch. */
const areOutlined = (rules: number, space: number): boolean => rules > space * shape.rules

/**
 * The index where the latest rewrite before the end of the view starts: the first at which a call can follow after a multiple of
 * a size. None before the record has four budgets (`reads`): until then it is read from its beginning.
 */
export const rewriteAt = (planning: Planning): readonly [index: number, number: number] => {
  const { view, sizes, budget } = planning
  const stride = growthOf(budget) * shape.epochsPerRewrite
  if (stride === 0) return [0, 0]
  for (let number = Math.floor(sizes.counted / stride); number * stride > budget * shape.reads; number--) {
    const index = callableFrom(view, sizes.indexAbove(number * stride, 'counted'))
    if (index !== undefined) return [index, number]
  }
  return [0, 0]
}

/** The first length of a view of at least `index` after which a model can be called. */
const callableFrom = (view: View<Message>, index: number): number | undefined => {
  if (index > view.length) return undefined
  for (let from = groupStart(view, Math.max(0, index - 1)); from < view.length;) {
    const { to, isOpen } = groupAt(view, from)
    if (isOpen) return undefined
    if (to >= index && view.at(to - 1)?.role !== 'assistant') return to
    from = to
  }
  return undefined
}

/** Reads the rest of a view into an epoch, and gives the epoch at its end. */
export const followEpochs = (planning: Planning, from: Epoch): Epoch => {
  const { view } = planning
  let epoch = from
  let floor: Floor | undefined
  while (epoch.next < view.length) {
    const group = groupAt(view, epoch.next)
    if (group.isOpen) break
    addShown(planning, epoch, epoch.ranges.length === 0 ? group.shown : shownNew(planning, group))
    epoch.next = group.to
    epoch.last = view.at(group.to - 1) as Message
    if ((epoch.sums.at(-1) as number) <= epoch.high || epoch.last.role === 'assistant') continue
    if (floor !== undefined && isBelow(planning, floor, group.to)) continue
    const next = epochFrom(planning, epoch, group.to)
    // If not even the least fits here, it may fit later: a smaller message may be the question then. Nothing that was sent stays.
    floor = 'needed' in next ? next.floor : undefined
    epoch = 'needed' in next ? { ...epoch, ranges: [], high: -1 } : next
  }
  return epoch
}

/** The epoch that reads the record from its beginning. */
export const firstEpoch = (planning: Planning): Epoch => {
  const factor = factorAt(planning.notes, 0, planning.budget + planning.reserved)
  return newEpoch(planning, { rewrite: 0, number: 0, ranges: [], start: 0, factor }, [])
}

/** A group as it is shown when it is new. */
export const shownNew = (planning: Planning, group: Group): readonly Shown[] =>
  cutGroup(planning, group, { kinds: planning.pinned }, planning.budget * shape.largest)

/**
 * The epoch that starts at an index: the first of these that fits.
 *
 * 1. What was shortened before stays as it is, and what was shown in full since becomes one more range.
 * 2. Everything before the newest messages becomes one range, with new lines.
 * 3. The same without lines, with rules and questions shortened.
 * 4. The same with the newest messages cut, too.
 * 5. Everything is one range: rules and questions, and markers.
 *
 * @param before the epoch whose ranges stay as they are; without ranges, everything is chosen anew
 */
export const epochFrom = (
  planning: Planning,
  before: Pick<Epoch, 'rewrite' | 'number' | 'ranges'>,
  start: number,
): Epoch | Unfit => {
  const { view, notes, budget, reserved, count } = planning
  const position = view.positionAt(start) as number
  const facts = factsAt(planning, start, position)
  const factor = factorAt(notes, position, budget + reserved)
  const space = roomOf(planning, factor)
  const growth = growthOf(budget, space)
  const next = { rewrite: before.rewrite, number: before.number + 1, start, factor }

  const recentAt = recentFrom(planning, start)
  const end = before.ranges.at(-1)?.to ?? 0
  const recent: Shown[] = []
  for (const group of groupsIn(view, Math.max(end, recentAt), start)) recent.push(...shownNew(planning, group))
  const most = mostOfRanges(space, growth, tokensIn(recent, count))
  let rules = 0
  for (const index of facts.rules) rules += count(view.at(index) as Message)
  const usual = {
    outlinesRules: areOutlined(rules, space),
    question: space * shape.largest,
    kept: space * shape.largest,
  }

  if (before.ranges.length > 0 && !hasNewSummary(planning, facts, before.ranges, recentAt)) {
    const ranges = [...before.ranges]
    let taken = 0
    for (const { tokens } of ranges) taken += tokens
    if (recentAt > end) {
      const limits = { ...usual, range: most.stay - taken, lines: budget * shape.moreLines }
      const added = renderRange(planning, facts, { from: end, to: recentAt, linesFrom: end }, limits)
      taken += added.tokens
      ranges.push(added)
    }
    if (taken <= most.stay) return newEpoch(planning, { ...next, ranges }, recent)
  }

  const older = { from: 0, to: recentAt, linesFrom: firstLineIndex(planning, recentAt) }
  const anew = renderRange(planning, facts, older, { ...usual, range: most.chosen, lines: budget * shape.lines })
  if (anew.tokens <= most.accepted) return newEpoch(planning, { ...next, ranges: [anew] }, recent)

  const largest = space * shape.largestBare
  const tight = renderRange(planning, facts, older, { ...noLines, question: largest, kept: largest })
  if (tight.tokens <= most.acceptedBare) return newEpoch(planning, { ...next, ranges: [tight] }, recent)

  const cutRecent: Shown[] = []
  for (const group of groupsIn(view, recentAt, start))
    cutRecent.push(...cutGroup(planning, group, facts, leastOfGroup(space)))
  const limits = facts.keepLevels.size > 0 ? [{ ...leastLimits, kept: largest }, leastLimits] : [leastLimits]
  for (const limit of limits) {
    const squeezed = renderRange(planning, facts, older, limit)
    if (squeezed.tokens + tokensIn(cutRecent, count) <= space)
      return newEpoch(planning, { ...next, ranges: [squeezed] }, cutRecent)
  }

  const whole = { from: 0, to: start, linesFrom: firstLineIndex(planning, start) }
  let needed = Infinity
  let shown: readonly Shown[] = []
  for (const limit of limits) {
    const all = renderRange(planning, facts, whole, limit)
    if (all.tokens <= space) return newEpoch(planning, { ...next, ranges: [all] }, [])
    needed = all.tokens
    shown = all.shown
  }
  return { needed, shown, floor: floorOf(planning, facts, { start, to: recentAt, full: rules }) }
}

/** The floor after a failed epoch: the rules before its newest messages stay, and so do markers between them with nothing else. */
const floorOf = (
  planning: Planning,
  facts: Facts,
  { start, to, full }: { readonly start: number; readonly to: number; readonly full: number },
): Floor => {
  const { view, notes, keep } = planning
  const [before, position] = [view.positionAt(to) as number, view.positionAt(start) as number]
  let until = Infinity
  let leastUntil = Infinity
  for (const { note, place } of notes.kinds)
    if (place >= position && note.position < position) {
      leastUntil = Math.min(leastUntil, place)
      if (note.position < before) until = Math.min(until, place)
    }
  const onlyRules = { ...facts, questions: [], keepLevels: new Map<number, ResidencyLevel>() }
  // What a function keeps may differ the next time, so that no marker is certain.
  const others = typeof keep === 'function' ? undefined : [...facts.questions, ...facts.keepLevels.keys()]
  others?.sort((a, b) => a - b)
  const isCertain = (first: number, end: number): boolean => {
    if (others === undefined) return false
    const at = countWhile(others.length, (index) => (others[index] as number) < first)
    return at === others.length || groupStart(view, others[at] as number) >= end
  }
  const rulesBefore = (end: number, isOutlined: boolean): RuleTokens =>
    tokensOfRules(planning, onlyRules, { from: 0, to: end }, isOutlined, isCertain)
  return {
    until,
    leastUntil,
    least: rulesBefore(start, true),
    full,
    outlined: rulesBefore(to, true),
    whole: rulesBefore(to, false),
  }
}

/** Whether no epoch that starts at an index can fit: each of the last four in {@link epochFrom} is ruled out. */
const isBelow = (planning: Planning, floor: Floor, start: number): boolean => {
  const { view, notes, budget, reserved, count } = planning
  const { full, outlined, whole } = floor
  const position = view.positionAt(start) as number
  if (position > floor.until) return false
  const space = roomOf(planning, factorAt(notes, position, budget + reserved))
  const most = mostOfRanges(space, growthOf(budget, space), 0)
  const older = outlined.marked
  const least = position > floor.leastUntil ? older : floor.least.marked
  if (least <= space || older <= most.acceptedBare) return false
  // Where a renderer expects that rules take all of its tokens, it writes no lines.
  const exceeds = ({ rules, marked, expected }: RuleTokens): boolean =>
    rules > most.accepted || (expected >= most.chosen && marked > most.accepted)
  if (!exceeds(outlined) || (!areOutlined(full, space) && !exceeds(whole))) return false
  // The newest messages that are not cut.
  let taken = older
  for (let from = recentFrom(planning, start); taken <= space && from < start;) {
    const { shown, to } = groupAt(view, from)
    const tokens = tokensIn(shown, count)
    if (tokens <= leastOfGroup(space)) taken += tokens
    from = to
  }
  return taken > space
}

/** What a group of the newest messages may take in the least epoch. */
const leastOfGroup = (space: number): number =>
  Math.max(shape.leastRecentTokens, space * shape.largest * shape.leastRecent)

/** Whether there is a new summary of messages that were shortened without it. */
const hasNewSummary = (
  planning: Planning,
  facts: Facts,
  ranges: readonly RenderedRange[],
  recentAt: number,
): boolean => {
  if (facts.summaries.length === 0) return false
  const range = { from: 0, to: recentAt }
  const stays = mustStay(planning, facts, range, { ...leastLimits, kept: 1 })
  const used = new Set<number>()
  for (const { shown } of ranges)
    for (const { source, position } of shown) if (source.type === 'summary') used.add(position)
  const end = ranges.at(-1)?.to ?? 0
  return summariesIn(planning, facts, range, stays).some(
    ({ from }) => from < end && !used.has(planning.view.positionAt(from) as number),
  )
}

/** An epoch with its first messages: those of its ranges, and the newest. */
const newEpoch = (
  planning: Planning,
  plan: Pick<Epoch, 'rewrite' | 'number' | 'ranges' | 'start' | 'factor'>,
  recent: readonly Shown[],
): Epoch => {
  const { ranges, start, factor } = plan
  const space = roomOf(planning, factor)
  const epoch: Epoch = {
    ...plan,
    shown: [],
    sums: [0],
    ids: new Map(),
    high: space,
    next: start,
    mendedAt: Infinity,
    last: start === 0 ? undefined : planning.view.at(start - 1),
  }
  for (const { shown } of ranges) addShown(planning, epoch, shown)
  addShown(planning, epoch, recent)
  if (ranges.length === 0) return epoch
  return { ...epoch, high: Math.min(space, (epoch.sums.at(-1) as number) + growthOf(planning.budget, space)) }
}

/** Adds messages to an epoch, with call ids of their own. */
const addShown = ({ count }: Planning, epoch: Epoch, messages: readonly Shown[]): void => {
  const { shown, sums } = epoch
  for (const added of withOwnIds(messages, epoch.ids)) {
    if (epoch.mendedAt === Infinity && isMended(added)) epoch.mendedAt = shown.length
    shown.push(added)
    sums.push((sums.at(-1) as number) + count(added.message, added.position))
  }
}

/** Where the newest messages begin that an epoch starts with in full: at least the last group. */
const recentFrom = ({ view, sizes, budget }: Planning, start: number): number => {
  if (start === 0) return 0
  const first = sizes.indexAbove(sizes.before(start) - budget * shape.recent - 1)
  for (let from = groupStart(view, first); from < start; from = groupAt(view, from).to) if (from >= first) return from
  return groupStart(view, start - 1)
}

/** Where summary lines begin for a range up to an index. */
const firstLineIndex = ({ view, sizes, budget }: Planning, to: number): number => {
  if (to === 0) return 0
  const unread = sizes.before(to) - budget * shape.reads
  return groupStart(view, Math.max(0, sizes.indexAbove(Math.max(0, unread)) - 1))
}

/** The indexes of instructions and rules. */
const ruleIndexes = memoize((pages: View<Message>['pages']) => indexesOf(pages, (kind) => ruleKinds.has(kind)))

/** What is known before an index. */
const factsAt = ({ view, notes, keep }: Planning, end: number, position: number): Facts => {
  const kinds = kindsAt(notes, position)
  const rules = new Set<number>()
  for (const index of ruleIndexes(view.pages))
    if (index < end && (kinds.size === 0 || !kinds.has(view.positionAt(index) as number))) rules.add(index)
  for (const [at, kind] of kinds) {
    const index = ruleKinds.has(kind) ? indexIn(view, at) : -1
    if (index !== -1 && index < end) rules.add(index)
  }
  return {
    kinds,
    summaries: summariesAt(notes, position),
    rules: kinds.size === 0 ? [...rules] : [...rules].sort((a, b) => a - b),
    questions: questionsBefore(view, end),
    keepLevels: keptIn(view, end, keep),
  }
}

/** The indexes of the first message of the user, of the latest one, and of the latest that asks for something new. */
export const questionsBefore = (view: View<Message>, end: number): readonly number[] => {
  const questions = new Set<number>()
  for (let index = 0; index < end && questions.size === 0; index++)
    if (isSpoken(view.at(index) as Message)) questions.add(index)
  for (const isMet of [isSpoken, isSubstantive])
    for (let index = end - 1; index >= 0; index--)
      if (isMet(view.at(index) as Message)) {
        questions.add(index)
        break
      }
  return [...questions]
}
