/** What the readers of exports share: a conversation whose messages are read when it is chosen, and times in seconds. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, right, Unexpected, left, type Json, type JsonObject } from 'indelible/internal/json'
import type { Decoded, TranscriptFault } from 'indelible/codecs'
import type { Message } from 'indelible/message'
import { countAnswer } from './call-usage.ts'
import type { Conversation } from './found-conversation.ts'
import type { OriginDraft } from './origin.ts'
import { sourceTimeOf } from './source-time.ts'
import type { TranscriptFormat } from './transcript.ts'

export const conversation = (
  format: TranscriptFormat,
  origin: OriginDraft,
  read: () => readonly Message[],
): Conversation => ({
  format,
  origin,
  losses: [],
  decode: () => {
    const decoded = decoding(format, read)
    if (!isLeft(decoded))
      for (const [key, message] of decoded.right.messages.entries()) {
        const time = sourceTimeOf(message)
        countAnswer(origin, message, { key, ...(time !== undefined && { time: isoOf(time / 1000) }) })
      }
    return decoded
  },
})

const decoding = (format: TranscriptFormat, read: () => readonly Message[]): Either<TranscriptFault, Decoded> => {
  try {
    return right({ messages: read(), losses: [] })
  } catch (error) {
    if (!(error instanceof Unexpected)) throw error
    const { path, expected, found } = error
    return left({ _tag: 'UnexpectedWire', format, path, expected, found })
  }
}

/** The fields of a value with these names. */
export const pickFields = (value: JsonObject, fields: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(value).filter(([field]) => fields.includes(field)))

/** Seconds since 1970 as a time in ISO 8601. */
export const isoOf = (seconds: Json | undefined): string | undefined =>
  typeof seconds === 'number' && Math.abs(seconds) < 8e12 ? new Date(seconds * 1000).toISOString() : undefined
