/**
 * A pi session file: a header, and an entry for each message. Each entry names the one before it.
 *
 * Source  pi 0.87.1, docs/session-format.md, and on loopback (2026-11)
 */
import { isObject } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import { idCounter, isoOf, linesOf, timeCounter, type Writer } from './program.ts'
import type { Call, TurnPart, Turn } from './turns.ts'

export const pi: Writer = {
  holds: {
    pdfs: false,
    links: false,
    anyArguments: false,
    errors: true,
    imagesInErrors: true,
    isOwn: ({ text }, message) => speakerOf(message) !== undefined && text !== '',
  },
  place: ({ cwd, id, now }) => [
    'sessions',
    `--${cwd.replace(/^[/\\]/, '').replaceAll(/[/\\:]/g, '-')}--`,
    `${isoOf(now).replaceAll(/[:.]/g, '-')}_${id}.jsonl`,
  ],
  idOf: ({ id }) => id,
  write: ({ turns, id, now, cwd }) => {
    const lines: object[] = [{ type: 'session', version: 3, id, timestamp: isoOf(now), cwd }]
    const next = idCounter(id)
    const moment = timeCounter(now, linesOf(turns))
    let before: string | null = null
    const add = (message: object): void => {
      const at = moment()
      const own = next()
      lines.push({
        type: 'message',
        id: own,
        parentId: before,
        timestamp: isoOf(at),
        message: { ...message, timestamp: at },
      })
      before = own
    }
    for (const turn of turns) {
      if (turn.role === 'user') {
        add({ role: 'user', content: turn.content.map(part) })
        continue
      }
      add(answer(turn))
      for (const call of turn.calls) add(result(call))
    }
    return lines
  },
}

/** The API, provider and model of an answer, if pi itself wrote it. */
const speakerOf = (message: Message | undefined): object | undefined => {
  const kept = message?.meta?.['pi-session']
  const { api, provider, model } = isObject(kept) ? kept : {}
  return typeof api === 'string' && typeof provider === 'string' && typeof model === 'string'
    ? { api, provider, model }
    : undefined
}

const importedOrigin = { api: 'imported', provider: 'imported', model: 'imported' }

const answer = ({ content, calls, message }: Turn): object => ({
  role: 'assistant',
  content: [
    ...content.map(part),
    ...calls.map(({ id, name, args }) => ({ type: 'toolCall', id, name, arguments: args })),
  ],
  ...(speakerOf(message) ?? importedOrigin),
  usage: {
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: 0,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  },
  stopReason: calls.length > 0 ? 'toolUse' : 'stop',
})

const result = ({ id, name, result: content, isError }: Call): object => ({
  role: 'toolResult',
  toolCallId: id,
  toolName: name,
  content: content.map(part),
  isError,
})

const part = (content: TurnPart): object => {
  if (content.type === 'text') return content
  if (content.type === 'thought')
    return {
      type: 'thinking',
      thinking: content.text,
      ...(content.signature !== undefined && { thinkingSignature: content.signature }),
    }
  return content.type === 'link'
    ? { type: 'text', text: content.url }
    : { type: 'image', data: content.data, mimeType: content.mediaType }
}
