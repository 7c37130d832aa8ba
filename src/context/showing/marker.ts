/**
 * Markers: the text that stands for hidden messages and says how to read them. It has no recorded content of its own, so it can
 * have the user's role, which every provider accepts anywhere.
 */
import { groupThousands } from './shorten.ts'

/** The name of the model's recall tool; `false` if it has none. A marker must not name a tool that is missing. */
export type RecallName = string | false

/** Increase this when the texts of contexts or their choices change. */
export const textVersion = 8

/** The call with which the model reads a position, between `before` and `after`; empty without a recall tool. */
export const recallHint = (before: string, recall: RecallName, position: number, after = ''): string =>
  recall === false ? '' : `${before} ${recall} with {"position": ${position}}${after}`

const readHint = (recall: RecallName, from: number, to: number): string =>
  to - from === 1
    ? recallHint(' Call', recall, from, ' to read it.')
    : recall === false
      ? ''
      : ` Call ${recall} with a position, such as {"position": ${from}}, to read one.`

/** The marker of hidden messages, with their summary lines. */
export const markerText = (
  from: number,
  to: number,
  tokens: number,
  lines: readonly string[],
  recall: RecallName,
): string => {
  const range = to - from === 1 ? `Message ${from} is` : `Messages ${from}–${to - 1} are`
  const size = `about ${groupThousands(Math.round(tokens))} tokens`
  const hint = readHint(recall, from, to)
  return lines.length === 0
    ? `[${range} not shown (${size}).${hint}]`
    : `[${range} shortened below (${size} in full).${hint}]\n${lines.join('\n')}`
}

/** The message for a summary. */
export const summaryText = (from: number, to: number, summary: string, recall: RecallName): string =>
  `[Summary of messages ${from}–${to - 1}.${readHint(recall, from, to)}]\n${summary}`
