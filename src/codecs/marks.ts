/** The words that a codec keeps in `as`, one or several with a space between them. */
import type { Kept } from './residual.ts'

/** Words as one text; undefined if there are none. */
export const joinMarks = <Mark extends string>(...words: readonly (Mark | false)[]): string | undefined =>
  words.filter((word) => word !== false).join(' ') || undefined

/** Whether a word is among those that were kept. */
export const hasMark = (kept: Kept | undefined, mark: string): boolean => kept?.as?.split(' ').includes(mark) === true
