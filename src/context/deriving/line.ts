/**
 * Lines: the messages of one epoch in a private buffer that only grows. Contexts derived one after the other are spans
 * of the same line, so that a context costs what it adds and not what it holds.
 */
import type { Message } from '../../message/index.ts'
import type { ResidencyLevel } from '../../pages/index.ts'
import { folded, type Brief } from '../showing/brief.ts'
import { markerFor, summaryFor, type Hidden, type RecallName } from '../showing/marker.ts'
import type { ContextSource, Sourced } from './source.ts'
import { levelOfPage, type Renderer, type Shown, type ShownLevel, type Unit } from './unit.ts'

/** What stands for a run of positions. */
export type Segment = ShownUnit | Gap | Summed

export interface ShownUnit extends Shown {
  readonly type: 'unit'
  readonly from: number
  readonly to: number
  readonly unit: Unit
}

/** A range that only a marker stands for, with some of its messages in short. */
export interface Gap {
  readonly type: 'gap'
  readonly from: number
  readonly to: number
  readonly hidden: Hidden
  readonly briefs: readonly Brief[]
}

/** A range that a summary stands for. */
export interface Summed {
  readonly type: 'summary'
  readonly from: number
  readonly to: number
  readonly hidden: Hidden
  readonly text: string
  readonly model: string
  readonly message: Message
}

export interface Line {
  /** How many compactions led here. */
  readonly epoch: number
  readonly segments: Segment[]
  readonly messages: Message[]
  readonly sources: ContextSource[]
  /** The tokens before each message, and after the last. */
  readonly sums: number[]
  /** How many messages stand before the first that the record does not have as it is; Infinity if there is none. */
  mendedAt: number
  /** Whether a compaction chose whole messages for its markers: see `talk.ts`. */
  talks?: boolean
  /** Why a compaction left more of the budget unused than it should, if it did. */
  unused?: 'indivisible' | 'policy'
  readonly renderer: Renderer
}

export const emptyLine = (epoch: number, renderer: Renderer): Line => ({
  epoch,
  segments: [],
  messages: [],
  sources: [],
  sums: [0],
  mendedAt: Infinity,
  renderer,
})

/** The beginning of a line that may grow: so many of its segments and messages. */
export interface LinePart {
  readonly line: Line
  readonly segments: number
  readonly messages: number
}

export const allOf = (line: Line): LinePart => ({
  line,
  segments: line.segments.length,
  messages: line.messages.length,
})

export const tokensOf = (line: Line): number => line.sums[line.messages.length] as number

export const shown = (unit: Unit, level: ShownLevel = 'full', longest?: number): ShownUnit => {
  const { from, to } = unit
  return { type: 'unit', from, to, unit, level, longest }
}

/** A unit whose answers stand at their calls, in another: as much of it is there as of those. */
export const lentTo = (owner: ShownUnit, unit: Unit, renderer: Renderer): ShownUnit => {
  const said = owner.unit.said.findIndex(({ page }) => unit.pages.some(({ position }) => position === page.position))
  return shown(unit, owner.longest !== undefined && isWhole(owner, said, renderer) ? 'full' : owner.level)
}

/** Whether a unit that is cut says one of its messages as it was recorded. */
const isWhole = (segment: ShownUnit, said: number, renderer: Renderer): boolean =>
  renderer.at(segment.unit, segment).items[said]?.message === segment.unit.said[said]?.message

export const gap = (hidden: Hidden, briefs: readonly Brief[] = []): Gap => ({
  type: 'gap',
  from: hidden.from,
  to: hidden.to,
  hidden,
  briefs,
})

export const summed = (hidden: Hidden, text: string, model: string, { recall }: Renderer): Summed => ({
  type: 'summary',
  from: hidden.from,
  to: hidden.to,
  hidden,
  text,
  model,
  message: summaryFor(hidden, text, recall),
})

/** Add a segment at the end of a line. `given`: the answers that stand in it already, so that none is repeated. */
export const extend = (line: Line, segment: Segment, given?: Map<string, number>): void => {
  line.segments.push(segment)
  for (const item of itemsOf(segment, line.renderer, given)) {
    if (line.mendedAt === Infinity && isMended(item.source)) line.mendedAt = line.messages.length
    line.sums.push(tokensOf(line) + line.renderer.estimate(item.message))
    line.messages.push(item.message)
    line.sources.push(item.source)
  }
}

/** The messages of a segment. */
export const itemsOf = (segment: Segment, renderer: Renderer, given?: Map<string, number>): readonly Sourced[] => {
  const { from, to } = segment
  if (segment.type === 'gap') return [markerOf(segment, renderer)]
  if (segment.type === 'summary')
    return [{ message: segment.message, source: freeze({ type: 'summary', from, to, model: segment.model }) }]
  return (given === undefined ? renderer.at(segment.unit, segment) : renderer.beside(segment.unit, segment, given))
    .items
}

/** How much of a position a segment shows. */
export const levelIn = (segment: Segment, position: number, renderer: Renderer): ResidencyLevel => {
  if (segment.type === 'gap')
    return segment.briefs.some(({ positions }) => positions.includes(position)) ? 'structured' : 'pointer'
  if (segment.type !== 'unit') return 'pointer'
  const { unit, level, longest } = segment
  const page = unit.pages.find((page) => page.position === position)
  const said = unit.said.findIndex((said) => said.page === page)
  if (page === undefined || (said === -1 && unit.strays.includes(position))) return 'pointer'
  if (longest === undefined) return levelOfPage(level, renderer.kindOf(page))
  // Of a unit that is cut, the messages without long texts are there as they were recorded.
  return isWhole(segment, said, renderer) ? 'full' : level
}

/** What a marker would say of a segment. */
export const hiddenOf = (segment: Segment, renderer: Renderer): Hidden =>
  segment.type === 'unit' ? renderer.hidden(segment.unit) : segment.hidden

/** What a segment takes as it stands. */
export const tokensIn = (segment: Segment, renderer: Renderer): number =>
  segment.type === 'unit'
    ? renderer.at(segment.unit, segment).tokens
    : renderer.estimate(segment.type === 'gap' ? markerOf(segment, renderer).message : segment.message)

/** The marker of a gap: made once, so that a gap that a compaction leaves is the same message, and counted once. */
const markerOf = (gap: Gap, { recall }: Renderer): Sourced => {
  const known = markers.get(gap)
  if (known?.recall === recall) return known.marker
  const { from, to, hidden, briefs } = gap
  const noted = briefs.length > 0 && { briefs: freeze(briefs.flatMap(({ positions }) => positions)) }
  const source = freeze({ type: 'representation', level: 'pointer', from, to, ...noted } as const)
  const marker = { message: markerFor(hidden, recall, folded(briefs)), source }
  markers.set(gap, { recall, marker })
  return marker
}

const markers = new WeakMap<Gap, { readonly recall: RecallName; readonly marker: Sourced }>()

const { freeze } = Object

const isMended = (source: ContextSource): boolean =>
  source.type === 'synthetic' || (source.type === 'clone' && source.mended === true)
