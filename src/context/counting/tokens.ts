/**
 * Estimated tokens: a documented guess that needs no tokenizer and is the same on every machine.
 *
 * Text is split the way OpenAI's o200k tokenizer pre-splits it: words (a capital after a lowercase letter starts a
 * new one), groups of three digits, runs of punctuation, line ends and longer white space. Each piece counts its
 * average plus a small margin, so a context rarely takes more than estimated. On real transcripts the sum is 0 to 20
 * % above o200k's count, on prose 0 to 15 % (bench: tokens). For more precision, pass your model's `tokenizer`. An
 * image counts what the most expensive provider charges for its size; see `attachments.ts`. Each message counts 4
 * more for its frame.
 */
import { attachmentTokens } from './attachments.ts'
import { user, type Message, type Part } from '../../message/index.ts'
import { contentOf, erasedMark } from '../../message/internal.ts'
import { describe } from '../../json/index.ts'
import { memoize } from '../memoize.ts'

/** Counts the tokens of a message: at least 0; a fraction is rounded up. It must be pure: the same for the same message. */
export type Estimator = (message: Message) => number

/** The estimated tokens of a message, at least 4. Cost: O(characters). */
export const estimateTokens: Estimator = (message) => {
  contentOf('estimateTokens', message)
  return tokensOfMessage(message, textTokens)
}

/** Counts the tokens of a text: `textTokens` or a model's tokenizer. It must be pure. */
export type Tokenizer = (text: string) => number

/**
 * An estimator that counts texts with a tokenizer and everything else like `estimateTokens`. The
 * same tokenizer gives the same estimator.
 */
export const estimatorOf: (tokenizer: Tokenizer) => Estimator = memoize((tokenizer) => {
  const count: Tokenizer = (text) => {
    const found = tokenizer(text)
    return isCount(found) ? found : refuseCount('the tokenizer', found, `the text ${describe(text)}`)
  }
  return (message) => tokensOfMessage(message, count)
})

/** A checked estimator. `position`: that of the message in the record, for the error. */
export type CheckedEstimator = (message: Message, position?: number) => number

/**
 * An estimator that calls `estimate` once per message, checks the result and rounds it up. Use it only for immutable
 * messages: those of a record.
 */
export const memoizeEstimator: (estimate: Estimator) => CheckedEstimator = memoize((estimate) => {
  const known = new WeakMap<Message, number>()
  return (message, position) => {
    let tokens = known.get(message)
    if (tokens === undefined) {
      tokens = estimated(estimate, message, position)
      known.set(message, tokens)
    }
    return tokens
  }
})

/** Counts a text as the content of a message, without the message's frame. Nothing is cached. */
export const tokenizerOf = (estimate: Estimator): Tokenizer => {
  let frame: number | undefined
  return (text) => Math.max(0, estimated(estimate, user(text)) - (frame ??= estimated(estimate, user(''))))
}

const estimated = (estimate: Estimator, message: Message, position?: number): number => {
  const found = estimate(message)
  if (isCount(found)) return Math.ceil(found)
  const where = position === undefined ? 'a message that is not in the record' : `position ${position}`
  return refuseCount('the estimator', found, where)
}

const isCount = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value) && value >= 0

const refuseCount = (what: string, found: unknown, where: string): never => {
  const value = typeof found === 'number' ? String(found) : describe(found)
  throw new TypeError(`${what} returned ${value} for ${where}; expected a number of tokens: finite, at least 0`)
}

/** The estimated tokens of a text. Cost: O(characters). */
export const textTokens = (text: string): number => {
  let sum = 0
  let before: Class = Class.start
  const { length } = text
  // Avoids function calls per character or word: a compaction counts tens of thousands of them.
  for (let index = 0; index < length;) {
    const from = index
    const code = text.charCodeAt(index)
    const kind = code < 0x80 ? (classes[code] as Class) : Class.other
    switch (kind) {
      case Class.letter: {
        let capitals = code < 0x61
        let consonants = vowels[code] === 1 ? 0 : 1
        let beyondThird = 0
        for (index += 1; index < length; index += 1) {
          const next = text.charCodeAt(index)
          if (next >= 0x80 || classes[next] !== Class.letter) break
          if (next >= 0x61) capitals = false
          else if (!capitals) break
          consonants = vowels[next] === 1 ? 0 : consonants + 1
          if (consonants > 3) beyondThird += 1
        }
        const letters = index - from
        const weighed =
          letters < wordWeights.length
            ? (wordWeights[letters] as number)
            : (wordWeights.at(-1) as number) + weight.letter15 * (letters - wordWeights.length + 1)
        const most = weight.mostOfLetter * (letters + 1)
        const word = weighed + weight.consonant4 * beyondThird
        sum += (word < most ? word : most) + (before === Class.letter ? weight.glued : 0)
        break
      }
      case Class.digit:
        for (index += 1; index < length && classes[text.charCodeAt(index)] === Class.digit;) index += 1
        sum += weight.digits * Math.ceil((index - from) / 3) + (before === Class.space ? weight.spaceBeforeDigit : 0)
        break
      case Class.sign:
        for (index += 1; index < length && classes[text.charCodeAt(index)] === Class.sign;) index += 1
        sum += weight.sign + weight.moreSigns * (index - from - 1)
        break
      case Class.lineEnd:
        for (index += 1; index < length && classes[text.charCodeAt(index)] === Class.lineEnd;) index += 1
        if (before !== Class.sign) sum += weight.lineEnd
        break
      case Class.space:
        for (index += 1; index < length && text.charCodeAt(index) === code;) index += 1
        if (code !== 0x20) sum += weight.control * (index - from)
        else if (index - from > 1) sum += weight.spaces * (1 + ((index - from) >> 4))
        break
      default:
        index += 1
        sum += beyondAscii(code)
    }
    before = kind
  }
  return Math.ceil(sum / 100)
}

