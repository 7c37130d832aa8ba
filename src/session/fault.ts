import {
  sentencesOf,
  taskOf,
  taskOfSteps,
  type CallbackThrew,
  type Sentences,
  type TaskOf,
  type TaskOfSteps,
} from '../task/index.ts'
import type { View } from '../history/index.ts'
import { type Message, type MessageFault } from '../message/index.ts'
import { messageFaultText } from '../message/fault.ts'
import type { Note } from '../notes/internal.ts'
import { pageKinds } from '../pages/index.ts'
import type { LogFault, RemoveFault, StoreFault, StoreFaultOf, VerifyFault } from '../store/index.ts'
import { seconds, storeSentences } from '../store/fault.ts'
import type { AppendFault, EraseFault, ForkFault, NewLogFault, UpdateFault } from '../store/internal.ts'

/** A fault of a session. Its store has its own: {@link StoreFault}. */
export type SessionFault =
  /**
   * Another writer appended first. `missed` and `notes` are its messages and notes; the session's
   * own view has them too. Nothing of yours was appended.
   */
  | {
      readonly _tag: 'SessionConflict'
      readonly id: string
      readonly expectedLen: number
      readonly len: number
      readonly missed: View<Message>
      readonly notes: View<Note>
    }
  /** `expectedLen` is beyond the end of the record. */
  | { readonly _tag: 'SessionGap'; readonly id: string; readonly expectedLen: number; readonly len: number }
  /** The session is sealed at `len` messages and accepts no more appends. You can fork it. */
  | { readonly _tag: 'SessionSealed'; readonly id: string; readonly len: number }
  /** This handle was closed. */
  | { readonly _tag: 'SessionClosed'; readonly id: string }
  /** Another holder has the lease of the session. Nothing was done. */
  | {
      readonly _tag: 'SessionBusy'
      readonly id: string
      readonly holder: string
      /** When its lease expires if it is not renewed: milliseconds since 1970, by the store's clock. */
      readonly until: number
      /** Milliseconds until then. */
      readonly remaining: number
    }
  /** The reason of a lease's `signal`: another process called `requestStop`. */
  | { readonly _tag: 'StopRequested'; readonly id: string }
  /** The value at `index` of the append is not a message. */
  | { readonly _tag: 'InvalidMessage'; readonly index: number; readonly cause: MessageFault }
  /** The page kind for the message at `index` is unknown; with `len`, the number of messages, there are more page kinds than that. */
  | { readonly _tag: 'InvalidPage'; readonly index: number; readonly found: string; readonly len?: number }
  /** The value is not a note, or it names a position that the record does not have. */
  | { readonly _tag: 'InvalidNote'; readonly reason: string }
  /** The log exists, but a session did not write it. */
  | { readonly _tag: 'NotASession'; readonly id: string }
  /** A copy that is still running or was interrupted. It is a session once it is complete. */
  | { readonly _tag: 'UnfinishedSession'; readonly id: string; readonly rows: number }
  /** A newer version of the library wrote the session, in the format `found`. */
  | { readonly _tag: 'NewerSession'; readonly id: string; readonly found: number; readonly supported: number }
  /** The proof is wrong. */
  | { readonly _tag: 'BadProof'; readonly reason: string }
  /** The message was erased, so its text can no longer be proven. `proveErased` proves that it existed. */
  | {
      readonly _tag: 'MessageErased'
      readonly id: string
      /** The position of the message. */
      readonly position: number
      /** The time of the erasure, in milliseconds since 1970, if the ledger records it. */
      readonly at?: number
      readonly reason?: string
      readonly by?: string
    }
  /** The session has no note about this input: it never had one, or the input was erased. */
  | { readonly _tag: 'NoSuchInput'; readonly id: string; readonly input: string }
  /** The session is encrypted: to check a proof of one message, a third party would need the key to all. */
  | { readonly _tag: 'MessageEncrypted'; readonly id: string; readonly position: number }
  /** An imported record has another root than its export states; with `copied`, a copy has another one than its session. */
  | {
      readonly _tag: 'OtherHead'
      readonly id: string
      readonly expected: string
      readonly found: string
      readonly copied?: true
    }

