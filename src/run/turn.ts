/** `turn`: answers and records one user input on a session. */
import { recallTool } from '../context/index.ts'
import { describe, optionsOf, ownFields, type JsonObject, type OptionNames } from '../json/index.ts'
import type { Message } from '../message/index.ts'
import type { Session } from '../session/index.ts'
import { redactorOf } from '../session/internal.ts'
import { amount, choice, type Clock } from '../task/index.ts'
import type { TurnFault } from './fault.ts'
import { settingNames, toolsByName, userMessage, type RunSettings, type RunStream } from './launch.ts'
import { journalEveryOf, type SessionHandlerOptions } from './recording/session-handler.ts'
import { unfinishedChoices, type Continuation, type UnfinishedPolicy } from './turns/start.ts'
import { takeTurn } from './turns/turn-taking.ts'

/** The options of a run on a session. */
export interface SessionRunOptions extends Omit<RunSettings, 'id'>, Pick<SessionHandlerOptions, 'journalEvery'> {
  /** Whether the model gets a tool to read what its context omits. Default: true if there is a `budget`. */
  readonly recall?: boolean
  /**
   * What to do with calls that a dead run had started. Default: `tell` the model that they may have had side effects.
   */
  readonly unfinished?: UnfinishedPolicy
  /** The holder's name, shown to others. Default: `run`. */
  readonly holder?: string
  /** Milliseconds until another process may take over from a dead one. Default: 10,000. */
  readonly ttl?: number
  /** The clock of the run, its lease and its journal. Default: the system's. */
  readonly clock?: Clock
  /**
   * Called with each run that answers the queued input of another turn: read its events or its result, or cancel it.
   * A run that a store fault keeps from starting ends with that fault, and its input stays queued.
   * Default: none; a failure then only shows in the input's state (`inputsOf`), and to the turn that waits for it.
   *
   * @param run the run; an error that this function throws, or a promise of it, is an unhandled rejection
   * @param input the id of the input
   */
  readonly onQueuedRun?: (run: RunStream<TurnFault>, input: string) => unknown
}

/** Options of a turn. */
export interface TurnOptions extends SessionRunOptions {
  /**
   * The id of the input. It makes the turn retryable, also from another process and after a
   * failure: the input is recorded and answered once. The same id with another message gives
   * `InputMismatch`. Default: none; for `queue` a random id.
   */
  readonly id?: string
  /**
   * What to do while another run holds the session. `fail`: with `SessionBusy`. `wait`: until it is
   * free. `queue`: record the input as a note; queued inputs are answered in order by any run that
   * holds the session, even if the process that queued them or the holder dies. Default: `fail`.
   */
  readonly whenBusy?: 'fail' | 'wait' | 'queue'
  /** The maximum milliseconds to wait. A queued input stays queued: the turn ends as `queued`. Default: no limit. */
  readonly wait?: number
}

/**
 * Runs one turn: settles what a dead run left, appends the input, derives each call's context within the budget, runs
 * the model and its tools, and records everything as it finishes. It holds the session, so runs go one at a time.
 *
 * The turn starts at once and is read like any run. If another run answered the input (`queue`, or a known `id`),
 * the only event is `run_complete`: `stopReason` is `answered`, and `response` is the answer. It is `queued` if the
 * input still waits for its answer, `approval` if it waits for that, and `cancelled` if it was withdrawn. A run that
 * lost the session to another process ends with `LeaseLost`.
 *
 * Inputs queued by others meanwhile are answered after this one, in the background, with the same model and tools:
 * `onQueuedRun` gets their runs.
 *
 * Cost    beyond those of the run: a round trip each to take the lease, for the input, and to release the lease
 *
 * @param input the user's text or message
 * @param init the model, the tools, the budget, and what to do while the session is busy
 * @throws TypeError if the input is not a user's message, or an option is invalid
 * @example
 * for await (const event of turn(session, 'What is in a.txt?', { model, tools: [read], budget: 100_000 })) show(event)
 */
export const turn = (session: Session, input: string | Message, init: TurnOptions): RunStream<TurnFault> => {
  const options = optionsOf('turn', init, optionNames)
  const { whenBusy = 'fail', wait = Infinity } = options
  choice('turn: whenBusy', whenBusy, ['fail', 'wait', 'queue'])
  amount('turn: wait', wait, { unit: 'milliseconds' })
  const message = userMessage('turn', input)
  const id = options.id ?? (whenBusy === 'queue' ? crypto.randomUUID() : undefined)
  const { settings, continuation } = runSettings(session, options)
  const recorded = redactorOf(session)?.message(message) ?? message
  const own = { session: session.id, id, message: recorded as unknown as JsonObject }
  return takeTurn({ session, settings, continuation, options, request: { ...own, whenBusy, wait, margin: 0 } })
}

export const sessionRunOptionNames: OptionNames<SessionRunOptions> = {
  ...settingNames,
  journalEvery: true,
  recall: true,
  unfinished: true,
  holder: true,
  ttl: true,
  clock: true,
  onQueuedRun: true,
}

const optionNames: OptionNames<TurnOptions> = { ...sessionRunOptionNames, id: true, whenBusy: true, wait: true }

/** A run's settings on a session: the record's notes, a recall tool, receipts. */
export const runSettings = (
  session: Session,
  options: SessionRunOptions,
): { readonly settings: RunSettings; readonly continuation: Continuation } => {
  const {
    id: _, // a turn's id is that of its input
    recall = options.budget !== undefined,
    unfinished = 'tell',
    tools: ownTools = [],
    ...rest
  } = options as SessionRunOptions & { readonly id?: string }
  if (typeof (Object(session) as Partial<Session>).conversation !== 'function')
    throw new TypeError(`turn and resume take a session, found ${describe(session)}`)
  if (typeof unfinished !== 'function') choice('unfinished', unfinished, unfinishedChoices)
  journalEveryOf(options.journalEvery)
  const known = toolsByName(ownTools)
  const { onQueuedRun } = options
  if (onQueuedRun !== undefined && typeof onQueuedRun !== 'function')
    throw new TypeError(`onQueuedRun is ${describe(onQueuedRun)}; expected a function`)
  const tools = recall && !known.has('recall') ? [...ownTools, recallTool(() => session.conversation())] : ownTools
  const derive = { notes: () => session.notes(), ...options.derive }
  const settings = ownFields({ receipts: true, ...rest, tools, ...(options.budget !== undefined && { derive }) })
  return { settings, continuation: { tools, unfinished, decisions: new Map() } }
}
