/**
 * Notes: annotations of a record, stored with its messages. A note is appended like a message and never changes one.
 * The combined effect of notes, such as which pages are pinned, is a fold over all of them.
 */
import type { Json, JsonObject } from '../json/index.ts'
import type { PageKind } from '../pages/index.ts'
import type { BlockId } from '../proof/internal.ts'

/** All kinds of notes, distinguished by `type`. */
export type Note =
  | PageNote
  | PinNote
  | SummaryNote
  | RetractionNote
  | ReceiptNote
  | ToolStartedNote
  | JournalNote
  | InputNote
  | MetadataNote
  | KeptFileNote
  | SealNote
  | ErasedNote
  | ApplicationNote

/** Sets the page kind of the entry at `position`. The latest such note counts. */
interface PageNote {
  readonly type: 'page'
  /** The entry's position. */
  readonly position: number
  /** Its new page kind. */
  readonly kind: PageKind
}

/** Treats the entry at `position` as a `constraint` from here on (`pin`), or no longer (`unpin`). */
export interface PinNote {
  /** The note's type. */
  readonly type: 'pin' | 'unpin'
  /** The entry's position. */
  readonly position: number
}

/** A summary of the entries from `from` up to, not including, `to`. */
export interface SummaryNote {
  readonly type: 'summary'
  /** The first position. */
  readonly from: number
  /** The position after the last one. */
  readonly to: number
  /** The `rangeDigest` of the summarized entries. */
  readonly sourceDigest: string
  /** The summary. */
  readonly text: string
  /** The author: the name of a model or of a deterministic extractor. */
  readonly model?: string
  /** SHA-256 of the model's prompt. */
  readonly promptDigest?: string
}

/**
 * Removes the messages from `from` up to, not including, `to` from the conversation: they were
 * popped, cleared, rewound or replaced. The record keeps them. Positions at or after the note have
 * no effect.
 */
export interface RetractionNote {
  readonly type: 'retraction'
  /** The first position. */
  readonly from: number
  /** The position after the last one. */
  readonly to: number
}

/** The receipt of one model call: what was sent, to which model, and its cost. */
export interface ReceiptNote {
  readonly type: 'receipt'
  /** The number of messages in the record when the context was derived. */
  readonly len: number
  /**
   * The head of the record at that time. The context includes messages that were retracted later. The recorder omits
   * it if the receipt is in the same append as the answer, directly after what was sent.
   */
  readonly head?: { readonly size: number; readonly root: string }
  /** SHA-256 of the context that was sent. */
  readonly contextDigest: string
  /**
   * The block with the instructions that were sent in place of the leading system messages of the context: SHA-256 of
   * their UTF-8. `store.getBlocks` reads it. The store has each text once, until no receipt with it is left.
   */
  readonly instructions?: BlockId
  /** The model's name. */
  readonly model: string
  /** The request's other parameters. */
  readonly parameters?: JsonObject
  /** The estimated tokens of the request with tools and system prompt. `usage.input` is the provider's count. */
  readonly estimated?: number
  /** The provider's token counts. */
  readonly usage?: Usage
  /** Other data about the call by the receipt's author; for `@indelible/recorder` see `CallDetails`. */
  readonly details?: JsonObject
}

/** Token counts by the provider. */
export interface Usage {
  /** Tokens of the request, cached ones included. */
  readonly input: number
  /** Tokens of the answer. */
  readonly output: number
  /** The part of `input` read from the provider's prompt cache. */
  readonly cacheRead?: number
  /** The part of `input` written to it. */
  readonly cacheWrite?: number
  /** The part of `cacheWrite` that it keeps for an hour, which costs more. */
  readonly cacheWriteHour?: number
}

/** Written before a tool runs. After a crash it shows which calls may have had side effects. */
export interface ToolStartedNote {
  readonly type: 'tool_started'
  /** The call's id. */
  readonly callId: string
  /** The tool's name. */
  readonly name: string
  /** The call's arguments as the model wrote them. */
  readonly arguments?: string
}

/**
 * Finished parts of a step that is not recorded yet. All journal notes of a step together describe its progress;
 * after `closed`, its messages are in the record, and the journal is no longer needed.
 */
