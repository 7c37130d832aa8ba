/**
 * The message model: a superset of all providers' conversation formats.
 *
 * Every field is plain JSON, so a message reads back equal from any store. Provider content without an equivalent
 * here is kept raw in a `provider` part. Data about a part or message that is not content is kept in `meta`.
 */
import type { BlockId } from '../proof/internal.ts'
import type { Json } from '../json/index.ts'

/** The speaker. `developer` is OpenAI's newer name for system instructions; `tool` has tool results. */
export type Role = 'system' | 'developer' | 'user' | 'assistant' | 'tool'

/** One conversation entry. */
export interface Message {
  /** The speaker's role. */
  readonly role: Role
  /** The content, in order. */
  readonly content: readonly Part[]
  /** The id assigned by its provider or application. */
  readonly id?: string
  /** The speaker's name, if several share a role. */
  readonly name?: string
  /** Metadata: JSON that is not content. */
  readonly meta?: Meta
}

/**
 * JSON metadata, under one key per owner: codecs store what makes them lossless (`{ 'openai-chat':
 * … }`), an application its own data (`{ 'com.example.app': … }`).
 */
export type Meta = { readonly [namespace: string]: Json }

/** A piece of content, distinguished by `type`. */
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
  readonly type: 'text'
  /** The text. */
  readonly text: string
  /** Metadata of the text. */
  readonly meta?: Meta
}

/** An image. */
export interface ImagePart {
  readonly type: 'image'
  /** Where its bytes are. */
  readonly source: Source
  /** Metadata of the image. */
  readonly meta?: Meta
}

/** A document, audio or video; its media type tells which. */
export interface FilePart {
  readonly type: 'file'
  /** Where its bytes are. */
  readonly source: Source
  /** The name of the file. */
  readonly name?: string
  /** Metadata of the file. */
  readonly meta?: Meta
}

/** Where the bytes of an image or file are. */
export type Source =
  /** The file's URL. */
  | { readonly type: 'url'; readonly url: string; readonly mediaType?: string }
  /** The bytes in base64. */
  | { readonly type: 'base64'; readonly data: string; readonly mediaType: string }
  /** The id of the stored block. */
  | { readonly type: 'block'; readonly id: BlockId; readonly mediaType?: string }

/** A tool call by the model. */
export interface ToolCallPart {
  readonly type: 'tool_call'
  /** The id that its result has as `callId`. */
  readonly id: string
  /** The tool's name. */
  readonly name: string
  /** The text the model wrote. It may not be valid JSON. */
  readonly arguments: string
  /** Metadata of the call. */
  readonly meta?: Meta
}

/** The result of the tool call `callId`. */
export interface ToolResultPart {
  readonly type: 'tool_result'
  /** The call's id. */
  readonly callId: string
  /** The result. */
  readonly content: readonly ResultPart[]
  /** The tool's name. */
  readonly name?: string
  /** True if the call failed. Default: false. */
  readonly isError?: boolean
  /** Metadata of the result. */
  readonly meta?: Meta
}

/** The parts allowed in a tool result. */
export type ResultPart = TextPart | ImagePart | FilePart | ProviderPart

/** The model's reasoning. `signature` and `encrypted` are sent back to its provider unchanged. */
export interface ReasoningPart {
  readonly type: 'reasoning'
  /** The reasoning text, as far as the provider reveals it. */
  readonly text: string
  /** The provider's summaries, in order. */
  readonly summary?: readonly string[]
  /** The signature by which the provider recognizes its reasoning. */
  readonly signature?: string
  /** The encrypted reasoning, which only the provider can read. */
  readonly encrypted?: string
  /** Metadata of the reasoning. */
  readonly meta?: Meta
}

/** A refusal by the model. */
export interface RefusalPart {
  readonly type: 'refusal'
  /** The text of the refusal. */
  readonly text: string
  /** Metadata of the refusal. */
  readonly meta?: Meta
}

/** A raw part without a type in this model, with the provider or format that it comes from. */
export interface ProviderPart {
  readonly type: 'provider'
  /** The provider or format that defines the part. */
  readonly provider: string
  /** The unchanged part. */
  readonly raw: Json
  /** Metadata of the part. */
  readonly meta?: Meta
}

/** Replaces erased content. Only an erasure creates it. Calls and results keep their ids, so calls stay answered. */
export interface ErasedPart {
  readonly type: 'erased'
  /** The id of the erased tool call, if it was one. */
  readonly id?: string
  /** The call id of the erased tool result, if it was one. */
  readonly callId?: string
  /** Metadata. An erasure removes it. */
  readonly meta?: Meta
}
