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
import type { Head, Lease, LogFault } from '../store/index.ts'
import type { CallbackThrew, Task } from '../task/index.ts'
import type { LeaseSessionFault, RefreshFault, UpdateSessionFault, WriteFault } from './fault.ts'
import type { LeaseOptions, SessionLease } from './lease.ts'
import type { SessionInfo } from './metadata.ts'
import type { Missed, Moment } from './mirror.ts'
import type { Recorded } from './step.ts'

declare class SessionBrand {
  readonly #session: never
}

/** What can be read of any session, as it is in memory: everything that was read or acknowledged here. */
export interface SessionReader extends SessionBrand {
  /** The id of the session. */
  readonly id: string
  /** How many messages it has. */
  readonly len: number
  /** The messages, as a value that never changes. Their page kinds are those they were appended with. Cost: O(1). */
  readonly view: () => View<Message>
  /**
   * What retractions leave of `view()`: what is said to a model, exported and continued. A view like any other, and
   * `positionAt` says where each of its messages stands in the record. Cost: O(1); after an append or a retraction
   * O(retractions), once.
   */
  readonly conversation: () => View<Message>
  /**
   * The record as it was at a head, also one that was kept elsewhere: its messages, conversation and notes.
   * `undefined`, if this handle has not read so far. The root is not looked at: that is for `verifySession`.
   * Cost: O(retractions).
   */
  readonly at: (head: Pick<Head, 'size'>) => Moment | undefined
  /** The notes, in the order in which they were written. Cost: O(1). */
  readonly notes: () => View<Note>
  /** What became of the page kinds: those of `view()`, and over them what the notes say. Cost: O(len) after a page note. */
  readonly pages: () => readonly PageKind[]
  /** Size and Merkle root of the log of messages and notes. Keep it elsewhere, and `verifySession` can hold the record to it. */
  readonly head: () => Head
  /** What the store says of the session: id, length, head, metadata, and where it was forked from. */
  readonly info: () => SessionInfo
  /** The metadata, as it was read or changed last. */
  readonly metadata: () => JsonObject
  /** The calls of the last turn of the conversation that have no result, by their positions in the record. Cost: O(last turn). */
  readonly openCalls: () => readonly OpenCall[]
}

/** A session to read from: it can be handed to whoever should not write. */
export interface ReadonlySession extends SessionReader {
  readonly state: 'readonly'
  /** Read what was appended since, here or elsewhere. */
  readonly refresh: () => Task<RefreshFault, Missed>
  /** Who holds the session; undefined: nobody. */
  readonly leaseOf: () => Task<LogFault, Lease | undefined>
  /** Ask the holder to stop: its lease's `signal` is aborted at its next renewal. Gives the lease; undefined: nobody holds one. */
  readonly requestStop: () => Task<LogFault, Lease | undefined>
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
  readonly append: (
    given: Appendable | readonly Appendable[] | Together,
    options?: AppendOptions,
  ) => Task<WriteFault, Recorded>
  /**
   * Append what `make` gives for the conversation as it is. Where another writer was quicker it is asked again, with what
   * that one has appended; an empty list ends it.
   *
   * Called again and again without a pause it gives way to other writers from time to time, for at most 1.25 seconds.
   */
  readonly rebase: (
    make: (view: View<Message>) => Appendable | readonly Appendable[],
    options?: Omit<AppendOptions, 'expectedLen' | 'expectedHead'>,
  ) => Task<WriteFault | CallbackThrew, Recorded>
  /**
   * Take the last message out of the conversation, and give it: `undefined` if there is none. The record keeps it, as it
   * does all that `rewind`, `replaceTail` and `clear` retract.
   *
   * Each of these four is one append, or none if there is nothing to do: a note (`retraction`), and behind it the
   * messages that come instead. It is done to the record as this handle knows it, once what was called before is done.
   * `SessionConflict` if somebody else has written since, be it a note: of two that pop at once, one pops.
   */
  readonly pop: (options?: RetractOptions) => Task<WriteFault, Popped>
  /** Take everything from a position of the record on out of the conversation. `InvalidNote` beyond its end. */
  readonly rewind: (to: number, options?: RetractOptions) => Task<WriteFault, Recorded>
  /** The same, with messages that come instead, all in one append. */
  readonly replaceTail: (
    from: number,
    messages: Appendable | readonly Appendable[],
    options?: RetractOptions & Pick<AppendOptions, 'page'>,
  ) => Task<WriteFault, Recorded>
  /** Take everything out of the conversation. */
  readonly clear: (options?: RetractOptions) => Task<WriteFault, Recorded>
  /** Write a note behind whatever was appended. It must speak of messages that are there, a summary with their digest. */
  readonly note: (note: Exclude<Note, SealNote>, options?: NoteOptions) => Task<WriteFault, Recorded>
  /** Pin a message: it is held as a `constraint` from now on. */
  readonly pin: (position: number) => Task<WriteFault, Recorded>
  /** Undo `pin`: the message has its own page kind again. */
  readonly unpin: (position: number) => Task<WriteFault, Recorded>
  /** Give a message another page kind. What it was appended with stays in the record. */
  readonly retag: (position: number, kind: PageKind) => Task<WriteFault, Recorded>
  /** A note that says in short what the messages from `from` up to, not including, `to` say. Their digest is put in. */
  readonly summarize: (summary: NewSummary) => Task<WriteFault, Recorded>
  /** Change the metadata, with an Immer recipe. `MetadataConflict` if somebody else has: then it has their values. */
  readonly update: (recipe: (metadata: MetadataDraft) => void) => Task<UpdateSessionFault, JsonObject>
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
  readonly refresh: () => Task<RefreshFault, Missed>
  /**
   * Hold the session: while it is held nobody else gets a lease, and every append of this handle carries it. What others
   * have appended is read first. It is renewed until it is released, and released when the session is closed.
   *
   * `SessionBusy` while somebody else holds it. Once the lease is lost, appends of this handle are `LeaseLost` and append
   * nothing, however long it was paused: take a new lease, or release the lost one.
   *
   * Cost    one small transaction beside the log, and one for each renewal
   */
  readonly lease: (options: LeaseOptions) => Task<LeaseSessionFault, SessionLease>
  /** Who holds the session; undefined: nobody. */
  readonly leaseOf: () => Task<LogFault, Lease | undefined>
  /** Ask the holder to stop: its lease's `signal` is aborted at its next renewal. Gives the lease; undefined: nobody holds one. */
  readonly requestStop: () => Task<LogFault, Lease | undefined>
  /** End the record, for every writer. This handle appends nothing any more either. */
  readonly seal: () => Task<WriteFault, SealedSession>
  /** The same session for whoever should only read: it follows this one. */
  readonly readonly: () => ReadonlySession
  /** Let go of it, once everything that was called is done. The store stays open. */
  readonly close: () => Task<never, void>
}

