/**
 * Rendering, the last step: what is sent in place of older messages. Messages that must stay are shown; each range between them becomes a
 * marker, which may hold summary lines, or a summary that a note has.
 */
import type { View } from '../../history/index.ts'
import { ownField } from '../../json/index.ts'
import { user, type Message } from '../../message/index.ts'
import type { SummaryNote } from '../../notes/internal.ts'
import { minFidelity, type PageKind, type ResidencyLevel } from '../../pages/index.ts'
import type { CheckedEstimator } from '../counting/tokens.ts'
import { markerText, summaryText, type RecallName } from '../showing/marker.ts'
import { cutText, ruleLimit } from '../showing/represent.ts'
import { groupAt, groupsIn, groupStart, isSigned, withOwnIds, type Group, type Shown } from './group.ts'
import { isFaithful } from './notes.ts'
import { lineOf, selectLines, type SummaryLine } from './select.ts'
import type { Sizes } from './size.ts'

/** What rendering needs to know of a record. */
export interface RecordToRender {
  readonly view: View<Message>
  readonly sizes: Sizes
  readonly count: CheckedEstimator
  readonly recall: RecallName
}

/** What an epoch knows of the record before its start. */
export interface Facts {
  /** The kinds that notes set, by position. */
  readonly kinds: ReadonlyMap<number, PageKind>
  readonly summaries: readonly SummaryNote[]
  /** The indexes of instructions and rules, of the user's messages that stay readable, and of what `keep` names. */
  readonly rules: readonly number[]
  readonly asked: readonly number[]
  readonly kept: ReadonlyMap<number, ResidencyLevel>
}

/** How much a range may take. */
export interface Limits {
  /** The tokens of summary lines and summaries. */
  readonly lines: number
  /** Whether instructions and rules are only outlined. */
  readonly outlined: boolean
  /** The most UTF-16 units of each text of the user's messages, and the most tokens of one. */
  readonly asked: number
  /** The most tokens of a message that `keep` names; 0 to leave them out. */
  readonly kept: number
}

/** A range of a view that an epoch shortens. */
export interface Range {
  readonly from: number
  readonly to: number
  /** Summary lines are made from here on. */
  readonly linesFrom: number
}

/** The tokens of messages. */
export const tokensIn = (shown: readonly Shown[], count: CheckedEstimator): number => {
  let tokens = 0
  for (const { message, position } of shown) tokens += count(message, position)
  return tokens
}

/** The messages of a range that have to stay, by the start of their group. */
export const mustStay = (
  record: RecordToRender,
  facts: Facts,
  { from, to }: Range,
  limits: Limits,
): Map<number, readonly Shown[]> => {
  const { view } = record
  const stays = new Map<number, readonly Shown[]>()
  const add = (index: number, show: (group: Group) => readonly Shown[]): void => {
    if (index < from || index >= to) return
    const start = groupStart(view, index)
    if (start >= from && !stays.has(start)) stays.set(start, show(groupAt(view, start)))
  }
  for (const index of facts.rules)
    add(index, (group) => (limits.outlined ? outlineGroup(record, group, facts) : group.shown))
  for (const index of facts.asked)
    add(index, (group) => cutGroup(record, group, facts, limits.asked, limits.asked < 500 ? 200 : undefined))
  if (limits.kept > 0)
    for (const [index, level] of facts.kept)
      if (level === 'full' || level === 'compressed')
        add(index, (group) =>
          cutGroup(record, group, facts, level === 'full' ? limits.kept : Math.min(limits.kept, 400)),
        )
  return stays
}

/** What is sent in place of a range. */
export const renderRange = (
  record: RecordToRender,
  facts: Facts,
  range: Range,
  stays: ReadonlyMap<number, readonly Shown[]>,
  room: number,
): readonly Shown[] => {
  const { view } = record
  const shown: Shown[] = []
  const starts = [...stays.keys()].sort((a, b) => a - b)
  const summaries = room > 0 ? summariesIn(record, facts, range, starts) : []
  let left = room
  const used = summaries.filter(({ text }) => (left -= record.count(user(text))) >= 0)
  const isCovered = (index: number): boolean => used.some(({ from, to }) => index >= from && index < to)
  const groups = groupsIn(view, range.linesFrom, range.to).filter(
    ({ from }) => !stays.has(from) && !isCovered(from) && facts.kept.get(from) !== 'pointer',
  )
  const lines = groups.map(lineOf)
  const selected = selectLines(lines, left > 0 ? left : 0)
  let [from, next] = [range.from, 0]
  const hide = (to: number): void => {
    if (to <= from) return
    const texts: string[] = []
    const positions: number[] = []
    for (; next < groups.length && (groups[next] as Group).from < to; next++) {
      const text = selected[next]
      if (text === undefined) continue
      texts.push(text)
      positions.push(...(lines[next] as SummaryLine).positions)
    }
    shown.push(markerOf(record, from, to, texts, positions))
    from = to
  }
  let at = 0
  for (const start of [...starts, range.to]) {
    for (; at < used.length && (used[at] as PlacedSummary).from < start; at++) {
      const summary = used[at] as PlacedSummary
      hide(summary.from)
      shown.push(summaryOf(record, summary))
      from = summary.to
    }
    hide(start)
    const own = stays.get(start)
    if (own === undefined) continue
    shown.push(...own)
    from = groupAt(view, start).to
  }
  return shown
}

interface PlacedSummary {
  readonly from: number
  readonly to: number
  readonly text: string
  readonly model: string
}

