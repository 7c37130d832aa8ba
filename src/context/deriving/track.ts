/**
 * Tracks: the data a derived context keeps about its record, so that the next context only costs the new messages.
 *
 * A track is a fold over the record, message by message. It checks for compaction at every point where a model call
 * can follow: after a user message, or when every call has its result. So the result does not depend on how often
 * contexts are derived or from which earlier one: the same record, notes and options give the same context.
 */
import { isLeft, jsonEqual, present } from '../../json/index.ts'
import { noteAt } from '../check.ts'
import type { View } from '../../history/index.ts'
import { settle, type Message } from '../../message/index.ts'
import { withErasedText } from '../../message/kit.ts'
import { foldPage, kindIn, noPages, placeOf, type Note, type PageFold, type SummaryNote } from '../../notes/kit.ts'
import { minFidelity, type PageKind } from '../../pages/index.ts'
import { countWhile, type Sequence } from '../../sequence/index.ts'
import {
  addToChapter,
  chapterAfter,
  firstChapter,
  firstEpoch,
  latestChapter,
  tokensRead,
  type Chapter,
} from './chapters.ts'
import { compact, countOnly, type Compaction } from './compact.ts'
import { countsOf, factorAt, recentCallsRead, withCounts, type Count } from './correction.ts'
import {
  allOf,
  emptyEpochLine,
  addSegment,
  gap,
  showMoved,
  itemsOf,
  showUnit,
  tokensOf,
  type EpochLine,
  type LinePart,
  type Segment,
} from './epoch-line.ts'
import { repeatMarkOf } from '../policies/marks.ts'
import { budgetsRead, type Policy } from '../policies/policy.ts'
import { endOf, indexIn } from './positions.ts'
import type { Settings } from './settings.ts'
import { placeKey, settling, type LateResults, type Settling } from './settling.ts'
import { countNovelty, emptyTalkHistory, mostRemembered, type TalkHistory } from '../policies/talk.ts'
import { isSpoken, isSubstantive } from './substantive.ts'
import { Renderer, type Unit } from './unit.ts'

export interface Track {
  readonly settings: Settings
  readonly settling: Settling
  /** The current line. Contexts of earlier epochs keep their own lines. */
  line: EpochLine
  /** The results recorded after another message. */
  readonly late: LateResults
  readonly notes: ReadNotes
  readonly chapter: Chapter
  /** The track that goes on after the chapter, or its state; null if only the whole record gives it. */
  next?: Track | string | null | undefined
  /** The start of the current line: the latest compaction, or the beginning. */
  begun: LineStart
  /** Messages read, the last one's position, and those from `recentFrom` on, which contexts may not have seen. */
  length: number
  lastAt: number
  recent: Message[]
  recentFrom: number
  /** The possible calls since the line started, and the total tokens they would have read. */
  calls: number
  read: number
  /** The latest compaction that was not worth its price: the tokens it left and its price. */
  declined: { readonly left: number; readonly price: number }
  /** The weighed part of a conversation without tools. */
  readonly heard: TalkHistory
  /** A few messages at exponentially growing indexes, to detect a different record. */
  readonly samples: Map<number, Message>
  /** The position where the active turn starts. */
  activeFrom: number
  /** The positions of the latest message with the user's words and the latest substantive one; -1 for none. */
  asked: readonly [spoken: number, substantive: number]
}

/**
 * The notes read so far. A receipt counts from the length it records, any other note from its place
 * in the log. So a compaction depends only on notes before its message, never on later ones.
 */
export interface ReadNotes {
  /** The number of notes read, and the last of them. */
  count: number
  last: Note | undefined
  counts: readonly Count[]
  /** The number of notes placed before the end of the part of the record that was read. */
  applied: number
  /** How many leading notes apply from the beginning: the last one raises a page above its sent level. */
  readonly base: number
  readonly pages: PageFold
  readonly summaries: NumberedSummary[]
}

/** A summary and its index in the notes. */
export interface NumberedSummary {
  readonly note: SummaryNote
  readonly at: number
}

