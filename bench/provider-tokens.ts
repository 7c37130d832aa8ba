/**
 * Estimated tokens by provider, for whom the general estimate is too far off. Both are fitted to counts that the providers
 * themselves wrote into recorded sessions (bench: provider-counts); for exact counts pass the tokenizer of your model.
 */
import { estimateTokens, type Estimator } from 'indelible/context'
import type { Part } from 'indelible/message'

/**
 * An estimate for Anthropic's models since Claude 4: runs of letters, digits and signs, and the overhead of calls and
 * messages. Reasoning counts as 0, because only that of the latest turn is sent back. On two recorded coding sessions
 * the
 * estimate grows within 10 % of the counts.
 *
 * Cost  O(characters)
 *
 * @param message a message
 * @returns the tokens
 */
export const claudeTokens: Estimator = (message) => {
  let tokens = ofMessage
  for (const part of message.content) tokens += partTokens(part)
  return Math.ceil(tokens)
}

/**
 * An estimate for OpenAI's models: the general estimate, but encrypted reasoning, which is sent back with each call,
 * counts
 * one token for 9.5 characters in place of its summary. On a recorded session of Codex it grows within 10 % of the
 * counts.
 *
 * @param message a message
 * @returns the tokens
 */
export const openaiTokens: Estimator = (message) => {
  const shown = message.content.filter((part) => part.type !== 'reasoning' || part.encrypted === undefined)
  const hidden = message.content.reduce(
    (sum, part) => sum + (part.type === 'reasoning' ? (part.encrypted ?? '').length : 0),
    0,
  )
  return estimateTokens({ ...message, content: shown }) + Math.ceil(hidden / perReasoningToken)
}

const perReasoningToken = 9.5

const ofMessage = 16
const ofCall = 48

const partTokens = (part: Part): number => {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return claudeText(part.text)
    case 'tool_call':
      return ofCall + claudeText(part.name) + claudeText(part.arguments)
    case 'tool_result':
      return part.content.reduce((sum, inner) => sum + partTokens(inner), 0)
    case 'reasoning':
      return 0
    case 'erased':
    case 'image':
    case 'file':
    case 'provider':
      return estimateTokens({ role: 'user', content: [part] })
  }
}

/** What a run of one kind of character takes, and each further character of it. */
const weights = {
  letters: [0.97, 0],
  digits: [0.82, 0.62],
  signs: [1.38, 0.16],
  spaces: [0, 0],
  lines: [0.24, 0.24],
  others: [0.44, 0.44],
} as const
const wideSpace = 0.87

type Kind = keyof typeof weights

const claudeText = (text: string): number => {
  let tokens = 0
  let kind: Kind | undefined
  let length = 0
  for (let index = 0; index < text.length; index++) {
    const next = kindOf(text.charCodeAt(index))
    length = next === kind ? length + 1 : 1
    kind = next
    if (kind === 'spaces') tokens += length === 2 ? wideSpace : 0
    else tokens += length === 1 ? weights[kind][0] : kind === 'signs' && length > mostSigns ? 0 : weights[kind][1]
  }
  return tokens
}

/** Longer runs of signs are lines and frames, which take no more. */
const mostSigns = 4

const kindOf = (unit: number): Kind => {
  if (unit === 0x0a) return 'lines'
  if (unit === 0x20 || unit === 0x09 || unit === 0x0d) return 'spaces'
  if (unit >= 0x30 && unit <= 0x39) return 'digits'
  const letter = unit | 0x20
  if (letter >= 0x61 && letter <= 0x7a) return 'letters'
  return unit < 0x80 ? 'signs' : 'others'
}
