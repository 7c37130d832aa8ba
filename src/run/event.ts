/** The events of a run as they happen: one flat union with stable names, in `seq` order. */
import type { DerivedBy } from '../context/index.ts'
import type { HistoryDelta } from '../history/index.ts'
import type { JsonObject } from '../json/index.ts'
import type { Message, ToolCallPart, ToolResultPart } from '../message/index.ts'
import type { ModelEvent } from './model.ts'
import type { OpenAnswer } from './open-answer.ts'
import type { ModelResponse } from './response.ts'
import type { RunResult } from './result.ts'

/** An event of a run. `seq` counts them from 0. */
export type RunEvent =
  /** A step begins: the model is about to be called. `step` counts from 0; `len` is how many messages the record has. */
  | (EventOrder & { readonly type: 'step_start'; readonly step: number; readonly len: number })
  /** Something the model streamed. */
  | (EventOrder & { readonly type: 'model_event'; readonly step: number; readonly event: ModelEvent })
  /** A tool is about to be run; handlers have finished with this event before it is. */
  | (EventOrder & { readonly type: 'tool_call_start'; readonly step: number; readonly call: ToolCallPart })
  /** A tool's result, in the order in which tools finish. */
  | (EventOrder & {
      readonly type: 'tool_result'
      readonly step: number
      readonly result: ToolResultPart
      readonly milliseconds: number
    })
  /** The step is over: the model's whole response, and the results of its calls in call order. */
  | (EventOrder & {
      readonly type: 'step_complete'
      readonly step: number
      readonly response: ModelResponse
      readonly results: readonly ToolResultPart[]
      readonly sent?: SentRequest
    })
  /** Messages to append to the record. Every message of the run is in exactly one of these. */
  | (EventOrder & { readonly type: 'history_delta'; readonly step: number } & HistoryDelta<Message>)
  /** An answer was cut: what there was of its text, and what becomes of it (in the delta that follows, if anything does). */
  | (EventOrder & {
      readonly type: 'interrupted'
      readonly step: number
      readonly partialText: string
      readonly behavior: InterruptBehavior
      readonly sent?: SentRequest
    })
  /** Calls wait for an approval, and all others of the answer have their results: the run ends. Nothing of the step is in a delta. */
  | (EventOrder & { readonly type: 'approval'; readonly step: number; readonly open: OpenAnswer })
  /** The run could not start: its only event. `fault` is the fault of its result. */
  | (EventOrder & { readonly type: 'run_failed'; readonly fault: { readonly _tag: string } })
  /** The end: the last event of every run that started, also of one that failed (`stopReason` is `error`) or was cancelled. */
  | (EventOrder & { readonly type: 'run_complete'; readonly result: RunResult })

/** The request of a model call, if the run has `receipts`. */
export interface SentRequest {
  /** The number of messages in the record. */
  readonly len: number
  /** The `rangeDigest` of the messages that were sent, which is the `digest` of a derived context. */
  readonly contextDigest: string
  /** The name of the model. */
  readonly model: string
  /** The parameters of the request. */
  readonly parameters: JsonObject
  /** The tokens of the request by the estimator, if the context says so: with tools and system prompt. */
  readonly estimated?: number
  /** How the record and its notes give the messages again, if the context says so. */
  readonly derivedBy?: DerivedBy
}

interface EventOrder {
  /** Counts from 0. Gaps are only `model_event`s that no reader was there for, and a delta that a handler refused. */
  readonly seq: number
}

/**
 * What happens to an answer that is interrupted while it streams. `discard`: nothing of it is recorded. `savePartial`:
 * its text and finished calls are recorded. `saveMarked`: they are, with a mark that people and models can read.
 */
export type InterruptBehavior = 'discard' | 'savePartial' | 'saveMarked'
