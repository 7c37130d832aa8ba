/** What can be wrong with a derived context, as data. */
import type { SummaryNote } from '../notes/index.ts'
import { callbackFaultText, reasonOf, taskOf, type CallbackThrew, type TaskOf } from '../task/index.ts'
import { absurd } from '../json/index.ts'
import type { PageKind, ResidencyLevel } from '../pages/index.ts'
import type { WindowParts } from './budget.ts'
import { grouped } from './shorten.ts'

/** What can go wrong while a context is derived. */
export type ContextFault = {
  readonly _tag: 'MinimumDoesNotFit'
  /** The tokens of the least context that keeps the laws. */
  readonly needed: number
  /** The tokens there are for messages. */
  readonly budget: number
  /** Of a budget that is a window: what of it is for other things. */
  readonly window?: WindowParts
  /** What is for tools and system prompt, if anything is. */
  readonly reserved?: number
  /** What takes them: the largest of its parts, at most ten, largest first. */
  readonly pages: readonly MinimumPage[]
}

/** A part of the least context. Positions up to, not including, `to`. */
export interface MinimumPage {
  /** Its first position. */
  readonly from: number
  /** The position after its last one. */
  readonly to: number
  /** The page kinds in it. */
  readonly kinds: readonly PageKind[]
  /** The least level that they may have. */
  readonly level: ResidencyLevel
  /** The tokens that it needs at that level. */
  readonly tokens: number
}

/** A summarizer failed. The summaries that were made before stand in `done`, to be appended all the same. */
export type SummaryFault = {
  readonly _tag: 'SummarizerFailed'
  /** The first position of the range. */
  readonly from: number
  /** The position after its last one. */
  readonly to: number
  /** What the summarizer threw. */
  readonly cause: unknown
  /** The notes that were made before it failed. */
  readonly done: readonly SummaryNote[]
}

/** A fault of this folder as a sentence for people. */
export const contextFaultText = (fault: ContextFault | SummaryFault): string => {
  switch (fault._tag) {
    case 'MinimumDoesNotFit':
      return `the least that must be sent takes ${grouped(fault.needed)} tokens, but the budget is ${grouped(fault.budget)}${madeOf(fault)}${largest(fault.pages[0])}; use a larger budget, or unpin what need not stay`
    case 'SummarizerFailed':
      return `positions ${fault.from}–${fault.to - 1} could not be summed up: ${reasonOf(fault.cause)}; the ${fault.done.length} made before are in \`done\`, and nothing waits for the others`
    default:
      return absurd(fault)
  }
}

/** How a budget came to be so small: what a window is for beside messages. */
const madeOf = ({ window, reserved }: ContextFault): string => {
  const others = [
    ...(window === undefined
      ? []
      : [`${grouped(Math.ceil(window.answer))} for the answer`, `${grouped(window.providers)} for what providers add`]),
    ...(reserved === undefined ? [] : [`${grouped(reserved)} for tools and system prompt`]),
  ]
  if (others.length === 0) return ''
  return ` (${window === undefined ? 'after' : `a window of ${grouped(window.window)}, less`} ${others.join(', ')}${window === undefined ? '' : ', and a tenth for wrong estimates'})`
}

const largest = (page: MinimumPage | undefined): string => {
  if (page === undefined) return ''
  const where = page.to - page.from === 1 ? `position ${page.from}` : `positions ${page.from}–${page.to - 1}`
  return `; most of it, ${grouped(page.tokens)}, is ${where} (${page.kinds.join(', ')}, ${page.level})`
}

/** What to recall: a position, or a query. */
export type RecallRequest = { readonly position: number } | { readonly query: string }

/** Why nothing was recalled. */
export type RecallFault =
  /** Nothing stands there, or nothing matches. */
  | { readonly _tag: 'NoMatch'; readonly request: RecallRequest; readonly length: number }
  /** What was found may not be given out. */
  | { readonly _tag: 'Denied'; readonly request: RecallRequest; readonly positions: readonly number[] }
  /** The search itself failed. */
  | { readonly _tag: 'SearchFailed'; readonly request: RecallRequest; readonly cause: unknown }

/** A recall fault as a sentence, for people and models. */
export const recallFaultText = (fault: RecallFault): string => {
  const asked = 'position' in fault.request ? `position ${fault.request.position}` : `"${fault.request.query}"`
  switch (fault._tag) {
    case 'NoMatch':
      return 'position' in fault.request
        ? `there is no ${asked}: the record has ${fault.length} ${fault.length === 1 ? 'entry' : 'entries'}, from position 0`
        : `nothing in the record matches ${asked}; try other words, or a position that a marker names`
    case 'Denied':
      return `what was found for ${asked} may not be given out`
    case 'SearchFailed':
      return `the search for ${asked} failed: ${reasonOf(fault.cause)}; a position can still be recalled`
    default:
      return absurd(fault)
  }
}

/** Makes a task of preparing summaries. */
export const summaryTask: TaskOf<ContextFault | SummaryFault> = taskOf(contextFaultText)

/** Makes a task of deriving. */
export const deriveTask: TaskOf<ContextFault | CallbackThrew> = taskOf((fault: ContextFault | CallbackThrew) =>
  fault._tag === 'CallbackThrew' ? callbackFaultText(fault) : contextFaultText(fault),
)
