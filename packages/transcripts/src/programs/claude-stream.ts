/**
 * The output of `claude -p --output-format stream-json`: one message a line, without the prompt. The lines of one answer have
 * the same `message.id`. A sub-agent's lines name the call that began it, and are notes.
 *
 * Source  code.claude.com/docs/en/agent-sdk/typescript (SDKMessage, 2026-11)
 */
import { difference, fieldsBeside, isObject, objectAt, type JsonObject } from 'indelible/internal/json'
import { decodeRecorded } from 'indelible/internal/codecs'
import { answer, type Piece as AnswerPiece } from './claude-answer.ts'
import type { LineFormat, LineReader, Sink } from '../format/line-format.ts'
import { anthropicCounts, countAnswer } from '../format/call-counts.ts'
import { textIn } from '../format/origin.ts'
import { withOtherFields, withOtherLines } from '../format/other-fields.ts'
import { messagesIn, readTogether, reasonOf } from '../format/read-problems.ts'
import { unknownLine } from '../format/unknown-line.ts'

const format = 'claude-stream'

const isMessage = (entry: JsonObject): boolean =>
  (entry['type'] === 'user' || entry['type'] === 'assistant') &&
  'parent_tool_use_id' in entry &&
  isObject(entry['message'])

export const claudeStream: LineFormat = {
  format,
  signatures: [['type', 'message', 'parent_tool_use_id', 'session_id']],
  countsOf: anthropicCounts,
  matches: (entry) =>
    typeof entry['session_id'] === 'string' &&
    (isMessage(entry) ||
      (entry['type'] === 'system' && typeof entry['subtype'] === 'string') ||
      (entry['type'] === 'result' && ('total_cost_usd' in entry || 'num_turns' in entry)) ||
      (entry['type'] === 'stream_event' && isObject(entry['event']))),
  reader: (sink) => new Reader(sink),
}

type Piece = Omit<AnswerPiece, 'index'>

class Reader implements LineReader {
  readonly #sink: Sink
  #pieces: Piece[] = []

  constructor(sink: Sink) {
    this.#sink = sink
  }

  read(entry: JsonObject, line: number): void {
    const { origin } = this.#sink
    origin.time(entry['timestamp'])
    origin.id ??= textIn(entry, 'session_id')
    if (isMessage(entry) && typeof entry['parent_tool_use_id'] === 'string') {
      this.#sink.aside('message of a sub-agent')
      return void this.#sink.entry(line, entry)
    }
    if (entry['type'] === 'stream_event') return this.#sink.aside('stream_event')
    const message = isMessage(entry) ? objectAt(entry['message'], ['message']) : undefined
    const [first] = this.#pieces
    if (message === undefined || entry['type'] === 'user' || first?.message['id'] !== message['id']) this.#flush()
    if (message !== undefined && entry['type'] === 'assistant') return void this.#pieces.push({ entry, message, line })
    if (message !== undefined) return this.#user(entry, message, line)
    if (entry['type'] === 'system' && entry['subtype'] === 'init') {
      origin.version ??= textIn(entry, 'claude_code_version')
      origin.metadata = { ...origin.metadata, ...(typeof entry['cwd'] === 'string' && { cwd: entry['cwd'] }) }
    }
    if (entry['type'] === 'system' || entry['type'] === 'result') {
      this.#sink.aside(String(entry['type']))
      return void this.#sink.entry(line, entry)
    }
    unknownLine(entry, line, this.#sink)()
  }

  end(): Record<string, never> {
    this.#flush()
    return {}
  }

  #user(entry: JsonObject, message: JsonObject, line: number): void {
    for (const turn of messagesIn(decodeRecorded([message]), ['message'], message))
      this.#sink.message(line, withOtherFields(turn, format, besideOf(entry)))
  }

  #flush(): void {
    const pieces = this.#pieces
    this.#pieces = []
    const decode = (entries: readonly JsonObject[]): ReturnType<typeof answer> =>
      answer(entries.map((entry) => ({ message: entry['message'] as JsonObject })))
    for (const [read, messages] of readTogether(pieces, decode, (piece, fault) =>
      this.#sink.damage(piece.line, reasonOf(fault, 0)),
    )) {
      const last = read.at(-1) as Piece
      const [own, ...others] = read.map(({ entry, message }) => {
        const rest = difference(message, last.message, ['content'])
        return rest === undefined ? besideOf(entry) : Object.assign({ message: rest }, besideOf(entry))
      })
      for (const message of messages) {
        countAnswer(this.#sink.origin, claudeStream, message)
        this.#sink.message((read[0] as Piece).line, withOtherFields(message, format, withOtherLines(own ?? {}, others)))
      }
    }
  }
}

const besideOf = (entry: JsonObject): JsonObject => fieldsBeside(entry, ['type', 'message', 'session_id']) ?? {}
