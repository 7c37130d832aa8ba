/** Why tokens were paid, in words: for the command and the page. */
import type { UsageCause } from 'indelible/internal/usage'
import type { ExplainedCall } from 'indelible/usage'
import { countText, groupedNumber } from './format-text.ts'

/** The causes in the order in which a bar stacks them, from its foot, each with its words in a list. */
export const causeTexts: { readonly [cause in UsageCause]: string } = {
  read: 'read again',
  new: 'new content',
  first: 'first call',
  agent: 'sub-agent begins',
  ends: 'block ends',
  uncached: 'sent again, not written to the cache',
  tools: 'sent again, tools changed',
  system: 'sent again, system changed',
  messages: 'sent again, messages changed',
  effort: 'sent again, effort changed',
  model: 'sent again, another model',
  compaction: 'sent again, compaction',
  rewind: 'sent again, rewind',
  shortened: 'sent again, shortened',
  expired: 'sent again, expired',
  missed: 'sent again, lost by the provider',
  unknown: 'sent again, unknown',
  uncounted: 'input, cache not counted',
  answer: 'answers',
}

/** The causes of input, which a bar stacks. */
export const barCauses: readonly UsageCause[] = (Object.keys(causeTexts) as readonly UsageCause[]).filter(
  (cause) => cause !== 'answer',
)

const expected: ReadonlySet<UsageCause> = new Set(['read', 'new', 'first', 'agent', 'ends', 'answer', 'uncounted'])

/** Whether a cause is a loss: tokens that were cached, or could have been, and were paid again. */
export const isLoss = (cause: UsageCause): boolean => !expected.has(cause)

/** `0.1 s`, `12 s`, `9 min`. */
const pauseText = (milliseconds: number): string =>
  milliseconds < 10_000
    ? `${(milliseconds / 1000).toFixed(1)} s`
    : milliseconds < 120_000
      ? `${Math.round(milliseconds / 1000)} s`
      : milliseconds < 7_200_000
        ? `${Math.round(milliseconds / 60_000)} min`
        : `${Math.round(milliseconds / 3_600_000)} hours`

/** Where most of a call's money went, or its tokens without a price. A clause. */
export const callClause = ({ parts, usage, pause }: ExplainedCall): string => {
  const [most] = parts.toSorted((a, b) => (b.dollars ?? 0) - (a.dollars ?? 0) || b.tokens - a.tokens)
  if (most === undefined || usage === undefined) return 'no tokens were counted'
  const { cause, tokens, because, known, ruledOut = [] } = most
  const count = countText(tokens, 'token')
  if (cause === 'answer') return `mostly the answer, ${count}`
  if (cause === 'read') return `mostly read again from the cache, ${count}`
  if (cause === 'new') return `mostly new content, ${count}`
  if (cause === 'uncounted') return `${count}, of which nobody counted the cached ones`
  if (cause === 'first' || cause === 'agent') return `${because ?? causeTexts[cause]}, ${count}`
  const isEmpty = !parts.some((part) => part.cause === 'read')
  const after = pause === undefined ? '' : ` ${pause < 50 ? 'directly' : pauseText(pause)} after the last answer`
  return [
    `${isEmpty ? 'nothing was cached' : `${groupedNumber(tokens)} tokens were sent again`}${after}`,
    ...(because === undefined ? [] : [because]),
    ...(known === 'unknown' ? ['unknown'] : known === 'likely' ? ['likely'] : []),
    ...(ruledOut.length > 0 ? [`ruled out: ${ruledOut.join(', ')}`] : []),
  ].join('; ')
}
