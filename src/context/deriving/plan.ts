/**
 * The plan, the third step: where contexts start anew, and the epochs from there on.
 *
 * A rewrite starts at fixed multiples of the record's size, so it depends on no earlier context. From it the record is read group by
 * group. When the context has grown enough, an epoch starts: what was shown in full, except the newest, becomes one more marker,
 * and everything before it stays as it is. After a few epochs' size the next rewrite chooses all lines anew.
 */
import type { View } from '../../history/index.ts'
import type { Message } from '../../message/index.ts'
import { minFidelity, type PageKind, type ResidencyLevel } from '../../pages/index.ts'
import { indexesOf } from '../../pages/internal.ts'
import { indexIn } from '../positions.ts'
import { isSpoken, isSubstantive } from '../substantive.ts'
import { isMended } from './context.ts'
import { groupAt, groupsIn, groupStart, withOwnIds, type Group, type Shown } from './group.ts'
import { factorAt, kindsAt, summariesAt, type ReadNotes } from './notes.ts'
import {
  cutGroup,
  mustStay,
  renderRange,
  summariesIn,
  tokensIn,
  withOwnIdsIn,
  type Facts,
  type Limits,
  type Range,
  type RecordToRender,
} from './render.ts'
import { indexAbove } from './size.ts'

/** The constants: shares of the budget, unless they say otherwise. Their neighbours' figures are in bench/RESULTS.md. */
const shape = {
  /** How much an epoch grows, and at most in tokens. */
  growth: 0.4,
  mostGrowth: 13_000,
  /** What lines take when everything is chosen anew, and what each later epoch adds. */
  lines: 0.27,
  moreLines: 0.1,
  /** The newest messages that an epoch starts with in full. */
  recent: 0.07,
  /** The most of a message when it is new, or of calls with their results. A longer one is cut. */
  largest: 0.17,
  /** After so many epochs' size, everything is chosen anew. */
  epochsPerRewrite: 4,
  /** How many budgets before a rewrite are read for lines. */
  reads: 5,
  /** The most that rules in full may take. */
  rules: 0.33,
} as const

