/**
 * Writes a session file of Gemini CLI: a header, and a line for each turn. A tool's result is written with its call only;
 * Gemini CLI would send it twice if a user message held it too.
 *
 * Source  Gemini CLI 0.61.0, chatRecordingService.ts and sessionUtils.ts, and on loopback (2026-11)
 */
import { digestOf } from 'indelible/internal/proof'
import { idCounter, isoOf, linesOf, timeCounter, textsOf, type Writer } from './program.ts'
import type { Call, TurnPart, Turn } from './turns.ts'

export const geminiCli: Writer = {
  holds: {
    pdfs: true,
    links: false,
    anyArguments: false,
    errors: true,
    imagesInErrors: true,
    isOwn: () => false,
    command: /^\s*(?:[/?]|<(?:session|hook)_context>)/,
  },
  place: ({ id, now, project }) => [
    'tmp',
    project ?? `indelible-${id.slice(0, 8)}`,
    'chats',
    `session-${isoOf(now).slice(0, 16).replaceAll(':', '-')}-${id.slice(0, 8)}.jsonl`,
  ],
  idOf: ({ id }) => id,
  write: ({ turns, id, now, cwd }) => {
    const next = idCounter(id)
    const moment = timeCounter(now, linesOf(turns))
    const projectHash = digestOf(cwd)
    const started = isoOf(now)
    return [
      { sessionId: id, projectHash, startTime: started, lastUpdated: started, kind: 'main' },
      ...turns.map((turn) => ({ id: next(), timestamp: isoOf(moment()), ...messageFields(turn, isoOf(moment())) })),
    ]
  },
}

const messageFields = (turn: Turn, timestamp: string): object => {
  if (turn.role === 'user') return { type: 'user', content: turn.content.map(part) }
  return {
    type: 'gemini',
    content: turn.content.map(part),
    ...(turn.calls.length > 0 && { toolCalls: turn.calls.map((call) => callOf(call, timestamp)) }),
  }
}

const callOf = ({ id, name, args, result, isError }: Call, timestamp: string): object => ({
  id,
  name,
  args,
  result: [
    { functionResponse: { id, name, response: { [isError ? 'error' : 'output']: textsOf(result) } } },
    ...result.filter(({ type }) => type !== 'text').map(part),
  ],
  status: isError ? 'error' : 'success',
  timestamp,
})

const part = (content: TurnPart): object => {
  if (content.type === 'text' || content.type === 'thought') return { text: content.text }
  return content.type === 'link'
    ? { text: content.url }
    : { inlineData: { mimeType: content.mediaType, data: content.data } }
}
