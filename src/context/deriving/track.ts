/**
 * Tracks: what a derived context remembers of the record it came from, so that the next one costs the new messages only.
 *
 * A track is a fold over the record, message by message. Whether the context has grown to the budget is asked where a
 * model call can follow: after a user message, or when every call has its result. So it does not matter how often, or
 * with which earlier context, contexts are derived: the same record, notes and options give the same one.
 */
import { isLeft, jsonEqual } from '../../json/index.ts'
import type { View } from '../../history/index.ts'
import { settle, type Message } from '../../message/index.ts'
import { standIn } from '../../message/kit.ts'
import { foldPage, kindIn, noPages, placeOf, type Note, type PageFold, type SummaryNote } from '../../notes/kit.ts'
import { minFidelity, type PageKind } from '../../pages/index.ts'
import type { Sequence } from '../../sequence/index.ts'
import { compact } from './compact.ts'
import { countsOf, factorAt, lookedAt, withCounts, type Count } from './correction.ts'
import {
  allOf,
  emptyEpochLine,
  extend,
  gap,
  lentTo,
  levelIn,
  showUnit,
  tokensOf,
  type EpochLine,
  type LinePart,
  type Segment,
} from './epoch-line.ts'
import type { RecallName } from '../showing/marker.ts'
import { markedAs } from '../policies/marks.ts'
import type { Policy } from '../policies/policy.ts'
import { countWhile, endOf, indexIn } from './positions.ts'
import { placeKey, settling, type LateResults, type Settling } from './settling.ts'
import { heardNothing, type SaidSoFar } from '../policies/talk.ts'
import { isSpoken, isSubstantive } from './substantive.ts'
import { remembering, type Estimator } from '../counting/tokens.ts'
import { rankOf, Renderer, type Unit } from './unit.ts'

export interface Settings {
  readonly policy: Policy
  /** The tokens there are for messages. */
  readonly budget: number
  readonly estimate: Estimator
  /** The tool that markers name. */
  readonly recall: RecallName
  /** The tokens of tools and system prompt, beside the budget. */
  readonly reserved: number
  /** The model whose receipts correct the estimate. */
  readonly model: string | undefined
}

export interface Track {
  readonly settings: Settings
  readonly settling: Settling
  /** The line that grows. Those of earlier epochs are kept by the contexts that are spans of them. */
  line: EpochLine
  /** The results that stand after something else was said. */
  readonly late: LateResults
  readonly notes: ReadNotes
  /** The moment of the latest compaction; before the first that of the beginning. */
  begun: LineStart
  /** Messages of the conversation read so far, where the last of them stands in the record, and those of them that contexts in use may not have seen, from `recentFrom` on. */
  length: number
  lastAt: number
  recent: Message[]
  recentFrom: number
  /** The calls that could follow since the line began, and the tokens that they read together. */
  calls: number
  read: number
  /** What the latest compaction that was not worth its price left, and its price. */
  declined: { readonly left: number; readonly price: number }
  /** What a conversation without tools has said, as far as a compaction has weighed it. */
  readonly heard: SaidSoFar
  /** A few messages of each order of magnitude, to tell another record by. */
  readonly samples: Map<number, Message>
  /** Where the active turn begins. */
  activeFrom: number
  /** The latest message with words of the user, and the latest that asks for something; -1 while there is none. */
  asked: readonly [spoken: number, substantive: number]
}

/**
 * What has been read of the notes. Receipts count by the length that they name, all others from where they stand: so a
 * compaction knows what stood before its message, and nothing that came later.
 */
export interface ReadNotes {
  /** How many have been read, and the last of them. */
  count: number
  last: Note | undefined
  counts: readonly Count[]
  /** How many stand before what has been read of the record. */
  applied: number
  /** So many say of pages what holds from the beginning: the last of them asks for more than was sent before. */
  readonly base: number
  readonly pages: PageFold
  readonly summaries: NumberedSummary[]
}

/** A summary, and its place among the notes. */
export interface NumberedSummary {
  readonly note: SummaryNote
  readonly at: number
}

