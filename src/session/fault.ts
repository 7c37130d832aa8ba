/** What can go wrong with a session, as data. What can go wrong with its store is a `StoreFault`. */
import { taskOf, type CallbackThrew, type TaskOf } from '../task/index.ts'
import type { View } from '../history/index.ts'
import type { JsonObject } from '../json/index.ts'
import { type Message, type MessageFault } from '../message/index.ts'
import { messageFaultText } from '../message/fault.ts'
import type { Note } from '../notes/index.ts'
import { pageKinds } from '../pages/index.ts'
import type {
  AppendFault,
  ForkFault,
  LogFault,
  NewLogFault,
  StoreFault,
  StoreFaultOf,
  UpdateFault,
  VerifyFault,
} from '../store/index.ts'
import { storeFaultText } from '../store/fault.ts'

/** What can go wrong with a session. What can go wrong with its store is a {@link StoreFault}. */
export type SessionFault =
  /** Somebody else was quicker: `missed` is what they appended. Nothing of yours was. The session's own view has it too. */
  | {
      readonly _tag: 'SessionConflict'
      readonly id: string
      readonly expectedLen: number
      readonly len: number
      readonly missed: View<Message>
      readonly notes: View<Note>
    }
  /** The append continues a length that the record has not reached. */
  | { readonly _tag: 'SessionGap'; readonly id: string; readonly expectedLen: number; readonly len: number }
  /** The session has ended at `len` messages. Nothing can be appended; it can be forked. */
  | { readonly _tag: 'SessionSealed'; readonly id: string; readonly len: number }
  /** This handle was closed. */
  | { readonly _tag: 'SessionClosed'; readonly id: string }
  /** Somebody holds the session: nothing was done. */
  | {
      readonly _tag: 'SessionBusy'
      readonly id: string
      readonly holder: string
      /** When its lease expires if it is not renewed: milliseconds since 1970, by the store's clock. */
      readonly until: number
      /** Milliseconds until then. */
      readonly remaining: number
    }
  /** The reason of a lease's `signal`: somebody has called `requestStop`. */
  | { readonly _tag: 'StopRequested'; readonly id: string }
  /** The message at `index` of those given is none. */
  | { readonly _tag: 'InvalidMessage'; readonly index: number; readonly cause: MessageFault }
  /** The page kind given for the message at `index` is none. */
  | { readonly _tag: 'InvalidPage'; readonly index: number; readonly found: string }
  /** The note is none, or it speaks of what is not there. */
  | { readonly _tag: 'InvalidNote'; readonly reason: string }
  /** Another writer changed the metadata first: `metadata` is theirs. Nothing was changed. */
  | { readonly _tag: 'MetadataConflict'; readonly id: string; readonly metadata: JsonObject }
  /** The log is there, and was not made by this library's sessions. */
  | { readonly _tag: 'NotASession'; readonly id: string }
  /** A copy that was broken off or still runs: it is no session before it is whole. */
  | { readonly _tag: 'UnfinishedSession'; readonly id: string; readonly rows: number }
  /** A newer version of the library wrote the session, in the format `found`. */
  | { readonly _tag: 'NewerSession'; readonly id: string; readonly found: number; readonly supported: number }
  /** The proof does not prove what it says. */
  | { readonly _tag: 'BadProof'; readonly reason: string }
  /** An import that does not have the head it was exported with. */
  | { readonly _tag: 'OtherHead'; readonly id: string; readonly expected: string; readonly found: string }

/** The session faults with these tags. */
export type SessionFaultOf<Tag extends SessionFault['_tag']> = Extract<SessionFault, { readonly _tag: Tag }>

/** A log is no session that this version reads. */
export type NoSessionFault = SessionFaultOf<'NotASession' | 'UnfinishedSession' | 'NewerSession'>

/** Reading a session. */
export type ReadSessionFault = LogFault | NoSessionFault

/** Opening a session to append to it. */
export type OpenSessionFault = ReadSessionFault | SessionFaultOf<'SessionSealed'>

/** Starting a session. */
export type CreateSessionFault = NewLogFault | NoSessionFault | SessionFaultOf<'InvalidMessage' | 'InvalidPage'>

/** Forking a session. */
export type ForkSessionFault = ForkFault | NoSessionFault

/** Verifying a session. */
export type VerifySessionFault = VerifyFault | NoSessionFault | CallbackThrew