/** A track's knowledge at the start of its line, as plain data for a state. */
export interface Facts extends Pick<Readonly<Track>, 'length' | 'lastAt' | 'activeFrom' | 'asked' | 'chapter'> {
  /** Where the next track's line began by then. That track goes on, perhaps with what a fork of the record has. */
  readonly next?: LineStart | string | null | undefined
  /** The line is not compacted while it takes at most this many tokens. */
  readonly compactAt: number
  /** The tokens left by the compaction that was not worth its price. */
  readonly declined: number
  /** The correction factor of this epoch. */
  readonly factor: number
  /** The number of weighed messages in a conversation without tools. */
  readonly heard?: number
  readonly unanswered: readonly (readonly [position: number, part: number])[]
  readonly notes: readonly [count: number, applied: number, base: number]
  /** The receipts' counts that a later call may still use. */
  readonly counts: readonly Count[]
  readonly tagged: readonly (readonly [number, PageKind])[]
  readonly pinned: readonly number[]
  /** The indexes of the summaries in the notes. */
  readonly summaries: readonly number[]
}

/** The start of a line: the beginning of the record, or a compaction. */
export interface LineStart extends LinePart {
  readonly facts: Facts
  /** Whether the line can be restored from here without reading the earlier record. */
  readonly isComplete: boolean
  /** The state string, once computed: see `state.ts`. */
  text?: string | undefined
}

/** A track that has read the whole record. `base`, `late`: what must be known from the beginning. */
export const follow = (
  view: View<Message>,
  notes: Sequence<Note>,
  settings: Settings,
  base = 0,
  late: LateResults = new Map(),
): Track => {
  const pages = noPages()
  for (let index = 0; index < base; index++) foldPage(pages, noteAt(notes, index))
  const read: ReadNotes = { count: 0, last: undefined, counts: [], applied: 0, base, pages, summaries: [] }
  const track = trackOf(settings, read, late, { chapter: latestChapter(view, settings) })
  return advanceTrack(track, view, notes) as Track // a new track never has to start over
}

/** Whether a track with the same settings has read a part of this record. */
export const canContinue = (track: Track, from: number, view: View<Message>, settings: Settings): boolean => {
  const { policy } = track.settings
  const both = [policy, settings.policy]
  // Policies that choose at every call and read the whole record keep nothing in a track.
  const isSame =
    (policy === settings.policy || both.every((one) => one.choose === 'always' && budgetsRead(one) === Infinity)) &&
    (['budget', 'estimate', 'recall', 'reserved', 'model'] as const).every(
      (name) => track.settings[name] === settings[name],
    )
  return isSame && continuesTrack(track, from, view)
}

/**
 * Advances a track to the end of a view, starting over if needed. Returns `chapter` before a message that ends its
 * chapter; undefined if a receipt changes the past.
 */
export const advanceTrack = (
  track: Track,
  view: View<Message>,
  notes: Sequence<Note>,
): Track | 'chapter' | undefined => {
  if (!readReceipts(track, notes)) return undefined
  const again = advance(track, view, notes)
  const { next } = track
  if (again === undefined) {
    const goesOn = !isTrack(next) || (readReceipts(next, notes) && advance(next, view, notes) === undefined)
    if (!goesOn) track.next = null
    return track
  }
  if (again === 'chapter') return again
  return again === 'late'
    ? follow(view, notes, track.settings, 0, lateResults(view))
    : follow(view, notes, track.settings, again, track.late)
}

/** Compacts a track now. `open` is the unit with open calls; the record is treated as ending there. */
export const compactNow = (
  track: Track,
  view: View<Message>,
  policy: Policy,
  budget: number,
  open?: Unit,
): EpochLine => {
  const { line, chapter } = track
  const compaction = { ...compactionOf(track, view, budget), policy, epoch: 1 + (line.epoch || firstEpoch(chapter)) }
  // What was a question when the rest was counted may be none any more.
  const read = isCountedAnew(track, policy) ? countOnly(compaction, countedBefore(track, view)).segments : line.segments
  return compact({ ...compaction, segments: open === undefined ? read : [...read, showUnit(open)] })
}