export interface JournalNote {
  readonly type: 'journal'
  /** The id of the step and of its later delta. */
  readonly step: string
  /** The fencing number of the run's lease. */
  readonly lease?: number
  /** The model's output since the previous note. */
  readonly said?: readonly JournalBlock[]
  /** The complete answer: the message to record. Without `content`, the content is in `said`. */
  readonly answer?: JsonObject
  /** Whether the step's results form one message. Default: one per call. */
  readonly together?: boolean
  /** The ids of started calls. */
  readonly started?: readonly string[]
  /** Results of calls: `tool_result` parts. */
  readonly results?: readonly JsonObject[]
  /** The ids of calls that wait for an approval, or for a result. */
  readonly waiting?: readonly string[]
  /** The ids of those of `waiting` whose tools others run: they wait for a result. */
  readonly external?: readonly string[]
  /** From here on the record contains the whole step. */
  readonly closed?: true
}

/** A block of an answer, or a piece of one while streaming. */
export interface JournalBlock {
  /** The block's index in the answer. */
  readonly index: number
  /** Text received since the last piece of this block. */
  readonly text?: string
  /** The complete block: a message part. */
  readonly part?: JsonObject
  /** The number of characters of the part's text that are in earlier pieces and not in `part`. */
  readonly after?: number
}

/**
 * The state of a turn's input. `queued`: it waits, with its `message`. `taken`: its message is in the record, and a
 * run works on it. `waiting`: calls of its answer wait for an approval. `answered`. `failed`: its run ended
 * otherwise; if asked again, it is retried. `cancelled`: somebody cancelled it.
 */
export interface InputNote {
  readonly type: 'input'
  /** The input's id. */
  readonly id: string
  /** Its new state. */
  readonly state: 'queued' | 'taken' | 'waiting' | 'answered' | 'failed' | 'cancelled'
  /** The user's message, while it is queued. */
  readonly message?: JsonObject
  /** When taken, its message's position in the record; when answered, the length of the record. */
  readonly at?: number
  /** Why its run ended, or why it was cancelled. */
  readonly reason?: string
}

/**
 * A change of the session's metadata, which is the fold of these notes. The first one and every 32nd have the whole value,
 * the others Immer's patches. `session.update` writes it.
 */
export interface MetadataNote {
  readonly type: 'metadata'
  /** The metadata after the change. */
  readonly value?: JsonObject
  /** Immer's patches, which make the metadata of the metadata before. */
  readonly patches?: readonly JsonObject[]
  /** In the first note: the metadata that the session began with. Default: `{}`. */
  readonly before?: JsonObject
}

/**
 * A piece of a program's file, byte for byte. Notes of one file follow each other: one that begins at 0 starts a new
 * version of the file, another continues the version before it. `indelible keep` writes them.
 */
export interface KeptFileNote {
  readonly type: 'kept_file'
  /** The program that wrote the file, such as `claude-code`. */
  readonly program: string
  /** The file's path below the program's folder, with `/`. */
  readonly file: string
  /** The first byte of the piece in the file. */
  readonly from: number
  /** The byte after the piece. */
  readonly to: number
  /** The size of the file when it was read. The version is whole when `to` reaches it. */
  readonly size: number
  /** SHA-256 of the file's bytes before `to`. */
  readonly digest: string
  /** The blocks with the bytes from `from` to `to`, in order, each a zstd frame. */
  readonly blocks: readonly KeptBlock[]
}

/** A block of a kept file. */
interface KeptBlock {
  /** The id of the stored block. */
  readonly id: BlockId
  /** The key of the block, in base64, if the session is encrypted. */
  readonly key?: string
}

/** The end of the record: only a change of the metadata can be appended after it. */
export interface SealNote {
  readonly type: 'seal'
}

/** Replaces a note that was erased because it repeated an erased message. Only an erasure creates it. */
interface ErasedNote {
  readonly type: 'erased'
  /** The erased note's type. */
  readonly was: string
}

/** An application's own note. `namespace` separates applications: `com.example.app`. */
export interface ApplicationNote {
  readonly type: 'application'
  /** The application: `com.example.app`. Not empty. */
  readonly namespace: string
  /** Any JSON data. */
  readonly content: Json
  /** The ids of the tool calls that it is about. It is erased with their messages, and with those of their results. */
  readonly calls?: readonly string[]
}
