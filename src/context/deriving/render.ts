/**
 * Rendering, the last step: what is sent in place of older messages. Messages that must stay are shown; each range between them becomes a
 * marker, which may hold summary lines, or a summary that a note has.
 */
import type { View } from '../../history/index.ts'
import { ownField } from '../../json/index.ts'
import { user, type Message, type Part } from '../../message/index.ts'
import type { SummaryNote } from '../../notes/internal.ts'
import { minFidelity, pageKinds, type PageKind, type ResidencyLevel } from '../../pages/index.ts'
import type { CheckedEstimator } from '../counting/tokens.ts'
import { cutText, markerText, ruleLimit, summaryText, type RecallName } from '../showing/represent.ts'
import { groupAt, groupStart, isSigned, type Group, type Shown } from './group.ts'
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
  readonly questions: readonly number[]
  readonly keepLevels: ReadonlyMap<number, ResidencyLevel>
}

/** How many tokens a range and its parts may take. */
export interface Limits {
  /** The range. Without room for a line it may take more: the messages that must stay. */
  readonly range: number
  /** Its summary lines and summaries. */
  readonly lines: number
  /** Whether instructions and rules are only outlined. */
  readonly outlinesRules: boolean
  /** A message of the user that stays readable. */
  readonly question: number
  /** A message that `keep` names; 0 to leave it out. */
  readonly kept: number
}

/** A range of a view that an epoch shortens, and what is sent in its place. */
export interface RenderedRange {
  readonly from: number
  readonly to: number
  readonly shown: readonly Shown[]
  readonly tokens: number
}

/** Indexes of a view, and the messages that are sent for them in any case. */
interface Block {
  readonly from: number
  readonly to: number
  readonly shown: readonly Shown[]
}

/** The kinds of instructions and rules, which no context leaves out. */
export const ruleKinds: ReadonlySet<PageKind> = new Set(pageKinds.filter((kind) => minFidelity(kind) !== 'pointer'))

/** The tokens of messages. */
export const tokensIn = (shown: readonly Shown[], count: CheckedEstimator): number => {
  let tokens = 0
  for (const { message, position } of shown) tokens += count(message, position)
  return tokens
}

/** Renders a range. Only groups from `linesFrom` on get a summary line. */
export const renderRange = (
  record: RecordToRender,
  facts: Facts,
  range: { readonly from: number; readonly to: number; readonly linesFrom: number },
  limits: Limits,
): RenderedRange => {
  const { view, count } = record
  const blocks = mustStay(record, facts, range, limits)
  let fixed = markerTokens * (1 + blocks.length)
  for (const { shown } of blocks) fixed += tokensIn(shown, count)
  let left = Math.min(limits.lines, limits.range - fixed)
  if (left > 0)
    for (const block of summariesIn(record, facts, range, blocks)) {
      left -= count(user(block.text))
      if (left >= 0) blocks.push(block)
    }
  blocks.sort(byStart)

  const groups: Group[] = []
  const lines: SummaryLine[] = []
  let next = 0
  for (let index = range.linesFrom; index < range.to;) {
    while (next < blocks.length && (blocks[next] as Block).to <= index) next += 1
    const block = blocks[next]
    if (block !== undefined && block.from <= index) {
      index = block.to
      continue
    }
    const group = groupAt(view, index)
    index = group.to
    if (facts.keepLevels.get(group.from) === 'pointer') continue
    groups.push(group)
    lines.push(lineOf(group))
  }
  const selected = selectLines(lines, left)

  const shown: Shown[] = []
  let from = range.from
  next = 0
  for (const block of [...blocks, { from: range.to, to: range.to, shown: [] }]) {
    if (from < block.from) {
      const texts: string[] = []
      const positions: number[] = []
      for (; next < groups.length && (groups[next] as Group).from < block.from; next++) {
        const text = selected[next]
        if (text === undefined) continue
        texts.push(text)
        for (const position of (lines[next] as SummaryLine).positions) positions.push(position)
      }
      shown.push(markerOf(record, from, block.from, texts, positions))
    }
    shown.push(...block.shown)
    from = block.to
  }
  return { from: range.from, to: range.to, shown, tokens: tokensIn(shown, count) }
}

