/** A format of JSON lines: a test that detects its lines, and a reader for them. */
import type { Json, JsonObject, Path } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import type { Note } from 'indelible/internal/notes'
import type { PageKind } from 'indelible/pages'
import type { FormatFacts } from './format-facts.ts'
import type { OriginDraft } from './origin.ts'
import type { TreeReader } from './parent-first.ts'
import type { RowMoment } from 'indelible/internal/session'

export interface LineFormat extends FormatFacts {
  /** Whether an entry belongs to this format: certain for a header, likely for other entries. */
  readonly matches: (entry: JsonObject) => boolean
  /** Whether an object after torn text is an entry of a file in this format. Default: as `matches` says. */
  readonly isEntry?: (entry: JsonObject) => boolean
  readonly reader: (sink: Sink) => LineReader
  /** Each line is a conversation of its own, or several. */
  readonly lineByLine?: true
  /** Whether a file may also be one JSON value, or several, each over any number of lines. Default: no. */
  readonly spansLines?: true
}

export interface LineReader {
  /**
   * Read the entry of one line: frozen plain JSON. Throws Unexpected, which is reported as damage. In a tree, `previous` is
   * the id of the entry before it in the file.
   */
  readonly read: (entry: JsonObject, line: number, previous?: string) => void
  /** For entries that name their parents: each is read after its parent, wherever in the file that is. */
  readonly tree?: TreeReader
  /** Read a line that is a list, in formats with such lines. Default: it is damage. */
  readonly readList?: (list: readonly Json[], line: number) => void
  /** Called after the last line. */
  readonly end: () => Ending
}

/** The results known only at the end of a file. */
export interface Ending {
  /** The number of conversations. Default: 1. */
  readonly count?: number
  /** Items outside the conversation (other branches, turns taken back), ascending. Default: none. */
  readonly dropped?: readonly Range[]
}

/** From `from` up to but not including `to`. */
export type Range = readonly [from: number, to: number]

/** What a file says of a message beside its content. */
interface MessageDetails {
  readonly page?: PageKind | undefined
  readonly moment?: RowMoment | undefined
  /** The items that the message takes the place of. */
  readonly replaces?: Range | undefined
}

/** Receives what a reader reads. */
export interface Sink {
  /** Which conversation to read. */
  readonly pick: number
  /** Where the conversation came from. A reader whose lines are conversations sets that of the one to read. */
  origin: OriginDraft
  /** The number of items so far: messages, notes and summaries of the file. */
  readonly items: number
  /** Add a message. Returns its item number. */
  readonly message: (line: number, message: Message, details?: MessageDetails) => number
  readonly note: (line: number, note: Note, moment?: RowMoment) => number
  /** Add a note with content in the format's own form, such as an entry. */
  readonly entry: (line: number, content: JsonObject) => number
  readonly summary: (line: number, summary: Summary) => number
  readonly damage: (line: number, reason: string) => void
  /** Run `read`. If it throws Unexpected, report damage to the line. */
  readonly attempt: (line: number, read: () => void) => void
  readonly loss: (line: number, path: Path, reason: string) => void
  /** Count something that is neither a message nor a note. */
  readonly aside: (kind: string) => void
}

/** A summary of everything before the item `before`. */
export interface Summary {
  /** The text of the summary. */
  readonly text: string
  /** The item that the summary ends before. */
  readonly before: number
  /** The other fields of the summary in the source. */
  readonly beside: JsonObject
}
