/** Combines the notes of a record. */
import { digestOf } from '../proof/internal.ts'
import type { PageKind } from '../pages/index.ts'
import type { Range, Sequence } from '../sequence/index.ts'
import type { Note } from './note.ts'

/**
 * The current page kind of every position with page notes. A pinned page is a `constraint`. An
 * unpinned page has its earlier kind again, or that of a later `page` note.
 *
 * Cost    O(notes)
 *
 * @param notes the notes of a record, in order
 * @returns the kind by position; undefined where the classified kind applies
 */
export const foldPages = (notes: Iterable<Note>): ReadonlyMap<number, PageKind | undefined> => {
  const fold = noPages()
  const touched = new Set<number>()
  for (const note of notes) {
    const position = foldPage(fold, note)
    if (position !== undefined) touched.add(position)
  }
  return new Map([...touched].map((position) => [position, kindIn(fold, position)]))
}

/** The page kinds and pins set by notes so far. */
export interface PageFold {
  /** The kinds set by `page` notes, by position. */
  readonly tagged: Map<number, PageKind>
  readonly pinned: Set<number>
}

export const noPages = (): PageFold => ({ tagged: new Map(), pinned: new Set() })

/** Applies a note. Returns the page's position if the note is about a page. */
export const foldPage = ({ tagged, pinned }: PageFold, note: Note): number | undefined => {
  if (note.type === 'page') tagged.set(note.position, note.kind)
  else if (note.type === 'pin') pinned.add(note.position)
  else if (note.type === 'unpin') pinned.delete(note.position)
  else return undefined
  return note.position
}

/** The kind that notes set for a page; undefined if the classified one applies. */
export const kindIn = ({ tagged, pinned }: PageFold, position: number): PageKind | undefined =>
  pinned.has(position) ? 'constraint' : tagged.get(position)

/**
 * Whether a note contains only positions and kinds, and no content.
 *
 * @param note any note
 * @returns true for `page`, `pin`, `unpin`, `retraction`, `seal` and `erased`
 */
export const isMark = ({ type }: Note): boolean => markTypes.has(type)

const markTypes: ReadonlySet<Note['type']> = new Set(['page', 'pin', 'unpin', 'retraction', 'seal', 'erased'])

/**
 * The positions that a note removes from the conversation.
 *
 * @param note any note
 * @param len the number of messages before the note
 * @returns the range; undefined if the note is not a retraction, or has no effect
 */
export const retractedBy = (note: Note, len: number): Range | undefined =>
  note.type === 'retraction' && note.from < len ? { from: note.from, to: Math.min(note.to, len) } : undefined

/**
 * The digest of a run of entries: SHA-256 over their JSON, one line each. A summary stores its
 * source's digest, so that readers can check whether it still matches these entries.
 *
 * Cost    O(bytes of the entries)
 *
 * @param entries the entries, in order
 * @returns 64 lowercase hexadecimal digits
 */
export const rangeDigest = (entries: Sequence<unknown>): string => {
  let lines = ''
  for (const entry of entries) lines += `${JSON.stringify(entry)}\n`
  return digestOf(lines)
}
