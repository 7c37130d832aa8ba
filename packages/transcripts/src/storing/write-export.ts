/** Writes a record or a transcript in the form of an export. */
import { ownField, present, type JsonObject } from 'indelible/internal/json'
import type { ExportedRow } from 'indelible/internal/session'
import { classify } from 'indelible/pages'
import type { RecordExport } from 'indelible/session'
import { packedCallsOf } from './calls.ts'
import type { PlacedNote, Transcript } from '../transcript.ts'

/**
 * Write an export. Memory: one row.
 *
 * @returns the lines, each with its line feed
 */
export function* exportLines({ id, metadata, erasable, rows, head }: RecordExport): Generator<string> {
  yield `${JSON.stringify({ indelible: 'export', version: 1, ...(id !== undefined && { id }), metadata, ...(erasable === true && { erasable }) })}\n`
  for (const row of rows) yield `${JSON.stringify(row)}\n`
  yield `${JSON.stringify({ head })}\n`
}

/** A transcript as an export. From another format, its metadata names that format, and it has no root. */
export const exportOf = (transcript: Transcript): RecordExport => {
  const { format, messages, notes, origin } = transcript
  const { metadata, head: _, callIds: __, calls: ___, ...rest } = origin
  const calls = packedCallsOf(transcript)
  const head = ownField(origin, 'head')
  return {
    ...(format === 'indelible'
      ? { id: origin.id, metadata, erasable: ownField(origin, 'erasable') }
      : { metadata: { from: { format, ...rest, ...present({ calls }), metadata } as unknown as JsonObject } }), // an origin is plain JSON
    rows: rowsOf(transcript),
    head: head ?? { size: messages.length + notes.length },
  }
}

function* rowsOf(transcript: Transcript): Generator<ExportedRow> {
  const { messages, pages, notes } = transcript
  let next = 0
  for (let position = 0; position <= messages.length; position++) {
    for (; next < notes.length && notes[next]?.position === position; next++)
      yield { note: (notes[next] as PlacedNote).note, ...notes[next]?.moment }
    const message = messages[position]
    if (message !== undefined)
      yield { message, page: pages?.[position] ?? classify(message), ...transcript.moments?.[position] }
  }
}
