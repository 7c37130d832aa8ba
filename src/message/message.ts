/**
 * The message model: one superset that no provider's conversation outgrows.
 *
 * Every field is plain JSON, so a message reads back equal from any store. What a provider says that has no word here
 * is kept raw in a `provider` part, and what belongs to a part or a message without being content is kept in `meta`.
 */
import type { BlockId } from '../proof/kit.ts'
import type { Json } from '../json/index.ts'

/** The speaker. `developer` is OpenAI's later name for system instructions; `tool` carries tool results. */
export type Role = 'system' | 'developer' | 'user' | 'assistant' | 'tool'

/** One conversation entry. */
export interface Message {
  /** Who spoke. */
  readonly role: Role
  /** The content, in order. */
  readonly content: readonly Part[]
  /** The id that its provider or application gave it. */
  readonly id?: string
  /** The speaker's name, if several share a role. */
  readonly name?: string
  /** JSON beside the content. */
  readonly meta?: Meta
}

/**
 * JSON beside the content, each owner under a name of its own: codecs keep there what makes them lossless
 * (`{ 'openai-chat': … }`), an application its own data (`{ 'com.example.app': … }`).
 */
export type Meta = { readonly [namespace: string]: Json }

/** A piece of content, told apart by `type`. */
export type Part =
  | TextPart
  | ImagePart
  | FilePart
  | ToolCallPart
  | ToolResultPart
  | ReasoningPart
  | RefusalPart
  | ProviderPart
  | ErasedPart

/** Text. */
export interface TextPart {
  /** Names the part. */
  readonly type: 'text'
  /** The text. */
  readonly text: string
  /** JSON beside the text. */
  readonly meta?: Meta
}

/** An image. */
export interface ImagePart {
  /** Names the part. */
  readonly type: 'image'
  /** Where its bytes are. */
  readonly source: Source
  /** JSON beside the image. */
  readonly meta?: Meta
}

/** Any document, audio or video; its media type tells which. */
export interface FilePart {
  /** Names the part. */
  readonly type: 'file'
  /** Where its bytes are. */
  readonly source: Source
  /** The name of the file. */
  readonly name?: string
  /** JSON beside the file. */
  readonly meta?: Meta
}

/** Where the bytes of an image or file are. */
export type Source =
  /** The address of the file. */
  | { readonly type: 'url'; readonly url: string; readonly mediaType?: string }
  /** Its bytes in base64. */
  | { readonly type: 'base64'; readonly data: string; readonly mediaType: string }
  /** The id of the stored block. */
  | { readonly type: 'block'; readonly id: BlockId; readonly mediaType?: string }

/** A call the model asks for. `arguments` is the raw text it wrote, which need not be valid JSON. */
export interface ToolCallPart {
  /** Names the part. */
  readonly type: 'tool_call'
  /** The id that the result carries as `callId`. */
  readonly id: string
  /** The name of the tool. */
  readonly name: string
  /** The text that the model wrote. It need not be valid JSON. */
  readonly arguments: string
  /** JSON beside the call. */
  readonly meta?: Meta
}

/** The result of the tool call `callId`. */
export interface ToolResultPart {
  /** Names the part. */
  readonly type: 'tool_result'
  /** The id of the call. */
  readonly callId: string
  /** The result. */
  readonly content: readonly ResultPart[]
  /** The name of the tool. */
  readonly name?: string
  /** True if the call failed. Default: false. */
  readonly isError?: boolean
  /** JSON beside the result. */
  readonly meta?: Meta
}

/** The parts that a tool result can have. */
export type ResultPart = TextPart | ImagePart | FilePart | ProviderPart

/** The model's reasoning. `signature` and `encrypted` go back to its provider unchanged. */
export interface ReasoningPart {
  /** Names the part. */
  readonly type: 'reasoning'
  /** The reasoning, as far as the provider shows it. */
  readonly text: string
  /** The summaries that the provider gave, in order. */
  readonly summary?: readonly string[]
  /** The signature by which the provider recognises the reasoning. */
  readonly signature?: string
  /** The reasoning itself, readable by the provider only. */
  readonly encrypted?: string
  /** JSON beside the reasoning. */
  readonly meta?: Meta
}

/** The model declines. */
export interface RefusalPart {
  /** Names the part. */
  readonly type: 'refusal'
  /** The text of the refusal. */
  readonly text: string
  /** JSON beside the refusal. */
  readonly meta?: Meta
}

/** A part that this model has no type for, raw, with the provider or format that it comes from. */
export interface ProviderPart {
  /** Names the part. */
  readonly type: 'provider'
  /** The provider or format that defines the part. */
  readonly provider: string
  /** The part as it came. */
  readonly raw: Json
  /** JSON beside the part. */
  readonly meta?: Meta
}

/** Stands where content was erased. Only an erasure makes one. Calls and results keep their ids, so calls stay answered. */
export interface ErasedPart {
  /** Names the part. */
  readonly type: 'erased'
  /** It was a tool call with this id. */
  readonly id?: string
  /** It was the result of the tool call with this id. */
  readonly callId?: string
  /** JSON beside it. An erasure keeps none. */
  readonly meta?: Meta
}
