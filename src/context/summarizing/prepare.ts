/** Summaries prepared ahead of time, as notes for the session. Deriving never waits for one. */
import { checkArgument, describe, left, optionsOf, ownField, right, type OptionNames } from '../../json/index.ts'
import { amount, type Task } from '../../task/index.ts'
import { summaryTask, type SummaryFault } from '../fault.ts'
import { digestOf } from '../../proof/internal.ts'
import type { View } from '../../history/index.ts'
import type { Message } from '../../message/index.ts'
import { rangeDigest, type Note, type SummaryNote } from '../../notes/internal.ts'
import { minFidelity, type PageKind } from '../../pages/index.ts'
import type { Range, Sequence } from '../../sequence/index.ts'
import { extractName } from '../showing/excerpt.ts'
import { sliceWhole } from '../showing/shorten.ts'
import { checkView } from '../check.ts'
import { groupsIn, type Group } from '../deriving/group.ts'
import { emptyNotes, isFaithful, kindsAt, readNotes } from '../deriving/notes.ts'
import { questionsBefore } from '../deriving/plan.ts'
import { tokensIn } from '../deriving/render.ts'
import { lineOf, selectLines } from '../deriving/select.ts'
import { endOf, viewBetween } from '../positions.ts'
import { estimateTokens, memoizeEstimator, tokenizerOf, type Estimator } from '../counting/tokens.ts'

/** Summarizes a range of a record, with a model or by a rule. */
export interface Summarizer {
  /** The author recorded in the note: the name of a model or rule. */
  readonly model: string
  /** The prompt, whose digest is stored in the note. Default: none. */
  readonly prompt?: string
  /** Summarizes a range. */
  readonly summarize: (range: SummaryRange) => string | Promise<string>
}

/** The messages to summarize. */
interface SummaryRange {
  /** The recorded messages. */
  readonly messages: View<Message>
  /** The first position in the record. */
  readonly from: number
  /** The position after the last one. */
  readonly to: number
  /** The most tokens that the summary should take. */
  readonly maxTokens: number
}

/** Options for preparing summaries. */
export interface PrepareOptions {
  /** The minimum tokens of the record per summary. Default: 4,000. */
  readonly chunkTokens?: number
  /** The maximum tokens of a summary. A text of more than twice as many is refused. Default: 300. */
  readonly maxTokens?: number
  /** The latest tokens of the active turn that are not summarized. Default: 8,000. */
  readonly keepTokens?: number
  /** Counts tokens. Default: `estimateTokens`. */
  readonly estimate?: Estimator
}

/** The default summarizer: an extract of the questions and actions. It needs no model and is deterministic. */
const extractive: Summarizer = Object.freeze<Summarizer>({
  model: extractName,
  summarize: ({ messages, maxTokens }) => {
    const lines = groupsIn(messages, 0, messages.length).map(lineOf)
    const selected = selectLines(lines, maxTokens).filter((text) => text !== undefined)
    const [first] = lines
    if (selected.length > 0 || first === undefined) return selected.join('\n')
    const { text, tokens } = first // no line fits: a part of the first one
    return sliceWhole(text, 0, Math.ceil((text.length * maxTokens) / tokens))
  },
})

/**
 * Summarizes the parts of a record that no note summarizes yet, in order. Ranges are whole turns where possible.
 * Instructions and rules are left out, because every context contains them, and so is the end of the active turn.
 *
 * Nothing is stored: append the notes to the session. Ranges do not overlap, so a later call only adds new ones.
 *
 * If the summarizer throws, it is not called for the remaining ranges. If it returns no usable text (an empty one, half a
 * surrogate pair, or more than twice `maxTokens`, because models do not count exactly), only that range fails.
 *
 * Cost    O(record), plus the summarizer's cost
 *
 * @param summarizer writes the text. Default: `extractive`
 * @returns the notes; or `SummarizerFailed` with the notes of the other ranges
 * @throws TypeError if an option or the summarizer is invalid
 * @example
 * const notes = await prepareSummaries(session.conversation(), session.notes())
 */
export const prepareSummaries = (
  view: View<Message>,
  notes: Sequence<Note>,
  summarizer: Summarizer = extractive,
  input: PrepareOptions = {},
): Task<SummaryFault, readonly SummaryNote[]> => {
  checkView('prepareSummaries', view)
  checkArgument(
    'prepareSummaries',
    typeof Object(notes).length === 'number' && typeof notes === 'object',
    'notes',
    notes,
  )
  const options = prepareOptionsOf('prepareSummaries', input, prepareNames)
  checkSummarizer(summarizer)
  return summaryTask(async () => {
    const { done, failed } = await summarizeRanges(view, notes, summarizer, options)
    const [first] = failed
    return first === undefined ? right(done) : left(faultOf(first, done))
  }, 'prepareSummaries')
}

export const prepareNames: OptionNames<PrepareOptions> = {
  chunkTokens: true,
  maxTokens: true,
  keepTokens: true,
  estimate: true,
}

/** Checked options. Throws a TypeError for an unknown or invalid one. */
export const prepareOptionsOf = <Options extends PrepareOptions>(
  call: string,
  input: Options,
  names: OptionNames<Options>,
): Options => {
  const options = optionsOf(call, input, names)
  for (const name of ['chunkTokens', 'maxTokens', 'keepTokens'] as const)
    if (options[name] !== undefined) amount(`${call}: ${name}`, options[name], { unit: 'tokens' })
  return options
}

