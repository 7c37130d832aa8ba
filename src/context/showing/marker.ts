/**
 * Markers: the one line that stands for what a context does not show, and says how to get it back. Neighbours share
 * one, which names their range. A marker holds nothing that was recorded, so it can be said in the user's role, the one
 * that every provider takes anywhere.
 */
import type { Range } from '../../sequence/index.ts'
import { user, type Message } from '../../message/index.ts'
import { pageKinds, type PageKind } from '../../pages/index.ts'
import { groupThousands } from './shorten.ts'

/** A range that a marker stands for: how many entries of each kind, and the tokens they would take. */
export interface HiddenEntries extends Range {
  readonly kinds: ReadonlyMap<PageKind, number>
  readonly tokens: number
}

/**
 * The name of the tool with which the model gets a position back; `false` where it has none. A marker that names a tool
 * which is not there makes the model call it.
 */
export type RecallName = string | false

/** Counted up when the texts of this folder change: contexts of another version read differently. */
export const textVersion = 2

/** The call that gives the model a position back, between `before` and `after`; nothing where there is no such tool. */
export const recallHint = (before: string, recall: RecallName, position: number, after = ''): string =>
  recall === false ? '' : `${before} ${recall} with {"position": ${position}}${after}`

const readOne = (recall: RecallName, { from, to }: Range): string =>
  to - from === 1
    ? recallHint(' Call', recall, from, ' to read it.')
    : recall === false
      ? ''
      : ` Call ${recall} with a position, such as {"position": ${from}}, to read one.`

/** The line for a range that is not shown; with `lines`, the line above those short forms. */
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

/** The message for a range that a summary stands for. */
export const summaryFor = (range: Range, summary: string, recall: RecallName): Message =>
  user(`[Summary of messages ${range.from}–${range.to - 1}.${readOne(recall, range)}]\n${summary}`)

/** One entry more of a kind, or several. */
export const countKind = (kinds: Map<PageKind, number>, kind: PageKind, times = 1): void =>
  void kinds.set(kind, (kinds.get(kind) ?? 0) + times)

/** Ranges that follow each other, as one. */
export const joinRanges = (ranges: readonly HiddenEntries[]): HiddenEntries => {
  const kinds = new Map<PageKind, number>()
  let tokens = 0
  for (const range of ranges) {
    for (const [kind, count] of range.kinds) countKind(kinds, kind, count)
    tokens += range.tokens
  }
  return { from: ranges[0]?.from ?? 0, to: ranges.at(-1)?.to ?? 0, kinds, tokens }
}
