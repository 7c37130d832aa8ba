/** Reads lines, one at a time, into events: the part that all JSON lines formats share. */
import {
  admit,
  describe,
  formatPath,
  inspectJson,
  isLeft,
  isObject,
  type Json,
  NotJson,
  snapshot,
  Unexpected,
  present,
} from 'indelible/json/kit'
import type { TranscriptFault } from 'indelible/codecs'
import type { TranscriptEvent } from './event.ts'
import type { Ending, LineFormat, LineReader, Sink } from './line-format.ts'
import type { Line } from './lines.ts'
import { OriginDraft } from './origin.ts'
import type { Damage, TranscriptOptions } from './transcript.ts'
import { expectedText } from './read-problems.ts'

export interface LineImport {
  /** The events of a line. None after a fault. */
  readonly push: (line: Line) => readonly TranscriptEvent[]
  /** The events after the last line. */
  readonly end: () => readonly TranscriptEvent[]
  /** The number of conversations so far, in a format whose lines are conversations. */
  readonly count: () => number
}

export const createLineImport = (
  { format, reader }: LineFormat,
  { pick = 0, strict = false }: TranscriptOptions,
): LineImport => {
  const origin = new OriginDraft()
  let events: TranscriptEvent[] = [{ type: 'start', format }]
  let fault: TranscriptFault | undefined
  let items = 0

  const damaged = (damage: Damage): void => {
    if (strict) fault ??= { _tag: 'DamagedLine', format, line: damage.line, reason: damage.reason }
    events.push({ type: 'damage', damage: Object.freeze(damage) })
  }
  /** Add the next item. One that can't be recorded also gets a number, and is damage. */
  const item = <T>(line: number, value: T, made: (frozen: T, item: number) => TranscriptEvent): number => {
    try {
      events.push(made(snapshot(value) as T, items)) // frozen, of the same shape
    } catch (error) {
      if (!(error instanceof NotJson)) throw error
      damaged({ line, reason: `${formatPath(error.path)} ${error.reason}`.trimStart() })
    }
    return items++
  }
  const sink: Sink = {
    pick,
    origin,
    get items() {
      return items
    },
    message: (line, value, page, moment) =>
      item(line, value, (message, item) => ({
        type: 'message',
        item,
        line,
        message,
        ...present({ page, moment }),
      })),
    note: (line, value, moment) =>
      item(line, value, (note, item) => ({ type: 'note', item, line, note, ...(moment !== undefined && { moment }) })),
    summary: (line, value) => item(line, value, (summary, item) => ({ type: 'summary', item, line, summary })),
    damage: (line, reason) => damaged({ line, reason }),
    entry: (line, content) => sink.note(line, { type: 'application', namespace: format, content }),
    attempt: (line, read) => {
      try {
        read()
      } catch (error) {
        if (!(error instanceof Unexpected)) throw error
        damaged({ line, reason: expectedText(error) })
      }
    },
    loss: (line, path, reason) => void events.push({ type: 'loss', loss: Object.freeze({ line, path, reason }) }),
    aside: (kind) => origin.aside(kind),
  }
  const entries: LineReader = reader(sink)
  const ending = (): Required<Ending> => ({ count: 1, dropped: [], ...entries.end() })

  const read = ({ number, text, badAt, unreadable }: Line): void => {
    if (unreadable !== undefined) return damaged({ line: number, reason: unreadable })
    if (badAt !== undefined) damaged({ line: number, reason: notText, offset: badAt })
    if (text.trim() === '') return
    const parsed = inspectJson(text)
    if (isLeft(parsed)) {
      const { column, expected, found } = parsed.left
      return damaged({
        line: number,
        reason:
          found === 'the end' ? 'is cut off' : `is not JSON at column ${column}: expected ${expected}, found ${found}`,
      })
    }
    const admitted = admit(parsed.right.value)
    if (isLeft(admitted))
      return damaged({ line: number, reason: `${formatPath(admitted.left.path)} ${admitted.left.reason}`.trimStart() })
    const { value } = admitted.right
    const list = Array.isArray(value) && entries.readList !== undefined ? (value as readonly Json[]) : undefined
    if (!isObject(value) && list === undefined)
      return damaged({ line: number, reason: `is ${describe(value)}, not an entry` })
    for (const { path, line, reason } of parsed.right.findings) sink.loss(number + line - 1, path, reason)
    sink.attempt(number, () => {
      if (isObject(value)) entries.read(value, number)
      else if (list !== undefined) entries.readList?.(list, number)
    })
  }

  const flush = (): readonly TranscriptEvent[] => {
    const flushed = events
    events = []
    return fault === undefined ? flushed : [{ type: 'fault', fault }]
  }

  return {
    push: (line) => {
      if (fault !== undefined) return []
      read(line)
      return flush()
    },
    end: () => {
      if (fault !== undefined) return []
      const { count, dropped } = ending()
      if (pick >= count && !(pick === 0 && count === 0)) fault ??= { _tag: 'NoSuchConversation', pick, count }
      events.push({ type: 'end', origin: origin.done(), count: Math.max(count, 1), pick, dropped })
      return flush()
    },
    count: () => ending().count,
  }
}

export const notText = 'has bytes that are not text; they were read as U+FFFD'
