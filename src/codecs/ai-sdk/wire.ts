/**
 * The wire of AI SDK model messages: what `messages` of `generateText` and `streamText` may hold. Assignable to the
 * SDK's `ModelMessage[]` (a type test says so) without depending on it.
 *
 * Source  `ai` 7.0.173, `ModelMessage`
 */
import type { Mutable } from '../residual.ts'

declare global {
  /** The runtime's own: named here for programs with neither Node's types nor the DOM's. */
  interface URL {}
}

/** A message as `generateText` takes it. */
export type AiModelMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage

/** What a provider wants to know beside the content, under the provider's name. */
export type ProviderOptions = { [provider: string]: { [option: string]: Mutable } }

/** A message of the system. */
export interface SystemMessage {
  role: 'system'
  content: string
  providerOptions?: ProviderOptions
}

/** A message of the user. */
export interface UserMessage {
  role: 'user'
  content: string | (TextPart | FilePart)[]
  providerOptions?: ProviderOptions
}

/** A message of the assistant. */
export interface AssistantMessage {
  role: 'assistant'
  content: string | (TextPart | FilePart | ReasoningPart | ToolCallPart | ToolResultPart)[]
  providerOptions?: ProviderOptions
}

/** The result of a call. */
export interface ToolMessage {
  role: 'tool'
  content: ToolResultPart[]
  providerOptions?: ProviderOptions
}

/** A part of text. */
export interface TextPart {
  type: 'text'
  text: string
  providerOptions?: ProviderOptions
}

/** Pictures too. `data` as text is a URL. */
export interface FilePart {
  type: 'file'
  data: string | FileData
  mediaType: string
  filename?: string
  providerOptions?: ProviderOptions
}

/** The content of a file, or where it is. */
export type FileData = { type: 'data'; data: string } | { type: 'url'; url: URL }

/** Reasoning. */
export interface ReasoningPart {
  type: 'reasoning'
  text: string
  providerOptions?: ProviderOptions
}

/** A call of a tool. */
export interface ToolCallPart {
  type: 'tool-call'
  toolCallId: string
  toolName: string
  input: unknown
  providerExecuted?: boolean
  providerOptions?: ProviderOptions
}

/** The result of a call. */
export interface ToolResultPart {
  type: 'tool-result'
  toolCallId: string
  toolName: string
  output: ToolOutput
  providerOptions?: ProviderOptions
}

/** What a tool gave, by its kind. */
export type ToolOutput =
  | { type: 'text' | 'error-text'; value: string }
  | { type: 'json' | 'error-json'; value: Mutable }
  | { type: 'execution-denied'; reason?: string }
  | { type: 'content'; value: (TextPart | { type: 'file'; data: FileData; mediaType: string; filename?: string })[] }
