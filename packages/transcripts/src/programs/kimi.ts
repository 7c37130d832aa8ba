/**
 * A session of Kimi: `wire.jsonl` of Kimi Code, one record a line, or `context.jsonl` of Kimi CLI, one chat message a line and
 * marks (`_checkpoint`, `_usage`, `_system_prompt`) between them.
 *
 * Source  MoonshotAI/kimi-cli, src/kimi_cli/soul/context.py (2026-02); MoonshotAI/kimi-code, packages/agent-core/src/agent:
 *         records, context (2026-11); files of version 2.1.0
 */
import {
  arrayAt,
  fieldsBeside,
  isObject,
  objectAt,
  stringAt,
  type Json,
  type JsonObject,
} from 'indelible/internal/json'
import { codecs } from 'indelible/codecs'
import { sourceOf } from 'indelible/internal/codecs'
import type { Message, Part, ResultPart } from 'indelible/message'
import { blockReader } from '../format/blocks.ts'
import { callPart, resultMessage, textPart } from '../format/entry-lines.ts'
import type { LineFormat, LineReader, Sink } from '../format/line-format.ts'
import { isoOf, objectIn, textIn } from '../format/origin.ts'
import { withOtherFields } from '../format/other-fields.ts'
import { messagesIn } from '../format/read-problems.ts'
import { unknownLine } from '../format/unknown-line.ts'

const format = 'kimi'

const isMark = ({ role }: JsonObject): boolean => typeof role === 'string' && /^_[a-z_]+$/.test(role)
const isRecord = ({ type }: JsonObject): boolean =>
  typeof type === 'string' && /^(?:context|turn|usage|llm|full_compaction|micro_compaction|config)\.\w+$/.test(type)

export const kimi: LineFormat = {
  format,
  times: [['time']],
  matches: (entry) => isMark(entry) || (isRecord(entry) && ('time' in entry || 'message' in entry || 'event' in entry)),
  isEntry: (entry) => isMark(entry) || isRecord(entry) || ('role' in entry && 'content' in entry),
  reader: (sink) => new Reader(sink),
}

class Reader implements LineReader {
  readonly #sink: Sink
  /** The models, by the names that a person's settings give them. */
  readonly #models = new Map<string, string>()
  /** The step being read: its line, its content, and the results of its calls. */
  #step:
    | {
        readonly line: number
        readonly content: Part[]
        readonly results: [number, Message][]
        readonly time: Json | undefined
      }
    | undefined

  constructor(sink: Sink) {
    this.#sink = sink
  }

  read(entry: JsonObject, line: number): void {
    const { type, role, time } = entry
    const { origin } = this.#sink
    origin.time(isoOf(time))
    if (typeof role === 'string') return isMark(entry) ? this.#mark(entry, line) : this.#chat(entry, line)
    // Events for the screen repeat the messages.
    if (typeof type === 'string' && entry['kind'] === 'event') return this.#sink.aside(type)
    switch (type) {
      case 'metadata':
        origin.version = textIn(entry, 'protocol_version')
        origin.metadata = { ...origin.metadata, ...fieldsBeside(entry, ['type', 'protocol_version']) }
        return
      case 'context.append_message':
        this.#flush()
        return this.#message(objectAt(entry['message'], ['message']), entry, line)
      case 'context.append_loop_event':
        return this.#event(objectAt(entry['event'], ['event']), entry, line)
      case 'usage.record': {
        const { model } = entry
        origin.model(typeof model === 'string' ? (this.#models.get(model) ?? model) : model)
        const used = objectIn(entry, 'usage')
        const [fresh, read, written] = [
          number(used['inputOther']),
          number(used['inputCacheRead']),
          number(used['inputCacheCreation']),
        ]
        if (entry['usageScope'] !== 'session')
          origin.usage({ input: fresh + read + written, output: used['output'], cacheRead: read, cacheWrite: written })
        return this.#sink.aside(type)
      }
      case 'llm.request': {
        const { model, modelAlias: alias } = entry
        if (typeof model === 'string' && typeof alias === 'string') this.#models.set(alias, model)
        return this.#sink.aside(type)
      }
      case 'turn.prompt': // the prompt is also a message
      case 'request.header':
        return this.#sink.aside(type)
      default: {
        const write = unknownLine(entry, line, this.#sink)
        this.#flush()
        write()
      }
    }
  }

  end(): Record<string, never> {
    this.#flush()
    return {}
  }

  #mark(entry: JsonObject, line: number): void {
    this.#sink.aside(String(entry['role']).slice(1))
    if (entry['role'] !== '_checkpoint') this.#sink.entry(line, entry)
  }

  /** A chat message of `context.jsonl`. Its thoughts are parts. */
  #chat(entry: JsonObject, line: number): void {
    const content = entry['content']
    const thoughts = (Array.isArray(content) ? (content as readonly Json[]) : []).filter(
      (part) => isObject(part) && part['type'] === 'think',
    )
    const rest =
      thoughts.length === 0 ? content : (content as readonly Json[]).filter((part) => !thoughts.includes(part))
    const decoded = codecs['openai-chat'].decode([{ ...entry, ...(content !== undefined && { content: rest }) }])
    messagesIn(decoded, [], entry, 'a chat message').forEach((message, index) =>
      this.#sink.message(
        line,
        index === 0 && thoughts.length > 0
          ? ({
              ...message,
              content: [
                ...thoughts.map((part) => readBlock(part as JsonObject, ['content'])),
                ...message.content,
              ] as Part[],
            } as Message)
          : message,
      ),
    )
  }