/** What a track knows when its line begins, as plain data: a state keeps it. */
export interface Facts extends Pick<Readonly<Track>, 'length' | 'lastAt' | 'activeFrom' | 'asked'> {
  /** The tokens up to which the line is not compacted. */
  readonly compactAt: number
  /** What the compaction that was not worth its price left. */
  readonly declined: number
  /** What the estimate is multiplied by in this epoch. */
  readonly factor: number
  /** Of a conversation without tools, how many messages have been weighed. */
  readonly heard?: number
  readonly unanswered: readonly (readonly [position: number, part: number])[]
  readonly notes: readonly [count: number, applied: number, base: number]
  /** Those of receipts that a later call may still look at. */
  readonly counts: readonly Count[]
  readonly tagged: readonly (readonly [number, PageKind])[]
  readonly pinned: readonly number[]
  /** The indexes of the summaries among the notes. */
  readonly summaries: readonly number[]
}

/** The moment of a compaction. */
export interface LineStart extends LinePart {
  readonly facts: Facts
  /** Whether it can be begun again from here, without what stands before. */
  readonly isComplete: boolean
  /** It as a text, once that was asked for: see `state.ts`. */
  text?: string
}

/** A track that has read all of a record. `base`, `late`: what is known from the beginning. */
export const follow = (
  view: View<Message>,
  notes: Sequence<Note>,
  settings: Settings,
  base = 0,
  late: LateResults = new Map(),
): Track => {
  const pages = noPages()
  for (let index = 0; index < base; index++) foldPage(pages, notes.at(index) as Note)
  const read: ReadNotes = { count: 0, last: undefined, counts: [], applied: 0, base, pages, summaries: [] }
  return broughtTo(trackOf(settings, read, late), view, notes) as Track // of one that has read nothing, nothing must change
}

/** The track of an earlier context, advanced to the end of a view; undefined if it is of another record, or must change. */
export const continueTrack = (
  track: Track,
  from: number,
  view: View<Message>,
  notes: Sequence<Note>,
  settings: Settings,
): Track | undefined => {
  const { policy } = track.settings
  // Policies that choose anew at each call leave nothing in a track.
  const isSame =
    (policy === settings.policy || (policy.choose === 'always' && settings.policy.choose === 'always')) &&
    (['budget', 'estimate', 'recall', 'reserved', 'model'] as const).every(
      (name) => track.settings[name] === settings[name],
    )
  return isSame && isOf(track, from, view) ? broughtTo(track, view, notes) : undefined
}

/** A track of a record, brought to the end of a view; undefined where it must begin again from the beginning. */
export const broughtTo = (track: Track, view: View<Message>, notes: Sequence<Note>): Track | undefined => {
  if (!readReceipts(track, notes)) return undefined
  const again = advance(track, view, notes)
  if (again === undefined) return track
  return again === 'late'
    ? follow(view, notes, track.settings, 0, lateResults(view))
    : follow(view, notes, track.settings, again, track.late)
}

/** The input of a compaction. `open` is the unit whose calls wait; the record counts as ending there. */
export const compactNow = (
  track: Track,
  view: View<Message>,
  policy: Policy,
  budget: number,
  open?: Unit,
): EpochLine => {
  const { line, notes, activeFrom, asked, begun } = track
  return compact({
    segments: open === undefined ? line.segments : [...line.segments, showUnit(open)],
    policy,
    budget,
    activeFrom,
    settledTo: begun.facts.lastAt + 1,
    asked,
    summaries: notes.summaries.map(({ note }) => note),
    record: view,
    renderer: line.renderer,
    heard: track.heard,
    gaps: new Map(),
    epoch: line.epoch + 1,
  })
}

/** What the estimate is multiplied by for a call at a length of the record, as the notes have it. */
export const factorOf = ({ notes, settings }: Track, len: number): number =>
  factorAt(notes.counts, len, settings.budget + settings.reserved)

/** The tokens there are for messages by the estimate, where the provider counts so many times as much. */
export const roomOf = ({ budget, reserved }: Settings, factor: number): number =>
  factor === 1 ? budget : Math.max(0, Math.floor((budget + reserved) / factor) - reserved)

/** The segment of a position among the first `count`. */
export const segmentAt = (segments: readonly Segment[], count: number, position: number): Segment | undefined => {
  const found = segments[countWhile(count, (index) => (segments[index] as Segment).from <= position) - 1]
  return found !== undefined && position < found.to ? found : undefined
}

