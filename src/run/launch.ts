/** Starts a run: its options, event stream and result. Its starting point may have to be found first. */
import {
  hasField,
  describe,
  formatPath,
  isLeft,
  NotJson,
  optionsOf,
  right,
  snapshot,
  type JsonObject,
  type OptionNames,
} from '../json/index.ts'
import { decodeMessage, user, type Message, type Sequence } from '../message/index.ts'
import { messageFaultText } from '../message/fault.ts'
import { interruptedByUser } from '../message/internal.ts'
import { callWriterOf, type CallLog, type CallLogging } from './tools/calls.ts'
import { Channel } from './loop/channel.ts'
import { Control } from './loop/control.ts'
import type { InterruptBehavior, RunEvent } from './event.ts'
import type { Either } from 'fp-ts/lib/Either.js'
import { amount, choice, clockOf, taskOf, thrownFault, type Clock, type Task, type TaskOf } from '../task/index.ts'
import type { ModelRates } from '../prices/internal.ts'
import type { RunFailure, TurnFault } from './fault.ts'
import type { RunHandler } from './handler.ts'
import { limitsOf, type Limits } from './loop/limits.ts'
import { derivingOf, type ContextOptions } from './loop/context-for.ts'
import { Loop, type LoopSettings, type Start } from './loop/loop.ts'
import type { Model } from './model/model.ts'
import { askHandler } from './loop/ask-handler.ts'
import type { Decisions, OpenAnswer } from './open-answer.ts'
import { dollarsBy } from './loop/prices.ts'
import { checkedInstructions, type Prompt } from './loop/prompt.ts'
import type { RunResult } from './result.ts'
import { checkTimeout, type Tool } from './tools/tool.ts'

/** The options of a run. */
export interface RunOptions extends ContextOptions, Decisions {
  /** The model to call. */
  readonly model: Model
  /**
   * The record to start from. The run never modifies it: new messages come in deltas. Of a damaged one (a call without a
   * result, a result without a call) it sends a mended copy, and reports the repairs: see the event `mended`.
   */
  readonly view: Sequence<Message>
  /**
   * A step to continue before the model is called: `open` in the result of a run that ended with
   * `approval`. `view` is the record before that step. Within a process one run continues it: a second one ends with
   * `HandlerFailed` before anything runs. Default: none.
   */
  readonly open?: OpenAnswer
  /**
   * Ids of calls in the record that are not in `view`, if it is only a part. New calls get other
   * ids. Default: none.
   */
  readonly callIds?: Iterable<string>
  /**
   * The system prompt of this run, for every model. It takes the place of the leading system messages in what is sent; the
   * record keeps those. A receipt has its digest, and the store has its text once. Default: the record's system messages.
   */
  readonly instructions?: string
  /** The tools that the model may call. Default: none. */
  readonly tools?: readonly Tool[]
  /** The maximum number of tools of one step that run concurrently; with 1 they run in call order. Default: 8. */
  readonly toolConcurrency?: number
  /** The limits of the run. Default: 50 steps. */
  readonly limits?: Partial<Limits>
  /** The model's prices, in US dollars per million tokens. Default: `modelPrices`, by the model's name. */
  readonly prices?: ModelRates
  /** The provider's own parameters. Default: none. */
  readonly parameters?: JsonObject
  /**
   * Whether events include the digest of each context that was sent, so that `sessionHandler`
   * writes receipts. Cost: O(context) per call. Default: false.
   */
  readonly receipts?: boolean
  /**
   * A call log of `@indelible/records`, for a record of each tool call; with `where`, the prompt says how the model's code
   * reads it. Default: none.
   */
  readonly calls?: CallLog | CallLogging
  /** Receive each event, in order, before the run continues. Default: none. */
  readonly handlers?: readonly RunHandler[]
  /** Aborting it calls `cancel()`. Default: none. */
  readonly signal?: AbortSignal
  /** The prefix of delta ids. It must be unique to the run and the same when the run is retried. Default: random. */
  readonly id?: string
  /** The number of events buffered for a slow reader before the loop waits. Default: 256. */
  readonly buffer?: number
  /** The clock that times steps, tools and waits. Default: the system's. */
  readonly clock?: Clock
}

/** How to interrupt a run, and how it continues. */
interface InterruptOptions {
  /**
   * What to do with the answer. `discard` also discards a complete answer while none of its calls has started; any
   * other complete answer is recorded. Default: `saveMarked`.
   */
  readonly behavior?: InterruptBehavior
  /** A user message, or its text, with which the run continues. Without it the run ends as `cancelled`. */
  readonly message?: string | Message
}

