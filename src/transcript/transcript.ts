/** What is read from a file: a conversation, where it came from, and everything about the file that was not in order. */
import type { JsonObject, Path } from '../json/index.ts'
import type { Message } from '../message/index.ts'
import type { Note, Usage } from '../notes/index.ts'
import type { PageKind } from '../pages/index.ts'

export type TranscriptFormat =
  | 'openai-chat'
  | 'openai-responses'
  | 'anthropic'
  | 'ai-sdk'
  | 'ai-sdk-ui'
  | 'tau-bench'
  | 'swe-agent'
  | 'pi-session'
  | 'claude-code'
  | 'codex'
  | 'indelible'

/** A conversation that was read. Frozen. */
export interface Transcript {
  readonly format: TranscriptFormat
  readonly messages: readonly Message[]
  /** The page kind of each message, where the source says so: only an export of ours does. */
  readonly pages: readonly PageKind[] | undefined
  /** What stands beside the messages, in the order of the source. */
  readonly notes: readonly PlacedNote[]
  readonly origin: Origin
  /** What was read other than it stood there. */
  readonly losses: readonly TranscriptLoss[]
  /** Every line that is malformed, cut off or of an unknown kind. It was left out; the rest was read. */
  readonly damage: readonly Damage[]
  /** How many conversations the file holds, and which of them this is, from 0. */
  readonly count: number
  readonly pick: number
}

/** A note and how many messages stand before it. */
export interface PlacedNote {
  readonly position: number
  readonly note: Note
}

/** What the source says about itself. */
export interface Origin {
  /** The version of the format, or of the program that wrote it. */
  readonly version?: string
  readonly id?: string
  readonly title?: string
  /** The times of the first and the last entry, as they are written. */
  readonly started?: string
  readonly ended?: string
  /** Every model that spoke, in the order of their first word. */
  readonly models: readonly string[]
  /** The sum of what the source counted: of every branch, as all of it was paid for. */
  readonly usage?: Usage
  /** The size and, where a record stood behind it, the root that an export of ours ends with. */
  readonly head?: ExportedHead
  /** What else its header or its envelope says. */
  readonly metadata: JsonObject
  /** Entries of the source that are neither messages nor notes here: how many of each kind. */
  readonly aside: { readonly [kind: string]: number }
}

export interface ExportedHead {
  readonly size: number
  /** The Merkle root, in hexadecimal. */
  readonly root?: string
}

/** One thing that was read other than it stood there. `path` begins at the line's own value in files of one entry a line. */
export interface TranscriptLoss {
  /** Counted from 1. */
  readonly line: number
  readonly path: Path
  readonly reason: string
}

export interface Damage {
  /** Counted from 1. */
  readonly line: number
  readonly reason: string
  /** Where the bytes stop being text: counted from 0, from the start of the file. */
  readonly offset?: number
}

export interface TranscriptOptions {
  /** Which conversation, in a file of several. From 0. Default: 0. */
  readonly pick?: number
  /** Whether the first damage is a fault. Default: it is listed in `damage`, and the rest is read. */
  readonly strict?: boolean
}
