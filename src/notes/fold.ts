/** What the notes of a record say together. */
import { digestOf } from '../proof/kit.ts'
import type { PageKind } from '../pages/index.ts'
import type { Range, Sequence } from '../sequence/index.ts'
import type { Note } from './note.ts'

/**
 * The current page kind of every position that a note names. A pinned page is a `constraint`. An unpinned page has its
 * earlier kind again, or the kind of a later `page` note.
 *
 * Cost    O(notes)
 *
 * @param notes the notes of a record, in order
 * @returns the kind by position; undefined where the classified kind holds
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

/** What notes have said of pages so far. */
export interface PageFold {
  /** The kinds that `page` notes gave, by position. */
  readonly tagged: Map<number, PageKind>
  /** The positions that are pinned. */
  readonly pinned: Set<number>
}

/** Nothing was said of any page. */
export const noPages = (): PageFold => ({ tagged: new Map(), pinned: new Set() })

/** Add what a note says. Gives the position that it is about, if it is about a page. */
export const foldPage = ({ tagged, pinned }: PageFold, note: Note): number | undefined => {
  if (note.type === 'page') tagged.set(note.position, note.kind)
  else if (note.type === 'pin') pinned.add(note.position)
  else if (note.type === 'unpin') pinned.delete(note.position)
  else return undefined
  return note.position
}

/** The kind that notes have given a page; undefined where the classified one holds. */
export const kindIn = ({ tagged, pinned }: PageFold, position: number): PageKind | undefined =>
  pinned.has(position) ? 'constraint' : tagged.get(position)

/**
 * Whether a note says positions and kinds only, and nothing of what anybody said.
 *
 * @param note any note
 * @returns true for `page`, `pin`, `unpin`, `retraction`, `seal` and `erased`
 */
export const isMark = ({ type }: Note): boolean => marks.has(type)

const marks: ReadonlySet<Note['type']> = new Set(['page', 'pin', 'unpin', 'retraction', 'seal', 'erased'])

/**
 * The positions that a note takes out of the conversation.
 *
 * @param note any note
 * @param len the number of messages before the note
 * @returns the range; undefined if the note is not a retraction
 */
export const retractedBy = (note: Note, len: number): Range | undefined =>
  note.type === 'retraction' && note.from < len ? { from: note.from, to: Math.min(note.to, len) } : undefined

/**
 * The digest of a run of entries: SHA-256 over their JSON, one line each. A summary carries the digest of its source,
 * so that a reader can check whether it still fits these entries.
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
