/** What a run came to. */
import { ownField } from '../json/index.ts'
import type { Message, ToolCallPart, ToolResultPart } from '../message/index.ts'
import type { Usage } from '../notes/kit.ts'
import type { OpenAnswer } from './open-answer.ts'
import type { ModelResponse } from './response.ts'

/**
 * Why a run ended: `end_turn` the model had said all; `max_steps`, `max_tool_calls`, `max_tokens`, `max_dollars`, `timeout` a limit;
 * `cancelled` by `cancel()`, by the signal, or by an interrupt without a message; `custom` by `stopWhen`; `approval` calls
 * wait for one; `queued` another run answers the input of this turn, or has; `error` a fault.
 */
export type StopReason =
  | 'end_turn'
  | 'max_steps'
  | 'max_tool_calls'
  | 'max_tokens'
  | 'max_dollars'
  | 'timeout'
  | 'cancelled'
  | 'custom'
  | 'approval'
  | 'queued'
  | 'error'

/** What a run came to. */
export interface RunResult {
  /** The last whole answer, if there was one. */
  readonly response: Message | undefined
  /** The steps that came to their end. */
  readonly steps: readonly RunStep[]
  /** How many steps, tool calls and interrupts there were. */
  readonly counts: { readonly steps: number; readonly toolCalls: number; readonly interrupts: number }
  /** The sum over all steps. */
  readonly usage: Usage
  /** What all steps cost, in US dollars, by `prices` or `modelPrices`; undefined where a price is not known. */
  readonly dollars: number | undefined
  /** Why the run ended. */
  readonly stopReason: StopReason
  /** The view that the run began with, and after it every message of its deltas. Frozen. */
  readonly messages: readonly Message[]
  /** The step that waits, where the run ended with `approval`. */
  readonly open?: OpenAnswer
}

/** A step that came to its end. One that was cut has no place here; what was kept of it is in `messages`. */
export interface RunStep {
  /** The answer of the model. */
  readonly response: ModelResponse
  /** The calls of the answer. */
  readonly calls: readonly ToolCallPart[]
  /** In call order. */
  readonly results: readonly ToolResultPart[]
  /** How long the step took. */
  readonly milliseconds: number
}

export const noUsage: Usage = Object.freeze({ input: 0, output: 0 })

export const addUsage = (left: Usage, right: Usage): Usage => {
  const optional = (key: 'cacheRead' | 'cacheWrite'): Partial<Usage> =>
    ownField(left, key) === undefined && ownField(right, key) === undefined
      ? {}
      : { [key]: (ownField(left, key) ?? 0) + (ownField(right, key) ?? 0) }
  return Object.freeze({
    input: left.input + right.input,
    output: left.output + right.output,
    ...optional('cacheRead'),
    ...optional('cacheWrite'),
  })
}