/** A track that has read nothing, but for what is `known`. */
export const trackOf = (settings: Settings, notes: ReadNotes, late: LateResults, known: Partial<Track> = {}): Track => {
  const track: Omit<Track, 'begun'> = {
    settings,
    settling: settling(late),
    line: emptyEpochLine(0, lineRenderer(settings, notes.pages)),
    late,
    notes,
    length: 0,
    lastAt: -1,
    recent: [],
    recentFrom: 0,
    calls: 0,
    read: 0,
    declined: { left: 0, price: 0 },
    heard: heardNothing(),
    samples: new Map(),
    activeFrom: 0,
    asked: [-1, -1],
    ...known,
  }
  return { ...track, begun: begunOf(track, settings.budget, 1) }
}

const lineRenderer = ({ estimate, recall }: Settings, pages: PageFold): Renderer => {
  const named = [...pages.tagged.keys(), ...pages.pinned]
  const kinds = new Map(named.map((position) => [position, kindIn(pages, position) as PageKind]))
  return new Renderer(remembering(estimate), kinds, recall)
}

/** Read what a view has more. Gives what must be known from the beginning, if something must: late results, or so many notes. */
const advance = (track: Track, view: View<Message>, notes: Sequence<Note>): 'late' | number | undefined => {
  const { settings, settling, samples } = track
  for (let index = track.length; index < view.length; index++) {
    const message = view.at(index) as Message
    const position = view.positionAt(index) as number
    const base = annotate(track, view, notes, position)
    if (base !== undefined) return base
    const units = settling.push(message, view.pages.at(index) as PageKind, position)
    if (units === 'late') return 'late'
    for (const unit of units) extend(track.line, arriving(unit, track.line))
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
    if (!callable || settings.policy.choose !== 'epochs') continue
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
    track.line = next
    track.calls = track.read = 0
    track.declined = { left, price: 0 }
    // Contexts of the epoch before last are no longer continued from.
    track.recent = track.recent.slice(begun.facts.length - track.recentFrom)
    track.recentFrom = begun.facts.length
    settling.keep(idsIn(next))
    const highWater =
      next.talks === true ? Math.min(room, left + room * growthOfTalk) : compactAt(left, room, settings.policy)
    track.begun = begunOf(track, highWater, factor)
  }
  return annotate(track, view, notes, endOf(view))
}

/** The ids of the calls that a line shows. */
export const idsIn = ({ segments }: EpochLine): readonly string[] =>
  segments.flatMap((segment) => (segment.type === 'unit' ? [...segment.unit.tools.keys()] : []))

/** What a track is at this moment. */
export const begunOf = (track: Omit<Track, 'begun'>, compactAt: number, factor: number): LineStart => {
  const { line, length, lastAt, declined, activeFrom, asked, settling, heard } = track
  const { count, counts, applied, base, summaries, pages } = track.notes
  const facts: Facts = {
    ...{ length, lastAt, compactAt, declined: declined.left, factor, activeFrom, asked },
    ...(heard.isTalk && { heard: heard.messages }),
    unanswered: [...settling.unanswered.values()],
    notes: [count, applied, base],
    counts: counts.slice(Math.max(0, counts.findLastIndex(({ len }) => len <= lastAt) + 1 - lookedAt)),
    tagged: [...pages.tagged],
    pinned: [...pages.pinned],
    summaries: summaries.map(({ at }) => at),
  }
  const isLateInReach = [...track.late].some(([call, { position }]) => {
    const at = Number.parseInt(call, 10)
    return (at <= lastAt && position > lastAt) || isSaid(line, at) || isSaid(line, position)
  })
  return { ...allOf(line), facts, isComplete: line.epoch > 0 && !isLateInReach }
}

/** Whether the message at a position has a line of its own, and is not hidden behind a gap marker. */
const isSaid = ({ segments }: EpochLine, position: number): boolean => {
  const segment = segmentAt(segments, segments.length, position)
  if (segment?.type !== 'gap') return segment?.type === 'unit'
  return segment.briefs.some(({ from, to }) => position >= from && position < to)
}

/**
 * The tokens that calls must have read beyond what a compaction leaves, before it is worth what it rewrites. In between, each
 * call that waits costs what it reads, and each that does not, what is rewritten the sooner.
 */
