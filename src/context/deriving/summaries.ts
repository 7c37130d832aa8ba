/** Summaries from notes: which ones a compaction uses and which ranges they replace. */
import type { View } from '../../history/index.ts'
import type { Message } from '../../message/index.ts'
import { rangeDigest, type SummaryNote } from '../../notes/kit.ts'
import type { PageKind } from '../../pages/index.ts'
import type { Range } from '../../sequence/index.ts'
import { gap, hiddenOf, summarizedRange, tokensIn, type Gap, type Segment } from './epoch-line.ts'
import { countKind, joinRanges, type HiddenEntries } from '../showing/marker.ts'
import { viewBetween, endOf } from './positions.ts'
import type { Renderer, Unit } from './unit.ts'

export interface SummarizedView {
  readonly summaries: readonly SummaryNote[]
  readonly record: View<Message>
  readonly budget: number
  readonly activeFrom: number
  readonly renderer: Renderer
  /** Whether the active turn must be shortened, too. */
  readonly pressed: boolean
  /** Whether the policy keeps a unit, so that no summary may replace it. */
  readonly isKept: (unit: Unit) => boolean
}

/**
 * Replaces segments by the summaries that cover them exactly: unchanged messages that may all fall to `pointer` and
 * that the policy does not keep. They are before the active turn, or, if that must be shortened, after its first
 * message. Oldest first, until the context takes at most half of the budget.
 *
 * Cost    O(segments) per summary, plus its range on first use
 */
export const withSummaries = (segments: readonly Segment[], summarized: SummarizedView): readonly Segment[] => {
  const { summaries, record, budget, activeFrom, renderer, pressed } = summarized
  let result = segments
  let covered = 0
  // Of the ranges with the same start the widest, and of equal ones the latest.
  for (const [, note] of [...summaries.entries()].toSorted(
    ([i, a], [j, b]) => a.from - b.from || b.to - a.to || j - i,
  )) {
    const mayFall = note.to <= activeFrom || (pressed && note.from > activeFrom && note.to <= endOf(record))
    if (!mayFall || note.from < covered) continue
    if (result.reduce((sum, segment) => sum + tokensIn(segment, renderer), 0) <= budget / 2) break
    const replaced = replaceRange(result, note, summarized)
    if (replaced === undefined || !isFaithful(note, record)) continue
    result = replaced
    covered = note.to
  }
  return result
}

/** The segments with a summary in place of its range; undefined unless it covers whole segments that may be dropped. */
const replaceRange = (
  segments: readonly Segment[],
  note: SummaryNote,
  { record, renderer, isKept }: SummarizedView,
): readonly Segment[] | undefined => {
  const before: Segment[] = []
  const inside: HiddenEntries[] = []
  const after: Segment[] = []
  for (const segment of segments) {
    const { from, to } = segment
    if (to <= note.from) before.push(segment)
    else if (from >= note.to) after.push(segment)
    else if (segment.type === 'gap') {
      // A gap can be split: it has no whole messages.
      if (from < note.from) before.push(gapIn(segment, { from, to: note.from }, record, renderer))
      inside.push(hiddenRange(Math.max(from, note.from), Math.min(to, note.to), record, renderer))
      if (to > note.to) after.push(gapIn(segment, { from: note.to, to }, record, renderer))
    } else if (from < note.from || to > note.to) return undefined
    else if (segment.type === 'unit' && (renderer.factsOf(segment.unit).minimum !== 'pointer' || isKept(segment.unit)))
      return undefined
    else inside.push(hiddenOf(segment, renderer))
  }
  return inside.length === 0
    ? undefined
    : [...before, summarizedRange(joinRanges(inside), note.text, note.model ?? 'unknown', renderer), ...after]
}

/** The part of a gap within a range. */
const gapIn = ({ briefs }: Gap, { from, to }: Range, record: View<Message>, renderer: Renderer): Gap =>
  gap(
    hiddenRange(from, to, record, renderer),
    briefs.filter((brief) => brief.from >= from && brief.to <= to),
    renderer,
  )

/** The messages of a range as a marker describes them. */
export const hiddenRange = (from: number, to: number, record: View<Message>, renderer: Renderer): HiddenEntries => {
  const kinds = new Map<PageKind, number>()
  let tokens = 0
  for (let index = record.before(from); index < record.before(to); index++) {
    const position = record.positionAt(index) as number
    countKind(kinds, renderer.kindOf({ position, kind: record.pages.at(index) ?? 'conversation' }))
    tokens += renderer.estimate(record.at(index) as Message)
  }
  return { from, to, kinds, tokens }
}

/** Whether the summarized messages are unchanged. Computed once per note and range of messages. */
export const isFaithful = (note: SummaryNote, record: View<Message>): boolean => {
  const said = viewBetween(record, note)
  if (said.length === 0) return false
  const ends = [said.at(0), said.at(-1), said.length] as const
  const known = checkOptions.get(note)
  if (known !== undefined && known.ends.every((end, index) => end === ends[index])) return known.faithful
  const faithful = rangeDigest(said) === note.sourceDigest
  checkOptions.set(note, { ends, faithful })
  return faithful
}

const checkOptions = new WeakMap<SummaryNote, { readonly ends: readonly unknown[]; readonly faithful: boolean }>()
