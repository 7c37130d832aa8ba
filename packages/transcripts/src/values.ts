/** Texts that hold several JSON values, one after another, over as many lines as they like. */

import { endOfString, isLeft, parseJson } from 'indelible/json/kit'

/** One value's text, and the line that it begins in, from 1. */
export interface ValueText {
  readonly number: number
  readonly text: string
}

/**
 * The values of a text: each from the bracket that opens it to the one that closes it. What is no JSON goes on to the
 * next line that begins with a bracket, so that damage to one value is damage to that one.
 *
 * Cost    O(text), and parsing it
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

/** Where the pattern is found next, from `from` on; the end if nowhere. */
const next = (pattern: RegExp, text: string, from: number): number => {
  pattern.lastIndex = from
  const found = pattern.exec(text)
  return found === null ? text.length : found.index
}
