/**
 * The session: a history made durable by a store. When an append resolves, its messages are on disk, in order, exactly once.
 *
 * A `Session` can append. A `ReadonlySession` and a `SealedSession` have no `append` at all.
 */
import type { View } from '../history/index.ts'
import type { Immutable, Json, JsonObject } from '../json/index.ts'
import type { Message, OpenCall } from '../message/index.ts'
import type { Note, SealNote, ToolStartedNote } from '../notes/kit.ts'
import type { PageKind } from '../pages/index.ts'
import type { Because, Head } from '../store/index.ts'
import type { CallbackThrew, Task } from '../task/index.ts'
import type { ErasureReceipt } from './erasing/receipt.ts'
import type { EraseSessionFault, LeaseSessionFault, RefreshFault, UpdateSessionFault, WriteFault } from './fault.ts'
import type { LeaseOptions, SessionLease } from './writing/lease.ts'
import type { SessionInfo } from './record/metadata.ts'
import type { OpenStep } from './record/journal.ts'
import type { DamagedRow, MissedRows, Moment, SessionRow } from './record/mirror.ts'
import type { Recorded } from './record/step.ts'

declare class SessionBrand {
  readonly #session: never
}

/** The read side of a session. It reads from memory: everything that this handle has read or appended so far. */
export interface SessionReader extends SessionBrand {
  /** The id of the session. */
  readonly id: string
  /** The number of messages in the record. */
  readonly len: number
  /**
   * Every message of the record, as a value that never changes, with the page kinds it was appended with. Cost: O(1).
   *
   * @returns the view
   */
  readonly view: () => View<Message>
  /**
   * The record without the messages that retractions took out. Send, export and continue this one. `positionAt` gives
   * the position of each message in the record. Cost: O(1); after an append or a retraction O(retractions), once.
   *
   * @returns the view
   */
  readonly conversation: () => View<Message>
  /**
   * The record as it was at a head, also at one that was kept elsewhere. The root is not checked; `verifySession` does
   * that. Cost: O(retractions).
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
   * The record row by row: messages and notes in the order of the log, each with its place and its time. It ends with the
   * row that is the last one now. Cost: O(rows that are read).
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
   * The current page kind of every message: the kinds of `view()`, overridden by notes. Cost: O(len) after a page note.
   *
   * @returns the kinds, one for each message of `view()`
   */
  readonly pages: () => readonly PageKind[]
  /**
   * The size and the Merkle root of the log of messages and notes. Keep it elsewhere, and `verifySession` can compare
   * the record with it.
   *
   * @returns the head
   */
  readonly head: () => Head
  /**
   * The id, length, head and metadata of the session, and the session that it was forked from.
   *
   * @returns the description
   */
  readonly info: () => SessionInfo
  /**
   * The metadata, as this handle read or changed it last.
   *
   * @returns the metadata
   */
  readonly metadata: () => JsonObject
  /**
   * The rows that are not what was appended: `readSession` puts a message that says so in their place. Always empty for a
   * session that was opened to append.
   */
  readonly damaged: readonly DamagedRow[]
  /**
   * The calls of the last turn of the conversation that have no result. Cost: O(last turn).
   *
   * @returns the calls, with their positions in the record
   */
  readonly openCalls: () => readonly OpenCall[]
}

/** A session without the methods that write. Hand it to code that should only read. */
export interface ReadonlySession extends SessionReader, Pick<Session, 'refresh'> {
  readonly state: 'readonly'
}

/** What to erase of a session. */
export interface ToErase {
  /** The positions of messages in the record. Default: none. */
  readonly messages?: readonly number[]
  /**
   * The ids of inputs of turns. One that a run has taken is erased with its message; of one that no run has taken, nothing
   * is left to answer, but a caller that still waits for it queues it again. Default: none.
   */
  readonly inputs?: readonly string[]
  /** Every message, every input, every discarded answer, and every note that says more than positions and kinds. */
  readonly all?: true
}

/** A session that has ended. It takes no more appends from anyone; you can fork it. */
export interface SealedSession extends SessionReader, Pick<Session, 'erase'> {
  readonly state: 'sealed'
}

