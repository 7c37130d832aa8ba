/** A format of JSON lines: a test that detects its lines, and a reader for them. */
import type { Json, JsonObject, Path } from 'indelible/json/kit'
import type { Message } from 'indelible/message'
import type { Note } from 'indelible/notes/kit'
import type { PageKind } from 'indelible/pages'
import type { OriginDraft } from './origin.ts'
import type { TranscriptFormat } from './transcript.ts'
import type { RowMoment } from 'indelible/session'

export interface LineFormat {
  readonly format: TranscriptFormat
  /** Whether an entry is one of this format's: as sure as a header makes it, or a likeness. */
  readonly matches: (entry: JsonObject) => boolean
  readonly reader: (sink: Sink) => LineReader
  /** Each line is a conversation of its own, or several. */
  readonly lineByLine?: true
}

export interface LineReader {
  /** Read the entry of one line: frozen plain JSON. Throws Unexpected, which becomes damage. */
  readonly read: (entry: JsonObject, line: number) => void
  /** Read a line that is a list, where the format has such lines. Default: it is damage. */
  readonly readList?: (list: readonly Json[], line: number) => void
  /** Called after the last line. */
  readonly end: () => Ending
}

/** What only the end of a file tells. */
export interface Ending {
  /** How many conversations there are. Default: 1. */
  readonly count?: number
  /** Messages and notes that are not of the conversation: another branch, a turn that was taken back. By item, ascending. Default: none. */
  readonly dropped?: readonly Range[]
}

/** From `from` up to, not including, `to`. */
export type Range = readonly [from: number, to: number]

/** Where a reader puts what it reads. */
export interface Sink {
  /** Which conversation is wanted. */
  readonly pick: number
  readonly origin: OriginDraft
  /** How many items there are: messages, notes and summaries of the file. */
  readonly items: number
  /** The next message. Gives its number among the items. */
  readonly message: (line: number, message: Message, page?: PageKind, moment?: RowMoment) => number
  readonly note: (line: number, note: Note, moment?: RowMoment) => number
  /** A note with content of the format's own, such as an entry. */
  readonly entry: (line: number, content: JsonObject) => number
  readonly summary: (line: number, summary: Summary) => number
  readonly damage: (line: number, reason: string) => void
  /** Read something of a line. If it throws Unexpected, that is damage of the line. */
  readonly attempt: (line: number, read: () => void) => void
  readonly loss: (line: number, path: Path, reason: string) => void
  /** Something that is neither a message nor a note: counted. */
  readonly aside: (kind: string) => void
}

/** What was said before `before`, an item, in short. */
export interface Summary {
  /** The text of the summary. */
  readonly text: string
  /** The item before which everything is summed up. */
  readonly before: number
  /** What else the source says of it. */
  readonly beside: JsonObject
}
