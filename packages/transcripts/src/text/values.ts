/** Splits a text of several JSON values, one after another, each over any number of lines. */

import { isLeft, parseJson, scanJson } from 'indelible/internal/json'

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
const beginning = /(?<=\n)[{[]/g

const endOfValue = (text: string, from: number): number => {
  if (text[from] !== '{' && text[from] !== '[') return next(beginning, text, from + 1)
  let depth = 0
  const end = scanJson(text, from, (sign) => {
    if (sign === '{' || sign === '[') depth += 1
    return (sign === '}' || sign === ']') && --depth === 0
  })
  return end ?? text.length
}

/** The offset of the next match at or after `from`; the end if there is none. */
const next = (pattern: RegExp, text: string, from: number): number => {
  pattern.lastIndex = from
  const found = pattern.exec(text)
  return found === null ? text.length : found.index
}