const perMessage = 4

/** Weights per piece of text in hundredths of a token: fitted to o200k on real transcripts, plus 4 %. */
const weight = {
  word: 104,
  letter6: 9,
  letter10: 15,
  letter15: 72,
  consonant4: 71,
  mostOfLetter: 60,
  glued: 81,
  digits: 121,
  spaceBeforeDigit: 90,
  sign: 81,
  moreSigns: 25,
  lineEnd: 89,
  spaces: 126,
  control: 21,
} as const

const Class = { start: 0, letter: 1, digit: 2, sign: 3, lineEnd: 4, space: 5, other: 6 } as const
type Class = (typeof Class)[keyof typeof Class]

const classes = Uint8Array.from({ length: 0x80 }, (_, code): Class => {
  const sign = String.fromCharCode(code)
  if (/[A-Za-z]/.test(sign)) return Class.letter
  if (/[0-9]/.test(sign)) return Class.digit
  if (/[\n\r]/.test(sign)) return Class.lineEnd
  return code <= 0x20 || code === 0x7f ? Class.space : Class.sign
})

/** `a e i o u y`: a run of more than three letters without any of them rarely belongs to one word. */
const vowels = Uint8Array.from({ length: 0x80 }, (_, code) => (/[aeiouy]/i.test(String.fromCharCode(code)) ? 1 : 0))

/** The weight of a word by its number of letters. Each letter beyond the table adds `letter15`. */
const wordWeights: readonly number[] = Array.from(
  { length: 16 },
  (_, letters) =>
    weight.word +
    weight.letter6 * Math.max(0, Math.min(letters, 9) - 5) +
    weight.letter10 * Math.max(0, Math.min(letters, 14) - 9) +
    weight.letter15 * Math.max(0, letters - 14),
)

/** Weights of UTF-16 units: two-byte letters, Chinese and Japanese, Korean, symbols, surrogates, others. */
const beyondAscii = (code: number): number => {
  if (code < 0x800) return 34
  if (code >= 0x3040 && code <= 0x9fff) return 76
  if (code >= 0xac00 && code <= 0xd7af) return 63
  if (code >= 0x2000 && code <= 0x2fff) return 130
  return code >= 0xd800 && code <= 0xdfff ? 150 : 41
}

const tokensOfMessage = ({ content }: Message, count: Tokenizer): number => {
  let tokens = perMessage
  for (const part of content) tokens += partTokens(part, count)
  return tokens
}

const partTokens = (part: Part, count: Tokenizer): number => {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return count(part.text)
    case 'reasoning':
      return (
        count(part.text) +
        (part.summary ?? []).reduce((sum, text) => sum + count(text), 0) +
        encryptedTokens(part.encrypted ?? '')
      )
    case 'tool_call':
      return count(part.name) + count(part.arguments)
    case 'tool_result':
      return part.content.reduce((sum, inner) => sum + partTokens(inner, count), 0)
    case 'image':
    case 'file':
      return attachmentTokens(part, count)
    case 'provider':
      return count(JSON.stringify(part.raw))
    case 'erased':
      return count(erasedMark)
  }
}

/**
 * The tokens that a provider counts for reasoning that it reads back encrypted. How many, none of them documents.
 *
 * Source  UKGovernmentBEIS/inspect_ai#3809 measured 4.9 characters of `encrypted_content` for each reasoning token of
 *         OpenAI; Codex 0.171 takes 5.3 (`estimate_reasoning_length`), both read on 2026-11-28. Of other providers it is
 *         not known, and the lower rate errs high
 */
const encryptedTokens = ({ length }: string): number => Math.ceil(length / 4.9)
