/** Reads lines, one at a time, into events: the part that all JSON lines formats share. */
import {
  admit,
  describe,
  formatPath,
  inspectJson,
  isLeft,
  isObject,
  type Json,
  type JsonObject,
  NotJson,
  snapshot,
  Unexpected,
  present,
  ownFields,
} from 'indelible/internal/json'
import type { TranscriptFault } from 'indelible/codecs'
import type { TranscriptEvent } from './event.ts'
import type { Ending, LineFormat, LineReader, Sink } from '../format/line-format.ts'
import type { Line } from '../text/lines.ts'
import { OriginDraft } from '../format/origin.ts'
import { ParentFirst } from '../format/parent-first.ts'
import { isNuls, recordsOf, tornText } from '../text/records.ts'
import type { Damage, TranscriptOptions } from '../transcript.ts'
import { expectedText } from '../format/read-problems.ts'

export interface LineImport {
  /** The events of a line. None after a fault. */
  readonly push: (line: Line) => readonly TranscriptEvent[]
  /** The events after the last line. */
  readonly end: () => readonly TranscriptEvent[]
  /** The number of conversations so far, in a format whose lines are conversations. */
  readonly count: () => number
}

type Inspected = Extract<ReturnType<typeof inspectJson>, { readonly _tag: 'Right' }>['right']

export const createLineImport = (
  { format, matches, isEntry = matches, reader }: LineFormat,
  options: TranscriptOptions,
): LineImport => {
  const { pick = 0, strict = false, countedElsewhere } = ownFields(options)
  let events: TranscriptEvent[] = [{ type: 'start', format }]
  let fault: TranscriptFault | undefined
  let items = 0
  /** The fields of the entries so far: after torn text, an object with the same is an entry. */
  const shapes = new Set<string>()

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
    origin: new OriginDraft(countedElsewhere),
    get items() {
      return items
    },
    message: (line, value, details) =>
      item(line, value, (message, item) => ({ type: 'message', item, line, message, ...present({ ...details }) })),
    note: (line, value, moment) =>
      item(line, value, (note, item) => ({ type: 'note', item, line, note, ...(moment !== undefined && { moment }) })),
    summary: (line, value) => item(line, value, (summary, item) => ({ type: 'summary', item, line, summary })),
    damage: (line, reason) => damaged({ line, reason }),
    entry: (line, content) => {
      const calls = [...new Set(callIdsIn(content))]
      return sink.note(line, { type: 'application', namespace: format, content, ...(calls.length > 0 && { calls }) })
    },
    attempt: (line, read) => {
      try {
        read()
      } catch (error) {
        if (!(error instanceof Unexpected)) throw error
        damaged({ line, reason: expectedText(error) })
      }
    },
    loss: (line, path, reason) => void events.push({ type: 'loss', loss: Object.freeze({ line, path, reason }) }),
    aside: (kind) => sink.origin.aside(kind),
  }
  const entries: LineReader = reader(sink)
  const ordered =
    entries.tree &&
    new ParentFirst(entries.tree, (entry, line, previous) =>
      sink.attempt(line, () => entries.read(entry, line, previous)),
    )
  const ending = (): Required<Ending> => {
    ordered?.end()
    return { count: 1, dropped: [], ...entries.end() }
  }

  const read = ({ number, text, badAt, unreadable }: Line): void => {
    if (unreadable !== undefined) return damaged({ line: number, reason: unreadable })
    if (badAt !== undefined) damaged({ line: number, reason: notText, offset: badAt })
    if (text.trim() === '') return
    const parsed = inspectJson(text)
    if (!isLeft(parsed)) return readValue(number, text.length, parsed.right)
    const pieces = recordsOf(text, (entry) => isEntry(entry) || shapes.has(shapeOf(entry)))
    if (!pieces.some(({ isRecord }) => isRecord)) {
      const { column, expected, found } = parsed.left
      const reason =
        found === 'the end' ? 'is cut off' : `is not JSON at column ${column}: expected ${expected}, found ${found}`
      const [piece] = pieces
      return damaged({ line: number, reason: piece !== undefined && isNuls(piece.text) ? tornText(piece) : reason })
    }
    for (const piece of pieces) {
      const record = piece.isRecord ? inspectJson(piece.text) : undefined
      if (record === undefined || isLeft(record)) damaged({ line: number, reason: tornText(piece) })
      else readValue(number, piece.text.length, record.right)
    }
  }

  const readValue = (number: number, size: number, { value: found, findings }: Inspected): void => {
    const admitted = admit(found)
    if (isLeft(admitted))
      return damaged({ line: number, reason: `${formatPath(admitted.left.path)} ${admitted.left.reason}`.trimStart() })
    const { value } = admitted.right
    const list = Array.isArray(value) && entries.readList !== undefined ? (value as readonly Json[]) : undefined
    if (!isObject(value) && list === undefined)
      return damaged({ line: number, reason: `is ${describe(value)}, not an entry` })
    if (isObject(value) && shapes.size < mostShapes) shapes.add(shapeOf(value))
    for (const { path, line, reason } of findings) sink.loss(number + line - 1, path, reason)
    if (list !== undefined) sink.attempt(number, () => entries.readList?.(list, number))
    else if (ordered !== undefined) ordered.add(value as JsonObject, number, size)
    else sink.attempt(number, () => entries.read(value as JsonObject, number))
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
      events.push({ type: 'end', origin: sink.origin.done(), count: Math.max(count, 1), pick, dropped })
      return flush()
    },
    count: () => ending().count,
  }
}

const mostShapes = 1000

const shapeOf = (entry: JsonObject): string => JSON.stringify(Object.keys(entry).toSorted())

export const notText = 'has bytes that are not text; they were read as U+FFFD'

/** The members by which the programs' lines name a tool call. */
const callIdNames: ReadonlySet<string> = new Set([
  ...['call_id', 'callId', 'callID', 'toolCallId', 'tool_call_id'],
  ...['tool_use_id', 'toolUseID', 'toolUseId', 'parent_tool_use_id', 'parentToolUseID'],
])

/** The ids of the calls that a line names, at any depth: its content is erased with their messages. */
function* callIdsIn(value: Json): Generator<string> {
  const left = [value]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next !== 'object' || next === null) continue
    for (const [name, item] of Object.entries(next) as [string, Json][]) {
      if (typeof item === 'string' && callIdNames.has(name)) yield item
      else left.push(item)
    }
  }
}
