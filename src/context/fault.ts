/** What can be wrong with a derived context, as data. */
import type { PageKind, ResidencyLevel } from '../pages/index.ts'
import { grouped } from './shorten.ts'

export type ContextFault = {
  readonly _tag: 'MinimumDoesNotFit'
  /** The tokens of the least context that keeps the laws. */
  readonly needed: number
  /** The tokens there are for messages. */
  readonly budget: number
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

/** A context fault as a sentence for people. */
export const contextFaultText = ({ needed, budget, pages }: ContextFault): string => {
  const [first] = pages
  const largest =
    first === undefined
      ? ''
      : `; most of it, ${grouped(first.tokens)}, is ${first.to - first.from === 1 ? `position ${first.from}` : `positions ${first.from}–${first.to - 1}`} (${[...new Set(first.kinds)].join(', ')}, ${first.level})`
  return `the least that must be sent takes ${grouped(needed)} tokens, but the budget is ${grouped(budget)}${largest}; use a larger budget, or unpin what need not stay`
}
