/**
 * Notes: what is written about a record, beside its messages and after them. A note is appended like a message and
 * never changes one; what follows from several notes (which pages are pinned, say) is a fold over all of them.
 */
import type { Json, JsonObject } from '../json/index.ts'
import type { PageKind } from '../pages/index.ts'

export type Note = PageNote | PinNote | SummaryNote | ReceiptNote | ToolStartedNote | SealNote | ApplicationNote

/** The entry at `position` is of another kind than it was classified as. The latest such note counts. */
export interface PageNote {
  readonly type: 'page'
  readonly position: number
  readonly kind: PageKind
}

/** From here on the entry at `position` is held as a `constraint`, or (`unpin`) no longer. */
export interface PinNote {
  readonly type: 'pin' | 'unpin'
  readonly position: number
}

/** What the entries from `from` up to, not including, `to` say in short. */
export interface SummaryNote {
  readonly type: 'summary'
  readonly from: number
  readonly to: number
  /** The `rangeDigest` of the entries it was made from. */
  readonly sourceDigest: string
  readonly text: string
  /** Who wrote it: a model's name, or that of a deterministic extractor. */
  readonly model?: string
  /** SHA-256 of the prompt it was made with. */
  readonly promptDigest?: string
}

/** One model call: what exactly was sent, to whom, at which cost. */
export interface ReceiptNote {
  readonly type: 'receipt'
  /** How many messages the record had when the context was derived. */
  readonly len: number
  /** SHA-256 of the context that was sent. */
  readonly contextDigest: string
  readonly model: string
  readonly parameters?: JsonObject
  readonly usage?: Usage
}

/** Tokens, as the provider counted them. */
export interface Usage {
  readonly input: number
  readonly output: number
  /** Of `input`: read from the provider's prompt cache. */
  readonly cacheRead?: number
  /** Of `input`: written to it. */
  readonly cacheWrite?: number
}

/** Written before a tool runs, so that a run which died knows which calls may have had effects. */
export interface ToolStartedNote {
  readonly type: 'tool_started'
  readonly callId: string
  readonly name: string
  /** The arguments of the call, as the model wrote them. */
  readonly arguments?: string
}

/** The record ends here: nothing is appended after it. */
export interface SealNote {
  readonly type: 'seal'
}

/** An application's own note. `namespace` keeps two applications apart: `com.example.app`. */
export interface ApplicationNote {
  readonly type: 'application'
  readonly namespace: string
  readonly content: Json
}
