/** What the notes of a record say together. */
import { digestOf } from '../proof/index.ts'
import type { PageKind } from '../pages/index.ts'
import type { Range, Sequence } from '../sequence/index.ts'
import type { Note } from './note.ts'

/**
 * What became of the pages that notes speak of: per position the effective kind. A pinned page is a `constraint`; one
 * that was unpinned again is what it was, or what a `page` note has since made of it (`undefined`: as classified).
 *
 * Cost    O(notes)
 */
export const foldPages = (notes: Iterable<Note>): ReadonlyMap<number, PageKind | undefined> => {
  const tagged = new Map<number, PageKind>()
  const pinned = new Set<number>()
  const touched = new Set<number>()
  for (const note of notes) {
    if (note.type === 'page') tagged.set(note.position, note.kind)
    else if (note.type === 'pin') pinned.add(note.position)
    else if (note.type === 'unpin') pinned.delete(note.position)
    else continue
    touched.add(note.position)
  }
  return new Map([...touched].map((position) => [position, pinned.has(position) ? 'constraint' : tagged.get(position)]))
}

/** The positions that a note takes out of the conversation, if it is a retraction. `len` messages stand before it. */
export const retractedBy = (note: Note, len: number): Range | undefined =>
  note.type === 'retraction' && note.from < len ? { from: note.from, to: Math.min(note.to, len) } : undefined

/**
 * The digest of a run of entries: SHA-256 over their JSON, one line each. A summary carries that of its source, so that
 * it can be told whether it still speaks of the same entries.
 *
 * Cost    O(bytes of the entries)
 */
export const rangeDigest = (entries: Sequence<unknown>): string => {
  let lines = ''
  for (const entry of entries) lines += `${JSON.stringify(entry)}\n`
  return digestOf(lines)
}
