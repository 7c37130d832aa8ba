/** What is read from a file: a conversation, where it came from, and everything about the file that was not in order. */
import type { JsonObject, Path } from 'indelible/json/kit'
import type { Message } from 'indelible/message'
import type { Note, Usage } from 'indelible/notes/kit'
import type { PageKind } from 'indelible/pages'
import type { RowMoment, ExportedHead } from 'indelible/session'

/** A format that `readTranscript` knows. */
export type TranscriptFormat =
  | 'openai-chat'
  | 'openai-responses'
  | 'openai-agents'
  | 'anthropic'
  | 'gemini'
  | 'ai-sdk'
  | 'ai-sdk-ui'
  | 'langchain'
  | 'tau-bench'
  | 'swe-agent'
  | 'pi-session'
  | 'claude-code'
  | 'codex'
  | 'gemini-cli'
  | 'opencode'
  | 'cursor'
  | 'langgraph'
  | 'indelible'

/** A conversation that was read. Frozen. */
export interface Transcript {
  /** The format that was found. */
  readonly format: TranscriptFormat
  /** The messages of the conversation, in order. */
  readonly messages: readonly Message[]
  /** The page kind of each message, where the source says so: only an export of ours does. */
  readonly pages: readonly PageKind[] | undefined
  /** When each message was written, where the source is an export of ours that says so. */
  readonly moments?: readonly (RowMoment | undefined)[]
  /** What stands beside the messages, in the order of the source. */
  readonly notes: readonly PlacedNote[]
  /** Where the conversation comes from: version, id, title, times, models, usage. */
  readonly origin: Origin
  /** What was read other than it stood there. */
  readonly losses: readonly TranscriptLoss[]
  /** Every line that is malformed, cut off or of an unknown kind. It was left out; the rest was read. */
  readonly damage: readonly Damage[]
  /** How many conversations the file holds, and which of them this is, from 0. */
  readonly count: number
  /** The conversation that was read, counted from 0. */
  readonly pick: number
}

/** A note and how many messages stand before it. */
export interface PlacedNote {
  /** How many messages stand before it. */
  readonly position: number
  /** The note. */
  readonly note: Note
  /** When it was written, where the source is an export of ours that says so. */
  readonly moment?: RowMoment
}

/** What the source says about itself. */
export interface Origin {
  /** The version of the format, or of the program that wrote it. */
  readonly version?: string
  /** The id of the conversation at its source. */
  readonly id?: string
  /** Its title. */
  readonly title?: string
  /** The times of the first and the last entry, as they are written. */
  readonly started?: string
  /** When it ended, as the source says it. */
  readonly ended?: string
  /** Every model that spoke, in the order of their first word. */
  readonly models: readonly string[]
  /** The sum of the tokens that the source counted, over all branches, because all of them were paid for. */
  readonly usage?: Usage
  /** The same by the model that was named last and the day, where the source says more than the sum. */
  readonly uses?: readonly OriginUse[]
  /** The size and, where a record stood behind it, the root that an export of ours ends with. */
  readonly head?: ExportedHead
  /** An export of an erasable session: a session that is made of it is erasable too. */
  readonly erasable?: true
  /** What else its header or its envelope says. */
  readonly metadata: JsonObject
  /** Entries of the source that are neither messages nor notes here: how many of each kind. */
  readonly aside: { readonly [kind: string]: number }
}

/** A model's usage on a day. */
export interface OriginUse extends Usage {
  /** The name of the model. */
  readonly model?: string
  /** The day, as ISO 8601, in the time zone that the source writes. */
  readonly day?: string
  /** How many answers were counted. */
  readonly calls: number
}

/** One thing that was read other than it stood there. `path` begins at the line's own value in files of one entry a line. */
export interface TranscriptLoss {
  /** Counted from 1. */
  readonly line: number
  /** Where in the line it is. */
  readonly path: Path
  /** How it was changed, in words. */
  readonly reason: string
}

/** A line that could not be read. */
export interface Damage {
  /** Counted from 1. */
  readonly line: number
  /** What is wrong with it, in words. */
  readonly reason: string
  /** Where the bytes stop being text: counted from 0, from the start of the file. */
  readonly offset?: number
}

/** How a transcript is read. */
export interface TranscriptOptions {
  /** Which conversation, in a file of several. From 0. Default: 0. */
  readonly pick?: number
  /** Whether the first damage is a fault. Default: it is listed in `damage`, and the rest is read. */
  readonly strict?: boolean
}
