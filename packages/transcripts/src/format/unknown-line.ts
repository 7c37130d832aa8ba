/**
 * Lines of unknown kinds. The programs that write these files keep adding kinds of bookkeeping, so
 * such a line is not damage: it is counted under its type, and kept whole in a note. A line that
 * holds content, and so may be a message in an unknown form, is damage.
 */
import { isObject, Unexpected, type JsonObject } from 'indelible/internal/json'
import type { Sink } from './line-format.ts'

/**
 * Count the line, and return a function that writes its note.
 *
 * Throws  Unexpected if the line may hold a message
 */
export const unknownLine = (entry: JsonObject, line: number, sink: Sink): (() => number) => {
  if (holdsMessage(entry))
    throw new Unexpected(['type'], 'a known kind of line, because it holds a message', entry['type'])
  return unreadLine(entry, line, sink)
}

/** The same without that check, for a line whose content nothing refers to. */
export const unreadLine = (entry: JsonObject, line: number, sink: Sink): (() => number) => {
  const { type } = entry
  sink.aside(typeof type === 'string' ? type : 'line of no kind')
  return () => sink.entry(line, entry)
}

/** Whether a line may be a message in an unknown form. */
export const holdsMessage = (entry: JsonObject): boolean =>
  isSpoken(entry) || isSpoken(entry['message']) || isSpoken(entry['payload'])

const isSpoken = (value: unknown): boolean =>
  isObject(value) && typeof value['role'] === 'string' && ('content' in value || 'parts' in value)
