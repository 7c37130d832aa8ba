/**
 * A model, as the loop knows it: one method. An adapter puts a provider's client behind it.
 *
 * What an implementer promises:
 * - events come in the order in which the provider sent them, and the last one is `finish`. A stream that ends without
 *   one is a fault to the loop, not an answer;
 * - `finish` carries the whole assistant message, with whatever the provider wants back (reasoning signatures, encrypted
 *   content, ids) where the format's codec keeps it;
 * - a failure is thrown, and `signal` ends the stream soon.
 * `modelContract` in `indelible/testing` checks these.
 */
import type { JsonObject } from '../json/index.ts'
import type { Message, Part, Sequence, Settled } from '../message/index.ts'
import type { ModelResponse } from './response.ts'

/** A model that a run can call. */
export interface Model {
  /** What receipts and errors call it. */
  readonly name: string
  /** Whether the results of one step are one message (as Anthropic has them) or one a call. Default: `perCall`. */
  readonly results?: 'together' | 'perCall'
  /** Call the model. Events come as the provider sends them; a failure is thrown. */
  readonly stream: (request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelEvent>
}

/** What a model is asked. */
export interface ModelRequest {
  /** The messages, settled. */
  readonly messages: Settled<Sequence<Message>>
  /** The tools that it may call. */
  readonly tools: readonly ToolDefinition[]
  /** How many of the messages, from the first, are the same as in the request before: where a cache breakpoint pays. */
  readonly stablePrefix: number
  /** What the provider takes beside messages and tools: temperature, maximum tokens … Given to it as it is. */
  readonly parameters: JsonObject
}

/** A tool, as a model is told of it. */
export interface ToolDefinition {
  /** Its name. */
  readonly name: string
  /** What the model reads to decide when to call it. */
  readonly description?: string
  /** JSON Schema of its arguments. */
  readonly parameters: JsonObject
}

/** What a block of an answer is. */
export type BlockType = 'text' | 'reasoning' | 'tool_call' | 'refusal' | 'provider'

/** One thing that a model streams. `index` counts the blocks of the answer from 0. */
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
