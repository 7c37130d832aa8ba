/**
 * Lines of a kind that a reader does not know. The programs that write these files add kinds of bookkeeping all the
 * time, so such a line is no damage: it is counted under its name, and kept whole in a note. One that holds content, and
 * may be a message that nobody here can read, is damage.
 */
import { isObject, Unexpected, type JsonObject } from 'indelible/json/kit'
import type { Sink } from './line-format.ts'

/**
 * Count the line, and give what writes its note.
 *
 * Throws  Unexpected, if the line looks like content
 */
export const unknownLine = (entry: JsonObject, line: number, sink: Sink): (() => number) => {
  if (holdsMessage(entry))
    throw new Unexpected(['type'], 'a kind of line that is known, as it holds a message', entry['type'])
  return unreadLine(entry, line, sink)
}

/** The same, of a line whose content nothing refers to. */
export const unreadLine = (entry: JsonObject, line: number, sink: Sink): (() => number) => {
  const { type } = entry
  sink.aside(typeof type === 'string' ? type : 'line of no kind')
  return () => sink.entry(line, entry)
}

/** Whether a line may be a message that nobody here can read. */
export const holdsMessage = (entry: JsonObject): boolean =>
  isSpoken(entry) || isSpoken(entry['message']) || isSpoken(entry['payload'])

const isSpoken = (value: unknown): boolean =>
  isObject(value) && typeof value['role'] === 'string' && ('content' in value || 'parts' in value)
