/**
 * The session: a history made durable by a store. When an append resolves, its messages are durable, in order, once.
 *
 * A `Session` can append. A `ReadonlySession` and a `SealedSession` have no `append` at all.
 */
import type { History, View } from '../history/index.ts'
import type { Immutable, JsonObject } from '../json/index.ts'
import type { Message } from '../message/index.ts'
import type { Note, SealNote, SummaryNote, ToolStartedNote, ReceiptNote } from '../notes/internal.ts'
import type { PageKind } from '../pages/index.ts'
import type { Head, LogFault } from '../store/index.ts'
import type { BlockId } from '../proof/internal.ts'
import type { CallbackThrew, Clock, Signal, SignalLike, Task } from '../task/index.ts'
import type { LeaseSessionFault, RefreshFault, UpdateSessionFault, WriteFault } from './fault.ts'
import type { ForkPoint } from './record/metadata.ts'
import type { MetadataDraft } from './record/metadata-notes.ts'
import type { DamagedRow, MissedRows, Moment } from './record/loaded-record.ts'
import type { AppendedMessages } from './record/step.ts'
import type { Paged } from '../history/internal.ts'
import type { PageKinds } from '../pages/internal.ts'
import type { ActionReason } from '../store/internal.ts'

declare class SessionBrand {
  readonly #session: never
}

/** The read side of a session. It reads from memory: all rows that this handle has read or appended so far. */
export interface SessionReader extends SessionBrand {
  /** The id of the session. */
  readonly id: string
  /** The session that it was forked from, and the number of shared messages; undefined if it is not a fork. */
  readonly forkedFrom: ForkPoint | undefined
  /** The number of messages in the record. */
  readonly len: number
  /**
   * All messages of the record, as a value that never changes, with the page kinds of the append. Cost: O(1).
   *
   * @returns the view
   */
  readonly view: () => View<Message>
  /**
   * The record without retracted messages. Send, export and continue this one. `positionAt` returns the
   * position of each message in the record. Cost: O(1); after an append or a retraction once O(retractions).
   *
   * @returns the view
   */
  readonly conversation: () => View<Message>
  /**
   * The record now, or as it was at a head, including one that you stored elsewhere: its views, notes, page kinds, rows
   * and metadata. The root is not checked; `verifySession` does that.
   *
   * Cost    O(1) for the record now, O(retractions) for an earlier one; `pages` costs O(len) after a page note
   *
   * @param head the head; only its size is used. Default: the current head
   * @returns the record at that head; undefined if this handle has not read that far
   * @throws TypeError if `head` is not a head, also for an explicit `undefined`
   * @example
   * session.at().pages
   */
  readonly at: {
    (): Moment
    (head: Pick<Head, 'size'>): Moment | undefined
  }
  /**
   * The notes, in the order of the log. Cost: O(1).
   *
   * @returns the notes
   */
  readonly notes: () => View<Note>
  /**
   * The size and the Merkle root of the log of messages and notes. Store it elsewhere to check the
   * record against it with `verifySession`.
   *
   * @returns the head
   */
  readonly head: () => Head
  /**
   * The metadata, as this handle last read or changed it.
   *
   * @returns the metadata
   */
  readonly metadata: () => JsonObject
}

/** A session without write methods, from `readSession`. */
export interface ReadonlySession extends SessionReader, Pick<Session, 'refresh'> {
  /** The altered rows. A placeholder message replaces each. */
  readonly damaged: readonly DamagedRow[]
  readonly state: 'readonly'
}

/** Selects what to erase from a session. */
export interface EraseTarget {
  /** The positions of messages in the record. Default: none. */
  readonly messages?: readonly number[]
  /**
   * The ids of turn inputs. An input that a run has taken is erased with its message. One that no run has
   * taken is removed from the queue, but a caller still waiting for it queues it again. Default: none.
   */
  readonly inputs?: readonly string[]
  /** All messages, inputs and discarded answers, and all notes with more than positions and kinds. */
  readonly all?: true
  /**
   * The files of programs that `indelible keep` stored with the session. They have its messages, so an erasure of messages
   * or inputs erases them, too.
   */
  readonly files?: true
}

/** A session that was sealed. Nobody can append to it. Its metadata can still change, and you can fork it. */
export interface SealedSession extends SessionReader, Pick<ReadonlySession, 'damaged'>, Pick<Session, 'update'> {
  readonly state: 'sealed'
}