/** What a context is planned with. */
export interface Planning extends RecordToRender {
  readonly notes: ReadNotes
  /** Page kinds set by pins, by position. They apply to the whole record. */
  readonly pinned: ReadonlyMap<number, PageKind>
  /** The tokens for messages, by the estimator. */
  readonly budget: number
  /** The tokens of tools and system prompt. */
  readonly reserved: number
  readonly keep: (view: View<Message>) => ReadonlyMap<number, ResidencyLevel>
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
  readonly ids: Set<string>
  /** The next epoch starts above this many tokens. */
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

interface RenderedRange extends Range {
  readonly shown: readonly Shown[]
  readonly tokens: number
}

/** A context does not fit: the tokens of the least one. */
interface Unfit {
  readonly needed: number
  readonly shown: readonly Shown[]
}

/** The tokens for messages if the provider counts more or less than was estimated. */
export const roomOf = ({ budget, reserved }: Pick<Planning, 'budget' | 'reserved'>, factor: number): number =>
  factor === 1 ? budget : Math.max(0, Math.floor((budget + reserved) / factor) - reserved)

const growthOf = ({ budget }: Planning): number => Math.min(budget * shape.growth, shape.mostGrowth)

/**
 * The index where the latest rewrite before the end of the view starts: the first at which a call can follow after a multiple of
 * a size. None before the record has five budgets (`reads`): until then it is read from its beginning.
 */
export const rewriteAt = (planning: Planning): readonly [index: number, number: number] => {
  const { view, sizes, budget } = planning
  const stride = growthOf(planning) * shape.epochsPerRewrite
  if (stride === 0) return [0, 0]
  for (
    let number = Math.floor((sizes.cappedBefore[view.length] as number) / stride);
    number * stride > budget * shape.reads;
    number--
  ) {
    const index = callableFrom(view, indexAbove(sizes.cappedBefore, number * stride))
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
  while (epoch.next < view.length) {
    const group = groupAt(view, epoch.next)
    if (group.isOpen) break
    add(planning, epoch, withOwnIds(epoch.ranges.length === 0 ? group.shown : shownNew(planning, group), epoch.ids))
    epoch.next = group.to
    epoch.last = view.at(group.to - 1) as Message
    if (tokensOf(epoch) <= epoch.high || epoch.last.role === 'assistant') continue
    const next = epochFrom(planning, epoch, group.to)
    // If not even the least fits here, it may fit later: a smaller message may be the question then.
    epoch = 'needed' in next ? { ...epoch, high: -1 } : next
  }
  return epoch
}

const tokensOf = ({ sums }: Epoch): number => sums.at(-1) as number

/** The epoch that reads the record from its beginning. */
export const firstEpoch = (planning: Planning): Epoch => {
  const factor = factorAt(planning.notes, 0, planning.budget + planning.reserved)
  return newEpoch(planning, { rewrite: 0, number: 0, ranges: [] }, [], 0, factor, roomOf(planning, factor))
}

/** A group as it is shown when it is new. */
export const shownNew = (planning: Planning, group: Group): readonly Shown[] =>
  cutGroup(planning, group, { kinds: planning.pinned }, planning.budget * shape.largest)

/**
 * The epoch that starts at an index. `before`: the epoch whose ranges stay as they are; without ranges, everything is chosen anew.
 */
export const epochFrom = (
  planning: Planning,
  before: Pick<Epoch, 'rewrite' | 'number' | 'ranges'>,
  start: number,
): Epoch | Unfit => {
  const { view, notes, budget, reserved, count } = planning
  const position = view.positionAt(start) as number
  const factor = factorAt(notes, position, budget + reserved)
  const room = roomOf(planning, factor)
  const growth = growthOf(planning) * (budget === 0 ? 1 : room / budget)
  const facts = factsAt(planning, start, position)
  const rulesTokens = facts.rules.reduce((all, index) => all + count(view.at(index) as Message), 0)
  const usual: Limits = {
    lines: Infinity,
    outlined: rulesTokens > room * shape.rules,
    asked: room * shape.largest,
    kept: room * shape.largest,
  }
  const identity = { rewrite: before.rewrite, number: before.number + 1 }
  const done = (ranges: readonly RenderedRange[], lists: readonly (readonly Shown[])[]): Epoch => {
    const shown = withOwnIdsIn(lists)
    const epoch = newEpoch(planning, { ...identity, ranges }, shown, start, factor, room)
    return epoch
  }
  const recentAt = recentFrom(planning, start)
  const from = before.ranges.at(-1)?.to ?? 0
  const recent = groupsIn(view, Math.max(from, recentAt), start).flatMap((group) => shownNew(planning, group))
  const recentTokens = tokensIn(recent, count)
  const goal = room - growth - recentTokens
  const rangeOf = (from: number, to: number, isNew: boolean): Range => ({
    from,
    to,
    linesFrom: isNew ? Math.max(from, firstLineIndex(planning, to)) : from,
  })
  const render = (range: Range, limits: Limits, lines: number): RenderedRange => {
    const stays = mustStay(planning, facts, range, limits)
    let fixed = markerTokens * (1 + stays.size)
    for (const shown of stays.values()) fixed += tokensIn(shown, count)
    const shown = renderRange(planning, facts, range, stays, Math.min(lines, limits.lines - fixed))
    return { ...range, shown, tokens: tokensIn(shown, count) }
  }
  // What was shortened before stays as it is, and what was shown in full becomes one more range.
  if (before.ranges.length > 0 && !hasNewSummary(planning, facts, before.ranges, recentAt)) {
    const kept = before.ranges.reduce((all, { tokens }) => all + tokens, 0)
    if (recentAt <= from) {
      if (kept <= goal) return done(before.ranges, [...before.ranges.map(({ shown }) => shown), recent])
    } else {
      const added = render(rangeOf(from, recentAt, false), { ...usual, lines: goal - kept }, budget * shape.moreLines)
      if (kept + added.tokens <= goal) {
        const ranges = [...before.ranges, added]
        return done(ranges, [...ranges.map(({ shown }) => shown), recent])
      }
    }
  }
  // Everything is chosen anew.
  const whole = rangeOf(0, recentAt, true)
  const anew = render(whole, { ...usual, lines: goal + growth / 4 }, budget * shape.lines)
  if (anew.tokens <= goal + growth / 2) return done([anew], [anew.shown, recent])
  // Rules and questions are shortened, too.
  const tight = render(whole, { lines: 0, outlined: true, asked: room / 8, kept: room / 8 }, 0)
  if (tight.tokens <= goal + growth * 0.75) return done([tight], [tight.shown, recent])
  const least: Limits = { lines: 0, outlined: true, asked: 200, kept: 0 }
  const cutRecent = groupsIn(view, recentAt, start).flatMap((group) =>
    cutGroup(planning, group, facts, Math.max(64, (room * shape.largest) / 4)),
  )
  const limits = facts.kept.size > 0 ? [{ ...least, kept: room / 8 }, least] : [least]
  for (const limit of limits) {
    const squeezed = render(whole, limit, 0)
    if (squeezed.tokens + tokensIn(cutRecent, count) <= room) return done([squeezed], [squeezed.shown, cutRecent])
  }
  // The least: everything but rules and questions is in markers.
  let needed: Unfit = { needed: Infinity, shown: [] }
  for (const limit of limits) {
    const all = render(rangeOf(0, start, true), limit, 0)
    if (all.tokens <= room) return done([all], [all.shown])
    needed = { needed: all.tokens, shown: all.shown }
  }
  return needed
}

/** Whether there is a new summary of messages that were shortened without it. */
const hasNewSummary = (planning: Planning, facts: Facts, ranges: readonly RenderedRange[], to: number): boolean => {
  if (facts.summaries.length === 0) return false
  const range: Range = { from: 0, to, linesFrom: to }
  const stays = mustStay(planning, facts, range, { lines: 0, outlined: true, asked: 200, kept: 1 })
  const end = ranges.at(-1)?.to ?? 0
  return summariesIn(planning, facts, range, [...stays.keys()]).some(({ from }) => {
    const first = planning.view.positionAt(from)
    return (
      from < end &&
      !ranges.some(({ shown }) => shown.some(({ source }) => source.type === 'summary' && source.from === first))
    )
  })
}

/** About the tokens of a marker without lines. */
const markerTokens = 50

const newEpoch = (
  planning: Planning,
  { rewrite, number, ranges }: Pick<Epoch, 'rewrite' | 'number' | 'ranges'>,
  shown: readonly Shown[],
  start: number,
  factor: number,
  room: number,
): Epoch => {
  const epoch: Epoch = {
    rewrite,
    number,
    ranges,
    shown: [],
    sums: [0],
    ids: new Set(),
    high: 0,
    factor,
    start,
    next: start,
    mendedAt: Infinity,
    last: start === 0 ? undefined : (planning.view.at(start - 1) as Message),
  }
  for (const { message } of shown)
    for (const part of message.content) if (part.type === 'tool_call') epoch.ids.add(part.id)
  add(planning, epoch, shown)
  const growth = growthOf(planning) * (planning.budget === 0 ? 1 : room / planning.budget)
  return { ...epoch, high: ranges.length === 0 ? room : Math.min(room, tokensOf(epoch) + growth) }
}

const add = ({ count }: Planning, epoch: Epoch, more: readonly Shown[]): void => {
  const { shown, sums } = epoch
  for (const one of more) {
    if (epoch.mendedAt === Infinity && isMended(one)) epoch.mendedAt = shown.length
    shown.push(one)
    sums.push((sums.at(-1) as number) + count(one.message, one.position))
  }
}

/** Where the newest messages begin that an epoch starts with in full: at least the last group. */
const recentFrom = ({ view, sizes, budget }: Planning, start: number): number => {
  if (start === 0) return 0
  const first = indexAbove(sizes.before, (sizes.before[start] as number) - budget * shape.recent - 1)
  for (let from = groupStart(view, first); from < start; from = groupAt(view, from).to) if (from >= first) return from
  return groupStart(view, start - 1)
}

/** Where summary lines begin for a range up to an index. */
const firstLineIndex = ({ view, sizes, budget }: Planning, to: number): number =>
  to === 0
    ? 0
    : groupStart(
        view,
        Math.max(0, indexAbove(sizes.before, Math.max(0, (sizes.before[to] as number) - budget * shape.reads)) - 1),
      )

/** What is known before an index. */
const factsAt = (planning: Planning, index: number, position: number): Facts => {
  const { view, notes, keep } = planning
  const kinds = kindsAt(notes, position)
  const seen = view.slice(0, index)
  const isRule = (kind: PageKind): boolean => minFidelity(kind) !== 'pointer'
  let rules = indexesOf(seen.pages, isRule)
  if (kinds.size > 0) {
    const all = new Set(rules.filter((at) => !kinds.has(view.positionAt(at) as number)))
    for (const [at, kind] of kinds) if (isRule(kind) && indexIn(seen, at) !== -1) all.add(indexIn(seen, at))
    rules = [...all].sort((a, b) => a - b)
  }
  return {
    kinds,
    summaries: summariesAt(notes, position),
    rules,
    asked: askedBefore(view, index),
    kept: keep(seen),
  }
}

/** The indexes of the first message of the user, of the latest one, and of the latest that asks for something new. */
export const askedBefore = (view: View<Message>, length: number): readonly number[] => {
  const asked = new Set<number>()
  const isIn = (index: number, isMet: (message: Message) => boolean): boolean => isMet(view.at(index) as Message)
  for (let index = 0; index < length; index++)
    if (isIn(index, isSpoken)) {
      asked.add(index)
      break
    }
  for (const isMet of [isSpoken, isSubstantive])
    for (let index = length - 1; index >= 0; index--)
      if (isIn(index, isMet)) {
        asked.add(index)
        break
      }
  return [...asked]
}
