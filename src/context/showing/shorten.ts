/** Deterministic text shortening that never splits a code point. */
import { groupThousands } from './group-thousands.ts'

/** Formats a note about omitted text. */
export type Elision = (left: number, of: number) => string

/** Folds white space at line ends and inside lines, consecutive blank lines, and repeated lines. */
export const foldText = (text: string): string => {
  const folded: string[] = []
  let last: string | undefined
  let times = 0
  for (const line of text.split(/\r\n|[\n\r]/)) {
    const indent = /^[\t ]*/.exec(line)?.[0] ?? ''
    const plain =
      indent.length === line.length
        ? ''
        : indent +
          line
            .slice(indent.length)
            .trimEnd()
            .replace(/[\t ]{2,}/g, ' ')
    if (plain === last) {
      times += 1
      continue
    }
    markRepeated(folded, last, times)
    folded.push(plain)
    last = plain
    times = 1
  }
  markRepeated(folded, last, times)
  return folded.join('\n')
}

/** The head and tail of a text longer than `limit` UTF-16 units, with a note about the omitted part between them. */
export const headAndTail = (text: string, limit: number, elided: Elision): string => {
  if (text.length <= limit) return text
  const head = text.slice(0, wholeBefore(text, Math.ceil((limit * 2) / 3)))
  const tail = text.slice(wholeBefore(text, text.length - Math.floor(limit / 3)))
  return `${head}\n${elided(text.length - head.length - tail.length, text.length)}\n${tail}`
}

/** The beginning of a text, with an ellipsis if there is more. */
export const cutEnd = (text: string, limit: number): string =>
  text.length <= limit ? text : `${text.slice(0, wholeBefore(text, limit - 1))}…`

/** At most `length` UTF-16 units of a text starting at `from`, without splitting a code point. */
export const sliceWhole = (text: string, from: number, length: number): string => {
  const start = wholeBefore(text, from)
  const end = wholeBefore(text, start + length)
  return text.slice(start, end > start ? end : start + 2)
}

/**
 * An outline of a text: headings and rules (must, never, always …), then the first sentence of each
 * paragraph, in their order, up to `limit` UTF-16 units. `filled`: then other lines while they fit.
 * A short text stays complete.
 */
export const outline = (text: string, limit: number, elided: Elision, filled = false): string => {
  const folded = foldText(text).trim()
  if (folded.length <= limit) return folded
  const lines = folded.split('\n')
  const chosen = new Map<number, string>()
  let left = limit
  const take = (index: number, line: string): void => {
    if (chosen.has(index) || line.length + 1 > left) return
    chosen.set(index, line)
    left -= line.length + 1
  }
  const opens = (index: number): boolean => index === 0 || lines[index - 1] === ''
  const first = lines.findIndex((line) => line !== '')
  take(first, cutEnd(lines[first] ?? '', Math.ceil(limit / 3)))
  for (const [index, line] of lines.entries())
    if (heading.test(line) || rule.test(line)) take(index, cutEnd(line, ruleLength))
  for (const [index, line] of lines.entries())
    if (line !== '' && opens(index)) take(index, cutEnd(firstSentence(line), sentenceLength))
  if (filled) for (const [index, line] of lines.entries()) if (line !== '') take(index, line)
  const kept = [...chosen].toSorted(([a], [b]) => a - b).map(([, line]) => line)
  return `${kept.join('\n')}\n${elided(text.length - kept.reduce((sum, line) => sum + line.length, 0), text.length)}`
}

/**
 * A call's arguments with long strings cut. JSON stays JSON, and an object stays an object. Other
 * text is cut to head and tail.
 */
export const shortArguments = (text: string, longest: number): string => {
  if (text.length <= longest) return text
  try {
    return JSON.stringify(shortValue(JSON.parse(text), longest, 0))
  } catch {
    return headAndTail(text, longest, elidedCharacters) // a model's arguments may be invalid JSON
  }
}

/** `[… 12 of 40 characters omitted …]` */
export const elidedCharacters: Elision = (left, of) =>
  `[… ${groupThousands(left)} of ${groupThousands(of)} characters omitted …]`

const heading = /^#{1,6}\s|^[A-Z][^.!?]{0,80}:$/
const rule = /\b(?:must|never|always|do not|don't|only|required?|forbidden|not allowed)\b/i
const ruleLength = 240
const sentenceLength = 160
const fieldCount = 24
const itemCount = 8
const deepest = 4

const markRepeated = (lines: string[], line: string | undefined, times: number): void => {
  if (times > 1 && line !== '') lines[lines.length - 1] = `${line} [×${times}]`
}

/** The nearest index at or before `index` that does not split a surrogate pair. */
const wholeBefore = (text: string, index: number): number => {
  const code = text.charCodeAt(index)
  const before = text.charCodeAt(index - 1)
  return code >= 0xdc00 && code <= 0xdfff && before >= 0xd800 && before <= 0xdbff ? index - 1 : index
}

const firstSentence = (line: string): string => /^.*?[.!?](?=\s|$)/.exec(line)?.[0] ?? line

const shortValue = (value: unknown, longest: number, depth: number): unknown => {
  if (typeof value === 'string') return value.length <= longest ? value : headAndTail(value, longest, elidedCharacters)
  if (typeof value !== 'object' || value === null) return value
  if (depth === deepest) return cutEnd(JSON.stringify(value), longest)
  if (Array.isArray(value)) {
    const items = value.slice(0, itemCount).map((item) => shortValue(item, longest, depth + 1))
    return value.length <= itemCount
      ? items
      : [...items, `[… ${groupThousands(value.length - itemCount)} of ${groupThousands(value.length)} items omitted …]`]
  }
  const fields = Object.entries(value)
  const kept = fields
    .slice(0, fieldCount)
    .map(([name, field]) => [cutEnd(name, longest), shortValue(field, longest, depth + 1)] as const)
  if (fields.length > fieldCount)
    kept.push(['…', `${groupThousands(fields.length - fieldCount)} of ${groupThousands(fields.length)} fields omitted`])
  return Object.fromEntries(kept)
}
