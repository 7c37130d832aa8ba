/**
 * Writes a Codex rollout file: a header, and a line for each item that the model is sent. Each user message
 * is written twice, as an item and as an event: Codex counts turns and lists sessions by the events.
 *
 * Source  Codex 0.169.0 on loopback (2026-11)
 */
import { isoOf, linesOf, timeCounter, textsOf, type Writer } from './program.ts'
import type { Call, Media, Link, TurnPart, Text, ThoughtPart, Turn } from './turns.ts'

export const codex: Writer = {
  holds: {
    pdfs: false,
    links: true,
    anyArguments: true,
    errors: false,
    imagesInErrors: true,
    isOwn: ({ encrypted }, { meta }) => encrypted !== undefined && meta?.['codex'] !== undefined,
  },
  place: ({ id, now }) => {
    const at = isoOf(now)
    const [year, month, day] = at.slice(0, 10).split('-') as [string, string, string]
    return ['sessions', year, month, day, `rollout-${at.slice(0, 19).replaceAll(':', '-')}-${id}.jsonl`]
  },
  idOf: ({ id }) => id,
  write: ({ turns, id, now, cwd }) => {
    const moment = timeCounter(now, linesOf(turns) + 1)
    const line = (type: string, payload: object): object => ({ timestamp: isoOf(moment()), type, payload })
    const started = isoOf(now)
    // No provider name: the original provider may no longer be configured, and Codex falls back to the user's own.
    const header = { id, timestamp: started, cwd, originator: 'codex_cli_rs', cli_version: version, source: 'cli' }
    return [
      line('session_meta', header),
      ...turns.flatMap((turn) => [
        ...(turn.role === 'user' ? [line('event_msg', { type: 'user_message', message: textsOf(turn.content) })] : []),
        ...itemsOf(turn).map((item) => line('response_item', item)),
      ]),
    ]
  },
}

/** The version whose files are written. */
const version = '0.169.0'

const itemsOf = ({ role, content, calls }: Turn): readonly object[] => {
  if (role === 'user') return [{ type: 'message', role, content: content.map((item) => part(item as Holdable)) }]
  return [
    ...content.map((item) =>
      item.type === 'thought'
        ? reasoning(item)
        : {
            type: 'message',
            role,
            content: [item.type === 'text' ? { type: 'output_text', text: item.text } : part(item)],
          },
    ),
    ...calls.map(({ id, name, args, raw }) =>
      raw === undefined
        ? { type: 'function_call', name, arguments: JSON.stringify(args), call_id: id }
        : { type: 'custom_tool_call', status: 'completed', name, input: raw, call_id: id },
    ),
    ...calls.map(output),
  ]
}

const output = ({ id, raw, result }: Call): object => {
  const [only, ...others] = result
  return {
    type: raw === undefined ? 'function_call_output' : 'custom_tool_call_output',
    call_id: id,
    output: only === undefined ? '' : only.type === 'text' && others.length === 0 ? only.text : result.map(part),
  }
}

const reasoning = ({ text, encrypted }: ThoughtPart): object => ({
  type: 'reasoning',
  summary: text === '' ? [] : [{ type: 'summary_text', text }],
  encrypted_content: encrypted,
})

type Holdable = Text | Media | Link

const part = (content: Exclude<TurnPart, ThoughtPart>): object =>
  content.type === 'text'
    ? { type: 'input_text', text: content.text }
    : {
        type: 'input_image',
        image_url: content.type === 'link' ? content.url : `data:${content.mediaType};base64,${content.data}`,
      }
