/**
 * The session: a history made durable by a store. Once an append is answered it is on disk, in order, once.
 *
 * Whoever holds a `Session` may append. A `ReadonlySession` and a `SealedSession` have no `append` at all.
 */
import type { View } from '../history/index.ts'
import type { Immutable, Json, JsonObject } from '../json/index.ts'
import type { Message, OpenCall } from '../message/index.ts'
import type { Note, SealNote, ToolStartedNote } from '../notes/index.ts'
import type { PageKind } from '../pages/index.ts'
import type { Head } from '../store/index.ts'
import type { SessionTask } from './fault.ts'
import type { SessionInfo } from './metadata.ts'
import type { Missed } from './mirror.ts'
import type { Recorded } from './writer.ts'

declare class SessionBrand {
  readonly #session: never
}

/** What can be read of any session, as it is in memory: everything that was read or acknowledged here. */
export interface SessionReader extends SessionBrand {
  readonly id: string
  readonly len: number
  /** The messages, as a value that never changes. Their page kinds are those they were appended with. Cost: O(1). */
  readonly view: () => View<Message>
  /** The notes, in the order in which they were written. Cost: O(1). */
  readonly notes: () => View<Note>
  /** What became of the page kinds: those of `view()`, and over them what the notes say. Cost: O(len) after a page note. */
  readonly pages: () => readonly PageKind[]
  /** Size and Merkle root of the log of messages and notes. Keep it elsewhere, and `verifySession` can hold the record to it. */
  readonly head: () => Head
  readonly info: () => SessionInfo
  readonly metadata: () => JsonObject
  /** The calls of the last turn that have no result. Cost: O(last turn). */
  readonly openCalls: () => readonly OpenCall[]
}

/** A session to read from: it can be handed to whoever should not write. */
export interface ReadonlySession extends SessionReader {
  readonly state: 'readonly'
  /** Read what was appended since, here or elsewhere. */
  readonly refresh: () => SessionTask<Missed>
}

/** A session that has ended. Nothing can be appended to it, by anybody; it can be forked. */
export interface SealedSession extends SessionReader {
  readonly state: 'sealed'
}

/** A session to append to. */
export interface Session extends SessionReader {
  readonly state: 'open'
  /**
   * Append messages: all of them, or none and a fault. When the task gives an answer they are as durable as the store
   * promises. Tasks may be run without waiting for each other: they keep their order and share commits.
   *
   * `SessionConflict` if another writer was quicker; the view has what was missed then, and the append can be tried again.
   * Appends that were called behind one that failed fail with it.
   *
   * Cost    one round trip to the store, independent of `len` (bench: sessions)
   */
  readonly append: (messages: Appendable | readonly Appendable[], options?: AppendOptions) => SessionTask<Recorded>
  /**
   * Append what `make` gives for the record as it is. Where another writer was quicker it is asked again, with what
   * that one has appended; an empty list ends it.
   */
  readonly rebase: (make: (view: View<Message>) => Appendable | readonly Appendable[], options?: Omit<AppendOptions, 'expectedLen'>) => SessionTask<Recorded>
  /** Write a note behind whatever was appended. It must speak of messages that are there, a summary with their digest. */
  readonly note: (note: Exclude<Note, SealNote>) => SessionTask<Recorded>
  /** Pin a message: it is held as a `constraint` from now on. */
  readonly pin: (position: number) => SessionTask<Recorded>
  readonly unpin: (position: number) => SessionTask<Recorded>
  /** Give a message another page kind. What it was appended with stays in the record. */
  readonly retag: (position: number, kind: PageKind) => SessionTask<Recorded>
  /** A note that says in short what the messages from `from` up to, not including, `to` say. Their digest is put in. */
  readonly summarize: (summary: NewSummary) => SessionTask<Recorded>
  /** Change the metadata, with an Immer recipe. `MetadataConflict` if somebody else has: then it has their values. */
  readonly update: (recipe: (metadata: MetadataDraft) => void) => SessionTask<JsonObject>
  /**
   * What to append before anything else is said, where a run was cut off: error results for the calls that the last turn
   * left open, and, of `unfinished` calls, a message that names them. What was started may have had effects, and it says so.
   */
  readonly interrupted: (reason?: string) => readonly Message[]
  /**
   * The calls that were started since the last message (`tool_started`) and that no message has: a run died, or is at work,
   * between its model's answer and the end of the step. What they did is not known.
   */
  readonly unfinished: () => readonly StartedCall[]
  /** Read what other writers have appended. */
  readonly refresh: () => SessionTask<Missed>
  /** End the record, for every writer. This handle appends nothing any more either. */
  readonly seal: () => SessionTask<SealedSession>
  /** The same session for whoever should only read: it follows this one. */
  readonly readonly: () => ReadonlySession
  /** Let go of it, once everything that was called is done. The store stays open. */
  readonly close: () => SessionTask<void>
}

/** A call that was begun and is in no message. */
export type StartedCall = Omit<ToolStartedNote, 'type'>

/** A message to append. */
export type Appendable = Message | Immutable<Message>

export interface AppendOptions {
  /** What the entries are for memory management: one kind for all, or one for each (`undefined`: as classified). */
  readonly page?: PageKind | readonly (PageKind | undefined)[]
  /**
   * Names this append, so that it can be tried again after any failure, also by another process: where it has happened
   * before, the answer is that of the first time. The same name with other messages is a fault.
   */
  readonly operation?: string
  /** The length that the messages continue. Default: that of everything appended here so far, answered or not. */
  readonly expectedLen?: number
}

/** Who says what, in short, about which messages. */
export interface NewSummary {
  readonly from: number
  readonly to: number
  readonly text: string
  readonly model?: string
  readonly promptDigest?: string
}

/** Metadata that may be changed, inside a recipe. */
export type MetadataDraft = { [key: string]: DraftJson }
type DraftJson = Exclude<Json, object> | DraftJson[] | { [key: string]: DraftJson }
