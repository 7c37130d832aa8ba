/**
 * The state of a derived context as a string that a store can keep: the result of the latest compaction. With it, the
 * first context after a restart reads only what was recorded since.
 *
 * It contains positions and numbers but no message text: texts are read from the record again. A checksum of the
 * resulting messages ensures that a state gives the same context as the record. A state of another record, policy,
 * budget or version is ignored, as is one that is damaged or shows what was erased since.
 */
import { isObject, present } from '../../json/index.ts'
import type { View } from '../../history/index.ts'
import { user, type Message } from '../../message/index.ts'
import { withErasedText } from '../../message/kit.ts'
import { placeOf, type Note, type PageFold, type SummaryNote } from '../../notes/kit.ts'
import { pageKinds, type PageKind } from '../../pages/index.ts'
import { digestOf } from '../../proof/kit.ts'
import type { Sequence } from '../../sequence/index.ts'
import { memoize } from '../memoize.ts'
import { briefOf, wholeOf, type Brief } from '../showing/brief.ts'
import type { HiddenEntries } from '../showing/marker.ts'
import {
  emptyEpochLine,
  addSegment,
  gap,
  showUnit,
  summarizedRange,
  type EpochLine,
  type Segment,
} from './epoch-line.ts'
import { chapterAfter, type Chapter } from './chapters.ts'
import { indexIn } from './positions.ts'
import type { Settings } from './settings.ts'
import { settling } from './settling.ts'
import {
  lineStartOf,
  advanceTrack,
  trackAt,
  trackOf,
  type LineStart,
  type Facts,
  type NumberedSummary,
  type Track,
} from './track.ts'
import type { Estimator } from '../counting/tokens.ts'
import type { FullMessage, ShownLevel, Unit } from './unit.ts'

/** Increase this when the same record derives different contexts, so that older states are ignored. */
const version = 7

interface StoredState extends Omit<Facts, 'next'> {
  /** The state of the track that goes on after the chapter; null if only the whole record gives it. */
  readonly next?: string | null | undefined
  readonly key: string
  readonly epoch: number
  readonly unused?: EpochLine['unused']
  readonly talks?: boolean
  readonly segments: readonly StoredSegment[]
  /** The checksum of the line's messages and token counts. */
  readonly sum: string
}

/** `longest`, `worth`: null for none. `numbers`: the numbers of call ids, if an earlier call uses an id. */
type StoredSegment =
  | readonly [
      'unit',
      number,
      number,
      ShownLevel,
      longest: number | null,
      worth: number | null,
      numbers: readonly number[] | null,
    ]
  | readonly ['gap', number, number, StoredHidden, readonly StoredBrief[]]
  | readonly ['summary', number, number, StoredHidden, note: number]
type StoredHidden = readonly [tokens: number, ...counts: (readonly [kind: number, count: number])[]]
type StoredBrief = readonly [from: number, to: number, tokens: number, worth: number | null, whole: number | null]

/** The state at a compaction as a string, built once; undefined if only the whole record can continue it. */
export const stateOf = (begun: LineStart, track: Track): string | undefined => {
  if (!begun.isComplete) return undefined
  const key = keyOf(track.settings)
  return key === undefined ? undefined : (begun.text ??= textOf(begun, track, key))
}

const textOf = ({ line, segments, messages, facts }: LineStart, track: Track, key: string): string => {
  const { notes } = track
  const { epoch, unused, talks } = line
  const { next, ...known } = facts
  const stored: StoredState = {
    key,
    epoch,
    ...present({ unused, talks }),
    ...known,
    ...present({ next: typeof next === 'object' && next !== null ? (stateOf(next, track) ?? null) : next }),
    segments: line.segments.slice(0, segments).map((segment): StoredSegment => {
      const { from, to } = segment
      if (segment.type === 'unit') {
        const { unit, level, longest = null } = segment
        return ['unit', from, to, level, longest, unit.worth ?? null, unit.numbers ?? null]
      }
      const hidden: StoredHidden = [
        segment.hidden.tokens,
        ...[...segment.hidden.kinds].map(([kind, times]) => [pageKinds.indexOf(kind), times] as const),
      ]
      if (segment.type === 'gap') return ['gap', from, to, hidden, segment.briefs.map(storedBrief)]
      const { at } = notes.summaries.find(({ note }) => note.text === segment.text) as NumberedSummary
      return ['summary', from, to, hidden, at]
    }),
    sum: digestOfItems(line, messages),
  }
  const json = JSON.stringify(stored)
  return `${sumOf(json)}\n${json}`
}