/** A session to append to. */
export interface Session extends SessionReader {
  readonly state: 'open'
  /**
   * Append messages: all of them, or none and a fault. When the task resolves, they are as durable as the store
   * guarantees. You can run several appends without awaiting each: they keep their order and share commits.
   *
   * `SessionConflict` means that another writer appended first. The view then has its messages, and
   * you can append again. If the store refuses an append, those that wait behind it fail too. One that is refused for
   * its arguments, or for a conflict that this handle already knows, does not stop the later ones.
   *
   * Cost    one round trip to the store, independent of `len` (bench: sessions)
   *
   * @param messages one message, several, a view, or messages and notes together. A view keeps its page kinds
   * @param options page kinds, an operation id for retries, and the length or head to continue
   * @returns the positions and the head after the append; or a fault such as `SessionConflict`, `InvalidMessage`,
   * `SessionSealed`
   * @example
   * await session.append(user('Is it raining?'))
   * await session.append([assistant(toolCall('c1', 'look', '{}')), toolResult('c1', 'yes')], { operation: 'turn-1' })
   */
  readonly append: (
    messages: MessagesInput | MessagesAndNotes,
    options?: AppendOptions,
  ) => Task<WriteFault, AppendedMessages>
  /**
   * Append the messages that `make` returns for the current conversation. If another writer appends first,
   * `make` is called again with the new conversation. If it returns an empty list, nothing is appended.
   *
   * Writers that rebase in a loop without a pause take turns. On PostgreSQL, each appends once per
   * round; elsewhere, each pauses now and then, for at most 1.25 seconds.
   *
   * @param make returns the messages to append to the given conversation
   * @param options page kinds, and an operation id for retries
   * @returns the positions and the head after the append; or a fault, `CallbackThrew` if `make` threw
   */
  readonly rebase: (
    make: (view: View<Message>) => MessagesInput,
    options?: Omit<AppendOptions, 'expectedLen' | 'expectedConversation' | 'expectedHead'>,
  ) => Task<WriteFault | CallbackThrew, AppendedMessages>
  /**
   * Remove the last message from the conversation. As with `rewind`, the record keeps it.
   *
   * Both are one append: a `retraction` note, and the messages that replace the retracted ones. If there is nothing to
   * retract, nothing is appended. They apply to the record as this handle knows it after all earlier calls. If another
   * writer has appended since, the result is a `SessionConflict`; if two processes pop at once, only one succeeds.
   *
   * @param options an operation id for retries, and the head to continue. Pass both, so that a
   * retry retracts the same messages
   * @returns the message and its position; both undefined if the conversation is empty
   */
  readonly pop: (options?: RetractOptions) => Task<WriteFault, PopResult>
  /**
   * Remove all messages from a position of the record from the conversation. `rewind(0)` removes all of it.
   *
   * @param to the first position to retract
   * @param options replacement messages for the same append, page kinds, an operation id, and the head to continue
   * @returns the positions and the head after the append; or `InvalidNote` if the position is beyond the end of the record
   * @example
   * await session.rewind(2, { instead: user('Another, with a Z.') })
   */
  readonly rewind: (to: number, options?: RewindOptions) => Task<WriteFault, AppendedMessages>
  /**
   * Append a note. It may only name positions that the record has. A summary gets the
   * digest of its messages; one that has another digest is refused.
   *
   * `pin` makes contexts treat the message as a `constraint`; `unpin` undoes it. `page` changes the
   * page kind of the message; the record keeps the original kind.
   *
   * @param note the note
   * @param options an operation id for retries, and the length or head to continue
   * @returns the head after the append; or `InvalidNote`
   * @example
   * await session.note({ type: 'pin', position: 0 })
   */
  readonly note: (note: NewNote, options?: NoteOptions) => Task<WriteFault, AppendedMessages>
  /**
   * Change the metadata with an Immer recipe. The change is a note, so `at` can return earlier metadata. The recipe
   * runs after earlier updates, and again if another writer appends first. Objects that it inserts are copied. A recipe
   * that changes nothing appends nothing.
   *
   * @param recipe changes the draft in place, or returns other metadata. An async one does not compile
   * @param options whether to respect another holder's lease
   * @returns the new metadata; or `InvalidMeta`, `CallbackThrew` if the recipe threw. After a fault of the store, the change may
   * be in the record, and not yet in lists
   * @example
   * await session.update((metadata) => {
   *   metadata['title'] = 'Weather'
   * })
   */
  readonly update: (
    recipe: (metadata: MetadataDraft) => JsonObject | void,
    options?: LeaseRespect,
  ) => Task<UpdateSessionFault, JsonObject>
  /**
   * A history over the session. Its `append` returns the position at once, and the session stores the message meanwhile; its
   * `view` and `len` include messages that are not stored yet. Only `flush` says that they are. Functions that take a
   * history take this one. A crash loses at most what no `flush` had acknowledged.
   *
   * After a conflict or another failure, `append` throws a FaultError with the fault, and `view` has the stored messages.
   * Call `history()` again for a handle that continues the record as it is now.
   *
   * @returns the handle: the same one until it fails
   * @example
   * const position = session.history().append(user('hello'))
   * await session.flush()
   */
  readonly history: () => History<Message>
  /**
   * Wait until everything that was appended through `history()` is stored, as durable as the store guarantees.
   *
   * @returns the head; or the fault after which the history appends no more, such as `SessionConflict`. The fault of an
   * earlier handle that was neither returned nor thrown comes first, once
   */
  readonly flush: () => Task<WriteFault, Head>
  /**
   * Read the rows that other writers appended.
   *
   * @returns the new messages and notes
   */
  readonly refresh: () => Task<RefreshFault, MissedRows>
  /**
   * Take the lease of the session, after reading other writers' rows. While this handle has it, no other process
   * can get one, and every append of this handle carries it. The lease is renewed until you release it or close the
   * session. `store.leaseOf(id)` returns the current holder, and `store.requestStop(id)` asks it to stop.
   *
   * Once another process has taken the lease, appends of this handle fail with `LeaseLost`: take a
   * new lease, or release the lost one. A process paused beyond its time to live can continue if no
   * other process has taken the lease.
   *
   * Cost    one small transaction beside the log, and one for each renewal
   *
   * @param options the holder's name, the time to live, and the maximum wait
   * @returns the lease; or `SessionBusy` while another holder has it
   */
  readonly lease: (options: LeaseOptions) => Task<LeaseSessionFault, SessionLease>
  /**
   * End the record for all writers, including this handle.
   *
   * @param options whether to respect another holder's lease
   * @returns the sealed session, for reading
   */
  readonly seal: (options?: LeaseRespect) => Task<WriteFault, SealedSession>
  /**
   * Finish pending calls, then close this handle. The store stays open.
   *
   * @returns nothing
   */
  readonly close: () => Task<never, void>
}

