/** Content as most formats write it: a single plain text becomes a string. */
import { isObject, ownField } from '../json/index.ts'
import type { Place } from './encoder.ts'
import type { Part, ResultPart, ToolResultPart } from '../message/index.ts'

/** Whether the parts are one text without kept fields, which `asContent` would write as a string. */
export const isOnePlainText = (parts: readonly Part[]): boolean => {
  const [only] = parts
  return parts.length === 1 && only?.type === 'text' && ownField(only, 'meta') === undefined
}

/** Parts in wire format: a single plain text as a string, unless it was read from a part. */
export const asContent = <Written>(parts: Written[], asParts: boolean, type = 'text'): string | Written[] => {
  const [only] = parts
  return !asParts &&
    parts.length === 1 &&
    isObject(only) &&
    only['type'] === type &&
    typeof only['text'] === 'string' &&
    Object.keys(only).length === 2
    ? only['text']
    : parts
}

/** The written parts of a result. Parts that can't be written are omitted. */
export const answersOf = <Written>(
  { content }: ToolResultPart,
  place: Place,
  write: (answer: ResultPart, place: Place) => Written | undefined,
): Written[] =>
  content.map((answer, index) => write(answer, place.in('content', index))).filter((written) => written !== undefined)
