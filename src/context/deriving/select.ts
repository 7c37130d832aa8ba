/** Selection, the fourth step: the summary lines of a marker, those with the highest score for their tokens. */
import { textTokens } from '../counting/tokens.ts'
import { excerptOf } from '../showing/excerpt.ts'
import { proseOf } from '../showing/represent.ts'
import type { Group } from './group.ts'

/** The line of a group in a marker. */
export interface SummaryLine {
  /** Its text if that is short, otherwise an excerpt. */
  readonly text: string
  /** Its tokens, with the line end. */
  readonly tokens: number
  /** The words in it, and of a text the names and numbers. */
  readonly words: readonly string[]
  readonly names: readonly string[]
  /** The positions of the messages of its group. */
  readonly positions: readonly number[]
  readonly hasCalls: boolean
  /** Whether its text asks something, so that the next one may be the answer; and whether it ends as a question. */
  readonly asks: boolean
  readonly isQuestion: boolean
}

/** The line of a group, made once. */
export const lineOf = (group: Group): SummaryLine => {
  let line = lines.get(group)
  if (line === undefined) lines.set(group, (line = newLine(group)))
  return line
}

const lines = new WeakMap<Group, SummaryLine>()

const newLine = ({ shown, hasCalls }: Group): SummaryLine => {
  const [first] = shown
  const prose = hasCalls || first === undefined ? '' : proseOf(first.message)
  const isWhole = shown.length === 1 && prose !== '' && prose.length <= longestWhole
  const text = isWhole ? `${first?.position} ${first?.message.role}: ${prose}` : excerptOf(shown)
  const positions: number[] = []
  for (const { position } of shown) if (position !== positions.at(-1)) positions.push(position)
  const body = text.slice(text.indexOf(' '))
  const isPlain = hasNoOtherLetters.test(body)
  const names: string[] = []
  // A regular expression with Unicode's classes takes twice the time.
  const words: string[] = hasCalls && isPlain ? (body.toLowerCase().match(plainWord) ?? []) : []
  let startsSentence = true
  for (const word of words.length > 0 ? [] : (body.match(isPlain ? plainWordOrEnd : anyWordOrEnd) ?? [])) {
    if (sentenceEnds.has(word)) startsSentence = true
    else {
      if (!hasCalls && (isNumber.test(word) || (!startsSentence && isCapitalized.test(word)))) names.push(word)
      words.push(word.toLowerCase())
      startsSentence = false
    }
  }
  return {
    text,
    tokens: textTokens(text) + 1,
    words,
    names,
    positions,
    hasCalls,
    asks: prose.includes('?'),
    isQuestion: prose.trimEnd().endsWith('?'),
  }
}

/** A text of at most so many UTF-16 units is its own line. */
const longestWhole = 500

/** ASCII, dashes, ellipses, arrows and boxes. */
const hasNoOtherLetters = /^[\0-\x7f\u2010-\u2027\u2190-\u2426\u2500-\u25ff]*$/
const plainWord = /\w+/g
const plainWordOrEnd = /\w+|[.!?:;\n"]/g
const anyWordOrEnd = /[\p{L}\p{N}_]+|[.!?:;\n"]/gu
const sentenceEnds: ReadonlySet<string> = new Set('.!?:;\n"')
const isNumber = /\p{N}/u
/** A capital within a sentence: a name. */
const isCapitalized = /^\p{Lu}./u

/**
 * The text of each line that fits into a number of tokens; undefined for one that does not. Those with the highest score per token
 * go first, of equal ones the latest.
 *
 * Cost    O(words) and one sort
 */
export const selectLines = (all: readonly SummaryLine[], tokens: number): readonly (string | undefined)[] => {
  const selected = Array.from<string | undefined>({ length: all.length })
  if (tokens <= 0) return selected
  const scores = scoresOf(all)
  // The score, and behind its digits the index: a comparison of numbers is no call.
  const order = new Float64Array(all.length)
  for (const [index, line] of all.entries())
    order[index] = Math.round(((scores[index] as number) / line.tokens) * 1e6) * mostLines + index
  order.sort()
  let left = tokens
  for (let place = order.length - 1; place >= 0; place--) {
    const index = (order[place] as number) % mostLines
    const line = all[index] as SummaryLine
    if (line.tokens > left) continue
    selected[index] = line.text
    left -= line.tokens
  }
  return selected
}

const mostLines = 2 ** 20

/**
 * The score of each line: 1, its new words, and of a text its new names and numbers twice. Of equal calls the
 * latest counts, because its result holds now; of texts the first. The answer to a question counts three times, a question half.
 */
const scoresOf = (all: readonly SummaryLine[]): Float64Array => {
  const scores = new Float64Array(all.length)
  const seenInCalls = new Set<string>()
  for (let index = all.length - 1; index >= 0; index--) {
    const { hasCalls, words } = all[index] as SummaryLine
    if (hasCalls) scores[index] = 1 + addNew(words, seenInCalls)
  }
  const seenWords = new Set<string>()
  const seenNames = new Set<string>()
  for (const [index, { hasCalls, words, names, isQuestion }] of all.entries()) {
    if (hasCalls) continue
    const times = (all[index - 1]?.asks === true ? 3 : 1) * (isQuestion ? 0.5 : 1)
    scores[index] = (1 + addNew(words, seenWords) + 2 * addNew(names, seenNames)) * times
  }
  return scores
}

const addNew = (words: readonly string[], seen: Set<string>): number => {
  const before = seen.size
  for (const word of words) seen.add(word)
  return seen.size - before
}
