/**
 * The rollout of a Codex session: one line for each event, `{ timestamp, type, payload }`.
 *
 * The model's items (`response_item`) are the conversation. Screen events (`event_msg`) repeat them
 * and are counted; only token counts and rolled-back turns are read from them. A compaction becomes
 * a summary: the messages it hid from the model stay in the conversation.
 *
 * Source  openai/codex, codex-rs: protocol/src/protocol.rs (`RolloutItem`), rollout/src/recorder.rs (2026-08); the first
 *         version (2025-05 to 2025-08) has the items and a header as lines by themselves
 */
import {
  fieldsBeside,
  isObject,
  ownField,
  type Json,
  type JsonObject,
  objectAt,
  stringAt,
} from 'indelible/internal/json'
import { codecs, type TranscriptFault } from 'indelible/codecs'
import { type Message } from 'indelible/message'
import { countsIn } from '../format/format-facts.ts'
import type { LineFormat, Range, Sink } from '../format/line-format.ts'
import { codexUse, countCall } from '../format/call-counts.ts'
import { count, objectIn, textIn, type CallDetails } from '../format/origin.ts'
import { withOtherFields, withOtherLines } from '../format/other-fields.ts'
import { unknownLine } from '../format/unknown-line.ts'
import { readTogether, reasonOf, type EntryAtLine } from '../format/read-problems.ts'

const format = 'codex'

const kinds: ReadonlySet<unknown> = new Set(['session_meta', 'response_item', 'event_msg', 'turn_context', 'compacted'])

export const codex: LineFormat = {
  format,
  signatures: [['timestamp', 'type', 'payload']],
  countsOf: countsIn(format, ({ call }) => (isObject(call) ? codexUse(call) : undefined)),
  matches: (entry) =>
    (kinds.has(entry['type']) && isObject(entry['payload'])) ||
    (entry['type'] === undefined &&
      typeof entry['id'] === 'string' &&
      typeof entry['timestamp'] === 'string' &&
      'instructions' in entry) ||
    entry['record_type'] === 'state',
  reader: (sink) => {
    const turns = new Turns(sink)
    let hasHeader = false
    const header = (entry: JsonObject, payload: JsonObject, line: number): void => {
      // A session that continues or forks another repeats that session's header.
      if (hasHeader) return turns.after(() => sink.entry(line, entry))
      hasHeader = true
      readHeader(payload, sink)
      if (['forked_from_id', 'parent_thread_id'].some((field) => typeof payload[field] === 'string'))
        turns.copied = new CopiedHistory(payload, entry['timestamp'])
      const { history_base: base } = payload
      if (isObject(base) && base['read'] !== true)
        sink.damage(
          line,
          `continues session ${String(base['thread_id'])}, whose file was not found: the earlier messages are missing`,
        )
      const known = ['type', 'payload', ...(entry['timestamp'] === sink.origin.started ? ['timestamp'] : [])]
      if (payload !== entry && fieldsBeside(entry, known) !== undefined)
        sink.entry(line, fieldsBeside(entry, ['payload']) ?? {})
    }
    return {
      read: (entry, line) => {
        sink.origin.time(entry['timestamp'])
        turns.time = entry['timestamp']
        turns.copied?.line(entry)
        const { type, payload } = entry
        if (entry['record_type'] !== undefined) return sink.aside('state')
        if (type === undefined && 'instructions' in entry) return header(entry, entry, line)
        if (type === 'session_meta') return header(entry, objectAt(payload, ['payload']), line)
        if (type === 'token_usage_record') return readUse(isObject(payload) ? payload : {}, sink, turns)
        if (kinds.has(type)) return readLine(entry, objectAt(payload, ['payload']), line, sink, turns)
        if (payload === undefined && isItem(entry)) return turns.item(entry, undefined, line)
        if (type === 'world_state' || type === 'inter_agent_communication') return sink.aside(type)
        turns.after(unknownLine(entry, line, sink))
      },
      end: () => {
        turns.flush()
        const items = turns.dropped.reduce((sum, [from, to]) => sum + to - from, 0)
        if (items > 0) sink.origin.aside('item that was taken back', items)
        return { dropped: turns.dropped }
      },
    }
  },
}

/**
 * Which lines are copies of another session's, in the file of a sub-agent or a fork. Codex 0.171 says where the own history begins,
 * and names turns and sessions by UUIDs with their times. Of earlier files only the times of the lines tell: the copies are
 * written at once.
 */
class CopiedHistory {
  readonly #start: Json | undefined
  readonly #id: string | undefined
  readonly #until: number
  #turn: string | undefined
  #isCopy = true

  constructor(header: JsonObject, timestamp: Json | undefined) {
    this.#start = header['subagent_history_start_ordinal']
    this.#id = textIn(header, 'id')
    this.#until = Date.parse(String(timestamp)) + copySpan
  }

