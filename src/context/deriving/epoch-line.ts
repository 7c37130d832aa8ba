/**
 * Lines: the messages of one epoch in a private buffer that only grows. Successive contexts are
 * spans of the same line, so a context costs only what it adds.
 */
import type { ResidencyLevel } from '../../pages/index.ts'
import type { Range } from '../../sequence/index.ts'
import { foldBriefs, type Brief } from '../showing/brief.ts'
import { markerFor, summaryFor, type HiddenEntries } from '../showing/marker.ts'
import type { ContextSource, SourcedMessage } from './source.ts'
import { levelOfPage, levelOfStray, type Renderer, type ShownAs, type ShownLevel, type Unit } from './unit.ts'

/** The representation of a run of positions. */
export type Segment = ShownUnit | Gap | SummarizedRange

export interface ShownUnit extends ShownAs, Range {
  readonly type: 'unit'
  readonly unit: Unit
}

/** A range represented by one message. */
interface HiddenRange extends Range {
  readonly hidden: HiddenEntries
  /** Made once: a range that a compaction keeps stays the same message and is counted once. */
  readonly item: SourcedMessage
}

/** A range represented only by a marker, which may contain briefs of some of its messages. */
export interface Gap extends HiddenRange {
  readonly type: 'gap'
  readonly briefs: readonly Brief[]
}

/** A range represented by a summary. */
export interface SummarizedRange extends HiddenRange {
  readonly type: 'summary'
  readonly text: string
}

export interface EpochLine {
  /** The number of compactions so far, from `firstEpoch` on. */
  readonly epoch: number
  readonly segments: Segment[]
  readonly items: SourcedMessage[]
  /** The tokens before each message, and after the last one. */
  readonly sums: number[]
  /** The number of messages before the first one that differs from the record; Infinity if none differs. */
  mendedAt: number
  /** Whether a compaction put whole messages into markers: see `talk.ts`. */
  talks?: boolean
  /** Why a compaction left more of the budget unused than it should have, if it did. */
  unused?: 'indivisible' | 'policy'
  readonly renderer: Renderer
}

export const emptyEpochLine = (epoch: number, renderer: Renderer): EpochLine => ({
  epoch,
  segments: [],
  items: [],
  sums: [0],
  mendedAt: Infinity,
  renderer,
})

/** A prefix of a line that may grow: its number of segments and messages. */
export interface LinePart {
  readonly line: EpochLine
  readonly segments: number
  readonly messages: number
}

export const allOf = (line: EpochLine): LinePart => ({
  line,
  segments: line.segments.length,
  messages: line.items.length,
})

export const tokensOf = (line: EpochLine): number => line.sums[line.items.length] as number

export const showUnit = (unit: Unit, level: ShownLevel = 'full', longest?: number): ShownUnit => {
  const { from, to } = unit
  return { type: 'unit', from, to, unit, level, longest }
}

/** A unit whose answers were moved to their calls in another unit. It is shown as far as those are. */
export const showMoved = (owner: ShownUnit, unit: Unit, renderer: Renderer): ShownUnit => {
  const said = owner.unit.said.findIndex(({ page }) => unit.pages.some(({ position }) => position === page.position))
  return showUnit(unit, owner.longest !== undefined && isWhole(owner, said, renderer) ? 'full' : owner.level)
}

/** Whether a cut unit still shows one of its messages as recorded. */
const isWhole = (segment: ShownUnit, said: number, renderer: Renderer): boolean =>
  renderer.at(segment.unit, segment).items[said]?.message === segment.unit.said[said]?.message

export const gap = (hidden: HiddenEntries, briefs: readonly Brief[], { recall }: Renderer): Gap => {
  const { from, to } = hidden
  const noted = briefs.length > 0 && { briefs: freeze(briefs.flatMap(({ positions }) => positions)) }
  const source = freeze({ type: 'representation', level: 'pointer', from, to, ...noted } as const)
  return {
    type: 'gap',
    from,
    to,
    hidden,
    briefs,
    item: { message: markerFor(hidden, recall, foldBriefs(briefs)), source },
  }
}

export const summarizedRange = (
  hidden: HiddenEntries,
  text: string,
  model: string,
  { recall }: Renderer,
): SummarizedRange => {
  const { from, to } = hidden
  const source = freeze({ type: 'summary', from, to, model } as const)
  return { type: 'summary', from, to, hidden, text, item: { message: summaryFor(hidden, text, recall), source } }
}

/** Appends a segment to a line. `given`: answers already in the line, which are not repeated. */
export const addSegment = (line: EpochLine, segment: Segment, given?: Map<string, number>): void => {
  line.segments.push(segment)
  for (const item of itemsOf(segment, line.renderer, given)) {
    if (line.mendedAt === Infinity && isRepaired(item.source)) line.mendedAt = line.items.length
    line.sums.push(tokensOf(line) + line.renderer.estimate(item.message))
    line.items.push(item)
  }
}

export const itemsOf = (
  segment: Segment,
  renderer: Renderer,
  given?: Map<string, number>,
): readonly SourcedMessage[] => {
  if (segment.type !== 'unit') return [segment.item]
  const { unit } = segment
  return (given === undefined ? renderer.at(unit, segment) : renderer.beside(unit, segment, given)).items
}

/** The level at which a segment shows a position. */
export const levelIn = (segment: Segment, position: number, renderer: Renderer): ResidencyLevel => {
  if (segment.type === 'gap')
    return segment.briefs.some(({ positions }) => positions.includes(position)) ? 'structured' : 'pointer'
  if (segment.type !== 'unit') return 'pointer'
  const { unit, level, longest } = segment
  const page = unit.pages.find((page) => page.position === position)
  const said = unit.said.findIndex((said) => said.page === page)
  if (page === undefined) return 'pointer'
  if (said === -1 && unit.strays.has(position)) return levelOfStray(renderer.kindOf(page))
  if (longest === undefined) return levelOfPage(level, renderer.kindOf(page))
  // In a cut unit, messages without long texts are unchanged.
  return isWhole(segment, said, renderer) ? 'full' : level
}

/** The entries of a segment as a marker describes them. */
export const hiddenOf = (segment: Segment, renderer: Renderer): HiddenEntries =>
  segment.type === 'unit' ? renderer.hidden(segment.unit) : segment.hidden

export const tokensIn = (segment: Segment, renderer: Renderer): number =>
  segment.type === 'unit' ? renderer.at(segment.unit, segment).tokens : renderer.estimate(segment.item.message)

const { freeze } = Object

const isRepaired = (source: ContextSource): boolean =>
  source.type === 'synthetic' || (source.type === 'clone' && source.mended === true)
