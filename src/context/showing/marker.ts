/**
 * Markers: the line that represents hidden messages and tells how to read them. Adjacent hidden
 * messages share one, which names their range. A marker has no recorded content, so it can use the
 * user's role, which every provider accepts anywhere.
 */
import type { Range } from '../../sequence/index.ts'
import { user, type Message } from '../../message/index.ts'
import { pageKinds, type PageKind } from '../../pages/index.ts'
import { groupThousands } from './shorten.ts'

/** A range represented by a marker: the number of entries of each kind, and their tokens. */
export interface HiddenEntries extends Range {
  readonly kinds: ReadonlyMap<PageKind, number>
  readonly tokens: number
}

/**
 * The name of the model's recall tool; `false` if it has none. A marker must not name a tool that
 * is missing, because the model would call it.
 */
export type RecallName = string | false

/** Increase this when the texts in this folder or the choices change: contexts of another version have other texts. */
export const textVersion = 6

/** The call with which the model reads a position, between `before` and `after`; empty without a recall tool. */
export const recallHint = (before: string, recall: RecallName, position: number, after = ''): string =>
  recall === false ? '' : `${before} ${recall} with {"position": ${position}}${after}`

const readOne = (recall: RecallName, { from, to }: Range): string =>
  to - from === 1
    ? recallHint(' Call', recall, from, ' to read it.')
    : recall === false
      ? ''
      : ` Call ${recall} with a position, such as {"position": ${from}}, to read one.`

/** The marker for a hidden range; with `lines`, the header above its briefs. */
export const markerFor = (hidden: HiddenEntries, recall: RecallName, lines = ''): Message => {
  const { from, to, kinds, tokens } = hidden
  const range = to - from === 1 ? `Message ${from} is` : `Messages ${from}–${to - 1} are`
  const size = `about ${groupThousands(tokens)} tokens`
  if (lines !== '') return user(`[${range} shortened below (${size} in full).${readOne(recall, hidden)}]\n${lines}`)
  const counts = pageKinds.flatMap((kind) =>
    kinds.has(kind) ? [to - from === 1 ? kind : `${groupThousands(kinds.get(kind) ?? 0)} ${kind}`] : [],
  )
  return user(`[${range} not shown (${counts.join(', ')}; ${size}).${readOne(recall, hidden)}]`)
}

export const summaryFor = (range: Range, summary: string, recall: RecallName): Message =>
  user(`[Summary of messages ${range.from}–${range.to - 1}.${readOne(recall, range)}]\n${summary}`)

export const countKind = (kinds: Map<PageKind, number>, kind: PageKind, times = 1): void =>
  void kinds.set(kind, (kinds.get(kind) ?? 0) + times)

export const joinRanges = (ranges: readonly HiddenEntries[]): HiddenEntries => {
  const kinds = new Map<PageKind, number>()
  let tokens = 0
  for (const range of ranges) {
    for (const [kind, count] of range.kinds) countKind(kinds, kind, count)
    tokens += range.tokens
  }
  return { from: ranges[0]?.from ?? 0, to: ranges.at(-1)?.to ?? 0, kinds, tokens }
}
