/** Reads a recorded conversation in any known format, detected from the content and never from the name. */
import type { Either } from 'fp-ts/lib/Either.js'
import {
  describe,
  inspectJson,
  isLeft,
  type JsonTextProblem,
  left,
  parseJson,
  right,
  optionsOf,
} from 'indelible/internal/json'
import type { TranscriptFault } from 'indelible/codecs'
import { aiderConversations, isAiderHistory } from '../programs/aider.ts'
import { assembleTranscript } from './assemble.ts'
import { conversationsIn, unknownFormat } from './conversation.ts'
import type { Conversation } from '../format/found-conversation.ts'
import { formatOfValues, lookAt } from './detect.ts'
import type { TranscriptEvent } from './event.ts'
import { createLineImport, notText } from './line-import.ts'
import type { LineFormat } from '../format/line-format.ts'
import { lineAt, linesOfBytes, linesOfText, textOfBytes, type Line } from '../text/lines.ts'
import { nearestText } from './nearest.ts'
import type { Damage, Transcript, TranscriptOptions } from '../transcript.ts'
import { valuesOfText } from '../text/values.ts'

/**
 * Read a conversation from a text, or from bytes in UTF-8 or UTF-16. The format is detected from the content.
 *
 * Formats: messages of OpenAI chat and Responses, Anthropic and the AI SDK, as an array, or in the body of a request or a
 * response; the session files of about twenty agents (docs/transcripts.md lists them); and exports of Indelible.
 *
 * In files with one entry a line, `damage` lists the lines that can't be read, and the rest is
 * read; with `strict` such a line is a fault. Unreadable input never throws.
 *
 * Cost    O(input): parsed, written back to compare, and copied
 *
 * @param options which conversation to read, and `strict`
 * @returns the transcript; or `UnknownFormat`, `InvalidJson`, `UnexpectedWire`, `NoSuchConversation`
 * @example
 * readTranscript('[{"role": "user", "content": "hi"}]') // Right: one message, read as openai-chat
 */
export const readTranscript = (
  input: string | Uint8Array,
  options: TranscriptOptions = {},
): Either<TranscriptFault, Transcript> => {
  const checked = optionsOf('readTranscript', options, optionNames)
  const opened = open(input, checked)
  return isLeft(opened) ? opened : opened.right(checked.pick ?? 0)
}

/** The conversations of one file. */
export interface Transcripts {
  /** The number of conversations. */
  readonly count: number
  /**
   * Read a conversation.
   *
   * @param pick which one, from 0
   * @returns the same as `readTranscript` with this `pick`
   */
  readonly at: (pick: number) => Either<TranscriptFault, Transcript>
}

/**
 * Open a file that may have many conversations, to read several of them. The file is parsed once, or twice if each
 * line is a conversation; agent files with several branches or sessions are parsed again for each conversation.
 *
 * Cost    O(input), then O(conversation) for each
 *
 * @param options `strict` and `countedElsewhere`
 * @returns the conversations; or the fault of reading the first one
 */
export const readTranscripts = (
  input: string | Uint8Array,
  options: Omit<TranscriptOptions, 'pick'> = {},
): Either<TranscriptFault, Transcripts> => {
  const opened = open(input, optionsOf('readTranscripts', options, allOptionNames))
  if (isLeft(opened)) return opened
  const first = opened.right(0)
  if (isLeft(first)) return first
  return right(freeze({ count: first.right.count, at: (pick: number) => (pick === 0 ? first : opened.right(pick)) }))
}

/** Reads a conversation of an open file. */
type ReadConversation = (pick: number) => Either<TranscriptFault, Transcript>

/** Options that hold for each conversation of a file. */
type FileOptions = Omit<TranscriptOptions, 'pick'>