/** What rules take in a part of a record, wherever an epoch starts after it. */
export interface RuleTokens {
  /** The rules alone, and with the markers between them. */
  readonly rules: number
  readonly marked: number
  /** What a renderer expects that they take: above its limit, it writes no lines. */
  readonly expected: number
}

/** The tokens of rules in a range, and of those markers between them that are certain. */
export const tokensOfRules = (
  record: RecordToRender,
  onlyRules: Facts,
  range: { readonly from: number; readonly to: number },
  outlinesRules: boolean,
  isCertain: (from: number, to: number) => boolean,
): RuleTokens => {
  const { count } = record
  const blocks = mustStay(record, onlyRules, range, { range: 0, lines: 0, outlinesRules, question: 0, kept: 0 })
  let rules = 0
  let markers = 0
  let end: number | undefined
  for (const { from, to, shown } of blocks.sort(byStart)) {
    rules += tokensIn(shown, count)
    if (end !== undefined && end < from && isCertain(end, from))
      markers += tokensIn([markerOf(record, end, from, [], [])], count)
    end = to
  }
  return { rules, marked: rules + markers, expected: rules + markerTokens * (1 + blocks.length) }
}

/** About the tokens of a marker without lines. */
const markerTokens = 50

const byStart = (a: Block, b: Block): number => a.from - b.from

/** The groups of a range that have to stay, within limits. */
export const mustStay = (
  record: RecordToRender,
  facts: Facts,
  { from, to }: { readonly from: number; readonly to: number },
  { outlinesRules, question, kept }: Limits,
): Block[] => {
  const { view } = record
  const blocks = new Map<number, Block>()
  /** The group of a message in the range, unless it stays already. */
  const groupToAdd = (index: number): Group | undefined => {
    if (index < from || index >= to) return undefined
    const start = groupStart(view, index)
    return start < from || blocks.has(start) ? undefined : groupAt(view, start)
  }
  for (const index of facts.rules) {
    const group = groupToAdd(index)
    if (group === undefined) continue
    const isOutlined = outlinesRules && !group.shown.some(({ message }) => isSigned(message))
    blocks.set(
      group.from,
      isOutlined ? { ...group, shown: cutTexts(record, group, facts, besideRule, ruleLimit) } : group,
    )
  }
  for (const index of facts.questions) {
    const group = groupToAdd(index)
    if (group === undefined) continue
    const shown =
      question < fewTokens ? cutTexts(record, group, facts, shortQuestion) : cutGroup(record, group, facts, question)
    blocks.set(group.from, { ...group, shown })
  }
  for (const [index, level] of kept === 0 ? [] : facts.keepLevels) {
    const group = level === 'full' || level === 'compressed' ? groupToAdd(index) : undefined
    if (group === undefined) continue
    const shown = cutGroup(record, group, facts, level === 'full' ? kept : Math.min(kept, compressedTokens))
    blocks.set(group.from, { ...group, shown })
  }
  return [...blocks.values()]
}

/** The most UTF-16 units of a text in the same group as an outlined rule. */
const besideRule = 320

/** A question that may take fewer tokens has its texts cut to so many UTF-16 units. */
const fewTokens = 500
const shortQuestion = 200

/** The most tokens of a message that `keep` names as `compressed`. */
const compressedTokens = 400

interface SummaryBlock extends Block {
  readonly text: string
}

