/** The contract of event handlers. */
import type { Either } from 'fp-ts/lib/Either.js'
import type { HistoryDelta } from '../history/index.ts'
import type { Message } from '../message/index.ts'
import type { RunEvent } from './event.ts'
import type { ModelEvent } from './model.ts'
import type { ModelResponse } from './response.ts'
import type { RunResult } from './result.ts'

/**
 * Whoever is told of each event before the next thing happens. It may take its time; a `Left`, or a throw, ends the
 * run with the fault `HandlerFailed`.
 */
export interface RunHandler {
  /** Receives an event, and what the run already knows of the next ones. */
  (event: RunEvent, ahead: Ahead): HandlerAnswer | Promise<HandlerAnswer>
  /**
   * Asked before the run begins: a `Left` keeps it from beginning. `stop` ends the run as `cancelled`. If the run is
   * cancelled or reaches its time limit first, the handler is told no event; `end` is called when `begin` answers.
   */
  readonly begin?: (stop: (reason: string) => void) => HandlerAnswer | Promise<HandlerAnswer>
  /** Told once, when the run is over and before `run_complete`. What it throws or returns is ignored. */
  readonly end?: (result: RunResult) => unknown
  /**
   * Milliseconds that the end of a block may be held back, so that what comes close behind it is told together with it
   * (`ahead.events`). Default: 0.
   */
  readonly lookAhead?: number
}

/** A handler's answer: nothing, or an `Either` whose `Left` ends the run. */
export type HandlerAnswer = Either<unknown, unknown> | void

/** What a run already knows when it emits an event, so that a handler can write several things at once. */
export interface Ahead {
  /** The id of the delta that this step becomes. */
  readonly id: string
  /** Whether the results of the step will be one message. */
  readonly together: boolean
  /** Streamed events that are emitted next. */
  readonly events: readonly ModelEvent[]
  /** The whole answer as it will be recorded; present once `finish` is emitted or among `events`. */
  readonly response?: ModelResponse
  /** The delta of this step, once it is complete. It is emitted later, unchanged. */
  readonly delta?: HistoryDelta<Message>
  /** Whether the run ends with this delta, unless something is said meanwhile. Default: false. */
  readonly last?: boolean
}