/** Reading what others have appended to an open session. */
export type RefreshFault = VerifyFault | SessionFaultOf<'SessionClosed'>

/**
 * Writing to a session. Of the methods that write, each names the faults of starting and opening one too: with those,
 * `pipe(createSession(store), TE.chain((session) => session.append(m)))` has one fault type, as `TE.chain` asks.
 */
export type WriteFault =
  | CreateSessionFault
  | OpenSessionFault
  | Exclude<AppendFault, { readonly _tag: 'LeaseHeld' }>
  | SessionFaultOf<'SessionConflict' | 'SessionGap' | 'SessionClosed' | 'SessionBusy' | 'InvalidNote'>

/** Changing the metadata of an open session. */
export type UpdateSessionFault = WriteFault | SessionFaultOf<'MetadataConflict'> | CallbackThrew

/** Taking the lease of an open session. */
export type LeaseSessionFault = WriteFault | StoreFaultOf<'InvalidLease'>

/** Storing a transcript as a session, and copying one to another store. */
export type ImportFault =
  | NewLogFault
  | AppendFault
  | UpdateFault
  | ForkFault
  | NoSessionFault
  | SessionFaultOf<'InvalidMessage' | 'OtherHead'>
  | CallbackThrew

/** A session fault as a sentence for people: what happened, where, and what to do next. */
export const sessionFaultText = (fault: SessionFault | StoreFault | CallbackThrew): string => {
  switch (fault._tag) {
    case 'SessionConflict':
      return fault.len > fault.expectedLen
        ? `session ${name(fault.id)} has grown from ${fault.expectedLen} to ${fault.len} messages; nothing was appended: read what was missed and append again, or fork it at ${fault.expectedLen}`
        : `session ${name(fault.id)} has ${fault.notes.length} more ${fault.notes.length === 1 ? 'note' : 'notes'} at ${fault.len} messages than were read; nothing was appended: look at the conversation and try again`
    case 'SessionGap':
      return `session ${name(fault.id)} has ${fault.len} ${fault.len === 1 ? 'message' : 'messages'}, so nothing can be appended at ${fault.expectedLen}: append what is between them first`
    case 'SessionSealed':
      return `session ${name(fault.id)} is sealed at ${fault.len} ${fault.len === 1 ? 'message' : 'messages'}; nothing can be appended to it: fork it to go on`
    case 'SessionClosed':
      return `session ${name(fault.id)} was closed here: open it again`
    case 'SessionBusy':
      return `session ${name(fault.id)} is held by ${name(fault.holder)}, whose lease expires in ${fault.remaining} ms if it is not renewed; nothing was done: wait, or ask the holder to stop with requestStop()`
    case 'StopRequested':
      return `the holder of session ${name(fault.id)} was asked to stop: finish, and release the lease`
    case 'InvalidMessage':
      return `message ${fault.index} of the append: ${messageFaultText(fault.cause)}; nothing was appended`
    case 'InvalidPage':
      return `the page kind of message ${fault.index} of the append is ${fault.found}; expected one of ${pageKinds.join(', ')}; nothing was appended`
    case 'InvalidNote':
      return `nothing was written: ${fault.reason}`
    case 'MetadataConflict':
      return `the metadata of session ${name(fault.id)} was changed meanwhile; nothing was changed: look at the new metadata and update again`
    case 'NotASession':
      return `${name(fault.id)} is no session: something else keeps its log in this store`
    case 'UnfinishedSession':
      return `${name(fault.id)} is not whole: ${fault.rows} ${fault.rows === 1 ? 'row' : 'rows'} of it were stored so far. Its copy still runs or was broken off: run that copy again, or remove the session`
    case 'NewerSession':
      return `session ${name(fault.id)} was written by a newer version of this library (format ${fault.found}; this one knows ${fault.supported}): update the library`
    case 'BadProof':
      return `the proof does not hold: ${fault.reason}`
    case 'OtherHead':
      return `the record that was read has the head ${fault.found}, not ${fault.expected} as the export says: the file was changed; nothing was imported`
    default:
      return storeFaultText(fault)
  }
}

const name = (id: string): string => JSON.stringify(id)

/** Makes a task of what a session does. */
export const sessionTask: TaskOf<SessionFault | StoreFault | CallbackThrew> = taskOf(sessionFaultText)
