/** What the formats share that are one JSON value: a conversation whose messages are read when it is chosen, and its origin. */
import type { Either } from 'fp-ts/lib/Either.js'
import {
  admit,
  isLeft,
  isObject,
  left,
  objectAt,
  ownFields,
  right,
  Unexpected,
  type Json,
  type JsonObject,
  type Path,
} from 'indelible/internal/json'
import type { Decoded, TranscriptFault } from 'indelible/codecs'
import { anthropicUsage, geminiUsage, openaiChatUsage, openaiResponsesUsage } from 'indelible/internal/codecs'
import type { Message } from 'indelible/message'
import { countAnswer } from './call-counts.ts'
import { timeOf } from './format-facts.ts'
import type { Conversation, Misread, ValueFormat } from './found-conversation.ts'
import { isoOf, objectIn, OriginDraft, textIn } from './origin.ts'

/**
 * A conversation of a list of items, which are read when it is chosen. An item that can't be read is a message with the item as it
 * is, and a loss.
 *
 * @param at the path of the list
 */
export const conversation = (
  facts: ValueFormat,
  origin: OriginDraft,
  at: Path,
  items: readonly Json[],
  read: (item: JsonObject, path: Path) => readonly Message[],
): Conversation => {
  const losses: Misread[] = []
  const readItem = (item: Json, index: number): readonly Message[] => {
    const path = [...at, index]
    try {
      return read(objectAt(item, path), path)
    } catch (error) {
      if (!(error instanceof Unexpected)) throw error
      losses.push({ path: error.path, reason: `should be ${error.expected}, found ${error.found}: kept as it is` })
      const isAnswer = isObject(item) && (item['role'] ?? item['sender']) === 'assistant'
      return [
        { role: isAnswer ? 'assistant' : 'user', content: [{ type: 'provider', provider: facts.format, raw: item }] },
      ]
    }
  }
  return {
    format: facts.format,
    origin,
    losses,
    decode: () => {
      const messages = items.flatMap((item, index) => readItem(item, index))
      for (const [key, message] of messages.entries()) {
        const time = timeOf(facts, message)
        countAnswer(origin, facts, message, { key, ...(time !== undefined && { time: isoOf(time) }) })
      }
      return right({ messages, losses: [] })
    },
  }
}

/** The conversation in a value that passes, or those of a list of such values. */
export const oneOrList = (
  value: unknown,
  isOne: (value: unknown) => value is JsonObject,
  read: (value: JsonObject) => Conversation,
): readonly Conversation[] | undefined => {
  if (isOne(value)) return [read(value)]
  return Array.isArray(value) && value.length > 0 && value.every(isOne) ? value.map(read) : undefined
}

/**
 * The origin that an envelope describes. A member that can't be recorded is a loss; the others are kept.
 *
 * @param at the path of the members
 */
export const metadataOf = (
  metadata: JsonObject = {},
  answer: JsonObject = {},
  at: Path = [],
): { readonly origin: OriginDraft; readonly losses: Misread[] } => {
  const losses: Misread[] = []
  const origin = originOf(answer)
  origin.metadata = Object.fromEntries(
    Object.entries(metadata).flatMap(([name, value]) => {
      const admitted = admit(value)
      if (!isLeft(admitted)) return [[name, admitted.right.value]]
      losses.push({ path: [...at, name], reason: `holds a value that ${admitted.left.reason}: left out` })
      return []
    }),
  )
  return { origin, losses }
}

const originOf = (body: JsonObject): OriginDraft => {
  const answer = ownFields(body)
  const origin = new OriginDraft()
  origin.id = textIn(answer, 'id') ?? textIn(answer, 'responseId')
  origin.model(answer['model'] ?? answer['modelVersion'])
  const { input = 0, output, cacheRead, cacheWrite, cacheWriteHour } = ownFields(usageReaderOf(answer)(answer))
  if (input > 0) origin.usage({ input, output, cacheRead, cacheWrite, cacheWriteHour })
  return origin
}

const usageReaderOf = (answer: JsonObject): typeof anthropicUsage => {
  if (Object.hasOwn(answer, 'usageMetadata')) return geminiUsage
  const used = objectIn(answer, 'usage')
  if (Object.hasOwn(used, 'prompt_tokens')) return openaiChatUsage
  return Object.hasOwn(used, 'input_tokens_details') ? openaiResponsesUsage : anthropicUsage
}

/** Replaces the first `own` fields of a fault's path by the path from the top of the file. */
export const atPath = (
  at: Path,
  decoded: Either<TranscriptFault, Decoded>,
  own = 0,
): Either<TranscriptFault, Decoded> => {
  if (!isLeft(decoded)) return right(decoded.right)
  const fault = decoded.left
  return left(
    fault._tag === 'UnexpectedWire' || fault._tag === 'WireNotJson'
      ? { ...fault, path: [...at, ...fault.path.slice(own)] }
      : fault,
  )
}
