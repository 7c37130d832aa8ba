/** The result of a run. */
import { ownField } from '../json/index.ts'
import type { Message, ToolCallPart, ToolResultPart } from '../message/index.ts'
import type { Usage } from '../notes/internal.ts'
import type { OpenAnswer } from './open-answer.ts'
import type { ModelResponse } from './model/response.ts'

/**
 * Why a run ended. `end_turn`: the model was done. `refusal`: the model declined, or the provider
 * filtered its answer. `max_steps`, `max_tool_calls`, `max_tokens`,
 * `max_dollars`, `timeout`: a limit. `cancelled`: by `cancel()`, the signal, or an interrupt
 * without a message. `custom`: by `stopWhen`. `approval`: calls wait for approval. `paused`:
 * `limits.softTimeout` was reached, and the next request continues. `answered`:
 * another run answered this turn's input, now or earlier. `queued`: the input is in the queue, without an answer yet.
 * `error`: a fault.
 */
export type StopReason =
  | 'end_turn'
  | 'refusal'
  | 'max_steps'
  | 'max_tool_calls'
  | 'max_tokens'
  | 'max_dollars'
  | 'timeout'
  | 'cancelled'
  | 'custom'
  | 'approval'
  | 'paused'
  | 'answered'
  | 'queued'
  | 'error'

/** The result of a run. */
export interface RunResult {
  /** The last complete answer, if any. */
  readonly response: Message | undefined
  /** The completed steps. */
  readonly steps: readonly RunStep[]
  /** The numbers of steps, tool calls and interrupts. */
  readonly counts: { readonly steps: number; readonly toolCalls: number; readonly interrupts: number }
  /** The sum over all steps. */
  readonly usage: Usage
  /** The cost of all steps in US dollars, by `prices` or `modelPrices`; undefined if a price is unknown. */
  readonly dollars: number | undefined
  /** Why the run ended. */
  readonly stopReason: StopReason
  /** The messages of the run's view, followed by those of its deltas, refused ones included. Frozen. */
  readonly messages: readonly Message[]
  /** The number of messages of the run's view. They are the first of `messages`. */
  readonly viewLength: number
  /** The waiting step, if the run ended with `approval`, or with `paused` before all calls had run. It is not in `messages`; `settleOpen` makes messages of it. */
  readonly open?: OpenAnswer
}

/** A completed step. Interrupted steps are not listed; the kept parts of them are in `messages`. */
export interface RunStep {
  /** The model's answer. */
  readonly response: ModelResponse
  /** The answer's calls. */
  readonly calls: readonly ToolCallPart[]
  /** The results in call order. */
  readonly results: readonly ToolResultPart[]
  /** The duration of the step. */
  readonly milliseconds: number
}

export const noUsage: Usage = Object.freeze({ input: 0, output: 0 })

export const addUsage = (left: Usage, right: Usage): Usage => {
  const sum = { input: left.input + right.input, output: left.output + right.output }
  const cache: { cacheRead?: number; cacheWrite?: number } = {}
  for (const key of ['cacheRead', 'cacheWrite'] as const) {
    const [before, more] = [ownField(left, key), ownField(right, key)]
    if (before !== undefined || more !== undefined) cache[key] = (before ?? 0) + (more ?? 0)
  }
  return Object.freeze({ ...sum, ...cache })
}