/** The summaries of hidden messages within a range: of unchanged messages, ending where groups do, without overlaps. */
export const summariesIn = (
  { view, recall }: RecordToRender,
  { summaries, rules, keepLevels }: Facts,
  { from, to }: { readonly from: number; readonly to: number },
  stays: readonly Block[],
): readonly SummaryBlock[] => {
  const blocks: SummaryBlock[] = []
  for (const note of summaries) {
    const [first, last] = [view.before(note.from), view.before(note.to)]
    if (first < Math.max(from, blocks.at(-1)?.to ?? 0) || last > to || first >= last) continue
    if (groupStart(view, first) !== first || (last < view.length && groupStart(view, last) !== last)) continue
    const isInside = (index: number): boolean => index >= first && index < last
    if (stays.some((block) => isInside(block.from)) || rules.some(isInside) || [...keepLevels.keys()].some(isInside))
      continue
    if (!isFaithful(note, view.slice(first, last))) continue
    const [position, end] = positionsOf(view, first, last)
    const shown: Shown = {
      message: user(summaryText(position, end, note.text, recall)),
      source: Object.freeze({
        type: 'summary',
        from: position,
        to: end,
        model: ownField(note, 'model') ?? 'unknown',
      }),
      position,
    }
    blocks.push({ from: first, to: last, shown: [shown], text: note.text })
  }
  return blocks
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
    message: user(markerText(first, end, sizes.before(to) - sizes.before(from), lines, recall)),
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

/**
 * A group with its longest texts cut to head and tail, so that it takes at most so many tokens if it can. A message that its
 * provider signed stays whole.
 */
export const cutGroup = (
  record: RecordToRender,
  group: Group,
  facts: Pick<Facts, 'kinds'>,
  space: number,
): readonly Shown[] => {
  const full = tokensIn(group.shown, record.count)
  if (full <= space) return group.shown
  const lengths: number[] = []
  for (const { message, source } of group.shown)
    if (source.type === 'clone' && !isSigned(message)) lengths.push(...message.content.map(textLength))
  // Of the characters of its texts so many may stay, if all texts took the same number of tokens.
  let goal = (lengths.reduce((all, length) => all + length, 0) * space) / full
  let cut = group.shown
  for (let round = 0; round < mostRounds; round++) {
    cut = cutTexts(record, group, facts, Math.max(shortest, longestWithin(lengths, goal)))
    const tokens = tokensIn(cut, record.count)
    if (tokens <= space || goal < shortest) break
    goal *= Math.min(0.95, space / tokens)
  }
  return cut
}

/** The least UTF-16 units to which texts of a group are cut, and how often a cut is tried. */
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

/** The UTF-16 units of a part that may be cut. */
const textLength = (part: Part): number => {
  if (part.type === 'text' || part.type === 'refusal') return part.text.length
  if (part.type === 'tool_call') return part.arguments.length
  return part.type === 'tool_result'
    ? part.content.reduce((all, inner) => all + (inner.type === 'text' ? inner.text.length : 0), 0)
    : 0
}

/**
 * A group with each text of more than so many UTF-16 units cut: to an outline if it is an instruction or a rule, otherwise to head
 * and tail. A message that its provider signed stays whole, and so does a rule that an application set.
 */
const cutTexts = (
  { view, recall }: RecordToRender,
  group: Group,
  { kinds }: Pick<Facts, 'kinds'>,
  longest: number,
  longestOfRule: number = longest,
): readonly Shown[] =>
  group.shown.map((shown) => {
    const { message: recorded, source, position } = shown
    if (source.type !== 'clone' || isSigned(recorded)) return shown
    const kind = kinds.get(position) ?? (view.pages.at(view.before(position)) as PageKind)
    const isRule = ruleKinds.has(kind)
    const message = cutText(recorded, isRule ? longestOfRule : longest, { position, kind, recall }, isRule)
    if (message === recorded) return shown
    const level = isRule ? 'structured' : 'compressed'
    return {
      message,
      source: Object.freeze({ type: 'representation', level, from: position, to: position + 1 }),
      position,
    }
  })
