/**
 * What the notes of a record say at a point of it: page kinds, summaries, and how far the estimate of tokens is off.
 *
 * A note counts for what is planned after its place in the log, so a later note never changes what was sent. Two exceptions: a note
 * that puts a page under a minimum counts from the beginning, because no context may hold the page below it; and so does a note
 * without a place.
 */
import type { View } from '../../history/index.ts'
import { ownField } from '../../json/index.ts'
import type { Message } from '../../message/index.ts'
import {
  foldPage,
  kindIn,
  noPages,
  placeOf,
  rangeDigest,
  type Note,
  type PageFold,
  type SummaryNote,
} from '../../notes/internal.ts'
import { minFidelity, type PageKind } from '../../pages/index.ts'
import { countWhile, type Sequence } from '../../sequence/index.ts'
import { noteAt } from '../check.ts'

/** The notes that matter to contexts, as far as they were read. */
export interface ReadNotes {
  readonly model: string | undefined
  /** How many notes were read, and the last of them. */
  count: number
  last: Note | undefined
  readonly kinds: { readonly note: Extract<Note, { type: 'page' | 'pin' | 'unpin' }>; readonly place: number }[]
  readonly summaries: { readonly note: SummaryNote; readonly place: number }[]
  /** What calls of the model took, by the provider's count and by the estimate. */
  readonly counts: Count[]
}

/** One call, from its receipt. */
interface Count {
  /** The length of the record at the call. */
  readonly len: number
  /** The tokens of the call by the estimator: messages, tools and system prompt. */
  readonly estimated: number
  /** The tokens that the provider counted per estimated token. */
  readonly ratio: number
}

export const emptyNotes = (model: string | undefined): ReadNotes => ({
  model,
  count: 0,
  last: undefined,
  kinds: [],
  summaries: [],
  counts: [],
})

/** Whether the notes that were read are the first of these. */
export const continuesNotes = ({ count, last }: ReadNotes, notes: Sequence<Note>): boolean =>
  count === 0 || (count <= notes.length && notes.at(count - 1) === last)

/**
 * Read the notes that are new.
 *
 * @param planned the position before which contexts are planned already
 * @returns whether what was planned stands
 */
export const readNotes = (read: ReadNotes, notes: Sequence<Note>, planned: number): boolean => {
  let stands = true
  for (; read.count < notes.length; read.count++) {
    const note = noteAt(notes, read.count)
    read.last = note
    if (note.type === 'receipt') {
      const { model, len } = note
      const [estimated = 0, usage] = [ownField(note, 'estimated'), ownField(note, 'usage')]
      if (model !== read.model || !(estimated > 0 && usage !== undefined && usage.input > 0)) continue
      // Almost always the latest. Of equal lengths the order of the notes decides.
      const after = countWhile(read.counts.length, (index) => (read.counts[index] as Count).len <= len)
      read.counts.splice(after, 0, { len, estimated, ratio: usage.input / estimated })
      if (len < planned) stands = false
    } else if (note.type === 'summary') {
      read.summaries.push({ note, place: placeOf(note) })
      if (placeOf(note) < planned) stands = false
    } else if (note.type === 'page' || note.type === 'pin' || note.type === 'unpin') {
      const place = protects(note) ? -1 : placeOf(note)
      read.kinds.push({ note, place })
      if (place < planned) stands = false
    }
  }
  return stands
}

/** Whether a note puts a page under a minimum. */
const protects = (note: Note): boolean =>
  note.type === 'pin' || (note.type === 'page' && minFidelity(note.kind) !== 'pointer')

/** The kinds that notes before a position of the record set, by position. */
export const kindsAt = ({ kinds }: ReadNotes, position: number): ReadonlyMap<number, PageKind> => {
  if (kinds.length === 0) return noKinds
  const fold: PageFold = noPages()
  for (const { note, place } of kinds) if (place < position) foldPage(fold, note)
  const found = new Map<number, PageKind>()
  for (const at of [...fold.tagged.keys(), ...fold.pinned]) {
    const kind = kindIn(fold, at)
    if (kind !== undefined) found.set(at, kind)
  }
  return found
}

const noKinds: ReadonlyMap<number, PageKind> = new Map()

/** The summaries before a position of the record: of the same start the widest first, of equal ones the latest. */
export const summariesAt = ({ summaries }: ReadNotes, position: number): readonly SummaryNote[] =>
  summaries.length === 0
    ? noSummaries
    : summaries
        .flatMap(({ note, place }) => (place < position && note.to <= position ? [note] : []))
        .toReversed()
        .toSorted((a, b) => a.from - b.from || b.to - a.to)

const noSummaries: readonly SummaryNote[] = []

/** Whether the messages that a note summarizes are unchanged. Computed once for each note and range. */
export const isFaithful = (note: SummaryNote, messages: View<Message>): boolean => {
  if (messages.length === 0) return false
  const ends = [messages.at(0), messages.at(-1), messages.length] as const
  const known = checked.get(note)
  if (known !== undefined && known.ends.every((end, index) => end === ends[index])) return known.faithful
  const faithful = rangeDigest(messages) === note.sourceDigest
  checked.set(note, { ends, faithful })
  return faithful
}

const checked = new WeakMap<SummaryNote, { readonly ends: readonly unknown[]; readonly faithful: boolean }>()

/**
 * The tokens that the provider counts per estimated token, for a call at a length of the record: the greatest ratio among the
 * latest four earlier calls that took at least a quarter of the budget. (In smaller calls the tokens that providers add weigh too
 * much.) Between 0.8 and 2; 1 without such calls.
 *
 * Cost    O(log receipts), and at most 64 of them
 */
export const factorAt = ({ counts }: ReadNotes, length: number, budget: number): number => {
  const before = countWhile(counts.length, (index) => (counts[index] as Count).len < length)
  let [greatest, found] = [0, 0]
  for (let index = before - 1; index >= 0 && index >= before - callsRead && found < callsUsed; index--) {
    const { estimated, ratio } = counts[index] as Count
    if (estimated < budget / 4) continue
    greatest = Math.max(greatest, ratio)
    found += 1
  }
  return found === 0 ? 1 : Math.min(mostFactor, Math.max(leastFactor, greatest))
}

const callsUsed = 4
const callsRead = 64
const leastFactor = 0.8
const mostFactor = 2
