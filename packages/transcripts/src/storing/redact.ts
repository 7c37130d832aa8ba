/** Redaction of a transcript, before it is stored or compared with what is stored. */
import { isObject, type JsonObject } from 'indelible/internal/json'
import type { Note } from 'indelible/internal/notes'
import { createRedactor, type Redact } from 'indelible/redact'
import type { PlacedNote, Transcript } from '../transcript.ts'

/**
 * A transcript without secrets: they are removed from its messages, notes and origin. The root of
 * an Indelible export is left out, because the redacted rows have another root.
 *
 * @param redact rules, or a redactor
 * @returns a transcript with marks in place of the secrets
 */
export const redactTranscript = (transcript: Transcript, redact: Redact): Transcript => {
  const redactor = createRedactor(redact)
  const { messages, notes, origin } = transcript
  const { id, head, ...rest } = origin
  const clean = redactor.json(rest as unknown as JsonObject) as unknown as typeof rest // an origin is plain JSON
  return Object.freeze({
    ...transcript,
    messages: Object.freeze(messages.map((message) => redactor.message(message))),
    notes: Object.freeze(notes.map((placed) => Object.freeze(withNote(placed, redactor.note(placed.note))))),
    origin: Object.freeze({
      ...(isObject(clean) ? clean : rest),
      ...(id !== undefined && { id }),
      ...(head !== undefined && { head: { size: head.size } }),
    }),
  })
}

const withNote = (placed: PlacedNote, note: Note): PlacedNote => ({ ...placed, note })
