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
        add('user', { role: 'user', content: turn.said.map(block) })
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

const answer = ({ said, calls, message }: Turn, id: string): object => ({
  id,
  type: 'message',
  role: 'assistant',
  model: modelOf(message) ?? 'imported',
  content: [...said.map(block), ...calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args }))],
  stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 0, output_tokens: 0 },
})

const result = ({ id, result: said, isError }: Turn['calls'][number]): object => ({
  type: 'tool_result',
  tool_use_id: id,
  content: said.map(block),
  ...(isError && { is_error: true }),
})

const block = (said: TurnPart): object => {
  if (said.type === 'text') return said
  if (said.type === 'thought') return { type: 'thinking', thinking: said.text, signature: said.signature }
  const source =
    said.type === 'link'
      ? { type: 'url', url: said.url }
      : { type: 'base64', media_type: said.mediaType, data: said.data }
  return { type: said.type === 'file' ? 'document' : 'image', source }
}
