/**
 * A model, as the loop knows it: one method. An adapter puts a provider's client behind it.
 *
 * What an implementer promises:
 * - events come in the order in which the provider sent them, and the last one is `finish`. A stream that ends without
 *   one is a fault to the loop, not an answer;
 * - `finish` carries the whole assistant message, with whatever the provider wants back (reasoning signatures, encrypted
 *   content, ids) where the format's codec keeps it;
 * - a failure is thrown, and `signal` ends the stream soon.
 * `modelContract` in `@indelible/testing` checks these.
 */
import type { JsonObject } from '../json/index.ts'
import type { Message, Part, Sequence, Settled } from '../message/index.ts'
import type { ModelResponse } from './response.ts'

/** A model that a run can call. */
export interface Model {
  /** The name in receipts and errors. */
  readonly name: string
  /**
   * Whether the results of one step are one message (`together`, as Anthropic requires) or one for each call. Default:
   * `perCall`.
   */
  readonly results?: 'together' | 'perCall'
  /**
   * Call the model.
   *
   * @param request messages, tools and parameters
   * @param signal ends the stream when aborted
   * @returns the events, as the provider sends them. A failure throws
   */
  readonly stream: (request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelEvent>
}

/** The input of a model. */
export interface ModelRequest {
  /** The messages, settled. */
  readonly messages: Settled<Sequence<Message>>
  /** The tools that it may call. */
  readonly tools: readonly ToolDefinition[]
  /** The number of leading messages that equal those of the last request: a good place for a cache breakpoint. */
  readonly stablePrefix: number
  /** The provider's own parameters, passed on as they are: temperature, maximum tokens … */
  readonly parameters: JsonObject
}

/** A tool, as the model sees it. */
export interface ToolDefinition {
  /** Its name. */
  readonly name: string
  /** The text by which the model decides when to call it. */
  readonly description?: string
  /** JSON Schema of its arguments. */
  readonly parameters: JsonObject
}

/** The type of a block of an answer. */
export type BlockType = 'text' | 'reasoning' | 'tool_call' | 'refusal' | 'provider'

/** An event of a model's stream. `index` counts the blocks of the answer from 0. */
export type ModelEvent =
  /** A block of the answer begins. A call has its id and name here. */
  | {
      readonly type: 'block_start'
      readonly index: number
      readonly block: BlockType
      readonly callId?: string
      readonly name?: string
    }
  /** A piece of text, or of a refusal. */
  | { readonly type: 'text_delta'; readonly index: number; readonly block: 'text' | 'refusal'; readonly text: string }
  /** A piece of reasoning. */
  | { readonly type: 'reasoning_delta'; readonly index: number; readonly block: 'reasoning'; readonly text: string }
  /** A piece of a call's arguments. */
  | { readonly type: 'arguments_delta'; readonly index: number; readonly block: 'tool_call'; readonly text: string }
  /** A piece of the signature of a block of reasoning. */
  | { readonly type: 'signature_delta'; readonly index: number; readonly block: 'reasoning'; readonly text: string }
  /** A block is whole. Of an answer that is cut, only calls and reasoning that came so far are recorded. */
  | { readonly type: 'block_end'; readonly index: number; readonly block: BlockType; readonly part: Part }
  | ({ readonly type: 'finish' } & ModelResponse)
