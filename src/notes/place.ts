/** Where notes stand in their record, which no note says of itself. */
import type { Note } from './note.ts'

/** Remember that a note of a record stands behind so many messages. */
export const placeNote = (note: Note, len: number): void => void places.set(note, len)

/** How many messages stand before a note; 0 for a note that was read from no record. */
export const placeOf = (note: Note): number => places.get(note) ?? 0

const places = new WeakMap<Note, number>()
