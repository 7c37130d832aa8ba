/**
 * Notes: what is written about a record, beside its messages and after them. A note is appended like a message and
 * never changes one; what follows from several notes (which pages are pinned, say) is a fold over all of them.
 */
import type { Json, JsonObject } from '../json/index.ts'
import type { PageKind } from '../pages/index.ts'

/** Every kind of note, told apart by `type`. */
export type Note =
  PageNote | PinNote | SummaryNote | RetractionNote | ReceiptNote | ToolStartedNote | SealNote | ApplicationNote

/** The entry at `position` has another kind than its classified one. The latest such note counts. */
export interface PageNote {
  /** Names the note. */
  readonly type: 'page'
  /** The position of the entry. */
  readonly position: number
  /** Its page kind from here on. */
  readonly kind: PageKind
}

/** From here on the entry at `position` is held as a `constraint` (`pin`), or no longer (`unpin`). */
export interface PinNote {
  /** Names the note. */
  readonly type: 'pin' | 'unpin'
  /** The position of the entry. */
  readonly position: number
}

/** A summary of the entries from `from` up to, not including, `to`. */
export interface SummaryNote {
  /** Names the note. */
  readonly type: 'summary'
  /** The first position. */
  readonly from: number
  /** The position after the last one. */
  readonly to: number
  /** The `rangeDigest` of the entries it was made from. */
  readonly sourceDigest: string
  /** The summary. */
  readonly text: string
  /** The author: the name of a model or of a deterministic extractor. */
  readonly model?: string
  /** SHA-256 of the prompt that the model got. */
  readonly promptDigest?: string
}

/**
 * From here on the messages from `from` up to, not including, `to` are no longer part of the conversation: they were
 * popped, cleared, rewound or replaced. The record keeps them. A range may reach beyond the messages before the note;
 * the
 * rest of it has no effect.
 */
export interface RetractionNote {
  /** Names the note. */
  readonly type: 'retraction'
  /** The first position. */
  readonly from: number
  /** The position after the last one. */
  readonly to: number
}

/** The receipt of one model call: what was sent, to which model, and its cost. */
export interface ReceiptNote {
  /** Names the note. */
  readonly type: 'receipt'
  /** The number of messages in the record when the context was derived. */
  readonly len: number
  /** The head of the record at that time. Messages that were retracted later are in the context. */
  readonly head?: { readonly size: number; readonly root: string }
  /** SHA-256 of the context that was sent. */
  readonly contextDigest: string
  /** The name of the model. */
  readonly model: string
  /** The other parameters of the request. */
  readonly parameters?: JsonObject
  /** The tokens, as the provider counted them. */
  readonly usage?: Usage
  /** What else is known of the call, by who wrote the receipt: `indelible/recorder` says what in `CallDetails`. */
  readonly details?: JsonObject
}

/** Tokens, as the provider counted them. */
export interface Usage {
  /** Tokens of the request, cached ones included. */
  readonly input: number
  /** Tokens of the answer. */
  readonly output: number
  /** Of `input`: read from the provider's prompt cache. */
  readonly cacheRead?: number
  /** Of `input`: written to it. */
  readonly cacheWrite?: number
}

/** Written before a tool runs. After a crash it shows which calls may have had effects. */
export interface ToolStartedNote {
  /** Names the note. */
  readonly type: 'tool_started'
  /** The id of the call. */
  readonly callId: string
  /** The name of the tool. */
  readonly name: string
  /** The arguments of the call, as the model wrote them. */
  readonly arguments?: string
}

/** The record ends here: nothing is appended after it. */
export interface SealNote {
  /** Names the note. */
  readonly type: 'seal'
}

/** An application's own note. `namespace` keeps two applications apart: `com.example.app`. */
export interface ApplicationNote {
  /** Names the note. */
  readonly type: 'application'
  /** The application: `com.example.app`. Not empty. */
  readonly namespace: string
  /** Any JSON data. */
  readonly content: Json
}