export const checkSummarizer = (summarizer: Summarizer): void => {
  if (typeof ownField(Object(summarizer) as Summarizer, 'summarize') !== 'function')
    throw new TypeError(`a summarizer is { model, summarize }, found ${describe(summarizer)}`)
}

/** A range without a summary. */
interface FailedRange extends Range {
  readonly cause: unknown
  /** Whether the summarizer returned an unusable text, which may have cost money. */
  readonly returned: boolean
}

export const faultOf = ({ from, to, cause }: FailedRange, done: readonly SummaryNote[]): SummaryFault =>
  Object.freeze({ _tag: 'SummarizerFailed', from, to, cause, done })

/** Summarizes the ranges of a record that have no summary, except those that `skips` leaves out by their start. */
export const summarizeRanges = async (
  view: View<Message>,
  notes: Sequence<Note>,
  summarizer: Summarizer,
  options: PrepareOptions,
  skips: (from: number) => boolean = () => false,
): Promise<{ readonly done: readonly SummaryNote[]; readonly failed: readonly FailedRange[] }> => {
  const { maxTokens = 300, estimate = estimateTokens } = options
  const { model, prompt } = summarizer
  const done: SummaryNote[] = []
  const failed: FailedRange[] = []
  for (const { from, to } of rangesOf(view, notes, options)) {
    if (skips(from)) continue
    const messages = viewBetween(view, { from, to })
    let text: string | undefined
    try {
      text = await summarizer.summarize({ messages, from, to, maxTokens })
      const why = whyUnusable(text, maxTokens, estimate)
      if (why !== undefined) throw new TypeError(`the summarizer returned ${why}`)
    } catch (cause) {
      const returned = text !== undefined
      failed.push({ from, to, cause, returned })
      if (returned) continue
      break
    }
    done.push(
      Object.freeze({
        type: 'summary',
        from,
        to,
        sourceDigest: rangeDigest(messages),
        text,
        model,
        ...(prompt !== undefined && { promptDigest: digestOf(prompt) }),
      }),
    )
  }
  return { done: Object.freeze(done), failed }
}

const whyUnusable = (text: unknown, maxTokens: number, estimate: Estimator): string | undefined => {
  if (typeof text !== 'string') return `${describe(text)}; expected a text`
  if (text === '') return 'an empty string; expected a text'
  if (!text.isWellFormed()) return 'a text with half a surrogate pair; expected whole characters'
  const count = tokenizerOf(estimate)(text)
  return count > 2 * maxTokens ? `a text of ${count} tokens; expected at most ${maxTokens}` : undefined
}

interface Chunk {
  readonly from: number
  to: number
  tokens: number
}

const rangesOf = (view: View<Message>, notes: Sequence<Note>, options: PrepareOptions): readonly Chunk[] => {
  const { chunkTokens = 4000, keepTokens = 8000, estimate = estimateTokens } = options
  const count = memoizeEstimator(estimate)
  const read = emptyNotes(undefined)
  readNotes(read, notes, 0)
  const end = endOf(view)
  const kinds = kindsAt(read, Infinity)
  const covered = read.summaries
    .map(({ note }) => note)
    .filter((note) => note.to <= end && isFaithful(note, viewBetween(view, note)))
  const activeFrom = questionsBefore(view, view.length).at(-1) ?? 0
  const groups = groupsIn(view, 0, view.length).filter(({ isOpen }) => !isOpen)
  const tokensOf = ({ shown }: Group): number => tokensIn(shown, count)
  const mustStay = ({ from, to }: Group): boolean => {
    if (from <= activeFrom && to > activeFrom) return true
    for (let index = from; index < to; index++) {
      const kind = kinds.get(view.positionAt(index) as number) ?? (view.pages.at(index) as PageKind)
      if (minFidelity(kind) !== 'pointer') return true
    }
    return false
  }

  const chunks: Chunk[] = []
  let chunk: Chunk | undefined
  const close = (): void => {
    // The range between two rules may be small. A summary of a tiny range saves nothing.
    if (chunk !== undefined && chunk.tokens >= chunkTokens / 4) chunks.push(chunk)
    chunk = undefined
  }
  for (const group of groups.slice(0, lastToSum(groups, activeFrom, keepTokens, tokensOf))) {
    const [from, to] = [view.positionAt(group.from) as number, 1 + (view.positionAt(group.to - 1) as number)]
    if (mustStay(group) || covered.some((note) => note.from < to && note.to > from)) {
      close()
      continue
    }
    const startsTurn = view.at(group.from)?.role === 'user'
    if (chunk !== undefined && (chunk.tokens >= 2 * chunkTokens || (chunk.tokens >= chunkTokens && startsTurn))) close()
    chunk ??= { from, to, tokens: 0 }
    chunk.to = to
    chunk.tokens += tokensOf(group)
  }
  // The last chunk is summarized only when it is large enough: doing it now would split a turn.
  if (chunk !== undefined && chunk.tokens >= chunkTokens) close()
  return chunks
}

/** The number of leading groups to summarize: all but the latest `keepTokens` of the active turn. */
const lastToSum = (
  groups: readonly Group[],
  activeFrom: number,
  keepTokens: number,
  tokensOf: (group: Group) => number,
): number => {
  let kept = 0
  for (let index = groups.length - 1; index >= 0; index--) {
    const group = groups[index] as Group
    if (group.to <= activeFrom) return index + 1
    kept += tokensOf(group)
    if (kept > keepTokens) return index
  }
  return 0
}