/** A run in progress: its events, and methods to interrupt or end it. */
export interface RunStream<F = TurnFault> extends AsyncIterable<RunEvent> {
  /**
   * Interrupts the answer that is streaming, or the running tools. Unfinished calls get results that report it. A
   * message given before an earlier interrupt took effect is added after that one's.
   *
   * @param options what to do with the answer, and a message with which the run continues
   * @returns false if the run has ended or is about to
   * @throws TypeError if an option is unknown, or the message is not a user message; nothing is interrupted then
   */
  readonly interrupt: (options?: InterruptOptions) => boolean
  /**
   * Ends the run. An answer that is streaming is discarded; the record stays settled.
   *
   * @returns false if the run was already cancelled or has ended
   */
  readonly cancel: () => boolean
  /**
   * The result of the run, which runs whether you ask for it or not. Every call gives the same outcome. Events also
   * report a failure: `run_failed`, or `run_complete` with the `stopReason` `error`.
   *
   * @returns the messages, usage and steps; or a fault whose `partial` has those so far
   */
  readonly result: () => Task<F, RunResult>
}

/** The options of a run except its starting point. */
export type RunSettings = Omit<RunOptions, 'view' | 'callIds' | 'open' | 'approve' | 'deny' | 'results'>

export const settingNames: OptionNames<Omit<RunSettings, 'id'>> = {
  model: true,
  context: true,
  derive: true,
  budget: true,
  instructions: true,
  tools: true,
  toolConcurrency: true,
  limits: true,
  prices: true,
  parameters: true,
  receipts: true,
  calls: true,
  handlers: true,
  signal: true,
  buffer: true,
  clock: true,
}

/** The result of a run that has nothing to do. */
export interface NothingToRun {
  readonly over: RunResult
}

/** Emits the event of a turn that waits for its session. */
export type TellWaiting = (event: Omit<Extract<RunEvent, { readonly type: 'waiting' }>, 'seq'>) => void

/** What a run is part of, such as a turn. */
export interface RunOwner<F> {
  /** Finds the starting point, or a result if there is nothing to do. `control` tells whether the run was cancelled meanwhile. */
  readonly findStart: (control: Control, tell: TellWaiting) => Promise<Either<F, Start | NothingToRun>>
  /** Called when the run is over; returns its final result. */
  readonly finish: (ended: Either<F | RunFailure, RunResult>) => Promise<Either<F | RunFailure, RunResult>>
  /** Called instead if `findStart` throws an unexpected error, which `result` rethrows. */
  readonly release: () => Promise<unknown>
}

/**
 * Starts a run.
 *
 * @param start the starting point, or what finds it
 */
export const launchRun = <F extends TurnFault>(
  options: RunSettings,
  start: RunOwner<F> | Start,
  faultText: (fault: F | RunFailure) => string,
): RunStream<F | RunFailure> => {
  const { model, handlers = [], signal } = options
  if (typeof (model as Partial<Model> | undefined)?.stream !== 'function')
    throw new TypeError(`a run needs a \`model\` with a method \`stream\`, found ${describe(model)}`)
  const task: TaskOf<F | RunFailure> = taskOf(faultText)
  const toolConcurrency = amount('toolConcurrency', options.toolConcurrency ?? 8, {
    unit: 'tools',
    least: 1,
    whole: true,
  })
  const buffer = amount('buffer', options.buffer ?? 256, { unit: 'events', whole: true })
  const limits = limitsOf(options.limits)
  const clock = clockOf(options.clock)
  if (signal !== undefined && typeof (signal as Partial<AbortSignal> | null)?.addEventListener !== 'function')
    throw new TypeError(`run: \`signal\` is ${describe(signal)}; expected an AbortSignal`)
  const tools = toolsByName(options.tools)
  checkHandlers(handlers)
  const id = options.id ?? crypto.randomUUID()
  const calls = callWriterOf(options.calls, id)
  const instructions = checkedInstructions(options.instructions)
  const prompt: Prompt = { instructions, guidance: calls?.guidance, preview: calls?.preview }
  const settings: LoopSettings = {
    id,
    model,
    tools,
    toolConcurrency,
    limits,
    dollarsOf: dollarsBy(options.prices, model, limits),
    parameters: frozenParameters(options.parameters ?? {}),
    context: derivingOf(options, options.tools ?? [], model.name, prompt),
    prompt,
    receipts: options.receipts ?? false,
    calls,
    handlers: [...handlers],
    clock,
  }
  const channel = new Channel<RunEvent>(buffer, () => void control.cancel())
  const control = new Control(limits, clock, signal, () => channel.release())
  const owner = hasField(start, 'view') ? undefined : start
  const known = owner === undefined ? new Loop(settings, start as Start, 0, control, channel) : undefined
  let seq = 0
  /** Calls a handler outside of the loop, where its answer does not matter. */
  const notify = (handler: RunHandler, event: RunEvent): Promise<unknown> =>
    askHandler(() => handler(event, { id, together: false, events: [] }), {
      milliseconds: limits.handlerTimeout,
      clock,
    })
  const tell: TellWaiting = (event) => {
    const numbered = Object.freeze({ seq: seq++, ...event })
    for (const handler of settings.handlers) void notify(handler, numbered)
    void channel.push(numbered, true)
  }
  const runToEnd = async (): Promise<Either<F | RunFailure, RunResult>> => {
    await undefined // nothing happens before the caller has the stream
    if (owner === undefined) return (known as Loop).run()
    const found = await owner.findStart(control, tell).catch(thrownFault<F>)
    if (!isLeft(found) && !hasField(found.right, 'over'))
      return new Loop(settings, found.right, seq, control, channel).run()
    control.end()
    const ended = isLeft(found) ? found : right((found.right as NothingToRun).over) // a `Start` was handled above
    const last: RunEvent = isLeft(ended)
      ? Object.freeze({ seq, type: 'run_failed', fault: ended.left })
      : Object.freeze({ seq, type: 'run_complete', result: ended.right })
    if (isLeft(ended)) for (const handler of settings.handlers) await notify(handler, last)
    await channel.push(last, false)
    channel.close()
    return ended
  }
  const ended = runToEnd().then(
    (result) => owner?.finish(result) ?? result,
    async (error: unknown) => {
      channel.close()
      await owner?.release()
      control.end()
      throw error
    },
  )
  return Object.freeze({
    interrupt: (given?: InterruptOptions) => {
      const { behavior = 'saveMarked', message } = optionsOf('interrupt', given, interruptNames)
      if (message === '') throw new TypeError('interrupt: the message is empty')
      return control.interrupt({
        behavior: choice('interrupt: behavior', behavior, ['discard', 'savePartial', 'saveMarked']),
        discardsComplete: behavior === 'discard',
        message: message === undefined ? undefined : userMessage('interrupt', message),
        reason: interruptedByUser,
        stop: message === undefined ? 'cancelled' : undefined,
      })
    },
    cancel: () => control.cancel(),
    result: () => task(() => ended, 'run.result'),
    [Symbol.asyncIterator]: () => channel[Symbol.asyncIterator](),
  })
}