/** Whether a policy that chooses at every call has a part of the record that is only counted. */
export const isCountedAnew = ({ line, chapter }: Track, { choose }: Policy): boolean =>
  choose === 'always' && chapter.counted > 0 && line.epoch > 0

/** The position before which messages are only counted. */
const countedBefore = ({ chapter }: Track, view: View<Message>): number => view.positionAt(chapter.counted) as number

const compactionOf = (track: Track, view: View<Message>, budget: number) => {
  const { line, notes, activeFrom, asked, begun, settings } = track
  return {
    segments: line.segments,
    policy: settings.policy,
    budget,
    activeFrom,
    settledTo: begun.facts.lastAt + 1,
    asked,
    summaries: notes.summaries.map(({ note }) => note),
    record: view,
    renderer: line.renderer,
    heard: track.heard,
    gaps: new Map(),
  } satisfies Partial<Compaction>
}

/** The correction factor for a call at a length of the record. */
export const factorOf = ({ notes, settings }: Track, len: number): number =>
  factorAt(notes.counts, len, settings.budget + settings.reserved)

/** The budget for messages in estimated tokens, given the correction factor. */
export const roomOf = ({ budget, reserved }: Settings, factor: number): number =>
  factor === 1 ? budget : Math.max(0, Math.floor((budget + reserved) / factor) - reserved)

/** The segment of a position among the first `count`. */
export const segmentAt = (segments: readonly Segment[], count: number, position: number): Segment | undefined => {
  const found = segments[countWhile(count, (index) => (segments[index] as Segment).from <= position) - 1]
  return found !== undefined && position < found.to ? found : undefined
}

/** A track that has read nothing. `known` overrides initial values. */
export const trackOf = (settings: Settings, notes: ReadNotes, late: LateResults, known: Partial<Track> = {}): Track => {
  const track: Omit<Track, 'begun'> = {
    settings,
    settling: settling(late),
    line: emptyEpochLine(0, lineRenderer(settings, notes.pages)),
    late,
    notes,
    chapter: firstChapter(),
    length: 0,
    lastAt: -1,
    recent: [],
    recentFrom: 0,
    calls: 0,
    read: 0,
    declined: { left: 0, price: 0 },
    heard: emptyTalkHistory(),
    samples: new Map(),
    activeFrom: 0,
    asked: [-1, -1],
    ...known,
  }
  return { ...track, begun: lineStartOf(track, settings.budget, 1) }
}

const lineRenderer = ({ estimate, recall }: Settings, pages: PageFold): Renderer => {
  const named = [...pages.tagged.keys(), ...pages.pinned]
  const kinds = new Map(named.map((position) => [position, kindIn(pages, position) as PageKind]))
  return new Renderer(estimate, kinds, recall)
}

/**
 * Reads the rest of a view. To start over, returns why: a chapter is over; or what must be known first: late results,
 * or how many notes.
 */
const advance = (track: Track, view: View<Message>, notes: Sequence<Note>): 'chapter' | 'late' | number | undefined => {
  const { settings, settling, samples, chapter } = track
  const isEpochs = settings.policy.choose === 'epochs'
  const limit = tokensRead(settings)
  for (let index = track.length; index < view.length; index++) {
    const message = view.at(index) as Message
    const position = view.positionAt(index) as number
    if (limit < Infinity) {
      if (!addToChapter(chapter, view, index, settings)) return 'chapter'
      if (settling.open() === undefined) beginCounting(track, view, index)
    }
    const base = annotate(track, view, notes, position)
    if (base !== undefined) return base
    const units = settling.push(message, view.pages.at(index) as PageKind, position)
    if (units === 'late') return 'late'
    const isCounted = chapter.counted > 0 && track.line.epoch === 0
    for (const unit of units) {
      const segment = segmentForUnit(unit, track.line)
      if (isCounted && track.line.items.length === 0) track.line.segments.push(segment)
      else addSegment(track.line, segment)
    }
    track.length = index + 1
    track.lastAt = position
    if (message.content.some(({ type }) => type === 'tool_call' || type === 'tool_result')) track.heard.isTalk = false
    track.recent.push(message)
    if ((index & (index + 1)) === 0) samples.set(index, message)
    if (isSubstantive(message)) {
      track.activeFrom = position
      track.asked = [position, position]
    } else if (isSpoken(message)) track.asked = [position, track.asked[1]]

    const callable = message.role !== 'assistant' && settling.open() === undefined
    if (!callable || !isEpochs || isCounted) continue
    const factor = factorOf(track, position + 1)
    const room = roomOf(settings, factor)
    const size = tokensOf(track.line)
    track.calls += 1
    track.read += size
    const { calls, read, declined, begun } = track
    const mustCompact = size > room
    if (!mustCompact && (size <= begun.facts.compactAt || read - calls * declined.left < declined.price)) continue
    const next = compactNow(track, view, settings.policy, room)
    const [left, price] = [tokensOf(next), priceOf(track.line, next)]
    if (!mustCompact && next.talks !== true && read - calls * left < price) {
      track.declined = { left, price }
      continue
    }
    startLine(track, next, room, factor)
  }
  // No call could follow: nothing was counted.
  if (track.line.items.length === 0)
    for (const segment of track.line.segments.splice(0)) addSegment(track.line, segment)
  return annotate(track, view, notes, endOf(view))
}

