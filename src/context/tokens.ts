/**
 * Estimated tokens: a documented guess that needs no tokenizer and is the same everywhere.
 *
 * Text counts one token for every four bytes of UTF-8, an image 1,500, other attached bytes one for every four
 * characters of base64, a message 4 more for its frame. Real tokenizers differ by model; on English prose and code the
 * guess is mostly within a fifth.
 */
import type { Message, Part, Source } from '../message/index.ts'

/** The estimated tokens of one message: a whole number of at least 4. Cost: O(characters). */
export const estimateTokens = (message: Message): number =>
  message.content.reduce((sum, part) => sum + partTokens(part), perMessage)

const perMessage = 4
const perImage = 1500
const bytesPerToken = 4

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
  source.type === 'base64' ? Math.ceil(source.data.length / bytesPerToken) : perImage

const textTokens = (text: string): number => Math.ceil(utf8Length(text) / bytesPerToken)

const utf8Length = (text: string): number => {
  let bytes = text.length
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    // Each half of a surrogate pair stands for two of the four bytes.
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1
  }
  return bytes
}
