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

export type AiModelMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage

/** What a provider wants to know beside the content, under the provider's name. */
export type ProviderOptions = { [provider: string]: { [option: string]: Mutable } }

export interface SystemMessage {
  role: 'system'
  content: string
  providerOptions?: ProviderOptions
}

export interface UserMessage {
  role: 'user'
  content: string | (TextPart | FilePart)[]
  providerOptions?: ProviderOptions
}

export interface AssistantMessage {
  role: 'assistant'
  content: string | (TextPart | FilePart | ReasoningPart | ToolCallPart | ToolResultPart)[]
  providerOptions?: ProviderOptions
}

export interface ToolMessage {
  role: 'tool'
  content: ToolResultPart[]
  providerOptions?: ProviderOptions
}

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

export type FileData = { type: 'data'; data: string } | { type: 'url'; url: URL }

export interface ReasoningPart {
  type: 'reasoning'
  text: string
  providerOptions?: ProviderOptions
}

export interface ToolCallPart {
  type: 'tool-call'
  toolCallId: string
  toolName: string
  input: unknown
  providerExecuted?: boolean
  providerOptions?: ProviderOptions
}

export interface ToolResultPart {
  type: 'tool-result'
  toolCallId: string
  toolName: string
  output: ToolOutput
  providerOptions?: ProviderOptions
}

export type ToolOutput =
  | { type: 'text' | 'error-text'; value: string }
  | { type: 'json' | 'error-json'; value: Mutable }
  | { type: 'execution-denied'; reason?: string }
  | { type: 'content'; value: (TextPart | { type: 'file'; data: FileData; mediaType: string; filename?: string })[] }