const priceOf = (line: EpochLine, next: EpochLine): number => {
  let same = 0
  while (same < next.items.length && jsonEqual(line.items[same]?.message, next.items[same]?.message)) same += 1
  return timesRead * (tokensOf(next) - (next.sums[same] as number))
}

/** A token that is written costs as much as about twelve that are read; less than half of that lost the least. */
const timesRead = 5

/** The high-water mark after a compaction that left so many tokens: above it by enough that the next one gives something. */
const compactAt = (tokens: number, budget: number, policy: Policy): number =>
  Math.min(budget, Math.max(budget * (policy.highWater ?? 1), tokens + Math.min(budget * mostGrowth, leastGrowth)))

/** A compaction of talk rewrites most of what it leaves. */
const growthOfTalk = 0.4
/** Tokens. What comes from call to call does not get less with the budget. */
const leastGrowth = 5000
const mostGrowth = 0.3

/** A unit at the end of a line: in full; but an answer that was moved to its call goes the way of the call. */
const arriving = (unit: Unit, { segments, renderer }: EpochLine): Segment => {
  if (unit.lentTo === undefined || unit.said.length > 0) return showUnit(unit)
  const owner = segmentAt(segments, segments.length, unit.lentTo.from)
  return owner?.type === 'unit' && owner.unit === unit.lentTo
    ? lentTo(owner, unit, renderer)
    : gap(renderer.hidden(unit), [], renderer)
}

/** Whether a view is of the record that a track has read, less nothing of it, and goes on from there. */
const isOf = (track: Track, from: number, view: View<Message>): boolean => {
  if (view.length < track.length || from < track.recentFrom) return false
  // What was retracted since moves all that follows.
  if (track.length > 0 && view.positionAt(track.length - 1) !== track.lastAt) return false
  for (let index = Math.max(from - 1, track.recentFrom); index < track.length; index++)
    if (view.at(index) !== track.recent[index - track.recentFrom]) return false
  for (const [index, message] of track.samples) if (view.at(index) !== message) return false
  return true
}

/** Read the receipts that are new. False, if other notes were read before, or one could have changed what was decided. */
const readReceipts = (track: Track, notes: Sequence<Note>): boolean => {
  const { count, last, counts } = track.notes
  if (notes.length < count || (count > 0 && last !== undefined && notes.at(count - 1) !== last)) return false
  if (notes.length === count) return true
  const added: Note[] = []
  for (let index = count; index < notes.length; index++) added.push(notes.at(index) as Note)
  const more = countsOf(added, track.settings.model)
  if (more.some(({ len }) => len <= track.lastAt)) return false
  track.notes.count = notes.length
  track.notes.last = added.at(-1)
  track.notes.counts = withCounts(counts, more)
  return true
}

/**
 * Take the notes that stand before a position: summaries and kinds of pages. Gives how many must be known from the
 * beginning, if the last of these asks for more than the line shows.
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

/** Whether the line shows less of a position than its kind, which has just changed, allows. */
const isUnderMinimum = ({ line, lastAt, notes, settings }: Track, view: View<Message>, position: number): boolean => {
  const kind = kindIn(notes.pages, position)
  if (kind === undefined || position > lastAt || indexIn(view, position) === -1) return false
  const segment = segmentAt(line.segments, line.segments.length, position)
  if (segment === undefined) return false
  // A line in a marker is less than what a rule keeps: a message of its own.
  return segment.type === 'unit'
    ? rankOf(levelIn(segment, position, lineRenderer(settings, notes.pages))) > rankOf(minFidelity(kind))
    : minFidelity(kind) !== 'pointer'
}

const lateResults = (view: View<Message>): LateResults => {
  const settled = settle(view)
  if (!isLeft(settled)) return new Map()
  return new Map(
    settled.left.problems.flatMap((problem) => {
      if (problem._tag !== 'ResultNotAdjacent') return []
      const { part, call } = problem
      const recorded = view.at(problem.position)
      const message = recorded && standIn(recorded)
      const result = message?.content[part]
      const kind = view.pages.at(problem.position)
      if (message === undefined || result?.type !== 'tool_result' || kind === undefined) return []
      const position = view.positionAt(problem.position) as number
      return [
        [
          placeKey(view.positionAt(call.position) as number, call.part),
          { position, part, kind, result, ...markedAs(message) },
        ] as const,
      ]
    }),
  )
}