/** A call that was begun and is in no message. */
export type StartedCall = Omit<ToolStartedNote, 'type'>

/** A message to append. */
export type Appendable = Message | Immutable<Message>

/** Messages and notes that are appended as one: all of them or none, first the messages, then the notes. */
export interface Together {
  /** The messages to append, in order. Default: none. */
  readonly messages?: readonly Appendable[]
  /** They may speak of the messages before them, by their positions; a summary only of messages that were there already. */
  readonly notes?: readonly Exclude<Note, SealNote>[]
}

/** How messages are appended. */
export interface AppendOptions extends NoteOptions {
  /** What the entries are for memory management: one kind for all, or one for each (`undefined`: as classified). */
  readonly page?: PageKind | readonly (PageKind | undefined)[]
}

/** What an append continues, and how it is named. */
export interface NoteOptions {
  /**
   * Names this append, so that it can be tried again after any failure, also by another process: where it has happened
   * before, the answer is that of the first time. The same name with other messages or notes is a fault.
   */
  readonly operation?: string
  /**
   * The length that it continues. Notes don't count: it succeeds behind a note that nobody here has seen. Default for
   * messages: that of everything appended here so far, answered or not; for a note alone: any.
   */
  readonly expectedLen?: number
  /**
   * The head that it continues: no message and no note may have come since, or it is a `SessionConflict`. It waits for
   * everything that was called before. `expectedLen` is not looked at then.
   */
  readonly expectedHead?: Head
  /** `SessionBusy` where somebody else holds the session, instead of an append beside its holder. Default: false. */
  readonly respectLease?: boolean
}

/** How messages are retracted. */
export interface RetractOptions extends Pick<NoteOptions, 'respectLease'> {
  /** Names it, so that it can be tried again after any failure: name `expectedHead` too, for what it is done to. */
  readonly operation?: string
  /** The head of the record that it is done to. Default: the one that it has here by then. */
  readonly expectedHead?: Head
}

/** What was popped, and the append that did it. */
export interface Popped extends Recorded {
  /** The message that was the last of the conversation. */
  readonly message: Immutable<Message> | undefined
  /** Where it stands in the record. */
  readonly position: number | undefined
}

/** Who says what, in short, about which messages. */
export interface NewSummary {
  /** The first position that it sums up. */
  readonly from: number
  /** The position after the last one. */
  readonly to: number
  /** The summary. */
  readonly text: string
  /** Who wrote it: the name of a model. */
  readonly model?: string
  /** The digest of the prompt that it was asked by. */
  readonly promptDigest?: string
}

/** Metadata that may be changed, inside a recipe. */
export type MetadataDraft = { [key: string]: DraftJson }
type DraftJson = Exclude<Json, object> | DraftJson[] | { [key: string]: DraftJson }
