/** Removes secrets from a recorded answer before it goes into a file, also those that a stream has in pieces. */
import { isObject, type Json, type JsonObject } from 'indelible/internal/json'

/** Fields that stream a text in pieces. */
const streamedFields: ReadonlySet<string> = new Set([
  ...['text', 'delta', 'content', 'arguments', 'input', 'partial_json', 'thinking', 'refusal'],
  ...['reasoning', 'reasoning_content', 'transcript', 'summary'],
])

/** Fields that name or sign something; a provider refuses a changed one. */
const isKept = (field: string): boolean =>
  /^id$|(?:_id|Id)$|signature$|Signature$|^encrypted_content$|^obfuscation$/.test(field)

/** JSON without secrets. Ids and signatures are kept. */
export const redactedJson = <T extends Json>(value: T, redact: (text: string) => string): T =>
  (typeof value === 'string'
    ? redact(value)
    : Array.isArray(value)
      ? value.map((item: Json) => redactedJson(item, redact))
      : isObject(value)
        ? Object.fromEntries(
            Object.entries(value).map(([field, item]) => [
              redact(field),
              isKept(field) ? item : redactedJson(item as Json, redact),
            ]),
          )
        : value) as T

/**
 * The events of a stream without secrets. A text that is streamed in pieces is redacted as a whole: if it has a secret,
 * its first piece gets the whole redacted text, and the others are empty.
 *
 * Cost    O(events)
 */
export const redactedEvents = (
  events: readonly (JsonObject | string)[],
  redact: (text: string) => string,
): readonly (JsonObject | string)[] => {
  const pieces = new Map<string, string[]>()
  for (const event of events)
    visitPieces(event, (name, piece) => {
      const known = pieces.get(name)
      if (known === undefined) pieces.set(name, [piece])
      else known.push(piece)
      return piece
    })
  const redacted = new Map<string, Iterator<string>>()
  for (const [name, texts] of pieces) {
    const text = texts.join('')
    const whole = redact(text)
    if (whole !== text) redacted.set(name, [whole, ...texts.slice(1).map(() => '')].values())
  }
  return events.map((event) => {
    const changed = visitPieces(event, (name, piece) => redacted.get(name)?.next().value ?? piece)
    return redactedJson(changed, redact)
  })
}

/** The event with each piece of a streamed text replaced. Pieces of one text have one name. */
const visitPieces = <T extends Json>(event: T, replace: (name: string, piece: string) => string): T => {
  const visit = (value: Json, name: string, field: string): Json => {
    if (typeof value === 'string') return streamedFields.has(field) ? replace(name, value) : value
    if (Array.isArray(value)) return value.map((item: Json, index) => visit(item, `${name}/${index}`, field))
    if (!isObject(value)) return value
    const parts = ['type', 'index', 'output_index', 'content_index'].map((key) => JSON.stringify(value[key]) ?? '')
    const own = `${name}(${parts.join()})`
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, visit(item as Json, `${own}/${key}`, key)]),
    )
  }
  return visit(event, '', '') as T
}
