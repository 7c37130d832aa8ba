/**
 * A model as the loop sees it: one method. An adapter implements it with a provider's client.
 *
 * Requirements:
 * - Events come in the provider's order, and the last one is `finish`. A stream that ends without
 *   it is a fault.
 * - `finish` has the complete assistant message, including data that the provider expects back
 *   (reasoning signatures, encrypted content, ids), stored the way the format's codec does.
 * - Failures are thrown, and `signal` ends the stream promptly.
 *
 * `modelContract` in `@indelible/testing` checks these.
 */
import type { JsonObject } from '../../json/index.ts'
import type { Message, Part, Sequence, Settled } from '../../message/index.ts'
import type { ModelResponse } from './response.ts'

/** A model that a run can call. */
export interface Model {
  /** The name in receipts and errors. */
  readonly name: string
  /**
   * Whether the results of one step form one message (`together`, as Anthropic requires) or one per
   * call. Default: `perCall`.
   */
  readonly results?: 'together' | 'perCall'
  /**
   * Calls the model.
   *
   * @param request messages, tools and parameters
   * @param signal aborts the stream
   * @returns the events in the provider's order. A failure throws
   */
  readonly stream: (request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelEvent>
}

/** The input to a model. */
export interface ModelRequest {
  /** The messages, settled. */
  readonly messages: Settled<Sequence<Message>>
  /** The tools that the model may call. */
  readonly tools: readonly ToolDefinition[]
  /** The number of leading messages equal to those of the last request: a good place for a cache breakpoint. */
  readonly stablePrefix: number
  /** The provider's own parameters, passed through: temperature, maximum tokens … */
  readonly parameters: JsonObject
}

/** A tool, as the model sees it. */
export interface ToolDefinition {
  /** Its name. */
  readonly name: string
  /** The text from which the model decides when to call it. */
  readonly description?: string
  /** JSON Schema of its arguments. */
  readonly parameters: JsonObject
}

/** The type of a block of an answer. */
export type BlockType = 'text' | 'reasoning' | 'tool_call' | 'refusal' | 'provider'

/** An event of a model's stream. `index` counts the blocks of the answer from 0. */
export type ModelEvent =
  /** A block starts. For a call it includes the id and name. */
  | {
      readonly type: 'block_start'
      readonly index: number
      readonly block: BlockType
      readonly callId?: string
      readonly name?: string
    }
  /** A piece of text or of a refusal. */
  | { readonly type: 'text_delta'; readonly index: number; readonly block: 'text' | 'refusal'; readonly text: string }
  /** A piece of reasoning. */
  | { readonly type: 'reasoning_delta'; readonly index: number; readonly block: 'reasoning'; readonly text: string }
  /** A piece of a call's arguments. */
  | { readonly type: 'arguments_delta'; readonly index: number; readonly block: 'tool_call'; readonly text: string }
  /** A piece of a reasoning block's signature. */
  | { readonly type: 'signature_delta'; readonly index: number; readonly block: 'reasoning'; readonly text: string }
  /** A block is complete. If an answer is cut, only calls and reasoning completed so far are recorded. */
  | { readonly type: 'block_end'; readonly index: number; readonly block: BlockType; readonly part: Part }
  | ({ readonly type: 'finish' } & ModelResponse)
