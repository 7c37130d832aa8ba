/** What can go wrong with a session, as data. What can go wrong with its store is a `StoreFault`. */
import { absurd } from 'fp-ts/lib/function.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { View } from '../history/index.ts'
import type { JsonObject } from '../json/index.ts'
import { messageFaultText, type Message, type MessageFault } from '../message/index.ts'
import type { Note } from '../notes/index.ts'
import type { StoreFault } from '../store/index.ts'

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
  | { readonly _tag: 'SessionSealed'; readonly id: string; readonly len: number }
  | { readonly _tag: 'SessionClosed'; readonly id: string }
  /** The message at `index` of those given is none. */
  | { readonly _tag: 'InvalidMessage'; readonly index: number; readonly cause: MessageFault }
  /** The note is none, or it speaks of what is not there. */
  | { readonly _tag: 'InvalidNote'; readonly reason: string }
  | { readonly _tag: 'MetadataConflict'; readonly id: string; readonly metadata: JsonObject }
  /** The log is there, and was not made by this library's sessions. */
  | { readonly _tag: 'NotASession'; readonly id: string }
  /** An import or a copy that was broken off: it is no session before it is whole. */
  | { readonly _tag: 'UnfinishedSession'; readonly id: string; readonly rows: number }
  | { readonly _tag: 'NewerSession'; readonly id: string; readonly found: number; readonly supported: number }
  /** The proof does not prove what it says. */
  | { readonly _tag: 'BadProof'; readonly reason: string }
  /** An import that does not have the head it was exported with. */
  | { readonly _tag: 'OtherHead'; readonly id: string; readonly expected: string; readonly found: string }

/** What can be asked of a session or of the store below it, and fail. */
export type SessionTask<T> = TaskEither<SessionFault | StoreFault, T>

/** A session fault as a sentence for people: what happened, where, and what to do next. */
export const sessionFaultText = (fault: SessionFault): string => {
  switch (fault._tag) {
    case 'SessionConflict':
      return `session ${name(fault.id)} has grown from ${fault.expectedLen} to ${fault.len} messages; nothing was appended: read what was missed and append again, or fork it at ${fault.expectedLen}`
    case 'SessionGap':
      return `session ${name(fault.id)} has ${fault.len} ${fault.len === 1 ? 'message' : 'messages'}, so nothing can be appended at ${fault.expectedLen}: append what is between them first`
    case 'SessionSealed':
      return `session ${name(fault.id)} is sealed at ${fault.len} ${fault.len === 1 ? 'message' : 'messages'}; nothing can be appended to it: fork it to go on`
    case 'SessionClosed':
      return `session ${name(fault.id)} was closed here: open it again`
    case 'InvalidMessage':
      return `message ${fault.index} of those to append is none: ${messageFaultText(fault.cause)}; nothing was appended`
    case 'InvalidNote':
      return `the note can't be written: ${fault.reason}`
    case 'MetadataConflict':
      return `the metadata of session ${name(fault.id)} was changed meanwhile; nothing was changed: look at the new metadata and update again`
    case 'NotASession':
      return `${name(fault.id)} is no session: something else keeps its log in this store`
    case 'UnfinishedSession':
      return `${name(fault.id)} is not whole: ${fault.rows} ${fault.rows === 1 ? 'row' : 'rows'} of it were stored when its import or copy was broken off, or it is going on; run that again`
    case 'NewerSession':
      return `session ${name(fault.id)} was written by a newer version of this library (format ${fault.found}; this one knows ${fault.supported}): update the library`
    case 'BadProof':
      return `the proof does not hold: ${fault.reason}`
    case 'OtherHead':
      return `the record that was read has the head ${fault.found}, not ${fault.expected} as the export says: the file was changed; nothing was imported`
    default:
      return absurd(fault)
  }
}

const name = (id: string): string => JSON.stringify(id)
