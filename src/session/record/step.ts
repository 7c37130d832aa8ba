/** Steps: what a session's writer is asked to append, and where it is to stand. */
import type { Either } from 'fp-ts/lib/Either.js'
import type { Recording } from '../../entry/kit.ts'
import type { Head, Row } from '../../store/index.ts'
import type { SessionFaultOf, WriteFault } from '../fault.ts'

/** The result of an append. Its messages are those from `from` up to, not including, `to`. */
export interface Recorded {
  /** The position of the first message. */
  readonly from: number
  /** The position after the last one. */
  readonly to: number
  /** The head directly after the append. */
  readonly head: Head
}

export type WriteAnswer<T> = Either<WriteFault, T>

/** Rows that are ready to be stored. */
export interface StepRows {
  /** The messages that `rows` has. Undefined: none. */
  readonly recording: Recording | undefined
  readonly rows: readonly Row[]
  readonly blocks: readonly Uint8Array[]
  /** Add them to the mirror; the first is at this position of the log. */
  readonly apply: (position: number) => void
}

/** The record state that a step continues. */
export type Continues =
  /** This many messages, and any notes. Without `len`: those after all earlier calls. */
  | { readonly type: 'len'; readonly len: number | undefined }
  /** A head: no message and no note may have come since. Without one: the record as it is when its turn comes. */
  | { readonly type: 'head'; readonly head: Head | undefined }
  /** The current end. */
  | { readonly type: 'end' }

/** One append. */
export interface Step {
  readonly continues: Continues
  /** How many messages it appends, if it does not fail. */
  readonly messages: number
  /** How many notes, as far as that is known before. */
  readonly notes: number
  /** Names it for retries. */
  readonly operation: string | undefined
  /** Whether another holder's lease prevents the append. */
  readonly respectLease: boolean
  /** Whether it lets writers with a turn go first. Default: false. */
  readonly respectTurns?: boolean
  /** It refers to messages that are still being stored, so it waits for them. Default: false. */
  readonly waits?: boolean
  /** Its last row ends the record. */
  readonly seals?: true
  /** Asked when its turn has come: of a step that continues a head, the record is what it continues. */
  readonly rows: () => Either<SessionFaultOf<'InvalidNote' | 'InvalidMessage' | 'InvalidPage'>, StepRows>
}