/** A session to append to. */
export interface Session extends SessionReader {
  readonly state: 'open'
  /**
   * Append messages: all of them, or none and a fault. When the task resolves, they are as durable as the store
   * promises. You may run several appends without awaiting each: they keep their order and share commits.
   *
   * With `SessionConflict` another writer appended first: the view has its messages now, and you may append again.
   * Appends that were called after one that failed fail with it.
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
    given: Appendable | readonly Appendable[] | Together,
    options?: AppendOptions,
  ) => Task<WriteFault, Recorded>
  /**
   * Append the messages that `make` returns for the current conversation. If another writer appends first, `make` is
   * called again with the new conversation. An empty list ends it without an append.
   *
   * Writers that call it in a loop without a pause take turns: on PostgreSQL each appends once while the others do, elsewhere
   * each steps back from time to time, for at most 1.25 seconds.
   *
   * @param make gets the conversation, and returns the messages to append
   * @param options page kinds, an operation id for retries
   * @returns the positions and the head after the append; or a fault, `CallbackThrew` if `make` threw
   */
  readonly rebase: (
    make: (view: View<Message>) => Appendable | readonly Appendable[],
    options?: Omit<AppendOptions, 'expectedLen' | 'expectedHead'>,
  ) => Task<WriteFault | CallbackThrew, Recorded>
  /**
   * Take the last message out of the conversation. The record keeps it, as for `rewind`.
   *
   * Both are one append: a note (`retraction`), and the messages that replace the retracted ones. Nothing is
   * appended if there is nothing to retract. It applies to the record as this handle knows it, after all earlier calls. If
   * another writer has appended anything since, it is a `SessionConflict`: of two processes that pop at once, one pops.
   *
   * @param options an operation id for retries, and the head to continue: give both, so that a retry retracts the same messages
   * @returns the message and its position; both undefined if the conversation is empty
   */
  readonly pop: (options?: RetractOptions) => Task<WriteFault, Popped>
  /**
   * Take everything from a position of the record on out of the conversation. `rewind(0)` takes out all of it.
   *
   * @param to the first position to retract
   * @param options the messages to append instead, in the same append; page kinds, an operation id, the head to continue
   * @returns the positions and the head after the append; or `InvalidNote` if the position is beyond the end of the record
   * @example
   * await session.rewind(2, { instead: user('Another, with a Z.') })
   */
  readonly rewind: (to: number, options?: RewindOptions) => Task<WriteFault, Recorded>
  /**
   * Append a note. It may name only positions that the record has; a summary must carry the digest of its messages.
   *
   * `pin`: contexts hold the message as a `constraint` from now on; `unpin` undoes it. `page`: the message has another page
   * kind; the record keeps the one that it was appended with.
   *
   * @param note the note
   * @param options an operation id for retries, and the length or head to continue
   * @returns the head after the append; or `InvalidNote`
   * @example
   * await session.note({ type: 'pin', position: 0 })
   */
  readonly note: (note: Exclude<Note, SealNote>, options?: NoteOptions) => Task<WriteFault, Recorded>
  /**
   * Append a summary of the messages from `from` up to, not including, `to`. Their digest is computed here.
   *
   * @param summary the range, the text and its author
   * @returns the head after the append
   */
  readonly summarize: (summary: NewSummary) => Task<WriteFault, Recorded>
  /**
   * Erase messages: see `eraseMessages` of `indelible/session`. What was called before is done first. This handle keeps in memory what it has
   * read: open the session again to see it without them.
   *
   * @param what the positions of the messages in the record; or messages, inputs, or `{ all: true }`
   * @param options the reason and the person, for the ledger
   * @returns the receipt; or `LogHeld`, `BeyondEnd`, `NoSuchInput`
   * @example
   * const receipt = await session.erase([3], { reason: 'asked to', by: 'ann' })
   */
  readonly erase: (what: readonly number[] | ToErase, options?: Because) => Task<EraseSessionFault, ErasureReceipt>
  /**
   * Change the metadata with an Immer recipe. It is called when the updates before it are done, and what it puts in is
   * copied when it returns.
   *
   * @param recipe changes the draft in place
   * @returns the new metadata; or `MetadataConflict` with the current metadata, if another writer changed it first
   * @example
   * await session.update((metadata) => {
   *   metadata['title'] = 'Weather'
   * })
   */
  readonly update: (recipe: (metadata: MetadataDraft) => void) => Task<UpdateSessionFault, JsonObject>
  /**
   * The messages to append after an interrupted run, before anything else: the answers that its model had given, as far as
   * they came (one that was cut is marked), the results that its tools had returned, and an error result for each other
   * call. It says which calls had been started, and may have had effects. After a cut answer comes a `developer` message.
   *
   * While the run is working, there are none: as far as this handle knows, the run holds the lease. `refresh` looks again.
   *
   * @param reason the text that the model will read in each error result. Default: what is known of each call
   * @returns the messages; empty if nothing is open
   * @example
   * await session.append(session.interrupted())
   */
  readonly interrupted: (reason?: string) => readonly Message[]
  /**
   * The calls that were started and have no known result: their run died, or is still working. Their effects are unknown.
   *
   * @returns the calls
   */
  readonly unfinished: () => readonly StartedCall[]
  /**
   * The steps of runs that are not recorded yet: of runs that are working, that died, or that wait for an approval.
   *
   * @returns the steps, in the order in which they began
   */
  readonly openSteps: () => readonly OpenStep[]
  /**
   * Read the rows that other writers have appended.
   *
   * @returns the messages and notes that are new
   */
  readonly refresh: () => Task<RefreshFault, MissedRows>
  /**
   * Take the lease of the session. While this handle has it, no other process gets one, and every append of this handle
   * carries it. It reads the rows of other writers first. It renews the lease until you release it or close the session.
   * `store.leaseOf(id)` looks who holds it, and `store.requestStop(id)` asks the holder to stop.
   *
   * Once another process has taken the lease, appends of this handle fail with `LeaseLost`: take a new lease, or release
   * the lost one. A process that was paused past its time to live continues if nobody has taken the lease meanwhile.
   *
   * Cost    one small transaction beside the log, and one for each renewal
   *
   * @param options the holder's name, the time to live, and how long to wait
   * @returns the lease; or `SessionBusy` while another holder has it
   */
  readonly lease: (options: LeaseOptions) => Task<LeaseSessionFault, SessionLease>
  /**
   * The lease that this handle took last and has not released.
   *
   * @returns the lease, which may be lost by now (`held`); undefined if there is none
   */
  readonly held: () => SessionLease | undefined
  /**
   * End the record, for every writer. This handle appends nothing more, either.
   *
   * @returns the session, to read
   */
  readonly seal: () => Task<WriteFault, SealedSession>
  /**
   * The same session without the methods that write. It sees everything that this handle appends.
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

/** A call that was started, and that no message of the record has. */
export type StartedCall = Omit<ToolStartedNote, 'type'>

/** A message to append. */
export type Appendable = Message | Immutable<Message>

/** Messages and notes to append together, all of them or none. The messages come first. */
export interface Together {
  /** The messages to append, in order. Default: none. */
  readonly messages?: readonly Appendable[]
  /** The notes. They may name the positions of the new messages; a summary only older ones. Default: none. */
  readonly notes?: readonly Exclude<Note, SealNote>[]
}

/** How to append messages. */
export interface AppendOptions extends NoteOptions {
  /** The page kind of the messages: one for all, or one for each (`undefined`: classified). Default: classified. */
  readonly page?: PageKind | readonly (PageKind | undefined)[]
}

/** The id of an append, and the state of the record that it continues. */
export interface NoteOptions {
  /**
   * The operation id of this append. After any failure you may retry with it, also from another process: if the append
   * has already happened, you get its first answer. Other content under the same id is a fault. Default: none.
   */
  readonly operation?: string
  /**
   * The number of messages to continue. Notes don't count. Default for messages: all that this handle has appended so
   * far, acknowledged or not; for a note alone: any number.
   */
  readonly expectedLen?: number
  /**
   * The head to continue. If any message or note has come since, it is a `SessionConflict`. It waits for all earlier
   * calls, and `expectedLen` is ignored.
   */
  readonly expectedHead?: Head
  /** True: fail with `SessionBusy` if another holder has the lease, instead of appending beside it. Default: false. */
  readonly respectLease?: boolean
}

/** How to retract messages. Default of `expectedHead`: the head of this handle after all earlier calls. */
export type RetractOptions = Pick<NoteOptions, 'operation' | 'expectedHead' | 'respectLease'>

/** How to rewind a conversation. */
export interface RewindOptions extends RetractOptions, Pick<AppendOptions, 'page'> {
  /** The messages to append instead. Default: none. */
  readonly instead?: Appendable | readonly Appendable[]
}

/** The popped message, and the append that retracted it. */
export interface Popped extends Recorded {
  /** The message that was the last of the conversation; undefined if there was none. */
  readonly message: Immutable<Message> | undefined
  /** Its position in the record; undefined if there was none. */
  readonly position: number | undefined
}

/** A summary to append. */
export interface NewSummary {
  /** The first position of the range. */
  readonly from: number
  /** The position after the last one. */
  readonly to: number
  /** The summary. */
  readonly text: string
  /** The author: the name of a model. Default: none. */
  readonly model?: string
  /** SHA-256 of the prompt that the model got. Default: none. */
  readonly promptDigest?: string
}

/** The metadata inside a recipe: it may be changed. */
export type MetadataDraft = { [key: string]: DraftJson }
type DraftJson = Exclude<Json, object> | DraftJson[] | { [key: string]: DraftJson }
