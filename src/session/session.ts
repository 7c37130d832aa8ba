/**
 * The session: a history made durable by a store. When an append resolves, its messages are durable, in order, once.
 *
 * A `Session` can append. A `ReadonlySession` and a `SealedSession` have no `append` at all.
 */
import type { View } from '../history/index.ts'
import type { Immutable, JsonObject, MutableJson } from '../json/index.ts'
import type { Message, OpenCall } from '../message/index.ts'
import type { Note, SealNote, ToolStartedNote } from '../notes/kit.ts'
import type { PageKind } from '../pages/index.ts'
import type { ActionReason, Head } from '../store/index.ts'
import type { CallbackThrew, Task } from '../task/index.ts'
import type { ErasureReceipt } from './erasing/receipt.ts'
import type { EraseSessionFault, LeaseSessionFault, RefreshFault, UpdateSessionFault, WriteFault } from './fault.ts'
import type { LeaseOptions, SessionLease } from './writing/lease.ts'
import type { SessionInfo } from './record/metadata.ts'
import type { OpenStep } from './record/journal.ts'
import type { DamagedRow, MissedRows, Moment, SessionRow } from './record/mirror.ts'
import type { AppendedMessages } from './record/step.ts'

declare class SessionBrand {
  readonly #session: never
}

/** The read side of a session. It reads from memory: all rows that this handle has read or appended so far. */
export interface SessionReader extends SessionBrand {
  /** The id of the session. */
  readonly id: string
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
   * The record as it was at a head, including one that you stored elsewhere. The root is not
   * checked; `verifySession` does that. Cost: O(retractions).
   *
   * @param head the head; only its size is used
   * @returns its messages, conversation and notes; undefined if this handle has not read that far
   */
  readonly at: (head: Pick<Head, 'size'>) => Moment | undefined
  /**
   * The notes, in the order of the log. Cost: O(1).
   *
   * @returns the notes
   */
  readonly notes: () => View<Note>
  /**
   * The record row by row: messages and notes in log order, each with its position and time. It
   * ends at the current last row. Cost: O(rows that are read).
   *
   * @param from the first row, by the rules of `slice`. Default: 0
   * @param to the row after the last one. Default: the end
   * @returns the rows
   */
  readonly rows: (from?: number, to?: number) => Iterable<SessionRow>
  /**
   * The time at which a message was appended, by the clock of its writer. Cost: O(log notes · log messages).
   *
   * @param position the position of the message in the record
   * @returns milliseconds since 1970
   * @throws RangeError if the record has no message there
   */
  readonly timeOf: (position: number) => number
  /**
   * The current page kind of each message: the kinds of `view()`, overridden by notes. Cost: O(len) after a page note.
   *
   * @returns the kinds, one for each message of `view()`
   */
  readonly pages: () => readonly PageKind[]
  /**
   * The size and the Merkle root of the log of messages and notes. Store it elsewhere to check the
   * record against it with `verifySession`.
   *
   * @returns the head
   */
  readonly head: () => Head
  /**
   * The description of the session: id, length, head, metadata, and the session it was forked from.
   *
   * @returns the description
   */
  readonly info: () => SessionInfo
  /**
   * The metadata, as this handle last read or changed it.
   *
   * @returns the metadata
   */
  readonly metadata: () => JsonObject
  /**
   * The altered rows. `readSession` replaces each with a placeholder message. Always empty for a
   * session opened to append.
   */
  readonly damaged: readonly DamagedRow[]
  /**
   * The calls without a result in the last turn of the conversation. Cost: O(last turn).
   *
   * @returns the calls, with their positions in the record
   */
  readonly openCalls: () => readonly OpenCall[]
}

/** A session without write methods. Pass it to code that should only read. */
export interface ReadonlySession extends SessionReader, Pick<Session, 'refresh'> {
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
}

