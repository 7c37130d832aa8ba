/** Transcripts: a recorded conversation in any known format, found by its content and never by its name. */
import { isLeft, left, mapLeft, right, type Either } from 'fp-ts/lib/Either.js'
import { NotJson, parseJson, snapshot, type JsonTextProblem, type Path } from '../json/index.ts'
import type { CodecFault } from './codec-fault.ts'
import type { Message } from './message.ts'
import { decode as decodeChat, isChatMessage } from './openai-chat/decode.ts'
import { decodePiSession, isPiHeader, type Line } from './pi-session.ts'
import { describe, isObject } from './wire.ts'

export interface Transcript {
  readonly format: 'openai-chat' | 'tau-bench' | 'pi-session'
  readonly messages: readonly Message[]
  /** How many conversations the file holds, and which of them this is, from 0. */
  readonly count: number
  readonly pick: number
}

export interface TranscriptOptions {
  /** Which conversation, in a file of several. From 0. Default: 0. */
  readonly pick?: number
}

/**
 * Read a conversation: an array of OpenAI chat messages (also as `{ messages: [...] }`), a tau-bench file (an array of
 * runs, each with its messages in `traj`), or a pi session (JSON lines).
 *
 * Cost    O(text)
 */
export const readTranscript = (
  text: string,
  { pick = 0 }: TranscriptOptions = {},
): Either<CodecFault, Transcript> => {
  const body = text.startsWith('\ufeff') ? text.slice(1) : text
  const whole = parse(body)
  if (!isLeft(whole)) return fromValue(whole.right, pick)

  // Not one JSON value. If its first line is one, it is JSON lines.
  const first = parse(body.trimStart().split('\n', 1)[0] ?? '')
  if (isLeft(first) || !isObject(first.right)) return left(whole.left)
  const lines: Line[] = []
  for (const [index, line] of body.split('\n').entries()) {
    if (line.trim() === '') continue
    const value = parse(line)
    if (isLeft(value)) return left({ ...value.left, line: index + 1 })
    lines.push({ line: index + 1, value: value.right })
  }
  return fromLines(lines, pick)
}

const fromValue = (value: unknown, pick: number): Either<CodecFault, Transcript> => {
  const messages = isObject(value) && Array.isArray(value['messages']) ? (value['messages'] as readonly unknown[]) : value
  if (Array.isArray(messages)) {
    const runs = messages.filter((run) => isObject(run) && Array.isArray(run['traj']))
    if (runs.length > 0 && runs.length === messages.length) {
      const run = runs[pick]
      if (run === undefined) return left({ _tag: 'NoSuchConversation', pick, count: runs.length })
      return transcript('tau-bench', chat(run['traj'], [pick, 'traj']), runs.length, pick)
    }
    if (messages.length === 0 || (isChatMessage(messages[0]) && !messages.some(hasOwnBlocks))) return only('openai-chat', chat(messages), pick)
  }
  return isPiHeader(value) ? fromLines([{ line: 1, value }], pick) : left({ _tag: 'UnknownFormat', found: describe(value) })
}

const fromLines = (lines: readonly Line[], pick: number): Either<CodecFault, Transcript> =>
  isPiHeader(lines[0]?.value)
    ? only('pi-session', decodePiSession(lines), pick)
    : left({ _tag: 'UnknownFormat', found: `JSON lines that begin with ${describe(lines[0]?.value)}` })

type Decoded = Either<CodecFault, readonly Message[]>

const only = (format: Transcript['format'], decoded: Decoded, pick: number): Either<CodecFault, Transcript> =>
  pick === 0 ? transcript(format, decoded, 1, pick) : left({ _tag: 'NoSuchConversation', pick, count: 1 })

const transcript = (format: Transcript['format'], decoded: Decoded, count: number, pick: number): Either<CodecFault, Transcript> => {
  if (isLeft(decoded)) return decoded
  const messages: Message[] = []
  for (const [position, message] of decoded.right.entries()) {
    try {
      messages.push(snapshot(message))
    } catch (error) {
      if (!(error instanceof NotJson)) throw error
      return left({ _tag: 'WireNotJson', format, path: [position, ...error.path], reason: error.reason })
    }
  }
  return right({ format, messages, count, pick })
}

const chat = (wire: unknown, at: Path = []): Decoded => {
  const decoded = decodeChat(wire)
  if (isLeft(decoded)) return left(decoded.left._tag === 'UnexpectedWire' ? { ...decoded.left, path: [...at, ...decoded.left.path] } : decoded.left)
  return right(decoded.right.messages)
}

/** Whether a message has content blocks that chat messages never have: Anthropic's, or pi's. */
const hasOwnBlocks = (value: unknown): boolean => {
  const content = isObject(value) ? value['content'] : undefined
  return Array.isArray(content) && content.some((block) => isObject(block) && ['tool_use', 'tool_result', 'toolCall'].includes(String(block['type'])))
}

const parse = (text: string): Either<CodecFault & { readonly _tag: 'InvalidJson' }, unknown> =>
  mapLeft(({ line, column, expected, found }: JsonTextProblem) => ({ _tag: 'InvalidJson' as const, line, column, expected, found }))(
    parseJson(text),
  )