/** The options of `session.lease`. */
export interface LeaseOptions {
  /** The name of the holder, shown to others: 1 to 255 bytes without control characters. It need not be unique. */
  readonly holder: string
  /**
   * The time to live in milliseconds. If the holder does not renew the lease in that time, others
   * may take it. It is renewed after a third of that time. Default: 10,000.
   */
  readonly ttl?: number
  /** The maximum wait for another holder, in milliseconds. Default: 0. */
  readonly wait?: number
  /** The clock that times renewals and waits. Default: the system's. */
  readonly clock?: Clock
}

/** A lease that this handle took. Every append, update and erasure of the handle carries it until it is released. */
export interface SessionLease {
  /**
   * The fencing number: greater than that of every earlier lease of this session, and of earlier sessions with its id.
   * The first one is the time in milliseconds since 1970.
   */
  readonly number: number
  /** The holder's name, as passed to `lease`. */
  readonly holder: string
  /** False once the lease was released, or the store reported it lost. A paused holder notices that late. */
  readonly held: boolean
  /**
   * Aborted when another process asks the holder to stop (`StopRequested`), and when the store reports that another
   * holder took the lease (`LeaseLost`). The reason is a FaultError. Pass the signal to a run. After a stop request
   * the lease is still held, so the run can finish its step. A store that does not respond does not abort it.
   */
  readonly signal: Signal
  /**
   * Release the lease. Later appends of the handle carry none. Closing the session also releases it.
   *
   * @returns the head of the stored log at that moment, which may be beyond `session.head()`; undefined if the lease was not
   * held any more
   */
  readonly release: () => Task<LogFault, Head | undefined>
}

/** A call that was started and is in no message of the record. */
export type StartedCall = Omit<ToolStartedNote, 'type'>

