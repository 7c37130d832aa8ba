/** Assembles the events of a whole file into one transcript. */
import type { Either } from 'fp-ts/lib/Either.js'
import { ownField, left, right } from 'indelible/internal/json'
import type { TranscriptFault } from 'indelible/codecs'
import type { Message } from 'indelible/message'
import { rangeDigest, type Note } from 'indelible/internal/notes'
import type { PageKind } from 'indelible/pages'
import type { TranscriptEvent } from './event.ts'
import type { Range, Summary } from '../format/line-format.ts'
import type { Damage, PlacedNote, Transcript, TranscriptFormat, TranscriptLoss } from '../transcript.ts'
import type { RowMoment } from 'indelible/internal/session'

/**
 * Make a transcript from the events of `readTranscriptStream`. It equals the result of `readTranscript`.
 *
 * @param events all events, in order
 * @returns the transcript; or the fault of the last event
 * @throws Error if the last event is neither `end` nor `fault`
 */
export const assembleTranscript = (events: readonly TranscriptEvent[]): Either<TranscriptFault, Transcript> => {
  const last = events.at(-1)
  if (last?.type === 'fault') return left(last.fault)
  if (last?.type !== 'end' || events[0]?.type !== 'start')
    throw new Error('the events of a transcript must start with `start` and end with `end` or `fault`')
  const { format } = events[0]
  const isDropped = inRanges(last.dropped)

  const messages: Message[] = []
  const items: number[] = [] // the item numbers of `messages`; of a later version, that of the earlier one
  const positions = new Map<number, number>() // of the items
  const pages: (PageKind | undefined)[] = []
  const moments: (RowMoment | undefined)[] = []
  const notes: PlacedNote[] = []
  const losses: TranscriptLoss[] = []
  const damage: Damage[] = []
  for (const event of withLaterVersions(events)) {
    if (event.type === 'retraction') {
      const [from, to] = [positions.get(event.items[0]), positions.get(event.items[1] - 1)]
      if (from === undefined || to === undefined) continue
      notes.push(freeze({ position: messages.length, note: freeze({ type: 'retraction', from, to: to + 1 }) }))
    } else if (event.type === 'damage') damage.push(event.damage)
    else if (event.type === 'loss') losses.push(event.loss)
    else if (isDropped(event.item)) continue
    else if (event.type === 'message') {
      positions.set(event.item, messages.length)
      messages.push(event.message)
      items.push(ownField(event, 'replaces')?.[0] ?? event.item)
      pages.push(ownField(event, 'page'))
      const moment = ownField(event, 'moment')
      moments.push(moment && freeze(moment))
    } else if (event.type === 'note') {
      const moment = ownField(event, 'moment')
      notes.push(freeze({ position: messages.length, note: event.note, ...(moment && { moment: freeze(moment) }) }))
    } else if (event.type === 'summary')
      for (const note of summaryNotes(format, event.summary, messages, items))
        notes.push(freeze({ position: messages.length, note: freeze(note) }))
  }
  const { origin, count, pick } = last
  return right(
    freeze({
      format,
      messages: freeze(messages),
      pages: pages.every((page) => page !== undefined) && format === 'indelible' ? freeze(pages) : undefined,
      ...(moments.some((moment) => moment !== undefined) && { moments: freeze(moments) }),
      notes: freeze(notes),
      origin,
      losses: freeze(losses),
      damage: freeze(damage.toSorted((a, b) => a.line - b.line)),
      count,
      pick,
    }),
  )
}

type Item = Exclude<TranscriptEvent, { readonly type: 'start' | 'end' | 'fault' }>
type Retraction = { readonly type: 'retraction'; readonly items: Range }

/** The events with each later version directly after the earlier one, which is then retracted. */
const withLaterVersions = (events: readonly TranscriptEvent[]): readonly (Item | Retraction)[] => {
  const read = events.filter(
    (event): event is Item => event.type !== 'start' && event.type !== 'end' && event.type !== 'fault',
  )
  const later = new Map<number, (Item | Retraction)[]>() // by the last item of the earlier version
  for (const event of read) {
    const items = replacedBy(event)
    if (items === undefined) continue
    const versions = later.get(items[1] - 1)
    if (versions === undefined) later.set(items[1] - 1, [{ type: 'retraction', items }, event])
    else versions.push(event)
  }
  if (later.size === 0) return read
  const ordered: (Item | Retraction)[] = []
  for (const event of read) {
    if (replacedBy(event) !== undefined) continue
    const left: (Item | Retraction)[] = [event]
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      ordered.push(next)
      const versions = next.type === 'message' ? later.get(next.item) : undefined
      if (next.type !== 'message' || versions === undefined) continue
      later.delete(next.item)
      const [retraction, ...messages] = versions
      for (const item of [...messages, retraction as Retraction].toReversed()) left.push(item)
    }
  }
  // What is left replaces items that could not be recorded.
  for (const versions of later.values()) for (const item of versions) if (item.type !== 'retraction') ordered.push(item)
  return ordered
}

const replacedBy = (event: Item): Range | undefined =>
  event.type === 'message' ? ownField(event, 'replaces') : undefined

/** A test for numbers in ascending ranges. */
const inRanges =
  (ranges: readonly Range[]): ((value: number) => boolean) =>
  (value) => {
    let [low, high] = [0, ranges.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((ranges[middle] as Range)[1] <= value) low = middle + 1
      else high = middle
    }
    return (ranges[low]?.[0] ?? Infinity) <= value
  }

/** The notes for a summary: the source's other fields, then the summary with its range and digest. */
const summaryNotes = (
  format: TranscriptFormat,
  { text, before, beside }: Summary,
  messages: readonly Message[],
  items: readonly number[],
): readonly Note[] => {
  const found = items.findIndex((item) => item >= before)
  const to = found === -1 ? messages.length : found
  if (to === 0) return [{ type: 'application', namespace: format, content: freeze({ ...beside, summary: text }) }]
  return [
    { type: 'application', namespace: format, content: beside },
    { type: 'summary', from: 0, to, sourceDigest: rangeDigest(messages.slice(0, to)), text },
  ]
}

const { freeze } = Object
