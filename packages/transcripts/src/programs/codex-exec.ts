/**
 * The output of `codex exec --json`: one event a line. It has the model's items but not the prompt; an item is written when it
 * starts and when it is complete, and its last state is read.
 *
 * Source  openai/codex, codex-rs/exec/src/exec_events.rs (2026-11)
 */
import { fieldsBeside, isObject, objectAt, stringAt, type Json, type JsonObject } from 'indelible/internal/json'
import type { Message, Part } from 'indelible/message'
import { callPart, resultMessage, textPart } from '../format/entry-lines.ts'
import type { LineFormat, LineReader, Sink } from '../format/line-format.ts'
import { objectIn } from '../format/origin.ts'
import { withOtherFields } from '../format/other-fields.ts'
import { unknownLine } from '../format/unknown-line.ts'

const format = 'codex-exec'

const kinds: ReadonlySet<unknown> = new Set([
  'thread.started',
  'turn.started',
  'turn.completed',
  'turn.failed',
  'item.started',
  'item.updated',
  'item.completed',
])

export const codexExec: LineFormat = {
  format,
  signatures: [['type', 'item', 'thread_id']],
  matches: (entry) =>
    kinds.has(entry['type']) &&
    (typeof entry['thread_id'] === 'string' || isObject(entry['item']) || isObject(entry['usage'])),
  reader: (sink) => new Reader(sink),
}

class Reader implements LineReader {
  readonly #sink: Sink
  /** Items that are not complete, by id. */
  readonly #open = new Map<string, { readonly item: JsonObject; readonly line: number }>()

  constructor(sink: Sink) {
    this.#sink = sink
  }

  read(entry: JsonObject, line: number): void {
    const { origin } = this.#sink
    switch (entry['type']) {
      case 'thread.started':
        origin.describe(entry, { id: 'thread_id' }, ['type'])
        return
      case 'turn.completed': {
        const used = objectIn(entry, 'usage')
        origin.usage(
          {
            input: used['input_tokens'],
            output: used['output_tokens'],
            cacheRead: used['cached_input_tokens'],
            cacheWrite: 0,
          },
          { isSum: true },
        )
        return this.#sink.aside('turn.completed')
      }
      case 'item.started':
      case 'item.updated':
      case 'item.completed': {
        const item = objectAt(entry['item'], ['item'])
        const id = stringAt(item['id'], ['item', 'id'])
        if (entry['type'] !== 'item.completed') {
          if (this.#open.has(id)) this.#sink.aside('earlier state of an item')
          return void this.#open.set(id, { item, line: this.#open.get(id)?.line ?? line })
        }
        if (this.#open.delete(id)) this.#sink.aside('earlier state of an item')
        return this.#write(item, line, fieldsBeside(entry, ['type', 'item']))
      }
      case 'turn.started':
        return this.#sink.aside('turn.started')
      case 'turn.failed':
      case 'error':
        return void this.#sink.entry(line, entry)
      default:
        unknownLine(entry, line, this.#sink)()
    }
  }

  end(): Record<string, never> {
    for (const { item, line } of this.#open.values()) this.#write(item, line)
    return {}
  }

  #write(item: JsonObject, line: number, beside?: JsonObject): void {
    const messages = messagesOf(item)
    if (messages === undefined) return void this.#sink.entry(line, item)
    messages.forEach((message, index) =>
      this.#sink.message(
        line,
        index === 0 && beside !== undefined
          ? { ...message, meta: { ...message.meta, [`${format}-line`]: beside } }
          : message,
      ),
    )
  }
}

/** The messages of an item; undefined for information beside the conversation, such as a list of tasks. */
const messagesOf = (item: JsonObject): readonly Message[] | undefined => {
  const id = stringAt(item['id'], ['item', 'id'])
  const rest = (...names: readonly string[]): JsonObject => fieldsBeside(item, ['id', 'type', ...names]) ?? {}
  switch (item['type']) {
    case 'agent_message':
      return [
        withOtherFields({ role: 'assistant', content: [textPart(stringAt(item['text'], ['item', 'text']))] }, format, {
          id,
          ...rest('text'),
        }),
      ]
    case 'reasoning':
      return [
        withOtherFields(
          { role: 'assistant', content: [{ type: 'reasoning', text: stringAt(item['text'], ['item', 'text']) }] },
          format,
          { id, ...rest('text') },
        ),
      ]
    case 'command_execution': {
      const { exit_code: code } = item
      return called(
        callPart(id, 'shell', { command: item['command'] ?? null }),
        item['status'] === 'in_progress' ? undefined : textOr(item['aggregated_output'], ''),
        item['status'] === 'failed' || (typeof code === 'number' && code !== 0),
        rest('command', 'aggregated_output'),
      )
    }
    case 'file_change':
      return called(
        callPart(id, 'apply_patch', { changes: item['changes'] ?? null }),
        item['status'] === 'in_progress' ? undefined : textOr(item['status'], ''),
        item['status'] === 'failed',
        rest('changes', 'status'),
      )
    case 'mcp_tool_call': {
      const { result, error } = item
      return called(
        callPart(id, `${textOr(item['server'], '')}__${textOr(item['tool'], '')}`, item['arguments'] ?? {}),
        (result ?? error ?? null) === null ? undefined : resultText(result ?? error),
        (error ?? null) !== null,
        rest('server', 'tool', 'arguments', 'result', 'error'),
      )
    }
    case 'web_search':
      return called(callPart(id, 'web_search', { query: item['query'] ?? null }), undefined, false, rest('query'))
    default:
      return undefined
  }
}

const called = (call: Part, output: string | undefined, isError: boolean, beside: JsonObject): readonly Message[] => [
  withOtherFields({ role: 'assistant', content: [call] }, format, beside),
  ...(output === undefined || call.type !== 'tool_call'
    ? []
    : [resultMessage(call.id, [textPart(output)], { isError })]),
]

const textOr = (value: Json | undefined, other: string): string => (typeof value === 'string' ? value : other)

/** The texts of an MCP result, or its JSON. */
const resultText = (result: Json | undefined): string => {
  const content = isObject(result) ? result['content'] : undefined
  const texts = Array.isArray(content)
    ? (content as readonly Json[]).map((part) => (isObject(part) ? part['text'] : undefined))
    : []
  return texts.length > 0 && texts.every((text) => typeof text === 'string')
    ? texts.join('\n')
    : JSON.stringify(result ?? null)
}
