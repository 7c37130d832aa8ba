/**
 * Notes: what is written about a record, beside its messages and after them. A note is appended like a message and
 * never changes one; what follows from several notes (which pages are pinned, say) is a fold over all of them.
 */
import type { Json, JsonObject } from '../json/index.ts'
import type { PageKind } from '../pages/index.ts'

/** Every kind of note, told apart by `type`. */
export type Note =
  | PageNote
  | PinNote
  | SummaryNote
  | RetractionNote
  | ReceiptNote
  | ToolStartedNote
  | JournalNote
  | InputNote
  | SealNote
  | ErasedNote
  | ApplicationNote

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
 * the rest of it has no effect.
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
  /**
   * The head of the record at that time. Messages that were retracted later are in the context. The recorder leaves it out
   * where the receipt stands in one append with the answer, right behind what was sent.
   */
  readonly head?: { readonly size: number; readonly root: string }
  /** SHA-256 of the context that was sent. */
  readonly contextDigest: string
  /** The name of the model. */
  readonly model: string
  /** The other parameters of the request. */
  readonly parameters?: JsonObject
  /** The tokens of the request by the estimator, with tools and system prompt. `usage.input` is the provider's count of them. */
  readonly estimated?: number
  /** The tokens, as the provider counted them. */
  readonly usage?: Usage
  /** What else is known of the call, by who wrote the receipt: `@indelible/recorder` says what in `CallDetails`. */
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

/**
 * What a run has finished of a step that is not recorded yet. All journal notes of a step together say how far it came;
 * `closed` says that its messages are in the record, and that the journal is of no more use.
 */
export interface JournalNote {
  /** Names the note. */
  readonly type: 'journal'
  /** The id of the step: that of the delta that it becomes. */
  readonly step: string
  /** The fencing number of the lease that the run had. */
  readonly lease?: number
  /** What the model said since the note before. */
  readonly said?: readonly JournalBlock[]
  /** The answer is whole: the message as it is to be recorded. Without `content`: that is what was said. */
  readonly answer?: JsonObject
  /** The results of the step are to be one message. Default: one for each call. */
  readonly together?: boolean
  /** The ids of calls that were started. */
  readonly started?: readonly string[]
  /** The results of calls: `tool_result` parts. */
  readonly results?: readonly JsonObject[]
  /** The ids of the calls that wait for an approval. */
  readonly waiting?: readonly string[]
  /** From here on the record has the whole step. */
  readonly closed?: true
}

/** A block of an answer, or a piece of one that streams. */
export interface JournalBlock {
  /** The place of the block in the answer. */
  readonly index: number
  /** Text that came since the last piece of this block. */
  readonly text?: string
  /** The whole block: a part of a message. */
  readonly part?: JsonObject
  /** So many characters of the part's text stand in the pieces before, and not in `part`. */
  readonly after?: number
}

/**
 * What became of the input of a turn. `queued`: it waits for its turn, and `message` is what is said. `taken`: its message
 * is in the record, and a run works on it. `waiting`: calls of its answer wait for an approval. `answered`. `failed`: its run
 * came to another end; asked again, it is worked on again. `cancelled`: by somebody's word.
 */
export interface InputNote {
  /** Names the note. */
  readonly type: 'input'
  /** The id of the input. */
  readonly id: string
  /** What became of it. */
  readonly state: 'queued' | 'taken' | 'waiting' | 'answered' | 'failed' | 'cancelled'
  /** What is said, where it waits. */
  readonly message?: JsonObject
  /** Where its message stands in the record, where it was taken; how long the record is with its answer, where it was answered. */
  readonly at?: number
  /** Why its run ended, where it failed. */
  readonly reason?: string
}

/** The record ends here: nothing is appended after it. */
export interface SealNote {
  /** Names the note. */
  readonly type: 'seal'
}

/** Stands where a note was erased, because it repeated what an erased message said. Only an erasure makes one. */
export interface ErasedNote {
  /** Names the note. */
  readonly type: 'erased'
  /** The type of the note that was erased. */
  readonly was: string
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