/** Throws a TypeError for what plain JavaScript passes. */
const checkHandlers = (handlers: unknown): void => {
  if (!Array.isArray(handlers))
    throw new TypeError(
      `run: \`handlers\` is ${describe(handlers)}; expected an array, such as [historyHandler(history)]`,
    )
  for (const [index, handler] of handlers.entries())
    if (typeof handler !== 'function')
      throw new TypeError(
        `run: handlers[${index}] is ${describe(handler)}; expected a function, such as historyHandler(history)`,
      )
}

/** The tools by name. Throws a TypeError if one is no tool, or if two have the same name. */
export const toolsByName = (tools: unknown = []): ReadonlyMap<string, Tool> => {
  if (!Array.isArray(tools)) throw new TypeError(`run: \`tools\` is ${describe(tools)}; expected an array of tools`)
  const found = new Map<string, Tool>()
  for (const [index, tool] of (tools as readonly Tool[]).entries()) {
    const { name, parameters, run, timeout } = Object(tool) as Partial<Tool>
    const isRunnable = run === undefined || typeof run === 'function'
    if (typeof name !== 'string' || typeof parameters !== 'object' || !isRunnable)
      throw new TypeError(
        `run: tools[${index}] is ${describe(tool)}; expected a tool, as tool({ name, run, … }) returns it`,
      )
    if (found.has(name) && found.get(name) !== tool)
      throw new TypeError(`run: two tools are named ${JSON.stringify(name)}; every tool needs its own name`)
    checkTimeout(name, timeout)
    found.set(name, tool)
  }
  return found
}

const interruptNames: OptionNames<InterruptOptions> = { behavior: true, message: true }

/** The message of a user, or their text. Throws a TypeError if it is not a user's message. */
export const userMessage = (call: string, message: string | Message): Message => {
  const decoded = decodeMessage(typeof message === 'string' ? user(message.toWellFormed()) : message)
  if (isLeft(decoded)) throw new TypeError(`${call}: the input is not a message: ${messageFaultText(decoded.left)}`)
  const { role } = decoded.right
  if (role !== 'user')
    throw new TypeError(`${call}: expected a message with the role user, found ${role}; append others to the record`)
  return decoded.right
}

/** A frozen copy of the parameters, so that all calls get the same. Throws a TypeError if they are not plain JSON. */
const frozenParameters = (parameters: JsonObject): JsonObject => {
  try {
    return snapshot(parameters)
  } catch (error) {
    if (!(error instanceof NotJson)) throw error
    const at = formatPath(['parameters', ...error.path])
    throw new TypeError(`run: ${at} ${error.reason}; expected plain JSON data`, { cause: error })
  }
}
