/** A model's complete answer. Faults and results name it in every runtime, so it is apart from what needs a platform's types. */
import type { Message } from '../../message/index.ts'
import type { Usage } from '../../notes/internal.ts'

/**
 * Why a model stopped: it was done, calls tools, hit its token limit, declined, wants to be called
 * again to continue (`pause`), or some other reason.
 */
export type FinishReason = 'end_turn' | 'tool_calls' | 'max_tokens' | 'refusal' | 'pause' | 'other'

/** A complete answer. */
export interface ModelResponse {
  /** The message. */
  readonly message: Message
  /** Why the model stopped. */
  readonly reason: FinishReason
  /** The tokens that the provider counted. A count that it does not report, or not as a whole number, is 0; without any, the receipt has no `usage`. */
  readonly usage: Usage
  /** The model that answered, by the provider's name. */
  readonly model?: string
}
