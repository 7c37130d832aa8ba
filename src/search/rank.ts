/** Ranking: which hits are compared, and the page cursors. */
import { jsonIn, ownFields } from '../json/index.ts'
import type { StoreFaultOf } from '../store/index.ts'

/** The number of matches compared at a time, newest first. */
export const mostRanked = 250

/** The end of a page of ranked hits. */
export interface RankCursor {
  /** The cursor in time order where the compared matches start; undefined for the newest. */
  readonly from?: string | undefined
  /** The score and place of the page's last hit; undefined if the next page compares other matches. */
  readonly score?: number
  readonly at?: string
}

/** The items after a cursor, best first; with equal scores in the given (time) order. */
export const rankedAfter = <T>(
  all: readonly T[],
  { score, at = '' }: RankCursor,
  scoreOf: (each: T) => number,
  isBehind: (each: T, at: string) => boolean,
): readonly T[] => {
  const ranked = all.toSorted((a, b) => scoreOf(b) - scoreOf(a))
  if (score === undefined) return ranked
  return ranked.filter((each) => scoreOf(each) < score || (scoreOf(each) === score && isBehind(each, at)))
}

export const rankCursor = (cursor: RankCursor): string => {
  const { from, score, at } = ownFields(cursor)
  return JSON.stringify([from ?? null, ...(score === undefined ? [] : [score, at])])
}

/** Parses a cursor; undefined if the text is not one. No text means the first page. */
export const rankCursorIn = (text: string | undefined): RankCursor | undefined => {
  if (text === undefined) return ownFields({})
  const found = jsonIn(text)
  const [from, score, at] = Array.isArray(found) ? (found as readonly unknown[]) : []
  const begun = from === null ? ownFields({}) : typeof from === 'string' ? ownFields({ from }) : undefined
  if (begun === undefined) return undefined
  if (score === undefined && at === undefined) return begun
  return typeof score === 'number' && typeof at === 'string' ? ownFields({ ...begun, score, at }) : undefined
}

export const noCursor: StoreFaultOf<'InvalidId'> = Object.freeze({
  _tag: 'InvalidId',
  what: 'cursor',
  reason: 'it is not the `next` of a page of this search',
})
