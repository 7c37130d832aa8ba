/**
 * Messages as JSON lines, one a line, in a format that has a codec. The format is detected from the
 * first lines before this reader is created.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, type JsonObject } from 'indelible/internal/json'
import { allCodecs } from '@indelible/codecs'
import type { TranscriptFault, Decoded } from 'indelible/codecs'
import { createChatDecoder } from 'indelible/internal/codecs'
import { isMessage } from './conversation.ts'
import type { LineFormat } from '../format/line-format.ts'
import { readTogether, reasonOf, type EntryAtLine } from '../format/read-problems.ts'

/** The formats that can have one message a line. An OpenAI Responses item can be less than a message. */
const formats = ['openai-chat', 'anthropic', 'ai-sdk', 'ai-sdk-ui'] as const

type MessageLineFormat = (typeof formats)[number]

export const isMessageLineFormat = (name: string): name is MessageLineFormat =>
  (formats as readonly string[]).includes(name)

export const messageLines = (format: MessageLineFormat): LineFormat => ({
  format,
  matches: isMessage,
  reader: (sink) => {
    const decode = decoderOf(format)
    let placed: EntryAtLine[] = []
    const flush = (): void => {
      const damaged = ({ line }: EntryAtLine, fault: TranscriptFault): void => sink.damage(line, reasonOf(fault, 1))
      for (const [entries, messages] of readTogether(placed, decode, damaged)) {
        const lines = entries.length === 1 ? [] : linesOf(entries, decode)
        for (const [index, message] of messages.entries())
          sink.message(
            (lines.length === messages.length ? lines[index] : undefined) ?? (entries[0] as EntryAtLine).line,
            message,
          )
      }
      placed = []
    }
    return {
      read: (entry, line) => {
        if (!belongsToLast(format, entry)) flush()
        placed.push({ entry, line })
      },
      end: () => {
        flush()
        return {}
      },
    }
  },
})

/**
 * Whether a message is read together with those before it. Tool messages of the AI SDK may hold
 * approval answers that are kept with the assistant message. How an Anthropic message is tagged
 * depends on its neighbors, so all of them are held until the end.
 */
const belongsToLast = (format: MessageLineFormat, entry: JsonObject): boolean =>
  format === 'anthropic' || (format === 'ai-sdk' && entry['role'] === 'tool')

type Decode = (entries: readonly JsonObject[]) => Either<TranscriptFault, Decoded>

const decoderOf = (format: MessageLineFormat): Decode => {
  if (format === 'openai-chat') return createChatDecoder()
  const { decode } = allCodecs[format]
  return (entries) => decode(entries)
}

/** The line of every message, if each entry decodes to the same messages on its own. */
const linesOf = (placed: readonly EntryAtLine[], decode: Decode): readonly number[] =>
  placed.flatMap(({ entry, line }) => {
    const alone = decode([entry])
    return isLeft(alone) ? [] : alone.right.messages.map(() => line)
  })
