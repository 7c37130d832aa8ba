/**
 * Parses JSON text and reports what a parser silently changes: duplicate keys, numbers that no
 * double represents, lone surrogates.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, right } from '../either/index.ts'
import type { Json } from './json.ts'
import type { Path } from './path.ts'
import { textOfJson } from './own.ts'
import { endOfString, parseJson, type JsonTextProblem } from './text.ts'

/** Parsed JSON text. */
interface Inspected {
  /** The result of `JSON.parse`. */
  readonly value: unknown
  /** Usually empty. At most `mostFindings`, and one more that says that there are others. */
  readonly findings: readonly Finding[]
}

/** A place where the value differs from the text. */
interface Finding {
  readonly path: Path
  /** The line, from 1. */
  readonly line: number
  /** The text and the value, as a clause. */
  readonly reason: string
}

/** The maximum number of findings. */
export const mostFindings = 1000

/**
 * Parse JSON text, and find the places where the value differs from the text.
 *
 * Cost    `JSON.parse` and `JSON.stringify`; if the texts differ, one more pass at any depth
 */
export const inspectJson = (text: string): Either<JsonTextProblem, Inspected> => {
  const parsed = parseJson(text)
  if (isLeft(parsed)) return parsed
  const value = parsed.right
  return right({ value, findings: writesBack(value, text) ? none : findingsIn(text) })
}

const none: readonly Finding[] = Object.freeze([])

/** Whether writing the value gives the same text. A lone surrogate would too, as an escape, so escapes are excluded. */
const writesBack = (value: unknown, text: string): boolean => {
  try {
    return textOfJson(value as Json) === text.trim() && !text.includes('\\ud')
  } catch {
    return false // nested deeper than the engine's stack
  }
}

/** An array or object open at the current offset. */
interface Open {
  readonly keys: Set<string> | undefined
  /** The key or index of the current member. */
  at: string | number
}

/** Scan a text that is known to be valid JSON. */
const findingsIn = (text: string): readonly Finding[] => {
  const found: Finding[] = []
  const open: Open[] = []
  const halves = !text.isWellFormed() || /\\u[dD][89a-fA-F]/.test(text)
  let line = 1
  let counted = 0
  const find = (offset: number, reason: string): boolean => {
    for (let feed = text.indexOf('\n', counted); feed !== -1 && feed < offset; feed = text.indexOf('\n', feed + 1)) {
      line += 1
      counted = feed + 1
    }
    const full = found.length === mostFindings
    found.push({
      path: open.map(({ at }) => at),
      line,
      reason: full ? 'and there are more such places after it' : reason,
    })
    return full
  }

  for (let offset = 0; offset < text.length; offset++) {
    const inside = open.at(-1)
    switch (text[offset]) {
      case '{':
        open.push({ keys: new Set(), at: '' })
        continue
      case '[':
        open.push({ keys: undefined, at: 0 })
        continue
      case '}':
      case ']':
        open.pop()
        continue
      case ',':
        if (inside !== undefined) inside.at = typeof inside.at === 'number' ? inside.at + 1 : ''
        continue
      case ' ':
      case '\n':
      case '\r':
      case '\t':
      case ':':
        continue
      case '"': {
        const end = endOfString(text, offset + 1) as number // a string ends, because the text is JSON
        const raw = text.slice(offset, end + 1)
        colon.lastIndex = end + 1
        const isKey = inside?.keys !== undefined && colon.test(text)
        if (isKey || halves) {
          const text = raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1)
          if (isKey) {
            inside.at = text.toWellFormed()
            if (inside.keys?.has(text) === true && find(offset, 'occurs twice: the last one is used')) return found
            inside.keys?.add(text)
          }
          if (halves && !text.isWellFormed() && find(offset, half[isKey ? 'key' : 'text'])) return found
        }
        offset = end
        continue
      }
      default: {
        word.lastIndex = offset
        const [written = ''] = word.exec(text) ?? []
        const problem = /^[tfn]/.test(written) ? undefined : numberProblem(written)
        if (problem !== undefined && find(offset, problem)) return found
        offset += written.length - 1
      }
    }
  }
  return found
}

const half = {
  key: 'is a key with half a surrogate pair: read as U+FFFD',
  text: 'has half a surrogate pair, which is no character: read as U+FFFD',
} as const

const colon = /\s*:/y
const word = /[^\s,\]}]+/y

/** The difference between a number's text and its value; undefined if there is none. */
const numberProblem = (written: string): string | undefined => {
  const value = Number(written)
  const shown = written.length <= 40 ? written : `${written.slice(0, 40)}… (${written.length} characters)`
  if (!Number.isFinite(value)) return `is ${shown}, which is out of range: read as null`
  if (Object.is(value, -0)) return `is ${shown}: read as 0`
  if (String(value) === written || decimal(String(value)) === decimal(written)) return undefined
  return `is ${shown}: read as ${value}`
}

/** A number as significant digits and power of ten, so that equal numbers have equal texts. */
const decimal = (written: string): string => {
  const [, sign, whole = '', fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(written) ?? []
  const digits = whole + fraction
  let from = 0
  let to = digits.length
  while (digits[from] === '0') from += 1
  while (to > from && digits[to - 1] === '0') to -= 1
  return from === to ? '0' : `${sign}${digits.slice(from, to)}e${BigInt(power) + BigInt(whole.length - to)}`
}
