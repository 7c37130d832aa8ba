/** What can be wrong with a derived context, as data. */
import { absurd } from 'fp-ts/lib/function.js'
import type { PageKind, ResidencyLevel } from '../pages/index.ts'
import type { WindowParts } from './budget.ts'
import type { SummaryFault } from './prepare.ts'
import { grouped } from './shorten.ts'

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
  readonly from: number
  readonly to: number
  readonly kinds: readonly PageKind[]
  readonly level: ResidencyLevel
  readonly tokens: number
}

/** A fault of this folder as a sentence for people. */
export const contextFaultText = (fault: ContextFault | SummaryFault): string => {
  switch (fault._tag) {
    case 'MinimumDoesNotFit':
      return `the least that must be sent takes ${grouped(fault.needed)} tokens, but the budget is ${grouped(fault.budget)}${madeOf(fault)}${largest(fault.pages[0])}; use a larger budget, or unpin what need not stay`
    case 'SummarizerFailed':
      return `positions ${fault.from}–${fault.to - 1} could not be summed up: ${fault.cause instanceof Error ? fault.cause.message : String(fault.cause)}; the ${fault.done.length} made before are in \`done\`, and nothing waits for the others`
    default:
      return absurd(fault)
  }
}

/** How a budget came to be so small: what a window is for beside messages. */
const madeOf = ({ window, reserved }: ContextFault): string => {
  const others = [
    ...(window === undefined ? [] : [`${grouped(Math.ceil(window.answer))} for the answer`, `${grouped(window.providers)} for what providers add`]),
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
