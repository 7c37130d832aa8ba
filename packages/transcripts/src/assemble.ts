/** Assembles the events of a whole file into one transcript. */
import type { Either } from 'fp-ts/lib/Either.js'
import { ownField, left, right } from 'indelible/json/kit'
import type { TranscriptFault } from 'indelible/codecs'
import type { Message } from 'indelible/message'
import { rangeDigest, type Note } from 'indelible/notes/kit'
import type { PageKind } from 'indelible/pages'
import type { TranscriptEvent } from './event.ts'
import type { Range, Summary } from './line-format.ts'
import type { Damage, PlacedNote, Transcript, TranscriptFormat, TranscriptLoss } from './transcript.ts'
import type { RowMoment } from 'indelible/session'

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
  const items: number[] = [] // the item numbers of `messages`
  const pages: (PageKind | undefined)[] = []
  const moments: (RowMoment | undefined)[] = []
  const notes: PlacedNote[] = []
  const losses: TranscriptLoss[] = []
  const damage: Damage[] = []
  for (const event of events) {
    if (event.type === 'damage') damage.push(event.damage)
    else if (event.type === 'loss') losses.push(event.loss)
    else if (event.type === 'start' || event.type === 'end' || event.type === 'fault' || isDropped(event.item)) continue
    else if (event.type === 'message') {
      messages.push(event.message)
      items.push(event.item)
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

/** A test for numbers that are passed in ascending order. */
const inRanges = (ranges: readonly Range[]): ((value: number) => boolean) => {
  let index = 0
  return (value) => {
    while (index < ranges.length && (ranges[index] as Range)[1] <= value) index += 1
    const range = ranges[index]
    return range !== undefined && range[0] <= value
  }
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
