/** The words that the codec keeps in `as`. */
import { hasMark as isKept, joinMarks as marksOf } from '../marks.ts'
import type { Kept } from '../residual.ts'

/** The codec's name. */
export const format = 'gemini'

/** What of a response is not in its message otherwise. Not under the codec's name: a request does not carry it. */
export const responseMeta = 'gemini-response'

export type Mark =
  /** Stood in a list without a content around it: a text or a part, which the client of Google wraps. */
  | 'bare'
  /** A list that was written as its only item. */
  | 'only'
  /** Parts that were written as one part, without a list. */
  | 'one'
  /** A text that was written as a string. */
  | 'string'
  /** Names of fields with underscores, which the API takes, too. */
  | 'snake'
  /** A message from the same content as the one before it. */
  | 'joined'
  /** A message or a part that began a content of its own, though it goes on what the same side said before. */
  | 'apart'
  /** Reasoning of Gemini: that of others is not sent to it. */
  | 'thought'
  /** A result that was written in `result`, as in many examples. */
  | 'result'
  /** A result of several fields, which is shown as JSON. */
  | 'json'
  /** Content that breaks a rule of the API but was there. */
  | 'exact'

export const marks: (...words: readonly (Mark | false)[]) => string | undefined = marksOf<Mark>

export const isMarked: (kept: Kept | undefined, mark: Mark) => boolean = isKept
