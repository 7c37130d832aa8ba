/** Selection, the fourth step: the summary lines of a marker, those with the highest score for their tokens. */
import { textOf } from '../../message/index.ts'
import { textTokens } from '../counting/tokens.ts'
import { excerptOf } from '../showing/excerpt.ts'
import type { Group } from './group.ts'

/** What stands for a group in a marker. */
export interface SummaryLine {
  /** Its text if that is short, otherwise an excerpt. */
  readonly text: LineText
  /** An excerpt of a text that is short enough to be its own line. */
  readonly excerpt: LineText | undefined
  /** The positions of the messages that it stands for. */
  readonly positions: readonly number[]
  readonly hasCalls: boolean
  /** Whether its text asks something, so that the next one may be the answer. */
  readonly asks: boolean
  /** Whether its text ends as a question. */
  readonly isQuestion: boolean
}

/** The text of a line. */
export interface LineText {
  readonly text: string
  /** Its tokens, with the line end. */
  readonly tokens: number
  /** The distinct words in it. */
  readonly words: readonly string[]
  /** The names and numbers in it. */
  readonly names: readonly string[]
  /** Where it begins, after its position and who says it. */
  readonly start: number
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
  const prose = hasCalls || first === undefined ? '' : textOf(first.message)
  const isWhole = shown.length === 1 && prose !== '' && prose.length <= longestWhole
  const excerpt = excerptOf(shown)
  const text = isWhole ? `${first?.position} ${first?.message.role}: ${prose}` : excerpt
  const positions: number[] = []
  for (const { position } of shown) if (position !== positions.at(-1)) positions.push(position)
  return {
    text: lineText(text),
    excerpt: isWhole && excerpt.length <= text.length * longestExcerpt ? lineText(excerpt) : undefined,
    positions,
    hasCalls,
    asks: prose.includes('?'),
    isQuestion: prose.trimEnd().endsWith('?'),
  }
}

/** A text of at most so many UTF-16 units is its own line. */
const longestWhole = 500
/** An excerpt that is hardly shorter than its text is of no use. */
const longestExcerpt = 0.8

const lineText = (text: string): LineText => {
  const words = new Set<string>()
  const names = new Set<string>()
  let startsSentence = true
  for (const word of text.slice(text.indexOf(' ')).match(wordOrEnd) ?? []) {
    if (isSentenceEnd.test(word)) startsSentence = true
    else {
      if (isNumber.test(word) || (!startsSentence && isCapitalized.test(word))) names.add(word)
      words.add(word.toLowerCase())
      startsSentence = false
    }
  }
  return { text, tokens: textTokens(text) + 1, words: [...words], names: [...names], start: text.indexOf(': ') + 2 }
}

