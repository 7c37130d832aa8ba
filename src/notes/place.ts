/** The position of a note in its record. A note holds no position itself, so it is kept here. */
import type { Note } from './note.ts'

/** Remember that a note follows the first `len` messages of its record. */
export const placeNote = (note: Note, len: number): void => void places.set(note, len)

/** How many messages stand before a note; 0 for a note that was read from no record. */
export const placeOf = (note: Note): number => places.get(note) ?? 0

const places = new WeakMap<Note, number>()
