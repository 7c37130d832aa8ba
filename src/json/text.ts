/**
 * Parses JSON text with the engine. If that fails, finds the place of the first error, which most
 * engines don't report.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from '../either/index.ts'
import { withoutPollution } from './own.ts'
import { maxDepth } from './snapshot.ts'

/** The place where a text stops being JSON. */
export interface JsonTextProblem {
  /** The index in the text. */
  readonly offset: number
  /** The line, from 1. */
  readonly line: number
  /** The column, from 1, in UTF-16 units. */
  readonly column: number
  /** What would be valid there. */
  readonly expected: string
  /** The text found there, quoted. */
  readonly found: string
}

/** The value of JSON text; undefined if it is not JSON. See `isPolluted`. */
export const jsonIn = (text: string): unknown => {
  try {
    return withoutPollution(JSON.parse(text))
  } catch {
    return undefined
  }
}

/**
 * Whether parsed JSON is nested deeper than messages may be, so that a recursive function could overflow the call stack: a
 * text inside of a message can be any JSON.
 */
export const isTooDeep = (value: unknown): boolean => {
  let level: readonly unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return true
    const next: unknown[] = []
    for (const entry of level)
      if (typeof entry === 'object' && entry !== null) for (const inner of Object.values(entry)) next.push(inner)
    level = next
  }
  return false
}

/** The value of JSON text; the text itself if it is not JSON. */
export const jsonOrText = (text: string): unknown => {
  const value = jsonIn(text)
  return value === undefined ? text : value
}

/** Parse JSON text; see `isPolluted`. Cost: `JSON.parse`; if it fails, one more pass to find the place. */
export const parseJson = (text: string): Either<JsonTextProblem, unknown> => {
  try {
    return right(withoutPollution(JSON.parse(text)))
  } catch (error) {
    const { offset, expected } = firstError(text)
    const before = text.slice(0, offset)
    let line = 1
    for (let at = before.indexOf('\n'); at !== -1; at = before.indexOf('\n', at + 1)) line += 1
    const rest = text.slice(offset, offset + 12)
    return left({
      offset,
      line,
      column: offset - before.lastIndexOf('\n'),
      // The scan below knows the same grammar. If it should find no error, use the engine's message.
      expected: expected ?? (error instanceof Error ? error.message : String(error)),
      found: rest === '' ? 'the end' : JSON.stringify(/^[\w.+-]+|^./su.exec(rest)?.[0] ?? rest),
    })
  }
}

interface FirstError {
  readonly offset: number
  readonly expected: string | undefined
}

/** Scan the text by the grammar of RFC 8259, without recursion, up to the first invalid character. */
const firstError = (text: string): FirstError => {
  const open: ('[' | '{')[] = []
  let offset = skipSpace(text, 0)
  let expected: 'value' | 'value or ]' | 'key' | 'key or }' | 'next' = 'value'
  for (;;) {
    const character = text[offset]
    if (expected === 'next') {
      const inside = open.at(-1)
      if (inside === undefined) return { offset, expected: character === undefined ? undefined : 'the end' }
      const close = inside === '[' ? ']' : '}'
      if (character === ',') expected = inside === '[' ? 'value' : 'key'
      else if (character === close) open.pop()
      else return { offset, expected: `, or ${close}` }
      offset = skipSpace(text, offset + 1)
    } else if ((expected === 'value or ]' && character === ']') || (expected === 'key or }' && character === '}')) {
      open.pop()
      expected = 'next'
      offset = skipSpace(text, offset + 1)
    } else if (expected === 'key' || expected === 'key or }') {
      if (character !== '"')
        return { offset, expected: expected === 'key' ? 'a key in double quotes' : 'a key in double quotes, or }' }
      const string = scanString(text, offset)
      if (string.expected !== undefined) return string
      offset = skipSpace(text, string.offset)
      if (text[offset] !== ':') return { offset, expected: 'a colon' }
      expected = 'value'
      offset = skipSpace(text, offset + 1)
    } else if (character === '[' || character === '{') {
      open.push(character)
      expected = character === '[' ? 'value or ]' : 'key or }'
      offset = skipSpace(text, offset + 1)
    } else {
      const scalar = character === '"' ? scanString(text, offset) : scanWord(text, offset)
      if (scalar.expected !== undefined) return scalar
      expected = 'next'
      offset = skipSpace(text, scalar.offset)
    }
  }
}

const skipSpace = (text: string, from: number): number => {
  let offset = from
  for (; offset < text.length; offset++) {
    const character = text[offset]
    if (character !== ' ' && character !== '\n' && character !== '\r' && character !== '\t') break
  }
  return offset
}

/** The offset after a string, or the first error in it. */
const scanString = (text: string, from: number): FirstError => {
  for (let offset = from + 1; offset < text.length; offset++) {
    const character = text[offset] as string
    if (character === '"') return { offset: offset + 1, expected: undefined }
    if (character < ' ') return { offset, expected: 'an escape like \\n in place of a control character' }
    if (character !== '\\') continue
    const escape = /^(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/.exec(text.slice(offset + 1, offset + 6))?.[0]
    if (escape === undefined) return { offset, expected: 'one of the escapes \\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX' }
    offset += escape.length
  }
  return { offset: text.length, expected: 'a closing quote' }
}

/** The offset after a number, true, false or null, or the place where a value is missing. */
const scanWord = (text: string, from: number): FirstError => {
  word.lastIndex = from
  const found = word.exec(text)?.[0]
  return found === undefined
    ? { offset: from, expected: 'a value' }
    : { offset: from + found.length, expected: undefined }
}

const word = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)/y

/**
 * The end of a string in JSON text that starts at `from`, after its opening quote: the first
 * unescaped quote. Undefined if there is none.
 */
export const endOfString = (text: string, from: number): number | undefined => {
  for (let end = text.indexOf('"', from); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end
    while (before > from && text[before - 1] === '\\') before -= 1
    if ((end - before) % 2 === 0) return end
  }
  return undefined
}

/**
 * Visit the signs of JSON text outside of its strings: brackets, braces, commas, and the quotes that open a string.
 *
 * Cost    O(text)
 *
 * @param visit receives a sign and its offset; true ends the scan
 * @returns the offset behind the last sign visited, or behind the string that it opens; undefined if nothing ended the scan
 */
export const scanJson = (
  text: string,
  from: number,
  visit: (sign: string, index: number) => boolean,
): number | undefined => {
  const signs = /["{}[\],]/g
  signs.lastIndex = from
  for (let found = signs.exec(text); found !== null; found = signs.exec(text)) {
    const end = found[0] === '"' ? endOfString(text, signs.lastIndex) : found.index
    if (end === undefined) return undefined
    signs.lastIndex = end + 1
    if (visit(found[0], found.index)) return end + 1
  }
  return undefined
}