const open = (input: string | Uint8Array, options: FileOptions): Either<TranscriptFault, ReadConversation> => {
  if (typeof input !== 'string' && !(input instanceof Uint8Array))
    throw new TypeError(`a transcript is read from its text or bytes, found ${describe(input)}`)
  const lines = (): Iterable<Line> => (typeof input === 'string' ? linesOfText(input) : linesOfBytes(input))
  const beginning = lookAt(lines())
  const { startsWithEntry } = beginning
  if (beginning.format !== undefined && startsWithEntry) return right(readFromLines(beginning.format, lines, options))

  const text = wholeText(input)
  if (isLeft(text)) return text
  if (isAiderHistory(text.right.text)) {
    const chats = aiderConversations(text.right.text)
    return right((pick) => readOne(chats, pick, [], text.right.damage, options))
  }
  const whole = inspectJson(text.right.text)
  if (!isLeft(whole)) {
    const { value, findings } = whole.right
    const format = formatOfValues([value])
    if (format !== undefined)
      return right(readFromLines(format, () => [{ number: 1, ...text.right, text: text.right.whole }], options))
    return readFromValue(value, findings, text.right.damage, options)
  }
  const format = beginning.format ?? beginning.likely()
  if (format !== undefined) return right(readFromLines(format, lines, options))
  const several = startsWithEntry ? undefined : formatOfValues(parsedOf(text.right.text))
  if (several !== undefined) return right(readFromLines(several, () => valuesOfText(text.right.whole), options))
  return left(startsWithEntry ? linesOfNoFormat(lines()) : invalid(whole.left))
}

const allOptionNames = { strict: true, countedElsewhere: true } as const
const optionNames = { pick: true, ...allOptionNames } as const

/** The values of a text, without those that are not JSON. */
function* parsedOf(text: string): Generator<unknown> {
  for (const value of valuesOfText(text)) {
    const parsed = parseJson(value.text)
    if (!isLeft(parsed)) yield parsed.right
  }
}

const readLines = (
  format: LineFormat,
  lines: Iterable<Line>,
  options: TranscriptOptions,
): Either<TranscriptFault, Transcript> => {
  const reader = createLineImport(format, options)
  const events: TranscriptEvent[] = []
  for (const line of lines) {
    const made = reader.push(line)
    for (const event of made) events.push(event)
    if (made.at(-1)?.type === 'fault') break
  }
  for (const event of reader.end()) events.push(event)
  return assembleTranscript(events)
}

/** Conversation 0 is read from all lines. If each line is a conversation, a later one is read from its own line. */
const readFromLines = (format: LineFormat, lines: () => Iterable<Line>, options: FileOptions): ReadConversation => {
  let apart: ReadConversation | undefined
  return (pick) => {
    if (apart !== undefined) return apart(pick)
    if (format.lineByLine === true && pick > 0) apart = readSeparateLines(format, lines(), options)
    return apart === undefined ? readLines(format, lines(), { ...options, pick }) : apart(pick)
  }
}

/** Lines that are separate conversations. The damage and losses of all lines are kept. */
const readSeparateLines = (format: LineFormat, lines: Iterable<Line>, options: FileOptions): ReadConversation => {
  const found: { readonly line: Line; readonly first: number }[] = [] // lines that have conversations
  const beside: { readonly line: number; readonly events: readonly TranscriptEvent[] }[] = []
  let count = 0
  for (const line of lines) {
    const reader = createLineImport(format, { ...options, pick: none })
    const events = reader.push(line).filter(({ type }) => type !== 'start')
    const many = reader.count()
    if (many > 0) found.push({ line, first: count })
    if (events.length > 0) beside.push({ line: line.number, events })
    count += many
  }
  return (pick) => {
    const own = pick < count ? found.findLast(({ first }) => first <= pick) : undefined
    if (own === undefined) return left({ _tag: 'NoSuchConversation', pick, count })
    const reader = createLineImport(format, { ...options, pick: pick - own.first })
    const ownEvents = reader.push(own.line).filter(({ type }) => type !== 'start')
    const { number } = own.line
    const events: TranscriptEvent[] = [
      { type: 'start', format: format.format },
      ...beside.filter(({ line }) => line < number).flatMap((each) => each.events),
      ...ownEvents,
      ...beside.filter(({ line }) => line > number).flatMap((each) => each.events),
    ]
    const fault = events.find(({ type }) => type === 'fault')
    if (fault !== undefined) return assembleTranscript([fault])
    for (const event of reader.end()) events.push(event.type === 'end' ? { ...event, count, pick } : event)
    return assembleTranscript(events)
  }
}

