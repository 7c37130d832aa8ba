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

/** How the model gets a position back, after what stands before it; nothing where it can't. */
export const back = (before: string, recall: RecallName, position: number, gives = ''): string =>
  recall === false ? '' : `${before}${recall} {"position": ${position}}${gives}`

/** The line for a range that is not shown, and with `lines` what its messages say in short. */
export const markerFor = ({ from, to, kinds, tokens }: HiddenEntries, recall: RecallName, lines = ''): Message => {
  const size = `about ${groupThousands(tokens)} tokens`
  if (lines !== '') {
    const range = to - from === 1 ? `${from} is` : `${from}–${to - 1} are`
    return user(`[${range} in short, ${size} whole${back('; ', recall, from, ' gives one back')}]\n${lines}`)
  }
  if (to - from === 1)
    return user(
      `[${from} is not shown: ${[...kinds.keys()].join()}, ${size}${back('; ', recall, from, ' gives it back')}]`,
    )
  const counts = pageKinds.flatMap((kind) =>
    kinds.has(kind) ? [`${groupThousands(kinds.get(kind) ?? 0)} ${kind}`] : [],
  )
  return user(
    `[${from}–${to - 1} are not shown: ${counts.join(', ')}, ${size}${back('; ', recall, from, ' gives one back')}]`,
  )
}

/** The message for a range that a summary stands for. */
export const summaryFor = ({ from, to }: Range, summary: string, recall: RecallName): Message =>
  user(`[summary of ${from}–${to - 1}${back('; ', recall, from, ' gives one back')}]\n${summary}`)

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
