/**
 * The message model: one superset that no provider's conversation outgrows.
 *
 * Every field is plain JSON, so a message reads back equal from any store. What a provider says that has no word here
 * is kept raw in a `provider` part, and what belongs to a part or a message without being content is kept in `meta`.
 */
import type { Json } from '../json/index.ts'

/** Who spoke. `developer` is OpenAI's later word for instructions; `tool` carries tool results. */
export type Role = 'system' | 'developer' | 'user' | 'assistant' | 'tool'

/** One conversation entry. */
export interface Message {
  readonly role: Role
  readonly content: readonly Part[]
  /** The id its provider or application gave it. */
  readonly id?: string
  /** Who spoke, where several share a role. */
  readonly name?: string
  readonly meta?: Meta
}

/**
 * JSON beside the content, each owner under a name of its own: codecs keep there what makes them lossless
 * (`{ 'openai-chat': … }`), an application its own data (`{ 'com.example.app': … }`).
 */
export type Meta = { readonly [namespace: string]: Json }

export type Part =
  | TextPart
  | ImagePart
  | FilePart
  | ToolCallPart
  | ToolResultPart
  | ReasoningPart
  | RefusalPart
  | ProviderPart

export interface TextPart {
  readonly type: 'text'
  readonly text: string
  readonly meta?: Meta
}

export interface ImagePart {
  readonly type: 'image'
  readonly source: Source
  readonly meta?: Meta
}

/** Any document, audio or video; its media type tells which. */
export interface FilePart {
  readonly type: 'file'
  readonly source: Source
  readonly name?: string
  readonly meta?: Meta
}

/** Where the bytes of an image or file are. */
export type Source =
  | { readonly type: 'url'; readonly url: string; readonly mediaType?: string }
  | { readonly type: 'base64'; readonly data: string; readonly mediaType: string }
  | { readonly type: 'block'; readonly id: BlockId; readonly mediaType?: string }

declare const blockId: unique symbol

/** The SHA-256 of a stored block: 64 lowercase hexadecimal digits. Branded: `isBlockId` gives it. */
export type BlockId = string & { readonly [blockId]: true }

/** A call the model asks for. `arguments` is the raw text it wrote, which need not be valid JSON. */
export interface ToolCallPart {
  readonly type: 'tool_call'
  readonly id: string
  readonly name: string
  readonly arguments: string
  readonly meta?: Meta
}

/** What a tool answered to the call `callId`. */
export interface ToolResultPart {
  readonly type: 'tool_result'
  readonly callId: string
  readonly content: readonly ResultPart[]
  readonly name?: string
  readonly isError?: boolean
  readonly meta?: Meta
}

/** What a tool can answer with. */
export type ResultPart = TextPart | ImagePart | FilePart | ProviderPart

/** The model's reasoning. `signature` and `encrypted` go back to its provider unchanged. */
export interface ReasoningPart {
  readonly type: 'reasoning'
  readonly text: string
  readonly summary?: readonly string[]
  readonly signature?: string
  readonly encrypted?: string
  readonly meta?: Meta
}

export interface RefusalPart {
  readonly type: 'refusal'
  readonly text: string
  readonly meta?: Meta
}

/** Whatever has no word here, raw, with the name of the provider or format it comes from. */
export interface ProviderPart {
  readonly type: 'provider'
  readonly provider: string
  readonly raw: Json
  readonly meta?: Meta
}
