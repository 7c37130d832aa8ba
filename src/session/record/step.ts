/** Steps: what a session's writer appends, and the state that each continues. */
import type { Either } from 'fp-ts/lib/Either.js'
import type { Message } from '../../message/index.ts'
import type { PageKind } from '../../pages/index.ts'
import type { Head, Row } from '../../store/index.ts'
import type { SessionFaultOf, WriteFault } from '../fault.ts'

/** The result of an append. Its messages are those from `from` up to, not including, `to`. */
export interface AppendedMessages {
  /** The position of the first message. */
  readonly from: number
  /** The position after the last one. */
  readonly to: number
  /** The head right after the append. */
  readonly head: Head
}

/** A message and its page kind. */
export interface RecordedEntry {
  readonly message: Message
  readonly page: PageKind
}

export type WriteAnswer<T> = Either<WriteFault, T>

/** Rows to store. */
export interface StepRows {
  readonly rows: readonly Row[]
  readonly blocks: readonly Uint8Array[]
  /** Adds the rows to the record in memory; the first goes to this log position. */
  readonly apply: (position: number) => void
  /** The messages among the rows, with their page kinds. */
  readonly entries: readonly RecordedEntry[]
}

/** The record state that a step continues. */
export type Continues =
  /**
   * Continues this many messages, with any notes. Without `len`: the messages of all earlier calls. `conversation`: the
   * number of those that are not retracted.
   */
  | { readonly type: 'len'; readonly len: number | undefined; readonly conversation?: number | undefined }
  /** Continues a head: nothing was added since. Without `head`: the record when the step's turn comes. */
  | { readonly type: 'head'; readonly head: Head | undefined }
  /** The current end. */
  | { readonly type: 'end' }

/** One append. */
export interface Step {
  readonly continues: Continues
  /** The number of messages it appends if it succeeds. */
  readonly messages: number
  /** The number of notes, as far as known beforehand. */
  readonly notes: number
  /** The operation id, for retries. */
  readonly operation: string | undefined
  /** Whether another holder's lease prevents the append. */
  readonly respectLease: boolean
  /** True if it refers to messages that are still being stored, so it waits for them. Default: false. */
  readonly waits?: boolean
  /** Its messages, if they are known before its turn. */
  readonly entries?: readonly RecordedEntry[]
  /** The position that its first message must get. Default: the one after all earlier calls. */
  readonly from?: number | undefined
  /** Called as soon as it fails, before its answer is. */
  readonly failed?: ((fault: WriteFault) => void) | undefined
  /** True if it can be appended after the seal: a change of the metadata. Default: false. */
  readonly afterSeal?: boolean
  /** True if its last row seals the record. */
  readonly seals?: true
  /** Called when the step's turn comes. If the step continues a head, the record is then at that head. */
  readonly rows: () => Either<SessionFaultOf<'InvalidNote' | 'InvalidMessage' | 'InvalidPage'>, StepRows>
}
