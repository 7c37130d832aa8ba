/** Marks in `as`, separated by spaces. */
import type { Kept } from './residual.ts'

/** Marks as one string; undefined if there are none. */
export const joinMarks = <Mark extends string>(...words: readonly (Mark | false | undefined)[]): string | undefined =>
  words.filter(Boolean).join(' ') || undefined

export const hasMark = (kept: Kept | undefined, mark: string): boolean => kept?.as?.split(' ').includes(mark) === true
