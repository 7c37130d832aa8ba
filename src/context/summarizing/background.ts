/**
 * Background summaries: a model summarizes older messages while the agent continues. No call waits
 * for a summary; a finished one is stored as a note, and the next compaction uses it.
 */
import { describe, isObject, type OptionNames } from '../../json/index.ts'
import type { View } from '../../history/index.ts'
import type { Message } from '../../message/index.ts'
import type { Note, SummaryNote } from '../../notes/internal.ts'
import type { Sequence } from '../../sequence/index.ts'
import { plain, proseOf } from '../showing/represent.ts'
import type { SummaryFault } from '../fault.ts'
import {
  checkSummarizer,
  faultOf,
  prepareNames,
  prepareOptionsOf,
  summarizeRanges,
  type PrepareOptions,
  type Summarizer,
} from './prepare.ts'
import { headAndTail, elidedCharacters } from '../showing/shorten.ts'

/** How to make summaries in the background. */
export interface BackgroundOptions extends PrepareOptions {
  /** Makes the summaries. */
  readonly summarizer: Summarizer
  /**
   * Stores summaries: `(notes) => session.append({ messages: [], notes })`. May be asynchronous.
   *
   * @returns any value; a promise is awaited. A rejection or a `Left` counts as a failure
   */
  readonly append: (notes: readonly SummaryNote[]) => unknown
  /**
   * Called when a summarizer or `append` fails. The next `offer` tries again, but not for a range whose summarizer
   * returned an unusable text. Default: nothing.
   */
  readonly onFault?: (fault: SummaryFault | { readonly _tag: 'AppendFailed'; readonly cause: unknown }) => void
}

/** Makes the summaries of one record, one batch at a time. */
export interface BackgroundSummaries {
  /** Starts a batch for the current record unless one is running. Returns at once and never throws. */
  readonly offer: (view: View<Message>, notes: Sequence<Note>) => void
  /** Resolves when the running batch has finished: for the end of a program, and for tests. */
  readonly idle: () => Promise<void>
}

/**
 * Creates background summaries: call `offer` with the record after each step.
 *
 * Cost    O(1) for an offer while a batch is running; otherwise O(record), after the caller has continued
 *
 * @example
 * const summaries = summariesInBackground({ summarizer: modelSummarizer('acme-1', complete), append: (notes) => session.append({ messages: [], notes }) })
 * summaries.offer(session.view(), session.notes())
 */
export const summariesInBackground = (input: BackgroundOptions): BackgroundSummaries => {
  const options = prepareOptionsOf('summariesInBackground', input, optionNames)
  const { summarizer, append, onFault } = options
  checkSummarizer(summarizer)
  if (typeof append !== 'function')
    throw new TypeError(`summariesInBackground: \`append\` must be a function, found ${describe(append)}`)
  /** The starts of ranges whose summarizer returned an unusable text: asking again would cost as much again. */
  const unusable = new Set<number>()
  let running: Promise<void> | undefined
  const report: NonNullable<BackgroundOptions['onFault']> = (fault) => {
    try {
      onFault?.(fault)
    } catch {
      // a callback that throws must not stop the batch, and there is nowhere else to report it
    }
  }
  const batch = async (view: View<Message>, notes: Sequence<Note>): Promise<void> => {
    await Promise.resolve() // let the caller continue first
    try {
      const { done: made, failed } = await summarizeRanges(view, notes, summarizer, options, (from) =>
        unusable.has(from),
      )
      for (const range of failed) {
        if (range.returned) unusable.add(range.from)
        report(faultOf(range, made))
      }
      if (made.length === 0) return
      const answer: unknown = await append(made)
      const { _tag, left } = (isObject(answer) ? answer : {}) as { readonly _tag?: unknown; readonly left?: unknown }
      if (_tag === 'Left') report({ _tag: 'AppendFailed', cause: left })
    } catch (cause) {
      report({ _tag: 'AppendFailed', cause })
    }
  }
  return Object.freeze<BackgroundSummaries>({
    offer: (view, notes) => {
      running ??= batch(view, notes).finally(() => {
        running = undefined
      })
    },
    idle: async () => running,
  })
}

const optionNames: OptionNames<BackgroundOptions> = {
  summarizer: true,
  append: true,
  onFault: true,
  ...prepareNames,
}

/**
 * A summarizer that asks a model.
 *
 * @param complete sends a prompt to the model and returns its answer
 * @param prompt the instructions. Default: keep goals, decisions, file names, errors and open work
 */
export const modelSummarizer = (
  model: string,
  complete: (prompt: string) => string | Promise<string>,
  prompt: string = summaryPrompt,
): Summarizer =>
  Object.freeze<Summarizer>({
    model,
    prompt,
    summarize: ({ messages, maxTokens }) =>
      complete(`${prompt}\nAt most ${maxTokens} tokens.\n\n${[...messages].map(summarizedText).join('\n')}`),
  })

const summaryPrompt =
  'Summarize this part of a conversation for the model that continues the work: goals, decisions and their reasons, file names and their contents, errors, and what remains to be done. No introduction.'

const summarizedText = (message: Message): string => {
  const texts = [proseOf(message), ...message.content.filter(({ type }) => type.startsWith('tool_')).map(plain)]
  return texts
    .filter((part) => part !== '')
    .map((part) => `${message.role}: ${headAndTail(part, longestPart, elidedCharacters)}`)
    .join('\n')
}

/** The most characters of one part that are sent to the summarizing model. */
const longestPart = 4000
