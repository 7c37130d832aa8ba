/** The result of reading a file: a conversation, its origin, and every problem found in the file. */
import type { JsonObject, Path } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import type { Note, Usage } from 'indelible/internal/notes'
import type { UsageCall } from 'indelible/usage'
import type { PageKind } from 'indelible/pages'
import type { RowMoment, ExportedHead } from 'indelible/internal/session'

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
  | 'copilot-cli'
  | 'qwen-code'
  | 'claude-stream'
  | 'codex-exec'
  | 'droid'
  | 'goose'
  | 'kimi'
  | 'crush'
  | 'amp'
  | 'cline'
  | 'aider'
  | 'chatgpt'
  | 'claude-ai'
  | 'indelible'

/** A conversation that was read. Frozen. */
export interface Transcript {
  /** The detected format. */
  readonly format: TranscriptFormat
  /** The messages of the conversation, in order. */
  readonly messages: readonly Message[]
  /** The page kind of each message. Only exports of Indelible have them. */
  readonly pages: readonly PageKind[] | undefined
  /** When each message was written. Only exports of Indelible have it. */
  readonly moments?: readonly (RowMoment | undefined)[]
  /** The notes of the source, in file order. */
  readonly notes: readonly PlacedNote[]
  /** The origin of the conversation: version, id, title, times, models, usage. */
  readonly origin: Origin
  /** Every value that was changed or left out while reading. */
  readonly losses: readonly TranscriptLoss[]
  /** Every line that is malformed, cut off or of an unknown kind with content. What is whole in such a line was read. */
  readonly damage: readonly Damage[]
  /** The number of conversations in the file. */
  readonly count: number
  /** The index of the conversation that was read, from 0. */
  readonly pick: number
}

/** A note and its position among the messages. */
export interface PlacedNote {
  /** The number of messages before it. */
  readonly position: number
  /** The note as it is recorded. */
  readonly note: Note
  /** When it was written. Only exports of Indelible have it. */
  readonly moment?: RowMoment
}

/** The source's data about itself. */
export interface Origin {
  /** The version of the format, or of the program that wrote it. */
  readonly version?: string
  /** The id of the conversation in its source. */
  readonly id?: string
  /** The conversation's title in its source. */
  readonly title?: string
  /** The first time in the source, in its own form. */
  readonly started?: string
  /** The last time in the source, in its own form. */
  readonly ended?: string
  /** Every model that answered, in order of first appearance. */
  readonly models: readonly string[]
  /** The total token usage that the source counted, over all branches, because all of them were paid for. */
  readonly usage?: Usage
  /** The usage by day and by the last model named, if the source records either. */
  readonly uses?: readonly OriginUse[]
  /** The calls that the source counted, over all branches, in its order. A stored session has them packed. */
  readonly calls?: readonly UsageCall[]
  /** The number of calls that were copied from another file with their lines. They are in no sum. Absent if there are none. */
  readonly copied?: number
  /** Names each call whose lines another file may have copies of. A stored session has none. */
  readonly callIds?: readonly string[]
  /** The size that an Indelible export ends with, and its root if the export came from a record. */
  readonly head?: ExportedHead
  /** Set for an export of an erasable session; a session imported from it is erasable too. */
  readonly erasable?: true
  /** The other fields of the header or envelope. */
  readonly metadata: JsonObject
  /** Counts, by kind, of source entries that are neither messages nor notes here. */
  readonly aside: { readonly [kind: string]: number }
}

/** A model's usage on one day. */
export interface OriginUse extends Usage {
  /** The model, if the source names one. */
  readonly model?: string
  /** The day, as ISO 8601, in the time zone of the source. */
  readonly day?: string
  /** The number of answers counted. */
  readonly calls: number
  /** Set if each request was so long that its model has other prices. */
  readonly long?: true
  /** Of them, those that hold more tokens than the source counts for them. Absent if there are none. */
  readonly undercounted?: number
}

/** A value that was changed or left out. In files of one entry a line, `path` starts at the line's value. */
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
  /** The offset of the first byte that is not text, from the start of the file. */
  readonly offset?: number
}

/** Options for reading a transcript. */
export interface TranscriptOptions {
  /** The conversation to read, in a file of several, counted from 0. Default: 0. */
  readonly pick?: number
  /** Whether the first damage is a fault. Default: false; damage is listed in `damage`, and the rest is read. */
  readonly strict?: boolean
  /** The `callIds` of the file that this one was copied from: its calls are not counted again. Default: none. */
  readonly countedElsewhere?: ReadonlySet<string>
}
