/** A model's complete answer. */
import type { Message } from '../message/index.ts'
import type { Usage } from '../notes/kit.ts'

/**
 * Why a model stopped: it had said all, wants tools, ran into its own limit of tokens, declined, wants to be called again
 * to go on (`pause`), or whatever it names.
 */
export type FinishReason = 'end_turn' | 'tool_calls' | 'max_tokens' | 'refusal' | 'pause' | 'other'

/** A whole answer. */
export interface ModelResponse {
  /** The whole answer. */
  readonly message: Message
  /** Why the model stopped. */
  readonly reason: FinishReason
  /** The tokens that the provider counted. */
  readonly usage: Usage
  /** The model that answered, as the provider names it. */
  readonly model?: string
}