/** The session faults with these tags. */
export type SessionFaultOf<Tag extends SessionFault['_tag']> = Extract<SessionFault, { readonly _tag: Tag }>

/** The log is not a session that this version can read. */
export type NoSessionFault = SessionFaultOf<'NotASession' | 'UnfinishedSession' | 'NewerSession'>

/** The faults of reading a session. */
export type ReadSessionFault = LogFault | NoSessionFault

/** The faults of opening a session to append to it. */
export type OpenSessionFault = ReadSessionFault | SessionFaultOf<'SessionSealed'>

/** The faults of creating a session. */
export type CreateSessionFault = NewLogFault | NoSessionFault | SessionFaultOf<'InvalidMessage' | 'InvalidPage'>

/** The faults of `openOrCreateSession`. */
export type OpenOrCreateFault = Exclude<OpenSessionFault | CreateSessionFault, StoreFaultOf<'NoSuchLog' | 'LogExists'>>

/** The faults of forking a session. */
export type ForkSessionFault = ForkFault | NoSessionFault

/** The faults of forking a session and opening the fork. */
export type OpenForkFault = ForkSessionFault | OpenSessionFault

/** The faults of erasing messages. */
export type EraseSessionFault =
  | ReadSessionFault
  | EraseFault
  | SessionFaultOf<'SessionClosed' | 'SessionBusy' | 'NoSuchInput'>

/** The faults of verifying a session. */
export type VerifySessionFault = VerifyFault | NoSessionFault | CallbackThrew

/** The faults of `refresh`, which reads what other writers have appended. */
export type RefreshFault = VerifyFault | SessionFaultOf<'SessionClosed'>

/**
 * The faults of writing to a session. Each writing method also lists those of creating and opening one, so that
 * `pipe(createSession(store), TE.chain((session) => session.append(m)))` has the one fault type that `TE.chain` needs.
 */
export type WriteFault =
  | CreateSessionFault
  | OpenSessionFault
  | Exclude<AppendFault, { readonly _tag: 'LeaseHeld' }>
  | SessionFaultOf<'SessionConflict' | 'SessionGap' | 'SessionClosed' | 'SessionBusy' | 'InvalidNote'>

/** The faults of changing an open session's metadata. */
export type UpdateSessionFault = WriteFault | CallbackThrew

/** The faults of taking an open session's lease. */
export type LeaseSessionFault = WriteFault | StoreFaultOf<'InvalidLease'>

/** The faults of importing a session, and of copying one to another store. */
export type ImportFault =
  | NewLogFault
  | AppendFault
  | UpdateFault
  | ForkFault
  | RemoveFault
  | EraseFault
  | NoSessionFault
  | SessionFaultOf<'InvalidMessage' | 'InvalidNote' | 'OtherHead'>
  | CallbackThrew

/** Turns the store's `LeaseHeld` into the session's `SessionBusy`. */
export const busyOf = <F extends SessionFault | StoreFault>(
  fault: F,
): Exclude<F, { _tag: 'LeaseHeld' }> | SessionFaultOf<'SessionBusy'> => {
  if (fault._tag !== 'LeaseHeld') return fault as Exclude<F, { _tag: 'LeaseHeld' }> // its tag was compared
  const { id, holder, expires, remaining } = fault
  return { _tag: 'SessionBusy', id, holder, until: expires, remaining }
}