  #message(message: JsonObject, entry: JsonObject, line: number): void {
    const beside = {
      ...fieldsBeside(entry, ['type', 'message']),
      ...fieldsBeside(message, ['role', 'content', 'toolCalls', 'toolCallId']),
    }
    const content = partsOf(message['content'])
    const calls = Array.isArray(message['toolCalls']) ? (message['toolCalls'] as readonly Json[]) : []
    const role = stringAt(message['role'], ['message', 'role'])
    const turn: Message =
      role === 'tool'
        ? resultMessage(stringAt(message['toolCallId'], ['message', 'toolCallId']), content as ResultPart[])
        : role === 'assistant'
          ? {
              role,
              content: [
                ...content,
                ...calls.map((call, index) => calledIn(objectAt(call, ['message', 'toolCalls', index]))),
              ],
            }
          : { role: role === 'system' ? 'system' : 'user', content: content as ResultPart[] }
    this.#sink.message(line, withOtherFields(turn, format, beside))
  }

  #event(event: JsonObject, entry: JsonObject, line: number): void {
    const step = (this.#step ??= { line, content: [], results: [], time: entry['time'] })
    switch (event['type']) {
      case 'step.begin':
        if (step.content.length > 0 || step.results.length > 0) this.#flush()
        return this.#sink.aside('step.begin')
      case 'content.part':
        // Content after a result is a later step's.
        if (step.results.length > 0) {
          this.#flush()
          return this.#event(event, entry, line)
        }
        return void step.content.push(
          ...partsOf([event['part'] ?? null]).map((part) =>
            besideStep(part, entry, fieldsBeside(event, ['type', 'part'])),
          ),
        )
      case 'tool.call':
        return void step.content.push(
          besideStep(calledIn(event), entry, fieldsBeside(event, ['type', 'toolCallId', 'name', 'args'])),
        )
      case 'tool.result': {
        const { output, isError } = objectIn(event, 'result')
        const content = typeof output === 'string' ? [textPart(output)] : (partsOf(output) as ResultPart[])
        const result = resultMessage(stringAt(event['toolCallId'], ['event', 'toolCallId']), content, {
          isError: isError === true,
        })
        step.results.push([
          line,
          withOtherFields(result, format, {
            ...fieldsBeside(entry, ['type', 'event']),
            event: fieldsBeside(event, ['type', 'toolCallId', 'result']) ?? {},
            result:
              fieldsBeside(objectIn(event, 'result'), [
                'output',
                ...(typeof isError === 'boolean' ? ['isError'] : []),
              ]) ?? {},
          }),
        ])
        return
      }
      default:
        return this.#sink.aside(typeof event['type'] === 'string' ? event['type'] : 'event of no kind')
    }
  }

  #flush(): void {
    const step = this.#step
    this.#step = undefined
    if (step === undefined) return
    const { line, content, results, time } = step
    if (content.length > 0)
      this.#sink.message(
        line,
        withOtherFields({ role: 'assistant', content }, format, time === undefined ? {} : { time }),
      )
    for (const [at, result] of results) this.#sink.message(at, result)
  }
}

const calledIn = (call: JsonObject): Part => {
  const own = isObject(call['function']) ? call['function'] : call
  const id = textIn(call, 'toolCallId') ?? stringAt(call['id'], ['id'])
  return callPart(id, stringAt(own['name'], ['name']), own['args'] ?? own['arguments'])
}

const readBlock = blockReader(format, { text: ['text', 'text'], think: ['reasoning', 'think', 'encrypted'] })

const partsOf = (content: Json | undefined): readonly Part[] => {
  if (typeof content === 'string') return [textPart(content)]
  return arrayAt(content ?? [], ['content']).map((item): Part => {
    const part = objectAt(item, ['content'])
    const url = objectIn(part, 'image_url')['url'] ?? objectIn(part, 'imageUrl')['url']
    if (typeof url === 'string') return { type: 'image', source: sourceOf(url) }
    return readBlock(part, ['content'])
  })
}

const number = (value: Json | undefined): number => (typeof value === 'number' ? value : 0)

/** A part with the fields of its record that are beside it. */
const besideStep = (part: Part, entry: JsonObject, event: JsonObject | undefined): Part => {
  const rest = { ...fieldsBeside(entry, ['type', 'event', 'time']), ...(event && { event }) }
  return Object.keys(rest).length === 0 ? part : { ...part, meta: { ...part.meta, 'kimi-record': rest } }
}
