/** `run`: a model and tools on a settled view, as a stream of events. */
import { describe, optionsOf, type OptionNames } from '../json/index.ts'
import { runFaultText } from './fault.ts'
import { continueOnce } from './continue-once.ts'
import { checkOpen } from './open-answer.ts'
import { settingNames, launchRun, type RunOptions, type RunStream } from './launch.ts'

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
 * @throws TypeError if two tools have the same name, a limit or parameter is invalid, or `open` is not from a result or
 * belongs to another view
 * @example
 * const stream = run({ model, view: settled, tools: [read] })
 * for await (const event of stream) if (event.type === 'history_delta') applyDelta(history, event)
 */
export const run = (given: RunOptions): RunStream => {
  const options = optionsOf('run', given, optionNames)
  const { view, callIds, open } = options
  checkView(view)
  checkOpen(open, view, options)
  const handlers = open === undefined ? [] : [continueOnce(open)]
  return launchRun<never>(options, { view, callIds, open, decisions: options, handlers }, runFaultText)
}

/** Throws a TypeError if `view` is of another type, as in plain JavaScript. */
const checkView = (view: unknown): void => {
  const { length } = Object(view) as { readonly length?: unknown }
  const isSequence = typeof (Object(view) as Partial<Iterable<unknown>>)[Symbol.iterator] === 'function'
  if (!isSequence || typeof length !== 'number' || typeof view === 'string')
    throw new TypeError(
      `run: \`view\` is ${describe(view)}; expected settled messages, as orThrow(settle(history.view())) returns them`,
    )
}

const optionNames: OptionNames<RunOptions> = {
  ...settingNames,
  id: true,
  view: true,
  callIds: true,
  open: true,
  approve: true,
  deny: true,
}
