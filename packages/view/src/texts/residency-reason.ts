/** Explains the level of a page in a derived context. */
import type { ContextSource, DerivedContext } from 'indelible/context'
import { minFidelity, residencyLevels, type PageKind, type ResidencyLevel } from 'indelible/pages'

/** The parts of a derived context that the reasons use. */
interface ReasonedContext extends Pick<DerivedContext, 'epoch' | 'activeFrom'> {
  readonly residency: { readonly at: (position: number) => ResidencyLevel | undefined }
  /** The sources of its messages, or only of its summaries. */
  readonly sources: Iterable<ContextSource>
}

/**
 * Explain the level of a page in a derived context.
 *
 * Cost    O(messages of the context) if it has summaries
 *
 * @param position the page's position in the record; it must be part of the conversation
 * @returns a few words, for people
 */
export const residencyReason = (context: ReasonedContext, position: number, kind: PageKind, policy: string): string => {
  const residency = context.residency.at(position) ?? 'pointer'
  const minimum = minFidelity(kind)
  if (context.epoch === 0) return 'the whole record fits the budget'
  const summary = [...context.sources].find(
    (source) => source.type === 'summary' && source.from <= position && position < source.to,
  )
  if (summary?.type === 'summary') return `replaced by a summary of ${summary.model}`
  const active = position >= context.activeFrom
  if (residency === 'full')
    return active
      ? 'part of the active turn, which fits'
      : minimum === 'structured'
        ? 'instructions and rules are shortened last'
        : `${policy} keeps it: worth its tokens`
  if (position === context.activeFrom) return "the user's question stays readable; only its middle may be cut"
  if (active) return 'part of the active turn, which alone exceeds the budget'
  if (residency === minimum) return `at its minimum: ${policy} made room`
  if (residency === 'structured') return `a line in the marker of its range: ${policy} made room`
  return `shortened: ${residencyLevels.indexOf(minimum) > residencyLevels.indexOf(residency) ? `${minimum} would be allowed` : 'less is not allowed'}`
}
