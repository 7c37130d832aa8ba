/** Content as most wires have it: one plain text is written as a string. */
import { isObject, ownField, type Path } from '../json/index.ts'
import type { Part, ResultPart, ToolResultPart } from '../message/index.ts'

/** Whether parts are one text with nothing kept beside it: `asContent` would write it as a string. */
export const isOnePlainText = (parts: readonly Part[]): boolean => {
  const [only] = parts
  return parts.length === 1 && only?.type === 'text' && ownField(only, 'meta') === undefined
}

/** Parts in wire form: one plain text as a string, unless it was read from a part. */
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

/** What a result answers, part by part. A part of which nothing can be written is left out. */
export const answersOf = <Written>(
  { content }: ToolResultPart,
  path: Path,
  write: (answer: ResultPart, path: Path) => Written | undefined,
): Written[] =>
  content.map((answer, index) => write(answer, [...path, 'content', index])).filter((written) => written !== undefined)
