/**
 * Briefs: one-line summaries of messages, shown together in a range's marker. Built without a
 * model, and deterministic. Prose keeps its significant words: names, numbers, dates, paths, but no
 * articles. A call keeps its arguments, its result the error or the names in it.
 */
import { isToolCall, textOf, type Message, type ToolCallPart, type ToolResultPart } from '../../message/index.ts'
import type { Range } from '../../sequence/index.ts'
import { memoizeText } from '../memoize.ts'
import { errorLine, plain } from './represent.ts'
import { cutEnd, foldText, groupThousands, sliceWhole } from './shorten.ts'
import { textTokens, type Tokenizer } from '../counting/tokens.ts'
import { isStopWord } from '../recall/words.ts'

/** One line for a message, or one line per call with its result. */
export interface Brief extends Range {
  readonly text: string
  /** Its tokens, including its line end. */
  readonly tokens: number
  /** The positions it summarizes: others in its range may have been retracted. */
  readonly positions: readonly number[]
  /** For a message that is in the marker in full: its one-line form. */
  readonly line?: Brief
  /** The worth of a line in a conversation without tools: see `talk.ts`. */
  worth?: number
  /** Its words, once they are compared: their numbers in a table. */
  words?: { readonly from: ReadonlyMap<string, number>; readonly each: readonly number[] }
}

/** The author of extractive summaries, as recorded in notes. */
export const extractName = 'extract'

/** The brief of some messages, each with its position. */
export const briefOf = (
  said: readonly { readonly message: Message; readonly position: number }[],
  { from, to }: Range,
  count: Tokenizer = textTokens,
): Brief => {
  const lines: string[] = []
  const answers = new Map<string, ToolResultPart>()
  for (const { message } of said)
    for (const part of message.content) if (part.type === 'tool_result') answers.set(part.callId, part)
  for (const { message, position } of said) {
    const calls = message.content.filter(isToolCall)
    const most = message.role === 'user' ? longest.user : calls.length > 0 ? longest.beside : longest.other
    const words = tellingWords(textOf(message), most)
    // Text next to calls is often just "Looking."; the calls are more informative.
    if (words !== '' && (calls.length === 0 || words.length > shortRemark))
      lines.push(`${position} ${message.role}: ${words}`)
    for (const call of calls) {
      const answer = answers.get(call.id)
      lines.push(`${position} ${callLine(call, answer)}`)
    }
  }
  if (lines.length === 0) lines.push(`${from} ${said[0]?.message.role ?? 'nothing'}: …`)
  const text = lines.join('\n')
  const positions = said.map(({ position }) => position).filter((position) => position >= from && position < to)
  return { from, to, text, tokens: count(text) + 1, positions }
}

/** A message's whole text with its one-line form; undefined if it is not a single text. */
export const wholeOf = (message: Message, line: Brief, count: Tokenizer = textTokens): Brief | undefined => {
  const [only] = message.content
  if (message.content.length !== 1 || only?.type !== 'text') return undefined
  const text = `${line.from} ${message.role}: ${only.text}`
  return { ...line, text, tokens: count(text) + 1, line }
}

/** The briefs as a marker shows them. A ditto mark replaces a beginning shared with the line before. */
export const foldBriefs = (briefs: readonly Brief[]): string => {
  let before = ''
  return briefs
    .flatMap(({ text, line: short }) => {
      if (short === undefined)
        return text.split('\n').map((line) => {
          const said = withDitto(line, before)
          before = line
          return said
        })
      before = lastLine(short)
      return text
    })
    .join('\n')
}

const lastLine = ({ text }: Brief): string => text.slice(text.lastIndexOf('\n') + 1)

/** The tokens of a brief placed after another one. */
export const tokensAfter = (brief: Brief, before: Brief, count: Tokenizer): number => {
  if (brief.line !== undefined) return brief.tokens
  const last = lastLine(before.line ?? before)
  const end = brief.text.indexOf('\n')
  const first = end === -1 ? brief.text : brief.text.slice(0, end)
  const short = withDitto(first, last)
  return short === first ? brief.tokens : brief.tokens - count(first) + count(short)
}

/**
 * The briefs that fit into `tokens`, in order. Those with the most new words per token are chosen
 * first. The weights are computed once, on first use.
 */
export const fittingBriefs = (briefs: readonly Brief[]): ((tokens: number) => readonly Brief[]) => {
  let all = 0
  for (const { tokens } of briefs) all += tokens
  let weighed: readonly number[] | undefined
  let [room, fitting]: [number, readonly Brief[]] = [all, briefs]
  return (tokens) => {
    if (all <= tokens) return briefs
    if (room === tokens) return fitting
    room = tokens
    let left = tokens
    const fits = new Uint8Array(briefs.length)
    for (const index of (weighed ??= byWorth(briefs))) {
      const brief = briefs[index] as Brief
      if (brief.tokens > left) continue
      left -= brief.tokens
      fits[index] = 1
    }
    return (fitting = briefs.filter((_, index) => fits[index] === 1))
  }
}

/** The indexes of briefs by new words per token, highest first; of equal ones the latest. */
const byWorth = (briefs: readonly Brief[]): readonly number[] => {
  if (numbers.size > mostNumbers) numbers = new Map()
  const words = briefs.map(numbersOf)
  const seen = new Uint8Array(numbers.size)
  const worth = Float64Array.from(briefs, ({ tokens }, index) => {
    let fresh = 1
    for (const word of words[index] as readonly number[]) {
      if (seen[word] === 0) fresh += 1
      seen[word] = 1
    }
    return fresh / (tokens + 1)
  })
  return [...briefs.keys()].toSorted((a, b) => (worth[b] as number) - (worth[a] as number) || b - a)
}