const wordOrEnd = /[\p{L}\p{N}_]+|[.!?:;\n"]/gu
const isSentenceEnd = /^[.!?:;\n"]$/
const isNumber = /\p{N}/u
/** A capital within a sentence: a name. */
const isCapitalized = /^\p{Lu}./u

/** How much more a whole text is worth than its excerpt with the same new words. */
const wholeWeight = 2.1

/**
 * The text of each line that fits into a number of tokens; undefined for one that does not. Those with the highest score per token
 * go first, of equal ones the latest. An excerpt becomes the whole text where the rest of its score is worth the rest of its tokens.
 *
 * Cost    O(words) and one sort
 */
export const selectLines = (all: readonly SummaryLine[], tokens: number): readonly (string | undefined)[] => {
  if (tokens <= 0) return all.map(() => undefined)
  const costs = all.map(({ excerpt }, index) =>
    excerpt === undefined ? 0 : excerpt.tokens - savedBy(excerpt, all[index - 1]?.excerpt),
  )
  const steps = stepsOf(all, costs)
  // An excerpt that repeats the beginning of the one before it costs less, if that is there. If many are not, choose fewer.
  let room = tokens
  for (let round = 0; ; round++) {
    const chosen = choose(all, costs, steps, room)
    const [texts, taken] = textsOf(all, chosen)
    if (taken <= tokens || round === mostRounds) return texts
    room -= taken - tokens
  }
}

const mostRounds = 3

/** What a line becomes at each step, in the order of their scores per token, highest last. Numbers, because a comparison is a call. */
const stepsOf = (all: readonly SummaryLine[], costs: readonly number[]): Float64Array => {
  const [scores, ofExcerpts] = scoresOf(all)
  const steps = new Float64Array(2 * all.length)
  const add = (index: number, step: number, score: number, cost: number): void => {
    // The score, and behind its digits the step.
    if (cost > 0)
      steps[2 * index + step] = Math.round(Math.max(0, score / cost) * 1e6) * stepsCounted + 2 * index + step
  }
  for (const [index, { text, excerpt }] of all.entries()) {
    const [whole, short, cost] = [scores[index] as number, ofExcerpts[index] as number, costs[index] as number]
    if (excerpt === undefined || short / cost <= whole / text.tokens) add(index, 1, whole, text.tokens)
    else {
      add(index, 0, short, cost)
      add(index, 1, whole - short, text.tokens - cost)
    }
  }
  return steps.sort()
}

/** Of each line: 0 nothing, 1 its excerpt, 2 its text. */
const choose = (
  all: readonly SummaryLine[],
  costs: readonly number[],
  steps: Float64Array,
  tokens: number,
): Uint8Array => {
  const chosen = new Uint8Array(all.length)
  let left = tokens
  for (let place = steps.length - 1; place >= 0 && (steps[place] as number) > 0; place--) {
    const step = (steps[place] as number) % stepsCounted
    const index = step >> 1
    const { text } = all[index] as SummaryLine
    const cost =
      step % 2 === 0 ? (costs[index] as number) : text.tokens - (chosen[index] === 1 ? (costs[index] as number) : 0)
    if (cost > left) continue
    chosen[index] = 1 + (step % 2)
    left -= cost
  }
  return chosen
}

/** The texts of what was chosen, and about the tokens that they take. */
const textsOf = (
  all: readonly SummaryLine[],
  chosen: Uint8Array,
): readonly [texts: readonly (string | undefined)[], tokens: number] => {
  let before: LineText | undefined
  let tokens = 0
  const texts = all.map(({ text, excerpt }, index) => {
    if (chosen[index] === 0) return undefined
    if (chosen[index] === 2 || excerpt === undefined) {
      before = excerpt
      tokens += text.tokens
      return text.text
    }
    tokens += excerpt.tokens - savedBy(excerpt, before)
    const folded = withDitto(excerpt, before)
    before = excerpt
    return folded
  })
  return [texts, tokens]
}

/** How many UTF-16 units two excerpts share after who says them, up to a word's end. */
const sharedLength = ({ text, start }: LineText, before: LineText | undefined): number => {
  if (before === undefined) return 0
  let same = 0
  for (let at = 0; at < text.length - start && text[start + at] === before.text[before.start + at]; at++)
    if (text[start + at] === ' ') same = at + 1
  return same < leastShared ? 0 : same
}

/** A ditto mark for less would save nothing. */
const leastShared = 8

/** About the tokens that a ditto mark saves. */
const savedBy = (line: LineText, before: LineText | undefined): number => {
  const shared = sharedLength(line, before)
  return shared === 0 ? 0 : Math.max(0, Math.floor((line.tokens * shared) / line.text.length) - 1)
}

/** `13 user: " works` after `12 user: 8 May 2023 asks`, for `13 user: 8 May 2023 works`. */
const withDitto = (line: LineText, before: LineText | undefined): string => {
  const shared = sharedLength(line, before)
  return shared === 0 ? line.text : `${line.text.slice(0, line.start)}" ${line.text.slice(line.start + shared)}`
}

const stepsCounted = 2 ** 21

/**
 * The score of each line, and of its excerpt: 1, its new words, and of a text its new names and numbers twice. Of equal calls the
 * latest counts, because its result holds now; of texts the first. The answer to a question counts three times, a question half.
 */
const scoresOf = (all: readonly SummaryLine[]): readonly [scores: Float64Array, ofExcerpts: Float64Array] => {
  const scores = new Float64Array(all.length).fill(1)
  const ofExcerpts = new Float64Array(all.length)
  const seenInCalls = new Set<string>()
  for (let index = all.length - 1; index >= 0; index--) {
    const { hasCalls, text } = all[index] as SummaryLine
    if (hasCalls) {
      scores[index] = 1 + countNew(text.words, seenInCalls)
      for (const word of text.words) seenInCalls.add(word)
    }
  }
  const seenWords = new Set<string>()
  const seenNames = new Set<string>()
  for (const [index, { hasCalls, text, excerpt, isQuestion }] of all.entries()) {
    if (hasCalls) continue
    const times = (all[index - 1]?.asks === true ? 3 : 1) * (isQuestion ? 0.5 : 1)
    const scoreOf = ({ words, names }: LineText): number =>
      (1 + countNew(words, seenWords) + 2 * countNew(names, seenNames)) * times
    scores[index] = scoreOf(text) * (excerpt === undefined ? 1 : wholeWeight)
    if (excerpt !== undefined) ofExcerpts[index] = scoreOf(excerpt)
    for (const word of text.words) seenWords.add(word)
    for (const name of text.names) seenNames.add(name)
  }
  return [scores, ofExcerpts]
}

const countNew = (words: readonly string[], seen: ReadonlySet<string>): number => {
  let count = 0
  for (const word of words) if (!seen.has(word)) count += 1
  return count
}
