/** Transcripts: a recorded conversation in any known format, found by its content and never by its name. */
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
} from '../json/index.ts'
import type { TranscriptFault } from '../codecs/index.ts'
import { assembleTranscript } from './assemble.ts'
import { conversationsIn, unknownFormat } from './conversation.ts'
import { formatOfValues, lookAt } from './detect.ts'
import type { TranscriptEvent } from './event.ts'
import { createLineImport, notText } from './line-import.ts'
import type { LineFormat } from './line-format.ts'
import { lineAt, linesOfBytes, linesOfText, textOfBytes, type Line } from './lines.ts'
import type { Damage, Transcript, TranscriptOptions } from './transcript.ts'
import { valuesOfText } from './values.ts'

/**
 * Read a conversation from a text, or from bytes in UTF-8 or UTF-16. The format is detected from the content.
 *
 * Formats: messages of OpenAI chat and Responses, Anthropic and the AI SDK, as an array or in the body of a request or
 * an
 * answer; tau-bench files; SWE-agent trajectories; and with one JSON entry a line: the session files of pi, Claude
 * Code,
 * Codex, Gemini CLI, opencode and Cursor, an export of Indelible, messages, and the bodies of requests. Files of Gemini
 * CLI
 * and opencode may also be one JSON value, or several, over many lines.
 *
 * In files with one entry a line, `damage` lists the lines that can't be read, and the rest is read; with `strict` such
 * a
 * line is a fault. It never throws.
 *
 * Cost    O(input): parsed, written back to compare, and copied
 *
 * @param input the content of the file
 * @param options which conversation to read, and `strict`
 * @returns the transcript; or `UnknownFormat`, `InvalidJson`, `UnexpectedWire`, `NoSuchConversation`
 * @example
 * readTranscript('[{"role": "user", "content": "hi"}]') // Right: one message, read as openai-chat
 */
export const readTranscript = (
  input: string | Uint8Array,
  options: TranscriptOptions = {},
): Either<TranscriptFault, Transcript> => {
  optionsOf('readTranscript', options, known)
  const lines = (): Iterable<Line> => (typeof input === 'string' ? linesOfText(input) : linesOfBytes(input))
  const beginning = lookAt(lines())
  const { startsWithEntry } = beginning
  if (beginning.format !== undefined && startsWithEntry) return readLines(beginning.format, lines(), options)

  const text = wholeText(input)
  if (isLeft(text)) return text
  const whole = inspectJson(text.right.text)
  if (!isLeft(whole)) {
    const { value, findings } = whole.right
    const format = formatOfValues([value])
    if (format !== undefined) return readLines(format, [{ number: 1, ...text.right }], options)
    return readWhole(value, findings, text.right.damage, options)
  }
  const format = beginning.format ?? beginning.likely()
  if (format !== undefined) return readLines(format, lines(), options)
  const several = startsWithEntry ? undefined : formatOfValues(parsedOf(text.right.text))
  if (several !== undefined) return readLines(several, valuesOfText(text.right.text), options)
  return left(startsWithEntry ? linesOfNoFormat(lines()) : invalid(whole.left))
}

const known = { pick: true, strict: true } as const

/** The values of a text, but for what is no JSON. */
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

const readWhole = (
  value: unknown,
  losses: Transcript['losses'],
  damage: readonly Damage[],
  { pick = 0, strict = false }: TranscriptOptions,
): Either<TranscriptFault, Transcript> => {
  const conversations = conversationsIn(value)
  const conversation = conversations[pick]
  if (conversations.length === 0) return left(unknownFormat(value))
  if (conversation === undefined) return left({ _tag: 'NoSuchConversation', pick, count: conversations.length })
  const { format, decode, origin, losses: misread } = conversation
  if (strict && damage[0] !== undefined)
    return left({ _tag: 'DamagedLine', format, line: damage[0].line, reason: damage[0].reason })
  const decoded = decode()
  if (isLeft(decoded)) return decoded
  const { messages } = decoded.right // its losses are of the kinds that the inspection found, with their lines
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

/** All of a file as one text, to be parsed as one value. */
const wholeText = (
  input: string | Uint8Array,
): Either<TranscriptFault, { readonly text: string; readonly badAt?: number; readonly damage: readonly Damage[] }> => {
  if (typeof input === 'string') return right({ text: input.startsWith('\ufeff') ? input.slice(1) : input, damage: [] })
  try {
    const { text, badAt } = textOfBytes(input)
    if (badAt === undefined) return right({ text, damage: [] })
    return right({ text, badAt, damage: [{ line: lineAt(input, badAt), reason: notText, offset: badAt }] })
  } catch {
    return left({
      _tag: 'UnknownFormat',
      found: `a text of ${input.length} bytes, which is longer than can be read at once`,
    })
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
      return { _tag: 'UnknownFormat', found: `JSON lines that begin with ${describe(JSON.parse(text))}` }
  return { _tag: 'UnknownFormat', found: 'nothing' }
}

const { freeze } = Object