/** The words of a brief as numbers, kept because many compactions weigh it. */
const numbersOf = (brief: Brief): readonly number[] => {
  if (brief.words?.from !== numbers)
    brief.words = {
      from: numbers,
      each: brief.text.split(/\s+/).map((word) => {
        const number = numbers.get(word) ?? numbers.size
        numbers.set(word, number)
        return number
      }),
    }
  return brief.words.each
}

/** The number of each word. A full table starts over. */
let numbers = new Map<string, number>()
const mostNumbers = 100_000

/** The significant words of a text, in one line of at most `most` UTF-16 units. */
export const tellingWords = (text: string, most: number): string => {
  const words: string[] = []
  let length = 0
  for (const said of sliceWhole(text, 0, scannedLength).match(wordsOfProse) ?? []) {
    const word = tellingWord(said)
    if (word === '') continue
    length += word.length + 1
    if (length > most) {
      words.push('…')
      break
    }
    words.push(word)
  }
  return words.join(' ')
}

/** A word without the punctuation around it; empty if it says little. */
const tellingWord = memoizeText((said) => {
  const word = said.replace(/^[.!?:'’–—-]+|[.!?:'’–—…-]+$/gu, '')
  const plain = word.toLowerCase().replaceAll('’', "'")
  return fillerWords.has(plain) || (isStopWord(plain.replace(/'.*$/, '')) && !negation.test(plain)) ? '' : word
})

const longest = { user: 240, other: 200, beside: 80, arguments: 60, answer: 140 } as const
const scannedLength = 4000
const wordsOfProse = /[^\s,;"“”()<>|*_`]+/g
const shortRemark = 24
const negation = /^(?:no|not|nor|never)$|n't$/
/** Filler words, in addition to the search's stop words. English only. */
const fillerWords: ReadonlySet<string> = new Set(
  (
    "i'm i've i'll i'd it's that's let's hey hi hello thanks thank wow yeah yes yep ok okay well sure oh really also " +
    'definitely totally actually always like gonna got get going would could please great awesome'
  ).split(' '),
)

const callLine = ({ name, arguments: given }: ToolCallPart, answer: ToolResultPart | undefined): string => {
  const asked = cutEnd(argumentsIn(given), longest.arguments)
  const call = asked === '' ? name : `${name} ${asked}`
  return answer === undefined ? call : `${call}: ${answerIn(answer, given)}`
}

/** The values of arguments, without their names. */
const argumentsIn = (given: string): string => {
  const values: string[] = []
  const add = (value: unknown): void => {
    if (typeof value === 'object' && value !== null) Object.values(value).forEach(add)
    else if (values.length < mostValues) values.push(oneLine(sliceWhole(String(value), 0, longest.arguments)))
  }
  try {
    add(JSON.parse(given))
  } catch {
    return oneLine(sliceWhole(given, 0, longest.arguments)) // a model's arguments may be invalid JSON
  }
  return values.join(' ')
}

const mostValues = 6

const answerIn = (answer: ToolResultPart, given: string): string => {
  const whole = answer.content.map(plain).join('\n').trim()
  if (whole.length <= shortAnswer) return oneLine(whole)
  const error = answer.isError === true ? errorLine(whole, true) : undefined
  if (error !== undefined) return `failed, ${cutEnd(oneLine(error), longest.answer)}`
  const names = namesIn(whole, given)
  return `${groupThousands(whole.length)} characters${names === '' ? '' : `, ${names}`}`
}

const shortAnswer = 80

/** The paths and names in a text that are not in the arguments, without duplicates, in order. */
const namesIn = (whole: string, given: string): string => {
  const found = new Set<string>()
  let room = Math.min(mostNames, Math.max(leastNames, whole.length / charactersForName))
  for (const [name] of sliceWhole(whole, 0, scannedForNames).matchAll(nameLike)) {
    if (name.length < 6 || name.length > 80 || found.has(name) || given.includes(name)) continue
    room -= name.length + 1
    if (room < 0) break
    found.add(name)
  }
  return [...found].join(' ')
}

/** A longer result gets more names: one character of names per `charactersForName`, within limits. */
const leastNames = 320
const mostNames = 1000
const charactersForName = 30
const scannedForNames = 16_000

/** A path or identifier: `src/a.ts`, `read_file`, `parseRow`. */
const nameLike = /(?<![\w@.~/-])(?:[\w@.~-]*\/)+[\w@.~-]+|\b\w+(?:[_.]\w+)+\b|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b/g

const oneLine = (text: string): string => foldText(text).replaceAll('\n', ' ').trim()

/** `13 user: " works` after `12 user: 8 May 2023 asks`, for `13 user: 8 May 2023 works`. */
const withDitto = (line: string, before: string): string => {
  const [head, head2] = [line.indexOf(': ') + 2, before.indexOf(': ') + 2]
  if (head === 1 || head2 === 1) return line
  let same = 0
  for (let index = 0; line[head + index] !== undefined && line[head + index] === before[head2 + index]; index++)
    if (line[head + index] === ' ') same = index + 1
  return same < leastSame ? line : `${line.slice(0, head)}" ${line.slice(head + same)}`
}

/** A ditto mark for less would save nothing. */
const leastSame = 8