  /** Whether the line being read is a copy. */
  get isCopy(): boolean {
    return this.#isCopy
  }

  /** The next line. */
  line({ ordinal, timestamp, payload }: JsonObject): void {
    const { turn_id: turn, thread_id: thread } = isObject(payload) ? payload : {}
    if (typeof turn === 'string') this.#turn = turn
    if (typeof this.#start === 'number' && typeof ordinal === 'number') this.#isCopy = ordinal < this.#start
    else if (typeof thread === 'string' && this.#id !== undefined) this.#isCopy = thread !== this.#id
    else if (this.#turn !== undefined && this.#id !== undefined && isTimed.test(this.#turn) && isTimed.test(this.#id))
      this.#isCopy = this.#turn.slice(0, 13) < this.#id.slice(0, 13)
    else this.#isCopy = !(Date.parse(String(timestamp)) > this.#until)
  }
}

/** Matches a UUID of version 7, whose first 13 characters are a time. */
const isTimed = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/

/**
 * How long Codex takes at most to write the history of another session into a new file, in milliseconds.
 *
 * Source  rollouts of sub-agents of Codex 0.145 (2026-07): the copied lines have the time of the copy
 */
const copySpan = 1000

/** Whether an entry is a bare item, as in the first version. */
const isItem = ({ type, role }: JsonObject): boolean =>
  type === undefined
    ? typeof role === 'string'
    : typeof type === 'string' && /^(?:message|reasoning|.+_call|.+_output)$/.test(type)

const readLine = (entry: JsonObject, payload: JsonObject, line: number, sink: Sink, turns: Turns): void => {
  switch (entry['type']) {
    case 'response_item':
      return turns.item(payload, fieldsBeside(entry, ['type', 'payload']), line)
    case 'turn_context':
      turns.model = payload['model']
      sink.origin.model(turns.model)
      return sink.aside('turn_context')
    case 'event_msg':
      return readEvent(payload, sink, turns)
    case 'compacted': {
      turns.flush()
      const text = stringAt(payload['message'], ['payload', 'message'])
      const beside = { ...fieldsBeside(entry, ['type']), payload: fieldsBeside(payload, ['message']) ?? {} }
      return void sink.summary(line, { text, before: sink.items, beside })
    }
  }
}

const readHeader = (header: JsonObject, { origin }: Sink): void => {
  origin.describe(header, { id: 'id', version: 'cli_version', started: 'timestamp' })
}

const readEvent = (event: JsonObject, { aside }: Sink, turns: Turns): void => {
  const type = stringAt(event['type'], ['payload', 'type'])
  if (type === 'token_count') {
    const info = objectIn(event, 'info')
    const used = objectIn(info, 'last_token_usage')
    // Each answer is reported twice: when it ends, and with the rate limits from its headers.
    if (used['input_tokens'] !== undefined && turns.isNews(info['total_token_usage']) && !turns.hasRecord(used))
      turns.count(used)
  } else if (type === 'thread_rolled_back') turns.takeBack(count(event['num_turns']))
  aside(`event ${type}`)
}

/** Read the record of one call. It has also the calls of compactions, which no `token_count` repeats. */
const readUse = (record: JsonObject, { aside }: Sink, turns: Turns): void => {
  const used = objectIn(record, 'usage')
  const key = textIn(record, 'response_id')
  if (Object.keys(used).length > 0) {
    turns.record(used)
    turns.count(used, key === undefined ? {} : { key })
  }
  aside('token_usage_record')
}

interface Item extends EntryAtLine {
  /** The fields of its line other than the item, such as the time. */
  readonly beside: JsonObject | undefined
}

/**
 * Gathers items until their message is complete: consecutive items of the assistant form one
 * message, and the results of its calls are read together with them.
 */
class Turns {
  /** The items of rolled-back turns. */
  readonly dropped: Range[] = []
  readonly #sink: Sink
  #gathered: Item[] = []
  #answered = false
  /** Writes that wait for the gathered items. */
  #held: (() => void)[] = []
  readonly #open = new Set<Json>()
  /** The first item of each turn that was not rolled back. */
  readonly #starts: number[] = []

  /** The time of the line being read. */
  time: Json | undefined
  /** The history of another session in the file; undefined if there is none. */
  copied: CopiedHistory | undefined

  /** The model of the turn. */
  model: Json | undefined
  /** The counts of the call behind the gathered answer. */
  #call: JsonObject | undefined
  /** How many calls with the same counts were recorded, and not repeated yet. */
  readonly #records = new Map<string, number>()
  /** The session's token total, as last reported. */
  #total: string | undefined

  constructor(sink: Sink) {
    this.#sink = sink
  }

  /** Remember the record of a call, which a `token_count` may repeat. */
  record(used: JsonObject): void {
    const counts = countsText(used)
    this.#records.set(counts, (this.#records.get(counts) ?? 0) + 1)
  }

  /** Whether these counts repeat a record. */
  hasRecord(used: JsonObject): boolean {
    const counts = countsText(used)
    const left = this.#records.get(counts) ?? 0
    if (left > 0) this.#records.set(counts, left - 1)
    return left > 0
  }

  /** Whether this total differs from the last one reported, or is unknown. */
  isNews(total: Json | undefined): boolean {
    const before = this.#total
    this.#total = isObject(total) ? JSON.stringify(total) : undefined
    return this.#total === undefined || this.#total !== before
  }

  /** Count a call, whose answer is the last one read. */
  count(used: JsonObject, key: Pick<CallDetails, 'key'> = {}): void {
    const call = { ...used, ...(this.model !== undefined && { model: this.model }) }
    countCall(this.#sink.origin, codexUse(call), {
      time: this.time,
      ...key,
      ...(this.copied?.isCopy === true && { isCopy: true }),
    })
    if (this.#gathered.length > 0) this.#call = call
  }

  item(item: JsonObject, beside: JsonObject | undefined, line: number): void {
    const { type, call_id: call } = item
    const isOutput = isAnswer(item)
    const isSpoken = (type === 'message' || type === undefined) && item['role'] !== 'assistant'
    if (isSpoken || (this.#answered && !isOutput && this.#open.size === 0)) this.flush()
    if (isSpoken && item['role'] === 'user' && !isContext(item)) this.#starts.push(this.#sink.items)
    if (isOutput) this.#answered = true
    if (typeof call === 'string' && isOutput) this.#open.delete(call)
    else if (typeof call === 'string') this.#open.add(call)
    this.#gathered.push({ entry: item, beside, line })
    if (isSpoken) this.flush()
  }

  /** Write now, or after the items being gathered. */
  after(write: () => void): void {
    if (this.#gathered.length === 0) write()
    else this.#held.push(write)
  }

  flush(): void {
    const [first] = this.#gathered
    if (first === undefined) return
    const damaged = ({ line }: Item, fault: TranscriptFault): void =>
      this.#sink.damage(line, reasonOf(fault, 1, 'the item'))
    const messages = readTogether(this.#gathered, codecs['openai-responses'].decode, damaged).flatMap(
      ([, read]) => read,
    )
    for (const message of withLines(messages, this.#gathered)) {
      const call = message.role === 'assistant' ? this.#call : undefined
      if (call !== undefined) this.#call = undefined
      const own = (ownField(ownField(message, 'meta') ?? {}, format) ?? {}) as JsonObject
      this.#sink.message(first.line, call === undefined ? message : withOtherFields(message, format, { ...own, call }))
    }
    const held = this.#held
    this.#gathered = []
    this.#held = []
    this.#answered = false
    this.#call = undefined
    this.#open.clear()
    for (const write of held) write()
  }

  /** Roll back the user's last turns, with everything after them. */
  takeBack(turns: number): void {
    this.flush()
    const { items } = this.#sink
    const [from = items] = turns === 0 ? [] : this.#starts.splice(Math.max(0, this.#starts.length - turns))
    if (from === items) return
    while ((this.dropped.at(-1)?.[0] ?? -1) >= from) this.dropped.pop()
    this.dropped.push([from, items])
  }
}

const countsText = (used: JsonObject): string =>
  JSON.stringify(['input_tokens', 'cached_input_tokens', 'output_tokens'].map((field) => count(used[field])))

const isAnswer = ({ type }: JsonObject): boolean => typeof type === 'string' && type.endsWith('_output')

/**
 * Adds the lines' extra fields to messages: to a result those of its own line, to the first message
 * the others, all but the first of them under `others`.
 */
const withLines = (messages: readonly Message[], placed: readonly Item[]): readonly Message[] => {
  const left = placed.filter(({ beside }) => beside !== undefined)
  const found = messages.map(({ role, content: [first] }) => {
    if (role !== 'tool' || first?.type !== 'tool_result') return undefined
    const at = left.findIndex(({ entry }) => isAnswer(entry) && entry['call_id'] === first.callId)
    return at === -1 ? undefined : left.splice(at, 1)[0]?.beside
  })
  const [own, ...others] = left.map(({ beside }) => beside as JsonObject)
  return messages.map((message, index) => {
    const beside = index === 0 ? withOtherLines({ ...found[0], ...own }, others) : (found[index] ?? {})
    return Object.keys(beside).length === 0 ? message : withOtherFields(message, format, beside)
  })
}

/** Whether Codex itself wrote this user message: context such as the environment, not a turn. */
const isContext = ({ content }: JsonObject): boolean => {
  const first = Array.isArray(content) ? (content as readonly Json[])[0] : undefined
  const text = isObject(first) ? first['text'] : content
  return (
    typeof text === 'string' &&
    /^\s*(?:<(?:environment_context|user_instructions|permissions|turn_aborted|skill|subagent_notification|user_shell_command)\b|# AGENTS\.md instructions)/.test(
      text,
    )
  )
}
