/** The best first: which hits are compared with each other, and where a page of them ends. */
import { jsonIn, ownFields } from '../json/index.ts'
import type { StoreFaultOf } from '../store/index.ts'

/** How many matches are compared with each other: the newest, then as many of the next ones. */
export const mostRanked = 250

/** Where a page of ranked hits ends. */
export interface RankCursor {
  /** The cursor, in order of time, after which the compared matches start; undefined for the newest. */
  readonly from?: string | undefined
  /** The score and the place of the last hit of the page; undefined where the next page is of other matches. */
  readonly score?: number
  readonly at?: string
}

/** What stands behind a cursor, best first; of the same score, in the order given: that of time. */
export const inRank = <T>(
  all: readonly T[],
  { score, at = '' }: RankCursor,
  scoreOf: (each: T) => number,
  placeOf: (each: T) => string,
  isBehind: (each: T, at: string) => boolean,
): readonly T[] => {
  const ranked = all.toSorted((one, other) => scoreOf(other) - scoreOf(one))
  if (score === undefined) return ranked
  const last = ranked.findIndex((each) => placeOf(each) === at)
  if (last !== -1) return ranked.slice(last + 1)
  // It was removed meanwhile.
  return ranked.filter((each) => scoreOf(each) < score || (scoreOf(each) === score && isBehind(each, at)))
}

export const rankCursor = (cursor: RankCursor): string => {
  const { from, score, at } = ownFields(cursor)
  return JSON.stringify([from ?? null, ...(score === undefined ? [] : [score, at])])
}

/** The cursor of a text, or of the first page; undefined if the text is not a cursor. */
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
