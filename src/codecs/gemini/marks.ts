/** The marks that the codec keeps in `as`. */
import { hasMark as isKept, joinMarks as marksOf, type Kept } from '../residual.ts'

/** The codec's name. */
export const format = 'gemini'

/** The `meta` key for a response's other fields. Not the codec's name, because requests do not include them. */
export const responseMeta = 'gemini-response'

export type GeminiMark =
  /** A text or part in a list without a content around it, which Google's client wraps. */
  | 'bare'
  /** A list written as its only item. */
  | 'only'
  /** Parts written as one part, without a list. */
  | 'one'
  /** A text written as a string. */
  | 'string'
  /** Field names with underscores, which the API also accepts. */
  | 'snake'
  /** A message from the same content as the one before it. */
  | 'joined'
  /** A message or part that started a new content although it continues the same speaker. */
  | 'apart'
  /** Gemini's own reasoning; other reasoning is not sent to it. */
  | 'thought'
  /** A result written in `result`, as in many examples. */
  | 'result'
  /** A result with several fields, read as JSON. */
  | 'json'
  /** Content that breaks a rule of the API but was there. */
  | 'exact'

export const marksText: (...words: readonly (GeminiMark | false)[]) => string | undefined = marksOf<GeminiMark>

export const isMarked: (kept: Kept | undefined, mark: GeminiMark) => boolean = isKept
