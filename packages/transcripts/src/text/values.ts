/** Splits a text of several JSON values, one after another, each over any number of lines. */

import { endOfString, isLeft, parseJson } from 'indelible/internal/json'

/** The text of one value, and the number of its first line, from 1. */
interface ValueText {
  readonly number: number
  readonly text: string
}

/**
 * The values of a text, each from its opening bracket to the closing one. Invalid JSON extends to
 * the next line that starts with a bracket, so damage stays within one value.
 *
 * Cost    O(text), plus parsing
 */
export function* valuesOfText(text: string): Generator<ValueText> {
  let number = 1
  let counted = 0
  const numberAt = (offset: number): number => {
    for (let feed = text.indexOf('\n', counted); feed !== -1 && feed < offset; feed = text.indexOf('\n', feed + 1)) {
      number += 1
      counted = feed + 1
    }
    return number
  }
  let from = text.startsWith('\ufeff') ? 1 : 0
  while (from < text.length) {
    space.lastIndex = from
    space.test(text)
    from = space.lastIndex
    if (from === text.length) return
    const whole = endOfValue(text, from)
    const to = isLeft(parseJson(text.slice(from, whole))) ? next(beginning, text, from + 1) : whole
    yield { number: numberAt(from), text: text.slice(from, to) }
    from = to
  }
}

const space = /\s*/y
const mark = /["{}[\]]/g
const beginning = /(?<=\n)[{[]/g

const endOfValue = (text: string, from: number): number => {
  if (text[from] !== '{' && text[from] !== '[') return next(beginning, text, from + 1)
  let depth = 0
  for (let at = from; at < text.length; at = next(mark, text, at)) {
    const character = text[at]
    if (character === '"') at = endOfString(text, at + 1) ?? text.length - 1
    else if (character === '{' || character === '[') depth += 1
    else depth -= 1
    if (depth === 0) return at + 1
    at += 1
  }
  return text.length
}

/** The offset of the next match at or after `from`; the end if there is none. */
const next = (pattern: RegExp, text: string, from: number): number => {
  pattern.lastIndex = from
  const found = pattern.exec(text)
  return found === null ? text.length : found.index
}