/** Counts what was read, where that is due: for this track, or for the one that goes on after the chapter. */
const beginCounting = (track: Track, view: View<Message>, index: number): void => {
  const { chapter, settings } = track
  const isDue = chapter.counted > 0 && track.line.epoch === 0 && index >= chapter.countedAt
  const isNextDue = chapter.next !== undefined && track.next === undefined
  if (!isDue && !isNextDue) return
  const factor = factorOf(track, track.lastAt + 1)
  const room = roomOf(settings, factor)
  if (isDue) {
    if (track.heard.isTalk) remember(view, track.length, track.heard)
    startLine(
      track,
      countOnly({ ...compactionOf(track, view, room), epoch: firstEpoch(chapter) }, countedBefore(track, view)),
      room,
      factor,
    )
  }
  if (isNextDue) track.next = nextTrack(track, view, room, factor)
}

/** Continues with the line of a compaction. */
const startLine = (track: Track, next: EpochLine, room: number, factor: number): void => {
  const { begun, settings, settling } = track
  const left = tokensOf(next)
  track.line = next
  track.calls = track.read = 0
  track.declined = { left, price: 0 }
  // No context continues from before the previous epoch any more.
  track.recent = track.recent.slice(begun.facts.length - track.recentFrom)
  track.recentFrom = begun.facts.length
  settling.keep(idsIn(next))
  const highWater =
    next.talks === true ? Math.min(room, left + room * growthOfTalk) : compactAt(left, room, settings.policy)
  track.begun = lineStartOf(track, highWater, factor)
}

/**
 * The track that goes on after the present chapter: it only counts what was read so far, and reads the rest beside this
 * one. Null if what was compacted here may make a difference to it.
 */
const nextTrack = (track: Track, view: View<Message>, room: number, factor: number): Track | null => {
  const { settings, notes, settling, length, lastAt, activeFrom, asked, late, heard } = track
  const chapter: Chapter = { ...chapterAfter(track.chapter, length), from: Infinity }
  const before = view.positionAt(chapter.counted) as number
  const line = countOnly({ ...compactionOf(track, view, room), epoch: firstEpoch(chapter) }, before)
  if (settings.policy.keeps !== undefined) return null
  if (track.line.segments.some(({ type, to }) => type !== 'unit' && to > before)) return null
  if (line.segments.some((segment) => segment.type === 'unit' && segment.unit.tools.size > 0)) return null
  const pages = { tagged: new Map(notes.pages.tagged), pinned: new Set(notes.pages.pinned) }
  const next = trackAt(
    trackOf(settings, { ...notes, pages, summaries: [...notes.summaries] }, late, {
      ...{ length, recentFrom: length, lastAt, activeFrom, asked, line, samples: new Map(track.samples) },
      chapter,
    }),
    [...settling.unanswered].map(([id, [position, part]]) => [id, position, part]),
    heard.isTalk ? length : undefined,
    view,
  )
  startLine(next, line, room, factor)
  return next.begun.isComplete ? next : null
}