/** The summaries of hidden messages within a range, by index: of unchanged messages, ending where groups do, without overlaps. */
export const summariesIn = (
  { view }: RecordToRender,
  { summaries, rules, kept }: Facts,
  { from, to }: Range,
  stays: readonly number[],
): readonly PlacedSummary[] => {
  const placed: PlacedSummary[] = []
  for (const note of summaries) {
    const [first, last] = [view.before(note.from), view.before(note.to)]
    if (first < Math.max(from, placed.at(-1)?.to ?? 0) || last > to || first >= last) continue
    if (groupStart(view, first) !== first || (last < view.length && groupStart(view, last) !== last)) continue
    const isInside = (index: number): boolean => index >= first && index < last
    if (stays.some(isInside) || rules.some(isInside) || [...kept.keys()].some(isInside)) continue
    if (isFaithful(note, view.slice(first, last)))
      placed.push({ from: first, to: last, text: note.text, model: ownField(note, 'model') ?? 'unknown' })
  }
  return placed
}

const summaryOf = ({ view, recall }: RecordToRender, { from, to, text, model }: PlacedSummary): Shown => {
  const [first, end] = positionsOf(view, from, to)
  return {
    message: user(summaryText(first, end, text, recall)),
    source: Object.freeze({ type: 'summary', from: first, to: end, model }),
    position: first,
  }
}

const markerOf = (
  { view, sizes, recall }: RecordToRender,
  from: number,
  to: number,
  lines: readonly string[],
  briefs: readonly number[],
): Shown => {
  const [first, end] = positionsOf(view, from, to)
  return {
    message: user(markerText(first, end, (sizes.before[to] as number) - (sizes.before[from] as number), lines, recall)),
    source: Object.freeze({
      type: 'representation',
      level: 'pointer',
      from: first,
      to: end,
      ...(briefs.length > 0 && { briefs: Object.freeze(briefs) }),
    }),
    position: first,
  }
}

const positionsOf = (view: View<Message>, from: number, to: number): readonly [first: number, end: number] => [
  view.positionAt(from) as number,
  1 + (view.positionAt(to - 1) as number),
]

/** A group with its rules outlined; what stays with them is cut. A rule that an application set stays complete. */
const outlineGroup = (record: RecordToRender, group: Group, facts: Facts): readonly Shown[] =>
  group.shown.some(({ message }) => isSigned(message))
    ? group.shown
    : group.shown.map((shown) => {
        const kind = kindOf(record, facts, shown.position)
        return minFidelity(kind) === 'pointer'
          ? shortened(record, shown, kind, 320)
          : shortened(record, shown, kind, ruleLimit)
      })

const kindOf = ({ view }: RecordToRender, { kinds }: Pick<Facts, 'kinds'>, position: number): PageKind =>
  kinds.get(position) ?? (view.pages.at(view.before(position)) as PageKind)

/**
 * A group with its longest texts cut to head and tail, so that it takes at most so many tokens if it can. A message that its
 * provider signed stays whole.
 *
 * @param longest the most UTF-16 units of a text, instead of what fits
 */
export const cutGroup = (
  record: RecordToRender,
  group: Group,
  facts: Pick<Facts, 'kinds'>,
  room: number,
  longest?: number,
): readonly Shown[] => {
  const at = (most: number): readonly Shown[] =>
    group.shown.map((shown) => {
      if (shown.source.type !== 'clone' || isSigned(shown.message)) return shown
      return shortened(record, shown, kindOf(record, facts, shown.position), most)
    })
  if (longest !== undefined) return at(longest)
  const full = tokensIn(group.shown, record.count)
  if (full <= room) return group.shown
  const lengths = group.shown.flatMap(({ message, source }) =>
    source.type === 'clone' && !isSigned(message) ? message.content.map(lengthOfPart) : [],
  )
  const characters = lengths.reduce((all, length) => all + length, 0)
  // Of the characters of its texts so many may stay, if all texts took the same number of tokens.
  let goal = (characters * room) / full
  let cut = group.shown
  for (let round = 0; round < mostRounds; round++) {
    cut = at(Math.max(shortest, longestWithin(lengths, goal)))
    const tokens = tokensIn(cut, record.count)
    if (tokens <= room || goal < shortest) break
    goal *= Math.min(0.95, room / tokens)
  }
  return cut
}

const shortest = 100
const mostRounds = 8

/** The length to which texts are cut so that they take at most so many UTF-16 units together. */
const longestWithin = (lengths: readonly number[], units: number): number => {
  let left = units
  const ascending = lengths.toSorted((a, b) => a - b)
  for (const [index, length] of ascending.entries()) {
    const each = left / (ascending.length - index)
    if (length > each) return Math.floor(each)
    left -= length
  }
  return Infinity
}

const lengthOfPart = (part: Message['content'][number]): number =>
  part.type === 'tool_call'
    ? part.arguments.length
    : part.type === 'tool_result'
      ? part.content.reduce((all, inner) => all + (inner.type === 'text' ? inner.text.length : 0), 0)
      : part.type === 'text' || part.type === 'refusal'
        ? part.text.length
        : 0

const shortened = ({ recall }: RecordToRender, shown: Shown, kind: PageKind, longest: number): Shown => {
  if (shown.source.type !== 'clone') return shown
  const { position } = shown
  const isRule = minFidelity(kind) !== 'pointer'
  const message = cutText(shown.message, longest, { position, kind, recall }, isRule)
  if (message === shown.message) return shown
  const level = isRule ? 'structured' : 'compressed'
  return {
    message,
    source: Object.freeze({ type: 'representation', level, from: position, to: position + 1 }),
    position,
  }
}

/** The messages with call ids of their own. */
export const withOwnIdsIn = (lists: readonly (readonly Shown[])[]): readonly Shown[] => {
  const used = new Set<string>()
  return lists.flatMap((shown) => withOwnIds(shown, used))
}