/** A `pick` that selects no conversation. */
const none = -1

const readFromValue = (
  value: unknown,
  losses: Transcript['losses'],
  damage: readonly Damage[],
  options: FileOptions,
): Either<TranscriptFault, ReadConversation> => {
  const conversations = conversationsIn(value)
  if (conversations.length === 0) return left(unknownFormat(value))
  return right((pick) => readOne(conversations, pick, losses, damage, options))
}

const readOne = (
  conversations: readonly Conversation[],
  pick: number,
  losses: Transcript['losses'],
  damage: readonly Damage[],
  { strict = false }: FileOptions,
): Either<TranscriptFault, Transcript> => {
  const conversation = conversations[pick]
  if (conversation === undefined) return left({ _tag: 'NoSuchConversation', pick, count: conversations.length })
  const { format, decode, origin, losses: misread } = conversation
  if (strict && damage[0] !== undefined)
    return left({ _tag: 'DamagedLine', format, line: damage[0].line, reason: damage[0].reason })
  const decoded = decode()
  if (isLeft(decoded)) return decoded
  const { messages } = decoded.right // the inspection already reported these losses, with their lines
  const transcript: Transcript = {
    format,
    messages,
    pages: undefined,
    notes: freeze([]),
    origin: origin.done(),
    losses: freeze([...losses, ...misread.map((loss) => freeze({ line: 1, ...loss }))]),
    damage: freeze(damage),
    count: conversations.length,
    pick,
  }
  return right(freeze(transcript))
}

/** A whole file as one text, to parse as one value. */
const wholeText = (input: string | Uint8Array): Either<TranscriptFault, Trimmed & { readonly badAt?: number }> => {
  if (typeof input === 'string') return right(withoutNuls(input.startsWith('\ufeff') ? input.slice(1) : input))
  try {
    const { text: whole, badAt } = textOfBytes(input)
    const { text, damage } = withoutNuls(whole)
    if (badAt === undefined) return right({ text, whole, damage })
    const bad = { line: lineAt(input, badAt), reason: notText, offset: badAt }
    return right({ text, whole, badAt, damage: [...damage, bad] })
  } catch {
    return left({
      _tag: 'UnknownFormat',
      found: `a text of ${input.length} bytes, which is too long to read at once`,
    })
  }
}

/** A text without the NULs at its end, which an interrupted write leaves. */
interface Trimmed {
  readonly text: string
  readonly whole: string
  readonly damage: readonly Damage[]
}

const withoutNuls = (whole: string): Trimmed => {
  let end = whole.length
  while (end > 0 && '\0 \t\r\n'.includes(whole[end - 1] as string)) end -= 1
  const nuls = whole.slice(end).replaceAll(/[^\0]/g, '').length
  if (nuls === 0) return { text: whole, whole, damage: [] }
  const text = whole.slice(0, end)
  const line = text.split('\n').length
  return {
    text,
    whole,
    damage: [
      {
        line,
        reason: `ends with ${nuls} NUL ${nuls === 1 ? 'character' : 'characters'}, where a write was interrupted`,
      },
    ],
  }
}

const invalid = ({ line, column, expected, found }: JsonTextProblem): TranscriptFault => ({
  _tag: 'InvalidJson',
  line,
  column,
  expected,
  found,
})

const linesOfNoFormat = (lines: Iterable<Line>): TranscriptFault => {
  for (const { text } of lines)
    if (text.trim() !== '')
      return {
        _tag: 'UnknownFormat',
        found: `JSON lines that begin with ${describe(JSON.parse(text))}${nearestText(JSON.parse(text))}`,
      }
  return { _tag: 'UnknownFormat', found: 'nothing' }
}

const { freeze } = Object
