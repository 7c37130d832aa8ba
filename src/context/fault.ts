/** The faults of deriving contexts, summarizing and recalling. */
import { hasField } from '../json/index.ts'
import type { SummaryNote } from '../notes/internal.ts'
import { reasonOf, sentencesOf, taskOf, type Sentences, type TaskOf } from '../task/index.ts'
import type { PageKind, ResidencyLevel } from '../pages/index.ts'
import type { WindowParts } from './counting/budget.ts'
import { groupThousands } from './showing/group-thousands.ts'

/** Why a context could not be derived. */
export type ContextFault = {
  readonly _tag: 'MinimumDoesNotFit'
  /** The tokens of the smallest context that keeps each page at its minimum fidelity. */
  readonly needed: number
  /** The tokens available for messages. */
  readonly budget: number
  /** If the budget is a window: the parts of it that are not for messages. */
  readonly window?: WindowParts
  /** The tokens reserved for tools and system prompt, if any. */
  readonly reserved?: number
  /** The correction from receipts, if any: tokens counted by the provider per estimated token. */
  readonly factor?: number
  /** The largest parts of that context, at most ten, largest first. */
  readonly pages: readonly MinimumPage[]
}

/** A part of the smallest context: positions from `from` up to, not including, `to`. */
export interface MinimumPage {
  /** Its first position. */
  readonly from: number
  /** The position after its last one. */
  readonly to: number
  /** The page kinds in it. */
  readonly kinds: readonly PageKind[]
  /** The minimum level of those kinds. */
  readonly level: ResidencyLevel
  /** The tokens at that level. */
  readonly tokens: number
}

/** A summarizer failed for a range. `done` has the summaries of other ranges; you can still append them. */
export type SummaryFault = {
  readonly _tag: 'SummarizerFailed'
  /** The first position of the range. */
  readonly from: number
  /** The position after its last one. */
  readonly to: number
  /** What the summarizer threw, or why the text that it returned is unusable. */
  readonly cause: unknown
  /** The notes made for other ranges. */
  readonly done: readonly SummaryNote[]
}

export const contextSentences: Sentences<ContextFault | SummaryFault> = {
  MinimumDoesNotFit: (fault) =>
    `the smallest context that may be sent takes ${groupThousands(fault.needed)} tokens, but the budget is ${groupThousands(fault.budget)}${windowText(fault)}${largestPageText(fault.pages[0])}; ${shrinkAdvice(fault.pages)}`,
  SummarizerFailed: (fault) =>
    `the summarizer failed on positions ${fault.from}–${fault.to - 1}: ${reasonOf(fault.cause)}; ${summaryAdvice(fault.done.length)}`,
}

const contextFaultText: (fault: ContextFault | SummaryFault) => string = sentencesOf(contextSentences)

/** What to do with the summaries made before one failed. */
const summaryAdvice = (count: number): string =>
  count === 0
    ? 'no summary was made: call prepareSummaries again'
    : `append the ${count === 1 ? 'summary' : `${count} summaries`} in \`done\`, and call prepareSummaries again for the rest`

/** Why a budget is so small: the parts of the window that are not for messages. */
const windowText = ({ window, reserved, factor }: ContextFault): string => {
  const counted = factor === undefined ? '' : `; the provider counts ${factor.toFixed(2)} tokens for each estimated one`
  const others = [
    ...(window === undefined
      ? []
      : [
          `${groupThousands(Math.ceil(window.answer))} for the answer`,
          `${groupThousands(window.providers)} for the tokens that providers add`,
        ]),
    ...(reserved === undefined ? [] : [`${groupThousands(reserved)} for tools and system prompt`]),
  ]
  if (others.length === 0) return counted
  return ` (${window === undefined ? 'after' : `a window of ${groupThousands(window.window)}, less`} ${others.join(', ')}${window === undefined ? '' : ', and a tenth for estimation errors'})${counted}`
}

/** The advice for this fault: unpinning helps only if a rule is in the context. */
const shrinkAdvice = (pages: readonly MinimumPage[]): string => {
  if (pages.some(({ kinds }) => kinds.includes('constraint')))
    return 'use a larger budget, or unpin or retag the rules that may be shortened'
  return pages[0]?.kinds.includes('bootstrap') === true
    ? 'use a larger budget, or shorter instructions'
    : 'use a larger budget'
}

const largestPageText = (page: MinimumPage | undefined): string => {
  if (page === undefined) return ''
  const where = page.to - page.from === 1 ? `position ${page.from}` : `positions ${page.from}–${page.to - 1}`
  return `; the largest part, ${groupThousands(page.tokens)}, is ${where} (${page.kinds.join(', ')}, ${page.level})`
}

/** The recall request: a position or a query. */
export type RecallRequest = { readonly position: number } | { readonly query: string }

/** Why nothing was recalled. */
export type RecallFault =
  /** The record has no such position, or nothing in it matches the query. */
  | { readonly _tag: 'NoMatch'; readonly request: RecallRequest; readonly length: number }
  /** `allow` refused the entries that were found. */
  | { readonly _tag: 'Denied'; readonly request: RecallRequest; readonly positions: readonly number[] }
  /** The search itself failed. */
  | { readonly _tag: 'SearchFailed'; readonly request: RecallRequest; readonly cause: unknown }

export const recallSentences: Sentences<RecallFault> = {
  NoMatch: ({ request, length }) =>
    hasField(request, 'position')
      ? request.position >= 0 && request.position < length && Number.isInteger(request.position)
        ? `${requestText(request)} is not part of this conversation; it may have been retracted; a view of the whole record has it`
        : `there is no ${requestText(request)}: the record has ${length} ${length === 1 ? 'entry' : 'entries'}, from position 0`
      : `nothing in the record matches ${requestText(request)}; try other words, or a position that a marker names`,
  Denied: ({ request }) =>
    `recalling the entries found for ${requestText(request)} is not allowed; ask for something else`,
  SearchFailed: ({ request, cause }) =>
    `the search for ${requestText(request)} failed: ${reasonOf(cause)}${hasField(request, 'position') ? '' : '; you can still recall a message by its position'}`,
}

const requestText = (request: RecallRequest): string =>
  hasField(request, 'position') ? `position ${request.position}` : `"${request.query}"`

/** A recall fault as a sentence for people and models. */
export const recallFaultText: (fault: RecallFault) => string = sentencesOf(recallSentences)

/** Wraps summary preparation in a task. */
export const summaryTask: TaskOf<ContextFault | SummaryFault> = taskOf(contextFaultText)