/** Prepares a track that has not read the beginning of its record. `heard`: the weighed messages of talk. */
export const trackAt = (
  track: Track,
  unanswered: Iterable<readonly [id: string, position: number, part: number]>,
  heard: number | undefined,
  view: View<Message>,
): Track => {
  track.settling.keep(idsIn(track.line))
  track.settling.expectLate(unanswered, track.lastAt)
  track.heard.isTalk = heard !== undefined
  if (heard !== undefined) remember(view, heard, track.heard)
  return track
}

/** Reads the words of the latest of the first messages, so that what follows is weighed as if all had been. */
const remember = (view: View<Message>, count: number, heard: TalkHistory): void => {
  heard.messages = Math.max(0, count - mostRemembered)
  for (let index = heard.messages; index < count; index++)
    countNovelty(withErasedText(view.at(index) as Message), heard)
}

export const idsIn = ({ segments }: EpochLine): readonly string[] =>
  segments.flatMap((segment) => (segment.type === 'unit' ? [...segment.unit.tools.keys()] : []))

export const lineStartOf = (track: Omit<Track, 'begun'>, compactAt: number, factor: number): LineStart => {
  const { line, length, lastAt, declined, activeFrom, asked, chapter, settling, heard } = track
  const { count, counts, applied, base, summaries, pages } = track.notes
  const facts: Facts = {
    ...{ length, lastAt, compactAt, declined: declined.left, factor, activeFrom, asked, chapter: { ...chapter } },
    ...present({ next: isTrack(track.next) ? track.next.begun : track.next }),
    ...(heard.isTalk && { heard: heard.messages }),
    unanswered: [...settling.unanswered.values()],
    notes: [count, applied, base],
    counts: counts.slice(Math.max(0, counts.findLastIndex(({ len }) => len <= lastAt) + 1 - recentCallsRead)),
    tagged: [...pages.tagged],
    pinned: [...pages.pinned],
    summaries: summaries.map(({ at }) => at),
  }
  const isLateInReach = [...track.late].some(([call, { position }]) => {
    const at = Number.parseInt(call, 10)
    return (at <= lastAt && position > lastAt) || hasOwnLine(line, at) || hasOwnLine(line, position)
  })
  return { ...allOf(line), facts, isComplete: line.epoch > 0 && !isLateInReach }
}

const isTrack = (next: Track['next']): next is Track => typeof next === 'object' && next !== null

/** Whether a message is shown in its unit or by a line in a marker. */
const hasOwnLine = ({ segments }: EpochLine, position: number): boolean => {
  const segment = segmentAt(segments, segments.length, position)
  if (segment?.type !== 'gap') return segment?.type === 'unit'
  return segment.briefs.some(({ from, to }) => position >= from && position < to)
}

/**
 * How many tokens calls must have read beyond what a compaction leaves before it pays for the tokens it rewrites.
 * Waiting costs reading too much; compacting early costs the next rewrite sooner.
 */
const priceOf = (line: EpochLine, next: EpochLine): number => {
  let same = 0
  while (same < next.items.length && jsonEqual(line.items[same]?.message, next.items[same]?.message)) same += 1
  return writeToReadRatio * (tokensOf(next) - (next.sums[same] as number))
}

/** Writing a token costs about as much as reading twelve; a bit less than half of that lost the least in tests. */
const writeToReadRatio = 5

/** The high-water mark after a compaction: far enough above its result that the next one is worthwhile. */
const compactAt = (tokens: number, budget: number, policy: Policy): number =>
  Math.min(budget, Math.max(budget * (policy.highWater ?? 1), tokens + Math.min(budget * mostGrowth, leastGrowth)))

/** For talk: a compaction rewrites most of what it leaves. */
const growthOfTalk = 0.4
/** In tokens: the input per call does not shrink with the budget. */
const leastGrowth = 5000
const mostGrowth = 0.3

