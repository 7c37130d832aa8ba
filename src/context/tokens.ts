/**
 * Estimated tokens: a documented guess that needs no tokenizer and is the same everywhere.
 *
 * Every run of text without white space counts one token, and 3/8 of one more for each byte past the fifth; a byte of a
 * character outside ASCII counts half. White space counts only where there is much of it: one token for every sixteen
 * characters of a longer run. An image counts 1,500, other attached bytes one for every four characters of base64, and
 * a message 4 more for its frame.
 *
 * On real conversations (prose, code, tool output, JSON arguments) the sum is within a fifth of what OpenAI's o200k
 * tokenizer counts (bench: tokens). Where it matters more than that, pass the tokenizer of your model.
 */
import type { Message, Part, Source } from '../message/index.ts'

/** Counts the tokens of one message. It must be pure: the same message gives the same whole number, always. */
export type Estimator = (message: Message) => number

/** The estimated tokens of one message: a whole number of at least 4. Cost: O(characters). */
export const estimateTokens: Estimator = (message) => message.content.reduce((sum, part) => sum + partTokens(part), perMessage)

/** An estimator that asks `estimate` once for each message. Only for messages that can't change: those of a record. */
export const remembering = (estimate: Estimator): Estimator => {
  const known = estimates.get(estimate) ?? new WeakMap<Message, number>()
  estimates.set(estimate, known)
  return (message) => {
    const found = known.get(message)
    if (found !== undefined) return found
    const tokens = estimate(message)
    known.set(message, tokens)
    return tokens
  }
}

/** The estimated tokens of a text. Cost: O(characters). */
export const textTokens = (text: string): number => {
  let eighths = 0
  let halfBytes = 0
  let space = 0
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit === 0x20 || (unit >= 0x09 && unit <= 0x0d)) {
      if (halfBytes > 0) eighths += wordEighths(halfBytes)
      halfBytes = 0
      space += 1
      continue
    }
    if (space > longSpace) eighths += space >> 1
    space = 0
    // Each half of a surrogate pair stands for two of the four bytes.
    halfBytes += unit < 0x80 || unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 2 : 3
  }
  if (halfBytes > 0) eighths += wordEighths(halfBytes)
  if (space > longSpace) eighths += space >> 1
  return (eighths + 7) >> 3
}

const estimates = new WeakMap<Estimator, WeakMap<Message, number>>()

const perMessage = 4
const perImage = 1500
const base64PerToken = 4
const longSpace = 16

/** Eighths of a token for a word: 8, and 3 for each whole byte past the fifth. */
const wordEighths = (halfBytes: number): number => (halfBytes <= 10 ? 8 : 8 + ((3 * (halfBytes - 10)) >> 1))

const partTokens = (part: Part): number => {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return textTokens(part.text)
    case 'reasoning':
      return textTokens(part.text) + (part.summary ?? []).reduce((sum, text) => sum + textTokens(text), 0)
    case 'tool_call':
      return textTokens(part.name) + textTokens(part.arguments)
    case 'tool_result':
      return part.content.reduce((sum, inner) => sum + partTokens(inner), 0)
    case 'image':
      return perImage
    case 'file':
      return sourceTokens(part.source)
    case 'provider':
      return textTokens(JSON.stringify(part.raw))
  }
}

const sourceTokens = (source: Source): number =>
  source.type === 'base64' ? Math.ceil(source.data.length / base64PerToken) : perImage
