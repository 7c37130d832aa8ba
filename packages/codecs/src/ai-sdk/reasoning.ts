/**
 * Reasoning: `ai` holds its text, and what its provider expects back in that provider's options.
 *
 * Source  `@ai-sdk/anthropic` (`signature`, `redactedData`) and `@ai-sdk/openai` (`itemId`,
 * `reasoningEncryptedContent`
 *         of the Responses API, whose text is the summary), as read and written by their prompt converters, 2026-11
 */
import { aString, isObject, readIn, type Json, type JsonObject, ownField, ownFields } from 'indelible/internal/json'
import { type Place, keepResidual, residualOf } from 'indelible/internal/codecs'
import type { ReasoningPart } from 'indelible/message'

/** The field for provider options: UI messages call it metadata. */
type OptionsKey = 'providerOptions' | 'providerMetadata'

/** @param usual the default fields other than text and options */
export const readReasoning = (format: string, wire: JsonObject, key: OptionsKey, usual: JsonObject): ReasoningPart => {
  const text = readIn(wire, 'text', aString)
  const signature = option(ownField(wire, key), 'anthropic', 'signature')
  const redacted = option(ownField(wire, key), 'anthropic', 'redactedData')
  const encrypted = option(ownField(wire, key), 'openai', 'reasoningEncryptedContent') ?? redacted
  const isSummary = encrypted !== redacted || option(ownField(wire, key), 'openai', 'itemId') !== undefined
  const part: ReasoningPart = {
    type: 'reasoning',
    text: isSummary ? '' : text,
    ...(isSummary && { summary: freeze(text === '' ? [] : [text]) }),
    ...(signature !== undefined && { signature }),
    ...(encrypted !== undefined && { encrypted }),
  }
  const as = redacted !== undefined && redacted === encrypted && text !== '' ? 'redacted' : undefined
  const options = optionsOf(part, as)
  return freeze({
    ...part,
    ...keepResidual(format, wire, { type: 'reasoning', text, ...usual, ...(options && { [key]: options }) }, as),
  })
}

/** The text and options in the form of `ai`, without kept fields. */
export const writeReasoning = (
  format: string,
  part: ReasoningPart,
  key: OptionsKey,
  place: Place,
): { [field: string]: unknown } => {
  const { text, summary = [] } = part
  if (text !== '' && summary.length > 0) place.lose('ai reasoning has a single text: the summary is omitted', 'summary')
  if (text === '' && summary.length > 1)
    place.lose('ai reasoning has a single text: the summaries are joined', 'summary')
  const options = optionsOf(part, residualOf(format, part)?.as)
  return { type: 'reasoning', text: text === '' ? summary.join('\n\n') : text, ...(options && { [key]: options }) }
}

/** Fully encrypted reasoning is Anthropic's, unless OpenAI's codec read it. Other encrypted reasoning is OpenAI's. */
const optionsOf = (part: ReasoningPart, as: string | undefined): JsonObject | undefined => {
  const { text, summary, signature, encrypted } = ownFields(part)
  if (signature === undefined && encrypted === undefined) return undefined
  const sealedWhole = text === '' && summary === undefined && residualOf('openai-responses', part) === undefined
  const isRedacted = encrypted !== undefined && (as === 'redacted' || sealedWhole)
  return {
    ...((signature !== undefined || isRedacted) && {
      anthropic: { ...(signature !== undefined && { signature }), ...(isRedacted && { redactedData: encrypted }) },
    }),
    ...(encrypted !== undefined && !isRedacted && { openai: { reasoningEncryptedContent: encrypted } }),
  }
}

const option = (options: Json | undefined, provider: string, name: string): string | undefined => {
  const found = isObject(options) ? ownField(options, provider) : undefined
  const value = isObject(found) ? ownField(found, name) : undefined
  return typeof value === 'string' ? value : undefined
}

const { freeze } = Object
