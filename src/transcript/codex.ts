/**
 * The rollout of a Codex session: one line for each thing that happened, `{ timestamp, type, payload }`.
 *
 * The items of the model (`response_item`) are the conversation. The events of the screen (`event_msg`) say the same
 * again and are counted, but for what only they say: the tokens used, and turns that were taken back. A compaction is a
 * summary: what it took out of the model's sight is still part of the conversation.
 *
 * Source  openai/codex, codex-rs: protocol/src/protocol.rs (`RolloutItem`), rollout/src/recorder.rs (2026-08); the first
 *         version (2025-05 to 2025-08) has the items and a header as lines by themselves
 */
import { getOrElse, isLeft, type Either } from 'fp-ts/lib/Either.js'
import { fieldsBeside, formatPath, isObject, objectAt, stringAt, Unexpected, type Json, type JsonObject } from '../json/index.ts'
import { codecFaultText, codecs, type CodecFault, type Decoded, type Message } from '../message/index.ts'
import type { LineFormat, Range, Sink } from './line-format.ts'
import { count, objectIn, textIn } from './origin.ts'

const format = 'codex'

const kinds: ReadonlySet<unknown> = new Set(['session_meta', 'response_item', 'event_msg', 'turn_context', 'compacted'])

export const codex: LineFormat = {
  format,
  matches: (entry) =>
    (kinds.has(entry['type']) && isObject(entry['payload'])) ||
    (entry['type'] === undefined && typeof entry['id'] === 'string' && typeof entry['timestamp'] === 'string' && 'instructions' in entry) ||
    entry['record_type'] === 'state',
  reader: (sink) => {
    const turns = new Turns(sink)
    return {
      read: (entry, line) => {
        sink.origin.time(entry['timestamp'])
        const { type } = entry
        if (entry['record_type'] !== undefined) return sink.aside('state')
        if (type === undefined && 'instructions' in entry) return readHeader(entry, sink)
        const payload = type === undefined || !isObject(entry['payload']) ? undefined : entry['payload']
        if (payload === undefined) return turns.item(objectAt(entry, []), line)
        readLine(stringAt(type, ['type']), payload, line, sink, turns)
      },
      end: () => {
        turns.flush()
        return { count: 1, dropped: turns.dropped }
      },
    }
  },
}

const readLine = (type: string, payload: JsonObject, line: number, sink: Sink, turns: Turns): void => {
  switch (type) {
    case 'session_meta':
      return readHeader(payload, sink)
    case 'response_item':
      return turns.item(payload, line)
    case 'turn_context':
      sink.origin.model(payload['model'])
      return sink.aside(type)
    case 'event_msg':
      return readEvent(payload, sink, turns)
    case 'compacted': {
      turns.flush()
      const text = stringAt(payload['message'], ['payload', 'message'])
      return void sink.summary(line, { text, before: sink.items, beside: fieldsBeside(payload, ['message']) ?? {} })
    }
    case 'world_state':
    case 'inter_agent_communication':
      return sink.aside(type)
    default:
      throw new Unexpected(['type'], 'a kind of line that is known', type)
  }
}

const readHeader = (header: JsonObject, { origin }: Sink): void => {
  origin.id ??= textIn(header, 'id')
  origin.version ??= textIn(header, 'cli_version')
  const others = fieldsBeside(header, ['id', 'cli_version', 'timestamp'])
  if (others !== undefined && Object.keys(origin.metadata).length === 0) origin.metadata = others
}

const readEvent = (event: JsonObject, { origin, aside }: Sink, turns: Turns): void => {
  const type = stringAt(event['type'], ['payload', 'type'])
  if (type === 'token_count') {
    const used = objectIn(objectIn(event, 'info'), 'last_token_usage')
    if (used['input_tokens'] !== undefined)
      origin.usage({ input: used['input_tokens'], output: used['output_tokens'], cacheRead: used['cached_input_tokens'], cacheWrite: 0 })
  } else if (type === 'thread_rolled_back') turns.takeBack(count(event['num_turns']))
  aside(`event ${type}`)
}

interface Placed {
  readonly item: JsonObject
  readonly line: number
}

/**
 * Gathers items until nothing more can belong to their messages: what the assistant says in a row is one message, and
 * the results of its calls are read together with them.
 */
class Turns {
  /** The items that were taken back. */
  readonly dropped: Range[] = []
  readonly #sink: Sink
  #gathered: Placed[] = []
  #answered = false
  readonly #open = new Set<Json>()
  /** The first item of each turn that is not taken back. */
  readonly #starts: number[] = []

  constructor(sink: Sink) {
    this.#sink = sink
  }

  item(item: JsonObject, line: number): void {
    const { type, call_id: call } = item
    const isOutput = typeof type === 'string' && type.endsWith('_output')
    const isSpoken = (type === 'message' || type === undefined) && item['role'] !== 'assistant'
    if (isSpoken || (this.#answered && !isOutput && this.#open.size === 0)) this.flush()
    if (isSpoken && item['role'] === 'user' && !isContext(item)) this.#starts.push(this.#sink.items)
    if (isOutput) this.#answered = true
    if (typeof call === 'string' && isOutput) this.#open.delete(call)
    else if (typeof call === 'string') this.#open.add(call)
    this.#gathered.push({ item, line })
    if (isSpoken) this.flush()
  }

  flush(): void {
    const [first] = this.#gathered
    if (first === undefined) return
    for (const message of this.#read(this.#gathered)) this.#sink.message(first.line, message)
    this.#gathered = []
    this.#answered = false
    this.#open.clear()
  }

  /** The messages of items. Where one of them can't be read, of the others. */
  #read(placed: readonly Placed[]): readonly Message[] {
    const decoded = decode(placed)
    if (!isLeft(decoded)) return decoded.right.messages
    const readable = placed.filter((each) => {
      const alone = decode([each])
      if (isLeft(alone)) this.#sink.damage(each.line, reasonOf(alone.left))
      return !isLeft(alone)
    })
    const rest = decode(readable)
    return isLeft(rest) ? readable.flatMap((each) => getOrElse(nothing)(decode([each])).messages) : rest.right.messages
  }

  /** Take back the last turns of the user's, with everything after them. */
  takeBack(turns: number): void {
    this.flush()
    const { items } = this.#sink
    const [from = items] = turns === 0 ? [] : this.#starts.splice(Math.max(0, this.#starts.length - turns))
    if (from === items) return
    while ((this.dropped.at(-1)?.[0] ?? -1) >= from) this.dropped.pop()
    this.dropped.push([from, items])
  }
}

const nothing = (): Decoded => ({ messages: [], losses: [] })

const decode = (placed: readonly Placed[]): Either<CodecFault, Decoded> => codecs['openai-responses'].decode(placed.map(({ item }) => item))

const reasonOf = (fault: CodecFault): string =>
  fault._tag === 'UnexpectedWire' ? `${formatPath(fault.path.slice(1)) || 'the item'} should be ${fault.expected}, found ${fault.found}` : codecFaultText(fault)

/** Whether a message in the user's name is Codex's own: the surroundings, not a turn. */
const isContext = ({ content }: JsonObject): boolean => {
  const first = Array.isArray(content) ? (content as readonly Json[])[0] : undefined
  const text = isObject(first) ? first['text'] : content
  return typeof text === 'string' && /^\s*(?:<(?:environment_context|user_instructions|permissions|turn_aborted|skill|subagent_notification|user_shell_command)\b|# AGENTS\.md instructions)/.test(text)
}
