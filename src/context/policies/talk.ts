/**
 * Talk: how a record without tools is compacted. Nothing in it is cheap, and questions ask for details. So a message
 * in a marker has one of three forms: nothing, its line, or all that it says. A compaction gives whole messages to
 * those that questions most probably ask for.
 *
 * What a message is worth was fitted on three conversations of LoCoMo (26, 41, 43) and judged on three others.
 */
import { type Message, textOf } from '../../message/index.ts'
import type { Brief } from '../showing/brief.ts'
import { wordsIn } from '../recall/words.ts'

/** What a conversation has said up to a message, for what is new in the next. */
export interface SaidSoFar {
  /** Whether no message has called a tool. */
  isTalk: boolean
  /** What was said, and names and numbers: each with the message that had it last. */
  readonly terms: Map<string, number>
  readonly details: Map<string, number>
  /** What each message is worth, by what stands for it: fixed when it is first weighed. */
  readonly worths: WeakMap<object, number>
  messages: number
  asks: boolean
}

export const heardNothing = (): SaidSoFar => ({
  isTalk: true,
  terms: new Map(),
  details: new Map(),
  worths: new WeakMap(),
  messages: 0,
  asks: false,
})

/** The worth of a message, between 0 and 1: how probable it is that a question asks for it. Call it in the record's order. */
export const weigh = (message: Message, tokens: number, heard: SaidSoFar): number => {
  const text = textOf(message)
  const answers = heard.asks
  const { novel, names, numbers } = hear(message, heard)
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

/** Take in what a message says, and count what of it is new. */
export const hear = (message: Message, heard: SaidSoFar): { novel: number; names: number; numbers: number } => {
  const text = textOf(message)
  const at = (heard.messages += 1)
  const found = { novel: 0, names: 0, numbers: 0 }
  /** Whether nobody has said it lately. */
  const isNew = (known: Map<string, number>, word: string, forgottenAfter: number): boolean => {
    const last = known.get(word)
    known.set(word, at)
    return last === undefined || at - last > forgottenAfter
  }
  for (const { terms } of wordsIn(text))
    for (const term of terms) if (isNew(heard.terms, term, mostRemembered)) found.novel += 1
  let end = 0
  for (const { 0: word, index } of text.matchAll(wordLike)) {
    const opens = end === 0 || sentenceEnd.test(text.slice(end, index))
    end = index + word.length
    const isNumber = digit.test(word)
    if (!isNumber && (opens || word.length === 1 || !capital.test(word))) continue
    if (isNew(heard.details, word, forgottenAfter)) found[isNumber ? 'numbers' : 'names'] += 1
  }
  heard.asks = text.includes('?')
  return found
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
/** A name or a number is news again after so many messages, and any other word after so many. */
const forgottenAfter = 30
export const mostRemembered = 1000
const wordLike = /[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu
const sentenceEnd = /[.!?:;\n"“”()]/u
const digit = /\p{N}/u
const capital = /^\p{Lu}/u
const quotationMark = /["“«„]/u

/** A message that a marker stands for: its forms, and what it is worth. */
export interface MarkedMessage {
  /** The form it has now; undefined if it is still a message of its own. It never gets a fuller one. */
  readonly now: Brief | undefined
  readonly line: Brief
  /** The tokens that the line adds after the one before it. */
  readonly lineTokens: number
  readonly whole: Brief | undefined
  readonly worth: number
}

/**
 * The forms that are worth the most within so many tokens: steps from nothing to a line to the whole message, those
 * first that give the most for their tokens.
 */
export const formsWithin = (told: readonly MarkedMessage[], room: number): readonly (Brief | undefined)[] => {
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
    // The rest of a message without its line would have been no step of its own.
    if (to.line !== undefined && forms[index] === undefined && tokens < to.tokens) continue
    forms[index] = to
    left -= tokens
  }
  return forms
}

/** Of the worth of a message its line has so much. */
const worthOfLine = 0.55
