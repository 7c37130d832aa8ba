/** The events of a run as they happen: one flat union with stable names, in `seq` order. */
import type { HistoryDelta } from '../history/index.ts'
import type { JsonObject } from '../json/index.ts'
import type { Message, Repair, ToolCallPart, ToolResultPart } from '../message/index.ts'
import type { TurnFault } from './fault.ts'
import type { ModelEvent } from './model/model.ts'
import type { ModelResponse } from './model/response.ts'
import type { OpenAnswer } from './open-answer.ts'
import type { RunResult } from './result.ts'
import type { DerivedBy } from '../context/internal.ts'

/** An event of a run. `seq` counts them from 0. */
export type RunEvent = {
  /** Counts from 0. Gaps are `model_event`s that were dropped without a reader, or a delta that a handler refused. */
  readonly seq: number
} &
  /**
   * A step starts: the model is about to be called. `step` counts from 0; `len` is the record's number of messages.
   * `continues`: the last messages of the record if the first step continues an answer, such as that of a dead run: all
   * after the last message that is not the assistant's or a tool's. `open`: the waiting step that this step continues.
   */
  (
    | {
        readonly type: 'step_start'
        readonly step: number
        readonly len: number
        readonly continues?: readonly Message[]
        readonly open?: OpenAnswer
      }
    /**
     * The turn waits for the session, which another run holds: `holder` is its name, `remaining` the milliseconds until its
     * lease expires unless it is renewed, `wait` the milliseconds that the turn waits at most (absent: without limit). Once for
     * each holder, before the run starts.
     */
    | {
        readonly type: 'waiting'
        readonly for: 'session'
        readonly holder: string
        readonly remaining: number
        readonly wait?: number
      }
    /** The record is damaged, so a mended copy is sent: its repairs, at most once a run. The record stays as it is. */
    | { readonly type: 'mended'; readonly step: number; readonly repairs: readonly Repair[] }
    /** Something the model streamed. */
    | { readonly type: 'model_event'; readonly step: number; readonly event: ModelEvent }
    /** A tool is about to run. Handlers finish with this event before it starts. */
    | { readonly type: 'tool_call_start'; readonly step: number; readonly call: ToolCallPart }
    /** A tool's result, in completion order. */
    | {
        readonly type: 'tool_result'
        readonly step: number
        readonly result: ToolResultPart
        readonly milliseconds: number
      }
    /** The step is over: the model's complete response, and the results of its calls in call order. */
    | {
        readonly type: 'step_complete'
        readonly step: number
        readonly response: ModelResponse
        readonly results: readonly ToolResultPart[]
        readonly sent?: SentRequest
      }
    /** Messages to append to the record. Every message of the run is in exactly one of these. */
    | ({ readonly type: 'history_delta'; readonly step: number } & HistoryDelta<Message>)
    /** An answer was interrupted: its text so far, and what is kept (in the delta that follows, if any). */
    | {
        readonly type: 'interrupted'
        readonly step: number
        readonly partialText: string
        readonly behavior: InterruptBehavior
        readonly sent?: SentRequest
      }
    /** Calls wait for approval and all others have results: the run ends. The step is not in a delta. */
    | { readonly type: 'approval'; readonly step: number; readonly open: OpenAnswer }
    /** The run could not start; this is its last event. `fault` is the fault of its result. */
    | { readonly type: 'run_failed'; readonly fault: TurnFault }
    /** The last event of every run that started, including failed (`stopReason` `error`) and cancelled ones. */
    | { readonly type: 'run_complete'; readonly result: RunResult }
  )

/** The request of a model call, for runs with `receipts`. */
export interface SentRequest {
  /** The number of messages in the record. */
  readonly len: number
  /** The `rangeDigest` of the messages that were sent, which is the `digest` of a derived context. */
  readonly contextDigest: string
  /** The instructions that were sent in place of the leading system messages of the context. */
  readonly instructions?: string
  /** The name of the model. */
  readonly model: string
  /** The parameters of the request. */
  readonly parameters: JsonObject
  /** The estimated tokens of the request with tools and system prompt, if the context reports them. */
  readonly estimated?: number
  /** The settings that derive the messages again, if the context reports them. */
  readonly derivedBy?: DerivedBy
  /** The repairs of what was sent, if the record is damaged. */
  readonly repairs?: readonly Repair[]
}

/**
 * What to do with an answer that is interrupted. `discard`: record nothing of it. `savePartial`: record its text and
 * finished calls. `saveMarked`: the same, with a mark that people and models can read. Of an answer without text and
 * without a finished call nothing is recorded.
 */
export type InterruptBehavior = 'discard' | 'savePartial' | 'saveMarked'
