/**
 * The wire types of AI SDK UI messages: what `useChat` holds and applications store. Assignable to
 * the SDK's `UIMessage[]` (checked by a type test) without depending on it.
 *
 * Source  `ai` 7.0.173, `UIMessage`
 */
import type { ProviderOptions } from './wire.ts'

/** A message as held by `useChat`. */
export interface AiUiMessage {
  id: string
  role: 'system' | 'user' | 'assistant'
  metadata?: unknown
  parts: AiUiPart[]
}

/** A part of a UI message. */
type AiUiPart = UiTextPart | UiReasoningPart | UiFilePart | UiToolPart | { type: 'step-start' }

/** Text. */
interface UiTextPart {
  type: 'text'
  text: string
  state?: 'streaming' | 'done'
  providerMetadata?: ProviderOptions
}

/** Reasoning. */
interface UiReasoningPart {
  type: 'reasoning'
  text: string
  state?: 'streaming' | 'done'
  providerMetadata?: ProviderOptions
}

/** A file or picture. The URL may contain the bytes. */
interface UiFilePart {
  type: 'file'
  mediaType: string
  filename?: string
  url: string
  providerMetadata?: ProviderOptions
}

/** A call with its result, if any. */
type UiToolPart = {
  type: `tool-${string}`
  toolCallId: string
  input: unknown
  providerExecuted?: boolean
  callProviderMetadata?: ProviderOptions
} & (
  | { state: 'input-available' }
  | { state: 'output-available'; output: unknown; resultProviderMetadata?: ProviderOptions }
  | { state: 'output-error'; errorText: string; resultProviderMetadata?: ProviderOptions }
)