/** A sentence for each session fault. */
export const sessionSentences: Sentences<SessionFault | StoreFault | CallbackThrew> = {
  SessionConflict: (fault) =>
    fault.len > fault.expectedLen
      ? `another writer appended to session ${name(fault.id)} first: it has ${fault.len} messages, and ${fault.expectedLen} were expected; nothing was appended: read \`fault.missed\` and append again, or fork the session at ${fault.expectedLen}`
      : `session ${name(fault.id)} has ${fault.notes.length} new ${fault.notes.length === 1 ? 'note' : 'notes'} since you read its ${fault.len} messages; nothing was appended: read the conversation again, and retry`,
  SessionGap: (fault) =>
    `session ${name(fault.id)} has ${fault.len} ${fault.len === 1 ? 'message' : 'messages'}, so nothing can be appended at ${fault.expectedLen}: append the messages between them first`,
  SessionSealed: (fault) =>
    `session ${name(fault.id)} is sealed at ${fault.len} ${fault.len === 1 ? 'message' : 'messages'} and takes no more appends: fork it to continue`,
  SessionClosed: (fault) => `this handle of session ${name(fault.id)} is closed: open the session again`,
  SessionBusy: (fault) =>
    `session ${name(fault.id)} is in use by ${name(fault.holder)}, whose lease expires in ${seconds(fault.remaining)} unless it is renewed; nothing was done: wait (whenBusy: 'wait'), or ask the holder to stop (store.requestStop)`,
  StopRequested: (fault) => `the holder of session ${name(fault.id)} was asked to stop: finish, and release the lease`,
  InvalidMessage: (fault) =>
    `message ${fault.index} of the append: ${messageFaultText(fault.cause)}; nothing was appended`,
  InvalidPage: (fault) =>
    fault.len === undefined
      ? `the page kind of message ${fault.index} of the append is ${fault.found}, which is unknown; expected one of ${pageKinds.join(', ')}; nothing was appended`
      : `the append has ${fault.len} ${fault.len === 1 ? 'message' : 'messages'} and a page kind for message ${fault.index} (${fault.found}); nothing was appended`,
  InvalidNote: (fault) => `nothing was written: ${fault.reason}`,
  NotASession: (fault) => `${name(fault.id)} is not a session: another program wrote this log; choose another id`,
  UnfinishedSession: (fault) =>
    `${name(fault.id)} is an unfinished copy with ${fault.rows} ${fault.rows === 1 ? 'row' : 'rows'} so far; the copy is still running or was interrupted: run it again, or remove the session`,
  NewerSession: (fault) =>
    `session ${name(fault.id)} was written by a newer version of this library (format ${fault.found}; this one knows ${fault.supported}): update the library`,
  MessageErased: (fault) =>
    `message ${fault.position} of ${name(fault.id)} was erased${fault.at === undefined ? '' : ` at ${new Date(fault.at).toISOString()}`}${fault.by === undefined ? '' : ` by ${name(fault.by)}`}${fault.reason === undefined ? '' : ` (${fault.reason})`}: its text can no longer be proven; proveErased proves that it existed and was erased`,
  NoSuchInput: (fault) =>
    `session ${name(fault.id)} has no input ${name(fault.input)}, or it was erased before; nothing was erased`,
  MessageEncrypted: (fault) =>
    `message ${fault.position} of ${name(fault.id)} can't be proven alone: the session is encrypted, and the checker of the proof would need the key of all its messages; you can prove that the record extends an earlier head (proveGrowth, "indelible prove --consistency")`,
  BadProof: (fault) => `the proof does not hold: ${fault.reason}`,
  OtherHead: (fault) =>
    fault.copied === true
      ? `${JSON.stringify(fault.id)} can't be copied: it has a row that is not in the form that this version writes, so its copy would have the head ${fault.found}, not ${fault.expected}; the copy is not complete: copy the whole store instead, for example with "indelible backup"`
      : `the imported record has the head ${fault.found}, but the export states ${fault.expected}: the file was changed; nothing was imported: get the original file`,
  ...storeSentences,
}

/**
 * A session fault as a sentence for people.
 *
 * @param fault the fault
 * @returns what happened, where, and what to do next
 */
export const sessionFaultText: (fault: SessionFault | StoreFault | CallbackThrew) => string =
  sentencesOf(sessionSentences)

const name = (id: string): string => JSON.stringify(id)

/** Makes a task of a session operation. */
export const sessionTask: TaskOf<SessionFault | StoreFault | CallbackThrew> = taskOf(sessionFaultText)

/** Makes a task of steps; the first fault ends it. */
export const sessionSteps: TaskOfSteps<SessionFault | StoreFault | CallbackThrew> = taskOfSteps(sessionTask)
