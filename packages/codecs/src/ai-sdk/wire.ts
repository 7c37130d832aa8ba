/**
 * The wire types of AI SDK model messages: `messages` of `generateText` and `streamText`.
 * Assignable to the SDK's `ModelMessage[]` (checked by a type test) without depending on it.
 *
 * Source  `ai` 7.0.173, `ModelMessage`
 */
import type { MutableJson } from 'indelible/internal/json'

declare global {
  /** The runtime's own type, declared for programs without Node's or the DOM's types. */
  interface URL {}
}

/** A message as passed to `generateText`. */
export type AiModelMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage

/** Options for a provider in addition to the content, under the provider's name. */
export type ProviderOptions = { [provider: string]: { [option: string]: MutableJson } }

/** A system message. */
interface SystemMessage {
  role: 'system'
  content: string
  providerOptions?: ProviderOptions
}

/** A user message. */
interface UserMessage {
  role: 'user'
  content: string | (TextPart | FilePart)[]
  providerOptions?: ProviderOptions
}

/** An assistant message. */
interface AssistantMessage {
  role: 'assistant'
  content: string | (TextPart | FilePart | ReasoningPart | ToolCallPart | ToolResultPart)[]
  providerOptions?: ProviderOptions
}

/** A tool message with results. */
interface ToolMessage {
  role: 'tool'
  content: ToolResultPart[]
  providerOptions?: ProviderOptions
}

/** A text part. */
interface TextPart {
  type: 'text'
  text: string
  providerOptions?: ProviderOptions
}

/** A file or picture. `data` as a string is a URL. */
interface FilePart {
  type: 'file'
  data: string | FileData
  mediaType: string
  filename?: string
  providerOptions?: ProviderOptions
}

/** A file's content or address. */
type FileData = { type: 'data'; data: string } | { type: 'url'; url: URL }

/** Reasoning. */
interface ReasoningPart {
  type: 'reasoning'
  text: string
  providerOptions?: ProviderOptions
}

/** A tool call. */
interface ToolCallPart {
  type: 'tool-call'
  toolCallId: string
  toolName: string
  input: unknown
  providerExecuted?: boolean
  providerOptions?: ProviderOptions
}

/** The result of a call. */
interface ToolResultPart {
  type: 'tool-result'
  toolCallId: string
  toolName: string
  output: ToolOutput
  providerOptions?: ProviderOptions
}

/** A tool's output, by kind. */
type ToolOutput =
  | { type: 'text' | 'error-text'; value: string }
  | { type: 'json' | 'error-json'; value: MutableJson }
  | { type: 'execution-denied'; reason?: string }
  | { type: 'content'; value: (TextPart | { type: 'file'; data: FileData; mediaType: string; filename?: string })[] }