/** Advances a track to the end of a view, across the end of its chapter too; undefined if it has to start over. */
export const advanceAcross = (track: Track, view: View<Message>, notes: Sequence<Note>): Track | undefined => {
  const advanced = advanceTrack(track, view, notes)
  if (advanced !== 'chapter') return advanced
  const { next } = track
  const chapter = chapterAfter(track.chapter, track.length)
  track.next = null // it goes on for one context
  if (typeof next === 'string') return resumeTrack(next, view, notes, track.settings, chapter)
  if (next === null || next === undefined) return undefined
  return advanceAcross(inChapter(next, chapter), view, notes)
}

/** A track whose line began before it was known where its chapter begins. */
const inChapter = (track: Track, chapter: Chapter): Track => {
  Object.assign(track.chapter, chapter)
  track.begun = { ...track.begun, facts: { ...track.begun.facts, chapter }, text: undefined }
  return track
}

/** Restores the track of a state and advances it to the end of a view; undefined if the state does not match. */
export const resumeTrack = (
  text: string,
  view: View<Message>,
  notes: Sequence<Note>,
  settings: Settings,
  chapter?: Chapter,
): Track | undefined => {
  try {
    const json = text.slice(text.indexOf('\n') + 1)
    if (text !== `${sumOf(json)}\n${json}`) return undefined
    const stored: unknown = JSON.parse(json)
    if (!isObject(stored) || stored['key'] !== keyOf(settings)) return undefined
    const track = trackFrom(stored as unknown as StoredState, view, notes, settings)
    if (track === undefined) return undefined
    track.begun.text = text
    return advanceAcross(chapter === undefined ? track : inChapter(track, chapter), view, notes)
  } catch {
    return undefined // it refers to something that this record does not have
  }
}

const trackFrom = (
  stored: StoredState,
  view: View<Message>,
  notes: Sequence<Note>,
  settings: Settings,
): Track | undefined => {
  const { length, lastAt, compactAt, factor, activeFrom, asked, heard, counts, tagged, pinned } = stored
  const [count, applied, base] = stored.notes
  if (length > view.length || view.positionAt(length - 1) !== lastAt || count > notes.length) return undefined
  for (let index = applied; index < notes.length; index++) {
    const note = notes.at(index) as Note
    // A note without a place in this record's log applies from the start.
    if (placeOf(note) <= lastAt && ['summary', 'page', 'pin', 'unpin'].includes(note.type)) return undefined
  }
  const pages: PageFold = { tagged: new Map(tagged), pinned: new Set(pinned) }
  const summaries = stored.summaries.map((at): NumberedSummary => ({ note: notes.at(at) as SummaryNote, at }))
  const last = notes.at(count - 1)
  const track = trackOf(settings, { count, last, counts, applied, base, pages, summaries }, new Map(), {
    ...{ length, recentFrom: length, lastAt, declined: { left: stored.declined, price: 0 }, activeFrom, asked },
    chapter: { ...stored.chapter },
    next: stored.next,
  })
  const { unused, talks } = stored
  const line: EpochLine = { ...emptyEpochLine(stored.epoch, track.line.renderer), ...present({ unused, talks }) }
  const given = new Map<string, number>()
  for (const segment of stored.segments) {
    const made = segmentFrom(segment, view, notes, track)
    addSegment(line, made, made.type === 'gap' ? undefined : given)
  }
  if (digestOfItems(line, line.items.length) !== stored.sum) return undefined
  track.line = line
  for (let index = 0; index < length; index = 2 * index + 1) track.samples.set(index, view.at(index) as Message)
  trackAt(
    track,
    stored.unanswered.map(([position, part]) => [idAt(view, position, part), position, part]),
    heard,
    view,
  )
  track.begun = lineStartOf(track, compactAt, factor)
  return track
}

