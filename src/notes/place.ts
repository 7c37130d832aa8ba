/** The positions of notes in their records, kept separately because notes do not contain them. */
import type { Note } from './note.ts'

/** Records that a note follows the first `len` messages of its record. */
export const placeNote = (note: Note, len: number): void => void places.set(note, len)

/** The number of messages before a note; 0 for a note that was not read from a record. */
export const placeOf = (note: Note): number => places.get(note) ?? 0

const places = new WeakMap<Note, number>()