/** A note to append. `seal` writes seals; a note of metadata, which `update` writes, is refused. */
export type NewNote = Exclude<Note, SealNote | SummaryNote | ReceiptNote> | NewSummary | NewReceipt

/** A summary to append. */
interface NewSummary extends Omit<SummaryNote, 'sourceDigest'> {
  /** The `rangeDigest` of the summarized messages. Default: it is computed when the note is written. */
  readonly sourceDigest?: string
}

/** A message to append. */
export type Appendable = Message | Immutable<Message>

/** A receipt to append. */
export interface NewReceipt extends Omit<ReceiptNote, 'instructions'> {
  /**
   * The text of the instructions, which the store keeps once as a block, for all sessions. The note has the block's id.
   * Or only the id.
   */
  readonly instructions?: { readonly text: string } | BlockId
}

/** Messages with the page kind of each: a view, or `{ messages, pages }`, such as `{ ...view }`. */
export type PagedMessages = Paged<Message>

/** One message, several, or a view with its page kinds. */
export type MessagesInput = Appendable | readonly Appendable[] | PagedMessages

/** Messages and notes to append together, all or none. The messages come first. */
export interface MessagesAndNotes {
  /** The messages to append, in order, or a view. Default: none. */
  readonly messages?: readonly Appendable[] | PagedMessages
  /** The page kind of each message. Default: those of the view, or classified. */
  readonly pages?: PageKinds | undefined
  /** The notes. They may name positions of the new messages; a summary may not. Default: none. */
  readonly notes?: readonly NewNote[]
}

/** The options of `append`. */
export interface AppendOptions extends NoteOptions {
  /**
   * The page kind of the messages: one for all, or a list (`undefined`: the view's, or classified). Default: the view's, or
   * classified.
   */
  readonly page?: PageKind | readonly (PageKind | undefined)[]
  /**
   * With `expectedLen`: the number of messages of the conversation to continue. If some were retracted since, the result
   * is a `SessionConflict`. Default: any number.
   */
  readonly expectedConversation?: number
}

/** Whether a change respects another holder's lease. Every method that writes has this option. */
export interface LeaseRespect {
  /** If true, fail with `SessionBusy` while another holder has the lease. Default: false, write anyway. */
  readonly respectLease?: boolean
}

/** The options of an erasure: the reason and the person, for the ledger. */
export interface EraseOptions extends ActionReason, LeaseRespect {
  /**
   * By position: digests that the ledger keeps with the erased message, by which a program recognizes a copy of it that it finds
   * later. A digest of a short text alone can be guessed. Default: none.
   */
  readonly digests?: ReadonlyMap<number, readonly string[]>
  /** Aborting this signal before rows are erased ends the erasure with `Cancelled`. Default: none. */
  readonly signal?: SignalLike
  /**
   * Whether another erasure follows at once, which then cleans the files of the store for both. Until then they may have
   * bytes of the messages, and the receipt's `residue` does not say so. Default: false.
   */
  readonly cleanLater?: boolean
}

/** An append's operation id, and the record state that it continues. */
export interface NoteOptions extends LeaseRespect {
  /**
   * The operation id of this append. After any failure you can retry with it, even from another process: if the
   * append already happened, you get its first result. Other content under the same id is a fault. Default: none.
   */
  readonly operation?: string
  /**
   * The number of messages to continue, not counting notes. Default for messages: all that this
   * handle has appended, acknowledged or not. Default for a note alone: any number.
   */
  readonly expectedLen?: number
  /**
   * The head to continue. If a message or note was added since, the result is a `SessionConflict`.
   * The append waits for all earlier calls, and `expectedLen` is ignored.
   */
  readonly expectedHead?: Head
}

/** The options of `pop`. Default of `expectedHead`: the head of this handle after all earlier calls. */
export type RetractOptions = Pick<NoteOptions, 'operation' | 'expectedHead' | 'respectLease'>

/** The options of `rewind`. */
export interface RewindOptions extends RetractOptions, Pick<AppendOptions, 'page'> {
  /** The replacement messages. Default: none. */
  readonly instead?: MessagesInput
}

/** The popped message, and the append that retracted it. */
export interface PopResult extends AppendedMessages {
  /** The removed message; undefined if the conversation was empty. */
  readonly message: Immutable<Message> | undefined
  /** Its position in the record; undefined if the conversation was empty. */
  readonly position: number | undefined
}

export type { MetadataDraft }
