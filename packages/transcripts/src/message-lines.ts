/**
 * Messages as JSON lines, one a line, in a format that has a codec. Which one is found out by the signs in the first of
 * them, before this reader is made.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { formatPath, isLeft, type JsonObject } from 'indelible/json/kit'
import { codecs, type TranscriptFault, type Decoded } from 'indelible/codecs'
import { codecFaultText } from 'indelible/codecs/kit'
import { createChatDecoder } from 'indelible/codecs/kit'
import { isMessage } from './conversation.ts'
import type { LineFormat, Sink } from './line-format.ts'

/** The formats whose messages can stand one a line. Items of OpenAI Responses are less than a message each. */
const formats = ['openai-chat', 'anthropic', 'ai-sdk', 'ai-sdk-ui'] as const

export type MessageLineFormat = (typeof formats)[number]

export const isMessageLineFormat = (name: string): name is MessageLineFormat =>
  (formats as readonly string[]).includes(name)

export const messageLines = (format: MessageLineFormat): LineFormat => ({
  format,
  matches: isMessage,
  reader: (sink) => {
    const decode = decoderOf(format)
    let placed: Placed[] = []
    const flush = (): void => {
      readTogether(placed, decode, sink)
      placed = []
    }
    return {
      read: (entry, line) => {
        if (!belongsToLast(format, entry)) flush()
        placed.push({ entry, line })
      },
      end: () => {
        flush()
        return { count: 1, dropped: [] }
      },
    }
  },
})

/**
 * Whether a message is read together with those before it. Tool messages of the AI SDK hold answers that are kept at the
 * assistant's message; how Anthropic's are marked goes by what stands around them, so they are held until the end.
 */
const belongsToLast = (format: MessageLineFormat, entry: JsonObject): boolean =>
  format === 'anthropic' || (format === 'ai-sdk' && entry['role'] === 'tool')

interface Placed {
  readonly entry: JsonObject
  readonly line: number
}

type Decode = (entries: readonly JsonObject[]) => Either<TranscriptFault, Decoded>

const decoderOf = (format: MessageLineFormat): Decode => {
  if (format === 'openai-chat') return createChatDecoder()
  const { decode } = codecs[format]
  return (entries) => decode(entries)
}

/** The messages of entries that belong together; where one of them can't be read, those of the others. */
const readTogether = (placed: readonly Placed[], decode: Decode, sink: Sink): void => {
  const [first] = placed
  if (first === undefined) return
  const decoded = decode(placed.map(({ entry }) => entry))
  if (!isLeft(decoded)) {
    const { messages } = decoded.right
    const lines = placed.length === 1 ? [] : linesOf(placed, decode)
    return messages.forEach(
      (message, index) =>
        void sink.message((lines.length === messages.length ? lines[index] : undefined) ?? first.line, message),
    )
  }
  const readable = placed.filter(({ entry, line }) => {
    const alone = placed.length === 1 ? decoded : decode([entry])
    if (isLeft(alone)) sink.damage(line, reasonOf(alone.left))
    return !isLeft(alone)
  })
  if (readable.length < placed.length) readTogether(readable, decode, sink)
  else for (const each of placed) readTogether([each], decode, sink)
}

/** The line of every message, where each entry gives the messages that it gives by itself. */
const linesOf = (placed: readonly Placed[], decode: Decode): readonly number[] =>
  placed.flatMap(({ entry, line }) => {
    const alone = decode([entry])
    return isLeft(alone) ? [] : alone.right.messages.map(() => line)
  })

/** Why an entry can't be read; its path is seen from the list of one that it was decoded in. */
const reasonOf = (fault: TranscriptFault): string =>
  fault._tag === 'UnexpectedWire'
    ? `${formatPath(fault.path.slice(1)) || 'the entry'} should be ${fault.expected}, found ${fault.found}`
    : codecFaultText(fault)
