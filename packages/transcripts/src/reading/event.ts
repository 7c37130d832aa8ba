/** The events of reading a transcript line by line. */
import type { TranscriptFault } from 'indelible/codecs'
import type { Message } from 'indelible/message'
import type { Note } from 'indelible/internal/notes'
import type { PageKind } from 'indelible/pages'
import type { Range, Summary } from '../format/line-format.ts'
import type { Damage, Origin, TranscriptFormat, TranscriptLoss } from '../transcript.ts'
import type { RowMoment } from 'indelible/internal/session'

/** An event of a transcript that is read as a stream. */
export type TranscriptEvent =
  /** The first event. */
  | { readonly type: 'start'; readonly format: TranscriptFormat }
  /** A message. `item` numbers the file's messages, notes and summaries from 0, in file order. */
  | {
      readonly type: 'message'
      readonly item: number
      readonly line: number
      readonly message: Message
      readonly page?: PageKind
      /** When it was written. Only exports of Indelible have it. */
      readonly moment?: RowMoment
      /** The items of which this is a later version: it takes their place in the conversation. */
      readonly replaces?: Range
    }
  /** A note of the source. */
  | {
      readonly type: 'note'
      readonly item: number
      readonly line: number
      readonly note: Note
      readonly moment?: RowMoment
    }
  /** A summary of everything before an item, as the source's own compaction wrote it. */
  | { readonly type: 'summary'; readonly item: number; readonly line: number; readonly summary: Summary }
  /** A line that can't be read. */
  | { readonly type: 'damage'; readonly damage: Damage }
  /** A value that was changed while reading. */
  | { readonly type: 'loss'; readonly loss: TranscriptLoss }
  /**
   * The last event of a readable transcript. `dropped` lists, in ascending order, the items that are not part of
   * the conversation: they are on another branch, or were taken back. It is empty for formats without either.
   */
  | {
      readonly type: 'end'
      readonly origin: Origin
      readonly count: number
      readonly pick: number
      readonly dropped: readonly Range[]
    }
  /** The last event of a transcript that can't be read. */
  | { readonly type: 'fault'; readonly fault: TranscriptFault }