/** Shows a new unit in full. An answer that was moved to its call is shown like the call. */
const segmentForUnit = (unit: Unit, { segments, renderer }: EpochLine): Segment => {
  if (unit.lentTo === undefined || unit.said.length > 0) return showUnit(unit)
  const owner = segmentAt(segments, segments.length, unit.lentTo.from)
  return owner?.type === 'unit' ? showMoved(owner, unit, renderer) : gap(renderer.hidden(unit), [], renderer)
}

/** Whether a view continues exactly the record that a track has read. */
const continuesTrack = (track: Track, from: number, view: View<Message>): boolean => {
  if (view.length < track.length || from < track.recentFrom) return false
  // A retraction since then shifts the later messages.
  if (track.length > 0 && view.positionAt(track.length - 1) !== track.lastAt) return false
  for (let index = Math.max(from - 1, track.recentFrom); index < track.length; index++)
    if (view.at(index) !== track.recent[index - track.recentFrom]) return false
  for (const [index, message] of track.samples) if (view.at(index) !== message) return false
  return true
}

/** Reads new receipts. False if earlier notes differ or a new receipt affects an earlier decision. */
const readReceipts = (track: Track, notes: Sequence<Note>): boolean => {
  const { count, last, counts } = track.notes
  if (notes.length < count || (count > 0 && last !== undefined && notes.at(count - 1) !== last)) return false
  if (notes.length === count) return true
  const added: Note[] = []
  for (let index = count; index < notes.length; index++) added.push(noteAt(notes, index))
  const more = countsOf(added, track.settings.model)
  if (more.some(({ len }) => len <= track.lastAt)) return false
  track.notes.count = notes.length
  track.notes.last = added.at(-1)
  track.notes.counts = withCounts(counts, more)
  return true
}

/**
 * Applies the notes placed before a position: summaries and page kinds. Returns the number of notes
 * to know from the beginning if the last one needs more than the line shows.
 */
const annotate = (track: Track, view: View<Message>, notes: Sequence<Note>, before: number): number | undefined => {
  const { notes: read } = track
  let isRetagged = false
  for (; read.applied < notes.length; read.applied++) {
    const note = notes.at(read.applied) as Note
    if (placeOf(note) > before) break
    if (note.type === 'summary') read.summaries.push({ note, at: read.applied })
    const position = read.applied < read.base ? undefined : foldPage(read.pages, note)
    if (position === undefined) continue
    isRetagged = true
    if (isUnderMinimum(track, view, position)) return read.applied + 1
  }
  if (isRetagged) track.line = { ...track.line, renderer: lineRenderer(track.settings, read.pages) }
  return undefined
}

/** Whether the line shows a position shorter than the minimum of its new page kind. */
const isUnderMinimum = ({ line, lastAt, notes, settings }: Track, view: View<Message>, position: number): boolean => {
  const kind = kindIn(notes.pages, position)
  if (kind === undefined || position > lastAt || indexIn(view, position) === -1) return false
  const segment = segmentAt(line.segments, line.segments.length, position)
  if (segment === undefined) return false
  if (minFidelity(kind) === 'pointer') return false
  // A brief in a marker is less than a rule requires: a message of its own.
  if (segment.type !== 'unit') return true
  const shownBy = (renderer: Renderer) =>
    itemsOf(segment, renderer).flatMap(({ message, source }) =>
      ('from' in source ? source.from : source.position) === position ? [message] : [],
    )
  return !jsonEqual(shownBy(line.renderer), shownBy(lineRenderer(settings, notes.pages)))
}

const lateResults = (view: View<Message>): LateResults => {
  const settled = settle(view)
  if (!isLeft(settled)) return new Map()
  return new Map(
    settled.left.problems.flatMap((problem) => {
      if (problem._tag !== 'ResultNotAdjacent') return []
      const { part, call } = problem
      const recorded = view.at(problem.position)
      const message = recorded && withErasedText(recorded)
      const result = message?.content[part]
      const kind = view.pages.at(problem.position)
      if (message === undefined || result?.type !== 'tool_result' || kind === undefined) return []
      const position = view.positionAt(problem.position) as number
      return [
        [
          placeKey(view.positionAt(call.position) as number, call.part),
          { position, part, kind, result, ...repeatMarkOf(message) },
        ] as const,
      ]
    }),
  )
}
