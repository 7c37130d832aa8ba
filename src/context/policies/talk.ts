/**
 * Talk: compaction of a record without tools. Every message may hold details that later questions ask for, so a
 * message in a marker takes one of three forms: nothing, its line, or its whole text. A compaction keeps the whole
 * text of the messages that questions most probably ask for.
 *
 * The worth of a message was fitted on three conversations of LoCoMo (26, 41, 43) and evaluated on three others.
 */
import { type Message, textOf } from '../../message/index.ts'
import type { Brief } from '../showing/brief.ts'
import { memoizeText } from '../memoize.ts'
import { wordsIn } from '../recall/words.ts'

/** What a conversation has said so far, to find what is new in the next message. */
export interface TalkHistory {
  /** Whether no message has contained a tool call or result. */
  isTalk: boolean
  /** The terms said, and names and numbers. */
  readonly terms: Map<string, Mention>
  readonly details: Map<string, Mention>
  /** The words of a text without white space. */
  readonly chunk: (said: string) => Chunk
  messages: number
  asks: boolean
}

/** The last message that said something. */
interface Mention {
  at: number
}

/** The words of a text without white space. */
interface Chunk {
  readonly terms: readonly Mention[]
  readonly details: readonly Detail[]
  /** Whether the next word starts a sentence; undefined if that depends on the text before. */
  readonly ends: boolean | undefined
}

/** A name or number. `isFirst`: it is a name unless it starts a sentence. */
interface Detail {
  readonly mention: Mention
  readonly kind: 'names' | 'numbers'
  readonly isFirst: boolean
}

export const emptyTalkHistory = (): TalkHistory => {
  const [terms, details] = [new Map<string, Mention>(), new Map<string, Mention>()]
  return {
    isTalk: true,
    terms,
    details,
    chunk: memoizeText((said) => chunkOf(said, terms, details)),
    messages: 0,
    asks: false,
  }
}

/** The probability, between 0 and 1, that a question asks for a message. Call it in record order. */
export const worthOfMessage = (message: Message, tokens: number, heard: TalkHistory): number => {
  const text = textOf(message)
  const answers = heard.asks
  const { novel, names, numbers } = countNovelty(message, heard)
  const sum =
    weights.bias +
    weights.novel * Math.log(1 + novel) +
    weights.names * Math.min(3, names) +
    weights.numbers * Math.min(3, numbers) +
    (text.trimEnd().endsWith('?') ? weights.question : 0) +
    (answers ? weights.answer : 0) +
    weights.length * (Math.log(tokens) - 4) +
    (quotationMark.test(text) ? weights.quotes : 0)
  return 1 / (1 + Math.exp(-sum))
}

/** Records a message's words and counts the new ones. */
export const countNovelty = (
  message: Message,
  heard: TalkHistory,
): { novel: number; names: number; numbers: number } => {
  const text = textOf(message)
  const at = (heard.messages += 1)
  const found = { novel: 0, names: 0, numbers: 0 }
  /** Whether it has not been said recently. */
  const isNew = (mention: Mention, forgottenAfter: number): boolean => {
    const last = mention.at
    mention.at = at
    return at - last > forgottenAfter
  }
  let opens = true
  for (const said of text.match(chunks) ?? []) {
    const { terms, details, ends } = heard.chunk(said)
    for (const term of terms) if (isNew(term, mostRemembered)) found.novel += 1
    for (const { mention, kind, isFirst } of details)
      // A sentence starts with a capital.
      if (!(isFirst && opens) && isNew(mention, forgottenAfter)) found[kind] += 1
    opens = ends ?? opens
  }
  heard.asks = text.includes('?')
  return found
}

/** The terms and details of a text without white space, and whether a sentence ends after its last word. */
const chunkOf = (said: string, terms: Map<string, Mention>, details: Map<string, Mention>): Chunk => {
  const mentionIn = (known: Map<string, Mention>, word: string): Mention => {
    const mention = known.get(word) ?? { at: never }
    known.set(word, mention)
    return mention
  }
  const found: Detail[] = []
  let end = 0
  for (const { 0: word, index } of said.matchAll(wordLike)) {
    const between = said.slice(end, index)
    const isName = word.length > 1 && capital.test(word)
    if (digit.test(word)) found.push({ mention: mentionIn(details, word), kind: 'numbers', isFirst: false })
    else if (isName && !sentenceEnd.test(between))
      found.push({ mention: mentionIn(details, word), kind: 'names', isFirst: end === 0 })
    end = index + word.length
  }
  const ends = sentenceEnd.test(said.slice(end))
  return {
    terms: [...wordsIn(said)].flatMap(({ terms: own }) => own.map((term) => mentionIn(terms, term))),
    details: found,
    ends: end === 0 && !ends ? undefined : ends,
  }
}

const weights = {
  bias: -2.66,
  novel: 0.74,
  names: 0.34,
  numbers: 0.73,
  question: -0.69,
  answer: 1.4,
  length: 1.41,
  quotes: 0.79,
} as const
/** The number of messages after which a name or number counts as new again, and the same for other words. */
const forgottenAfter = 30
export const mostRemembered = 1000
/** Longer ago than anything is remembered. */
const never = -mostRemembered - 1
/** Text without white space, and line ends, which end a sentence. */
const chunks = /\S+|\n/g
const wordLike = /[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu
const sentenceEnd = /[.!?:;\n"“”()]/u
const digit = /\p{N}/u
const capital = /^\p{Lu}/u
const quotationMark = /["“«„]/u

/** A message represented by a marker: its possible forms and its worth. */
export interface MarkedMessage {
  /** Its current form; undefined if it is still a message. A fuller form is never chosen. */
  readonly now: Brief | undefined
  readonly line: Brief
  /** The tokens that its line adds after the previous line. */
  readonly lineTokens: number
  readonly whole: Brief | undefined
  readonly worth: number
}

/**
 * The most valuable forms within `room` tokens. Steps go from nothing to a line to the whole
 * message; the steps with the most value per token come first.
 */
export const bestFormsWithin = (told: readonly MarkedMessage[], room: number): readonly (Brief | undefined)[] => {
  interface Step {
    readonly index: number
    readonly to: Brief
    readonly tokens: number
    readonly value: number
  }
  const steps: Step[] = []
  for (const [index, { now, line, lineTokens, whole, worth }] of told.entries()) {
    const ofLine = (worth * worthOfLine) / lineTokens
    const all = whole === undefined || now === line ? undefined : whole
    if (all === undefined) steps.push({ index, to: line, tokens: lineTokens, value: ofLine })
    else {
      const more = all.tokens - lineTokens
      const ofRest = more <= 0 ? Infinity : (worth * (1 - worthOfLine)) / more
      if (ofRest >= ofLine) steps.push({ index, to: all, tokens: all.tokens, value: worth / all.tokens })
      else
        steps.push(
          { index, to: line, tokens: lineTokens, value: ofLine },
          { index, to: all, tokens: more, value: ofRest },
        )
    }
  }
  const forms: (Brief | undefined)[] = told.map(() => undefined)
  let left = room
  for (const { index, to, tokens } of steps.toSorted((a, b) => b.value - a.value || b.index - a.index)) {
    if (tokens > left) continue
    // The rest of a message is only a step if its line was chosen.
    if (to.line !== undefined && forms[index] === undefined && tokens < to.tokens) continue
    forms[index] = to
    left -= tokens
  }
  return forms
}

/** The share of a message's worth that its line has. */
const worthOfLine = 0.55
