/** `run`: a model and tools over a settled view, told event by event. */
import { formatPath, isLeft, NotJson, snapshot, type JsonObject } from '../json/index.ts'
import { decodeMessage, user, type Message, type Sequence, type Settled } from '../message/index.ts'
import { messageFaultText } from '../message/fault.ts'
import { Channel } from './channel.ts'
import { Control } from './control.ts'
import type { InterruptBehavior, RunEvent } from './event.ts'
import { amount, type Task } from '../task/index.ts'
import type { ModelRates } from '../context/index.ts'
import { runTask, type RunFailure } from './fault.ts'
import { limitsOf, type Limits } from './limits.ts'
import { derivingOf, type ContextOptions } from './context-for.ts'
import { Loop, type RunHandler } from './loop.ts'
import type { Model } from './model.ts'
import { dollarsBy } from './prices.ts'
import type { RunResult } from './result.ts'
import { checkTimeout, type Tool } from './tool.ts'

/** What a run is made of. */
export interface RunOptions extends ContextOptions {
  /** The model to call. */
  readonly model: Model
  /** What the run begins with. It is never changed: what the run adds comes in deltas. */
  readonly view: Settled<Sequence<Message>>
  /** Ids of calls that the record has beside those of `view`, where that is only a part of it: no call is given one of them again. */
  readonly callIds?: Iterable<string>
  /** The tools that the model may call. Default: none. */
  readonly tools?: readonly Tool[]
  /** How many tools of one step run at a time; 1 is one after the other, in call order. Default: 8. */
  readonly toolConcurrency?: number
  /** The limits of the run. */
  readonly limits?: Partial<Limits>
  /** What the model costs, in US dollars for a million tokens. Default: `modelPrices`, by the name of the model. */
  readonly prices?: ModelRates
  /** What the model's provider takes beside messages and tools. */
  readonly parameters?: JsonObject
  /** Whether the events say what each call was sent, by its digest: `sessionHandler` then writes receipts. Cost: O(what is sent) a call. Default: false. */
  readonly receipts?: boolean
  /** Told of each event, in order, before the next thing happens. */
  readonly handlers?: readonly RunHandler[]
  /** Aborting it is `cancel()`. */
  readonly signal?: AbortSignal
  /** What the ids of the deltas begin with: unique to the run, the same when a run is tried again. Default: random. */
  readonly id?: string
  /** Events that wait for a slow reader before the loop waits too. Default: 256. */
  readonly buffer?: number
  /** Milliseconds since some moment. Default: `performance.now`. */
  readonly now?: () => number
}

/** What happens to an answer that an interrupt cuts, and how the run continues. */
export interface InterruptOptions {
  /** What becomes of an answer that is streaming. Default: `saveMarked`. */
  readonly behavior?: InterruptBehavior
  /** What the user says instead, a text or a message of the role `user`: the run goes on with it. Without it the run ends, as `cancelled`. */
  readonly message?: string | Message
}

/** A run that is going on: its events, and the two ways to reach into it. */
export interface RunStream extends AsyncIterable<RunEvent> {
  /**
   * Cut what is going on: the answer that streams, or the tools that run (their calls get results that say so).
   *
   * @returns false, if the run has ended or is about to
   * Throws  TypeError, if the message is none of a user; nothing is cut then
   */
  readonly interrupt: (options?: InterruptOptions) => boolean
  /** End the run. What streams is discarded, what is recorded is settled. Cancelling again, or after the end, is false. */
  readonly cancel: () => boolean
  /** What the run came to, or what went wrong with what it had come to. The run goes on whether this is asked or not. */
  readonly result: () => Task<RunFailure, RunResult>
}

/**
 * Run a model and its tools until the model has said all, a limit is reached, or somebody ends it.
 *
 * The run begins at once. Read its events with `for await` (leaving the loop cancels the run), or await `result()`,
 * or both. A reader that is slow holds the run up; with no reader the run goes on, and of its events only
 * `model_event`s beyond `buffer` are left out. They are read once: a second loop over them throws.
 *
 * Throws  TypeError, where two tools have one name, or a limit or the parameters are not what they should be
 * Cost    per step one pass over the view (to settle it), and a copy of each message that is added (bench: run)
 * @example
 * const stream = run({ model, view: settled, tools: [read] })
 * for await (const event of stream) if (event.type === 'history_delta') applyDelta(history, event)
 */
export const run = (options: RunOptions): RunStream => {
  const { model } = options
  const toolConcurrency = amount('toolConcurrency', options.toolConcurrency ?? 8, {
    unit: 'tools',
    least: 1,
    whole: true,
  })
  const buffer = amount('buffer', options.buffer ?? 256, { unit: 'events', whole: true })
  const limits = limitsOf(options.limits)
  const channel = new Channel<RunEvent>(buffer, () => void cancel())
  const control = new Control(limits.timeout, options.signal, () => channel.release())
  const cancel = (): boolean =>
    control.interrupt({ behavior: 'discard', message: undefined, reason: 'The run was cancelled.', stop: 'cancelled' })
  const loop = new Loop(
    {
      id: options.id ?? crypto.randomUUID(),
      model,
      view: options.view,
      callIds: options.callIds ?? [],
      tools: byName(options.tools ?? []),
      toolConcurrency,
      limits,
      dollarsOf: dollarsBy(options.prices, model, limits),
      parameters: frozen(options.parameters ?? {}),
      context: derivingOf(options, options.tools ?? []),
      receipts: options.receipts ?? false,
      handlers: [...(options.handlers ?? [])],
      now: options.now ?? (() => performance.now()),
    },
    control,
    channel,
  )
  const ended = Promise.resolve().then(() => loop.run())
  return Object.freeze({
    interrupt: ({ behavior = 'saveMarked', message }: InterruptOptions = {}) =>
      control.interrupt({
        behavior,
        message: injected(message),
        reason: 'Interrupted by the user before it was finished.',
        stop: message === undefined ? 'cancelled' : undefined,
      }),
    cancel,
    result: () => runTask(() => ended),
    [Symbol.asyncIterator]: () => channel[Symbol.asyncIterator](),
  })
}

/** What a user says instead, as it is recorded. Throws TypeError, on what would not be that. */
const injected = (message: string | Message | undefined): Message | undefined => {
  if (message === undefined) return undefined
  if (message === '') throw new TypeError('interrupt: the message says nothing')
  const decoded = decodeMessage(typeof message === 'string' ? user(message) : message)
  if (isLeft(decoded)) throw new TypeError(`interrupt: the message is none: ${messageFaultText(decoded.left)}`)
  if (decoded.right.role !== 'user')
    throw new TypeError(`interrupt takes what a user says, not a message of the role ${decoded.right.role}`)
  return decoded.right
}

/** A copy of the parameters: every call of the run gets the same. Throws TypeError, on what is not plain JSON data. */
const frozen = (parameters: JsonObject): JsonObject => {
  try {
    return snapshot(parameters)
  } catch (error) {
    if (!(error instanceof NotJson)) throw error
    const at = formatPath(['parameters', ...error.path])
    throw new TypeError(`run: ${at} ${error.reason}; expected plain JSON data`, { cause: error })
  }
}

/** The tools by their names. Throws TypeError, where two have one. */
const byName = (tools: readonly Tool[]): ReadonlyMap<string, Tool> => {
  const found = new Map(tools.map((tool) => [tool.name, tool]))
  const twice = tools.find((tool) => found.get(tool.name) !== tool)
  if (twice !== undefined) throw new TypeError(`run: there are two tools called ${JSON.stringify(twice.name)}`)
  for (const { name, timeout } of tools) checkTimeout(name, timeout)
  return found
}