const segmentFrom = (
  stored: StoredSegment,
  view: View<Message>,
  notes: Sequence<Note>,
  { line: { renderer } }: Track,
): Segment => {
  const [type, from, to] = stored
  if (type === 'unit') {
    const [, , , level, longest, worth, numbers] = stored
    const unit = unitIn(view, from, to, numbers)
    if (worth !== null) unit.worth = worth
    return showUnit(unit, level, longest ?? undefined)
  }
  const [tokens, ...counts] = stored[3]
  const kinds = new Map(counts.map(([kind, times]) => [pageKinds[kind] as PageKind, times]))
  const hidden: HiddenEntries = { from, to, kinds, tokens }
  if (type === 'summary') {
    const { text, model = 'unknown' } = notes.at(stored[4]) as SummaryNote
    return summarizedRange(hidden, text, model, renderer)
  }
  const briefs = stored[4].map(([first, beyond, size, worth, whole]): Brief => {
    const { said } = unitIn(view, first, beyond, null)
    const entries = said.map(({ message, page }) => ({ message, position: page.position }))
    const brief = { ...briefOf(entries, { from: first, to: beyond }, noCount), tokens: size }
    if (worth !== null) brief.worth = worth
    return whole === null
      ? brief
      : { ...(wholeOf((said[0] as FullMessage).message, brief, noCount) as Brief), tokens: whole }
  })
  return gap(hidden, briefs, renderer)
}

/** The token counts are stored. */
const noCount = (): number => 0

/** Rebuilds a unit from the record. Throws if the record has no such unit. */
const unitIn = (view: View<Message>, from: number, to: number, numbers: readonly number[] | null): Unit => {
  const reading = settling(new Map(), numbers ?? [])
  const units: Unit[] = []
  for (let index = view.before(from); index < view.before(to); index++) {
    const more = reading.push(
      view.at(index) as Message,
      view.pages.at(index) as PageKind,
      view.positionAt(index) as number,
    )
    if (more !== 'late') units.push(...more)
  }
  const last = reading.end()
  if (last !== undefined) units.push(last)
  const [unit] = units
  if (unit === undefined || units.length > 1) throw new RangeError(`no unit from ${from} to ${to}`)
  return unit
}

const storedBrief = (brief: Brief): StoredBrief => {
  const line = brief.line ?? brief
  return [line.from, line.to, line.tokens, line.worth ?? null, brief.line === undefined ? null : brief.tokens]
}

const idAt = (view: View<Message>, position: number, part: number): string => {
  const message = view.at(indexIn(view, position))
  const call = message && withErasedText(message).content[part]
  if (call?.type !== 'tool_call') throw new RangeError(`no call at ${position}`)
  return call.id
}

/** The checksum of the first messages of a line and their tokens. */
const digestOfItems = ({ items, sums }: EpochLine, count: number): string =>
  sumOf(JSON.stringify([items.slice(0, count), sums.slice(0, count + 1)]))

/** A 64-bit checksum. It only has to detect accidental damage, and a digest would dominate the cost. */
const sumOf = (text: string): string => {
  let [one, other] = [0x811c9dc5, 0x9747b28c]
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    one = Math.imul(one ^ unit, 0x01000193)
    other = Math.imul((other << 13) | (other >>> 19), 5) + unit
  }
  return (one >>> 0).toString(16).padStart(8, '0') + (other >>> 0).toString(16).padStart(8, '0')
}

/** The settings a context depends on; undefined if the policy can't be identified in another process. */
const keyOf = ({ policy, budget, estimate, recall, reserved, model }: Settings): string | undefined =>
  policy.choose === 'epochs' && policy.version !== undefined
    ? digestOf(
        JSON.stringify([
          version,
          [policy.name, policy.version, policy.highWater, policy.fills, policy.talks, policy.reads],
          [...(policy.keeps ?? [])].toSorted(),
          budget,
          recall,
          reserved,
          model ?? null,
          probeEstimator(estimate),
        ]),
      )
    : undefined

/** Fingerprints an estimator by a few sample texts, because functions can't be compared across processes. */
const probeEstimator = memoize((estimate: Estimator): readonly number[] => samples.map((sample) => estimate(sample)))

const samples = [
  'const total = items.reduce((sum, { price }) => sum + price * 1.19, 0) // 2026-11-23',
  'Überraschend genau: 1.234,56 €, 東京 и Москва 🙂',
  'The quick brown fox jumps over thirteen lazy dogs.\n\n\tIndented_snake_case and camelCaseNames.',
].map((sample) => Object.freeze(user(sample)))
