/** The contract for event handlers. */
import type { Either } from 'fp-ts/lib/Either.js'
import type { HistoryDelta } from '../history/index.ts'
import type { Message } from '../message/index.ts'
import type { Usage } from '../notes/internal.ts'
import type { RunEvent, SentRequest } from './event.ts'
import type { ModelEvent } from './model/model.ts'
import type { ModelResponse } from './model/response.ts'
import type { RunResult } from './result.ts'

/**
 * Receives each event before the run continues. It may be slow. A `Left` or an exception ends the
 * run with `HandlerFailed`. Later handlers do not get the refused event, unless it is a delta. All of them get the
 * delta of the step's finished work, in which calls without a result are not run (`ahead.unfinished`).
 */
export interface RunHandler {
  /** Receives an event, and what the run already knows about the next ones. */
  (event: RunEvent, ahead: LookAhead): HandlerAnswer | Promise<HandlerAnswer>
  /**
   * Called before the run starts; a `Left` prevents the start. `stop` ends the run as `cancelled`. If the run is
   * cancelled or times out first, the handler gets no events, and `end` is called once `begin` resolves.
   */
  readonly begin?: (stop: (reason: string) => void) => HandlerAnswer | Promise<HandlerAnswer>
  /** Called once after the run, before `run_complete`. What it throws or returns is ignored. */
  readonly end?: (result: RunResult) => unknown
  /**
   * How long the end of a block may be delayed, in milliseconds, so that closely following events
   * come with it (`ahead.events`). Default: 0.
   */
  readonly lookAhead?: number
}

/** A handler's answer: nothing, or an `Either` whose `Left` ends the run. */
type HandlerAnswer = Either<unknown, unknown> | void

/** What a run already knows when it emits an event, so that a handler can combine writes. */
export interface LookAhead {
  /** The id of this step's delta. */
  readonly id: string
  /** Whether the step's results will be one message. */
  readonly together: boolean
  /** The streamed events that follow next. */
  readonly events: readonly ModelEvent[]
  /** The complete answer as it will be recorded; set once `finish` is emitted or in `events`. */
  readonly response?: ModelResponse
  /** The delta of this step, once it is complete. It is emitted later, unchanged. */
  readonly delta?: HistoryDelta<Message>
  /** The request of this step's answer and the tokens of the answer, with `delta` in a run with `receipts`. */
  readonly receipt?: { readonly sent: SentRequest; readonly usage: Usage }
  /** Whether the delta says of a call that it was not run because the run failed. A journal can still continue its step. */
  readonly unfinished?: boolean
  /** Whether the run ends with this delta unless an interrupt arrives. Default: false. */
  readonly last?: boolean
}