/** A session that was sealed. It accepts no more appends from any writer; you can fork it. */
export interface SealedSession extends SessionReader, Pick<Session, 'erase'> {
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
   * @param given one message, several, or messages and notes together
   * @param options page kinds, an operation id for retries, and the length or head to continue
   * @returns the positions and the head after the append; or a fault such as `SessionConflict`, `InvalidMessage`,
   * `SessionSealed`
   * @example
   * await session.append(user('Is it raining?'))
   * await session.append([assistant(toolCall('c1', 'look', '{}')), toolResult('c1', 'yes')], { operation: 'turn-1' })
   */
  readonly append: (
    given: Appendable | readonly Appendable[] | MessagesAndNotes,
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
    make: (view: View<Message>) => Appendable | readonly Appendable[],
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
   * Append a note. It may only name positions that the record has. A summary must have the digest of its messages.
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
  readonly note: (note: Exclude<Note, SealNote>, options?: NoteOptions) => Task<WriteFault, AppendedMessages>
  /**
   * Append a summary of the messages from `from` up to, not including, `to`. Their digest is computed here.
   *
   * @param summary the range, the text and its author
   * @param options whether to respect another holder's lease
   * @returns the head after the append
   */
  readonly summarize: (summary: NewSummary, options?: LeaseRespect) => Task<WriteFault, AppendedMessages>
  /**
   * Erase messages: see `eraseMessages` of `indelible/session`. Earlier calls finish first. This
   * handle keeps in memory what it has read: open the session again to see it without the messages.
   *
   * @param what the positions of the messages in the record; or messages, inputs, or `{ all: true }`
   * @param options the reason and the person, for the ledger; and whether to respect another holder's lease
   * @returns the receipt; or `LogHeld`, `BeyondEnd`, `NoSuchInput`
   * @example
   * const receipt = await session.erase([3], { reason: 'asked to', by: 'ann' })
   */
  readonly erase: (
    what: readonly number[] | EraseTarget,
    options?: EraseOptions,
  ) => Task<EraseSessionFault, ErasureReceipt>
  /**
   * Change the metadata with an Immer recipe. The recipe runs after earlier updates, and objects
   * that it inserts are copied.
   *
   * @param recipe changes the draft in place, or returns other metadata. An async one does not compile
   * @param options whether to respect another holder's lease
   * @returns the new metadata; or `MetadataConflict` with the current metadata, if another writer changed it first
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
   * The messages to append after an interrupted run, before anything else: the answers of its model
   * as far as they arrived (a cut one is marked), the results of its tools, and an error result for
   * each other call. The error results tell which calls had started and may have had side effects.
   * A cut answer is followed by a `developer` message.
   *
   * Empty while the run is working, which means that it held the lease when this handle last
   * checked. `refresh` checks again.
   *
   * @param reason the text for each error result, which the model reads. Default: what is known about each call
   * @returns the messages; empty if nothing is open
   * @example
   * await session.append(session.interrupted())
   */
  readonly interrupted: (reason?: string) => readonly Message[]
  /**
   * The calls that were started and have no known result. Their run died or still works, so their effects are unknown.
   *
   * @returns the calls
   */
  readonly unfinished: () => readonly StartedCall[]
  /**
   * The steps of runs that are not recorded yet: the run is working, has died, or waits for an approval.
   *
   * @returns the steps, in the order in which they started
   */
  readonly openSteps: () => readonly OpenStep[]
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
   * The last lease that this handle took and has not released.
   *
   * @returns the lease, which may be lost by now (see `held`); undefined if there is none
   */
  readonly held: () => SessionLease | undefined
  /**
   * End the record for all writers, including this handle.
   *
   * @param options whether to respect another holder's lease
   * @returns the sealed session, for reading
   */
  readonly seal: (options?: LeaseRespect) => Task<WriteFault, SealedSession>
  /**
   * The same session without write methods. It sees everything that this handle appends.
   *
   * @returns the readonly session
   */
  readonly readonly: () => ReadonlySession
  /**
   * Finish pending calls, then close this handle. The store stays open.
   *
   * @returns nothing
   */
  readonly close: () => Task<never, void>
}

/** A call that was started and is in no message of the record. */
export type StartedCall = Omit<ToolStartedNote, 'type'>

/** A message to append. */
export type Appendable = Message | Immutable<Message>

/** Messages and notes to append together, all or none. The messages come first. */
export interface MessagesAndNotes {
  /** The messages to append, in order. Default: none. */
  readonly messages?: readonly Appendable[]
  /** The notes. They may name positions of the new messages; a summary may not. Default: none. */
  readonly notes?: readonly Exclude<Note, SealNote>[]
}

/** The options of `append`. */
export interface AppendOptions extends NoteOptions {
  /** The page kind of the messages: one for all, or a list (`undefined`: classified). Default: classified. */
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
export interface EraseOptions extends ActionReason, LeaseRespect {}

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
  readonly instead?: Appendable | readonly Appendable[]
}

/** The popped message, and the append that retracted it. */
export interface PopResult extends AppendedMessages {
  /** The removed message; undefined if the conversation was empty. */
  readonly message: Immutable<Message> | undefined
  /** Its position in the record; undefined if the conversation was empty. */
  readonly position: number | undefined
}

/** A summary to append. */
export interface NewSummary {
  /** The first position of the range. */
  readonly from: number
  /** The position after the last one. */
  readonly to: number
  /** The text of the summary. */
  readonly text: string
  /** The author: the name of a model. Default: none. */
  readonly model?: string
  /** SHA-256 of the prompt that the model got. Default: none. */
  readonly promptDigest?: string
}

/** The metadata inside a recipe, which may change it. */
export type MetadataDraft = { [key: string]: MutableJson }
