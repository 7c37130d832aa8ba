/** Explains the level of a message in a derived context. */
import type { ContextSource } from 'indelible/context'
import { minFidelity, type PageKind, type ResidencyLevel } from 'indelible/pages'

/** The parts of a derived context that the reasons use. */
interface ExplainedContext {
  /** The position where the active turn starts. */
  readonly activeFrom: number
  readonly residency: { readonly at: (position: number) => ResidencyLevel | undefined }
  /** The sources of its messages; those of whole messages may be missing. */
  readonly sources: Iterable<ContextSource>
}

/**
 * Explains the levels of messages in a derived context, in a few words for people.
 *
 * Cost    O(messages of the context), and for each message O(markers)
 *
 * @returns the reason for a position of the record that is part of the conversation, and its page kind with the notes
 */
export const levelReasons = ({
  activeFrom,
  residency,
  sources,
}: ExplainedContext): ((position: number, kind: PageKind) => string) => {
  const hidden = [...sources].flatMap((source) =>
    source.type === 'summary' || (source.type === 'representation' && source.level === 'pointer') ? [source] : [],
  )
  const newestFrom = hidden.reduce((most, { to }) => Math.max(most, to), 0)
  return (position, kind) => {
    const level = residency.at(position) ?? 'pointer'
    const own = hidden.find(({ from, to }) => position >= from && position < to)
    if (own?.type === 'summary') return `in the summary of ${rangeText(own)}, by ${own.model}`
    if (own !== undefined)
      return level === 'structured'
        ? `older: a line in the marker of ${rangeText(own)}`
        : `older: the marker of ${rangeText(own)} has no line of it`
    if (hidden.length === 0 && level === 'full') return 'the whole record fits the budget'
    if (position >= newestFrom)
      return level === 'full'
        ? 'among the newest messages, which are sent as recorded'
        : 'among the newest messages, but cut: it takes more of the budget than one message may'
    const isRule = minFidelity(kind) !== 'pointer'
    const why = isRule
      ? 'instructions and rules stay'
      : position === activeFrom
        ? "the user's latest question stays"
        : "the user's first message and what `keep` names stay"
    return level === 'full'
      ? why
      : `${why}; ${isRule ? 'all of them are too much, so they are outlined' : 'its middle is cut'}`
  }
}

const rangeText = ({ from, to }: { readonly from: number; readonly to: number }): string =>
  to - from === 1 ? `message ${from}` : `messages ${from}–${to - 1}`
