/**
 * A Claude Code session file: a line for each turn and for the results of each answer, each naming
 * the line before it.
 *
 * Source  Claude Code 2.1.330 on loopback (2026-11)
 */
import { isObject } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import { idCounter, isoOf, linesOf, timeCounter, type Writer } from './program.ts'
import type { TurnPart, Turn } from './turns.ts'

export const claudeCode: Writer = {
  holds: {
    pdfs: true,
    links: true,
    anyArguments: false,
    errors: true,
    imagesInErrors: true,
    isOwn: ({ signature, text }, message) =>
      signature !== undefined && text !== '' && modelOf(message)?.startsWith('claude-') === true,
  },
  place: ({ cwd, id }) => ['projects', folderFor(cwd), `${id}.jsonl`],
  idOf: ({ id }) => id,
  write: ({ turns, id, now, cwd }) => {
    const lines: object[] = []
    const next = idCounter(id)
    const moment = timeCounter(now, linesOf(turns))
    let before: string | null = null
    const add = (type: 'user' | 'assistant', message: object): void => {
      const uuid = next()
      const envelope = { parentUuid: before, isSidechain: false, userType: 'external', cwd, sessionId: id, version }
      lines.push({ ...envelope, type, message, uuid, timestamp: isoOf(moment()) })
      before = uuid
    }
    for (const turn of turns) {
      if (turn.role === 'user') {
        add('user', { role: 'user', content: turn.content.map(block) })
        continue
      }
      add('assistant', answer(turn, `msg_${next().replaceAll('-', '')}`))
      if (turn.calls.length > 0) add('user', { role: 'user', content: turn.calls.map(result) })
    }
    return lines
  },
}

/** The folder name for a project. A long path is cut, and a hash of the whole path appended. */
const folderFor = (cwd: string): string => {
  const name = cwd.replaceAll(/[^a-zA-Z0-9]/g, '-')
  if (name.length <= longest) return name
  let sum = 0
  for (let index = 0; index < cwd.length; index++) sum = (Math.imul(sum, 31) + cwd.charCodeAt(index)) | 0
  return `${name.slice(0, longest)}-${Math.abs(sum).toString(36)}`
}

/** In characters. */
const longest = 200

/** The version whose files are written. */
const version = '2.1.330'

/** The model of an answer, as recorded by Anthropic's API and compatible ones. */
const modelOf = (message: Message | undefined): string | undefined => {
  const response = message?.meta?.['anthropic-response']
  const model = isObject(response) ? response['model'] : undefined
  return typeof model === 'string' ? model : undefined
}

const answer = ({ content, calls, message }: Turn, id: string): object => ({
  id,
  type: 'message',
  role: 'assistant',
  model: modelOf(message) ?? 'imported',
  content: [...content.map(block), ...calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args }))],
  stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 0, output_tokens: 0 },
})

const result = ({ id, result: content, isError }: Turn['calls'][number]): object => ({
  type: 'tool_result',
  tool_use_id: id,
  content: content.map(block),
  ...(isError && { is_error: true }),
})

const block = (part: TurnPart): object => {
  if (part.type === 'text') return part
  if (part.type === 'thought') return { type: 'thinking', thinking: part.text, signature: part.signature }
  const source =
    part.type === 'link'
      ? { type: 'url', url: part.url }
      : { type: 'base64', media_type: part.mediaType, data: part.data }
  return { type: part.type === 'file' ? 'document' : 'image', source }
}
