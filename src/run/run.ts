/** `run`: a model and tools on a view, a text or the items of a thread, as a stream of events. */
import { codecFaultText } from '../codecs/internal.ts'
import { describe, isLeft, optionsOf, right, type OptionNames } from '../json/index.ts'
import { user, type Message } from '../message/index.ts'
import { decodeThread, type ThreadItem } from '../thread/index.ts'
import { runFaultText, type RunFailure } from './fault.ts'
import { continueOnce } from './recording/continue-once.ts'
import { checkOpen, decisionsOf } from './open-answer.ts'
import { settingNames, launchRun, type RunOptions, type RunStream } from './launch.ts'

/** The options of a run on a text, or on the items of a thread, in place of a view. */
interface InputRunOptions extends Omit<RunOptions, 'view'> {
  /** The user's text, or the items so far, as `toThreadHistory` takes them. */
  readonly input: string | readonly ThreadItem[]
}

/**
 * Runs a model and its tools until the model is done, a limit is reached, or you end it.
 *
 * The run starts at once. Read its events with `for await` (leaving the loop cancels the run), or await `result()`,
 * or do both. A slow reader slows the run down. Without a reader the run continues, and only `model_event`s beyond
 * `buffer` are dropped. The events can be read once: a second loop over them throws.
 *
 * Cost    per step one pass over the view (to settle it), and a copy of each added message (bench: run)
 *
 * @param options the model, the record, the tools, handlers and limits
 * @throws TypeError if two tools have the same name, a limit or parameter is invalid, `input` has no messages, or `open` is
 * not from a result or belongs to another view
 * @example
 * const stream = run({ model, view: history.view(), tools: [read] })
 * for await (const event of stream) if (event.type === 'history_delta') applyDelta(history, event)
 * @example
 * const result = await run({ model, input: appendUserMessage(thread.history, 'and now?') }).result()
 */
export const run = (init: RunOptions | InputRunOptions): RunStream<RunFailure> => {
  const options = optionsOf('run', init as RunOptions & InputRunOptions, optionNames)
  const { input, callIds, open } = options
  if (input !== undefined && options.view !== undefined)
    throw new TypeError('run: pass either `view` or `input`, not both')
  const view = input === undefined ? options.view : messagesOf(input)
  checkView(view)
  const decisions = decisionsOf(options)
  checkOpen(open, view, decisions)
  const handlers = open === undefined ? [] : [continueOnce(open)]
  return launchRun<never>(options, { view, callIds, open, decisions, handlers }, runFaultText)
}

/** The messages of a text or of items. Throws a TypeError for an item that has no message. */
const messagesOf = (input: string | readonly ThreadItem[]): readonly Message[] => {
  if (typeof input !== 'string' && !Array.isArray(input))
    throw new TypeError(`run: \`input\` is ${describe(input)}; expected a text, or an array of thread items`)
  const decoded = typeof input === 'string' ? right([user(input.toWellFormed())]) : decodeThread(input)
  if (isLeft(decoded)) throw new TypeError(`run: \`input\`: ${codecFaultText(decoded.left)}`)
  return decoded.right
}

/** Throws a TypeError if `view` is of another type, as in plain JavaScript. */
const checkView = (view: unknown): void => {
  const { length } = Object(view) as { readonly length?: unknown }
  const isSequence = typeof (Object(view) as Partial<Iterable<unknown>>)[Symbol.iterator] === 'function'
  if (!isSequence || typeof length !== 'number' || typeof view === 'string')
    throw new TypeError(`run: \`view\` is ${describe(view)}; expected messages, such as history.view()`)
}

const optionNames: OptionNames<RunOptions & InputRunOptions> = {
  ...settingNames,
  input: true,
  id: true,
  view: true,
  callIds: true,
  open: true,
  approve: true,
  deny: true,
  results: true,
}
