/**
 * opencode: the export of a session, `{ info, messages: [{ info, parts }] }`, or a dump of its storage:
 * projects, sessions, messages and parts as separate JSON values, one after another, in any order.
 *
 * Each step of an assistant message becomes a message with its text and calls, followed by one for
 * each result. A message without content is a note, and so is a compaction. Each session is a
 * conversation for `pick`, in the order of creation.
 *
 * Source  anomalyco/opencode, packages/opencode/src: session/message-v2.ts, session/session.sql.ts, cli/cmd/export.ts
 *         (2026-05); the dump: observed files of version 1.1
 */
import {
  ownFields,
  arrayAt,
  fieldsBeside,
  isObject,
  objectAt,
  present,
  stringAt,
  Unexpected,
  type Json,
  type JsonObject,
} from 'indelible/internal/json'
import { sourceOf } from 'indelible/internal/codecs'
import { textOf, type Message, type Meta, type Part, type ResultPart } from 'indelible/message'
import { callPart, textPart } from '../format/entry-lines.ts'
import { metaOf } from '../format/other-fields.ts'
import { countsIn } from '../format/format-facts.ts'
import type { Ending, LineFormat, Range, Sink } from '../format/line-format.ts'
import { countCall, opencodeUse } from '../format/call-counts.ts'
import { isoOf, objectIn, textIn } from '../format/origin.ts'
import { unknownLine } from '../format/unknown-line.ts'

const format = 'opencode'

const isExport = ({ info, messages }: JsonObject): boolean =>
  isObject(info) &&
  Array.isArray(messages) &&
  (messages as readonly Json[]).every((message) => isObject(message) && isObject(message['info']) && 'parts' in message)

const isSession = (entry: JsonObject): boolean =>
  typeof entry['id'] === 'string' && 'projectID' in entry && 'version' in entry && isObject(entry['time'])
const isMessage = (entry: JsonObject): boolean =>
  typeof entry['id'] === 'string' && 'sessionID' in entry && typeof entry['role'] === 'string'
const isPart = (entry: JsonObject): boolean =>
  typeof entry['id'] === 'string' && 'messageID' in entry && typeof entry['type'] === 'string'

/** Other kinds of values in its storage, which are counted. */
const otherKindOf = (entry: JsonObject): string | undefined =>
  'worktree' in entry ? 'project' : 'secret' in entry && 'url' in entry ? 'share' : undefined

/** The kind of a list in its storage. A list does not name its session. */
const listKind = (list: readonly Json[]): string => {
  const [first] = list
  if (isObject(first) && 'file' in first && 'additions' in first) return 'session diff'
  if (isObject(first) && 'content' in first && 'status' in first) return 'todo list'
  return 'list'
}

export const opencode: LineFormat = {
  format,
  signatures: [['info', 'messages']],
  times: [['info', 'time', 'created'], ['time']],
  countsOf: countsIn(format, (own) => opencodeUse('tokens' in own ? own : objectIn(own, 'info'))),
  spansLines: true,
  matches: (entry) => isExport(entry) || isSession(entry) || isMessage(entry) || isPart(entry),
  reader: (sink) => new Reader(sink),
}

interface ValueAtLine {
  readonly value: JsonObject
  readonly line: number
}

interface Turn extends ValueAtLine {
  readonly parts: ValueAtLine[]
  /** The export's fields other than info and parts. */
  readonly beside?: JsonObject
}

class Reader {
  readonly #sink: Sink
  readonly #sessions = new Map<string, JsonObject>()
  /** The turns of each session, by message id. */
  readonly #turns = new Map<string, Map<string, Turn>>()
  /** Parts whose message has not been read yet, by its id. */
  readonly #parts = new Map<string, ValueAtLine[]>()
  readonly #values = new Map<string, number>()

  constructor(sink: Sink) {
    this.#sink = sink
  }

  read(entry: JsonObject, line: number): void {
    if (isExport(entry)) return this.#readExport(entry, line)
    if (isSession(entry)) return this.#addSession(entry, line)
    if (isMessage(entry)) return this.#addTurn({ value: entry, line, parts: [] })
    if (isPart(entry)) return this.#addPart({ value: entry, line })
    const kind = otherKindOf(entry)
    if (kind !== undefined) return this.#sink.aside(kind)
    unknownLine(entry, line, this.#sink)()
  }

  readList(list: readonly Json[]): void {
    this.#sink.aside(listKind(list))
  }

  end(): Ending {
    for (const [id, parts] of this.#parts)
      for (const { line } of parts)
        this.#sink.damage(line, `is a part of message ${JSON.stringify(id)}, which is missing`)
    const ids = [...new Set([...this.#sessions.keys(), ...this.#turns.keys()])]
      .filter((id) => this.#turns.has(id) || this.#sessions.size === 1)
      .toSorted((a, b) => createdOf(this.#sessions.get(a)) - createdOf(this.#sessions.get(b)))
    const picked = ids[this.#sink.pick]
    const others = [...this.#values].reduce((sum, [id, count]) => sum + (id === picked ? 0 : count), 0)
    if (others > 0) this.#sink.origin.aside('value of another conversation', others)
    const dropped = picked === undefined ? [] : this.#write(picked)
    return { count: ids.length, dropped }
  }

  #readExport(entry: JsonObject, line: number): void {
    const info = objectAt(entry['info'], ['info'])
    const id = stringAt(info['id'], ['info', 'id'])
    this.#addSession({ ...info, ...fieldsBeside(entry, ['info', 'messages']) }, line, id)
    arrayAt(entry['messages'], ['messages']).forEach((item, index) => {
      const message = objectAt(item, ['messages', index])
      const value = objectAt(message['info'], ['messages', index, 'info'])
      stringAt(value['id'], ['messages', index, 'info', 'id'])
      const parts = arrayAt(message['parts'], ['messages', index, 'parts']).map((part, at) => ({
        value: objectAt(part, ['messages', index, 'parts', at]),
        line,
      }))
      this.#addTurn({ value, line, parts, ...present({ beside: fieldsBeside(message, ['info', 'parts']) }) }, id)
    })
  }

  #addSession(session: JsonObject, line: number, id: string = stringAt(session['id'], ['id'])): void {
    if (this.#sessions.has(id)) return this.#sink.damage(line, `is a second session ${JSON.stringify(id)}`)
    this.#sessions.set(id, session)
    this.#count(id)
  }

  #addTurn(turn: Turn, session: string = stringAt(turn.value['sessionID'], ['sessionID'])): void {
    const id = stringAt(turn.value['id'], ['id'])
    const turns = this.#turns.get(session) ?? new Map<string, Turn>()
    if (turns.has(id)) return this.#sink.damage(turn.line, `is a second message ${JSON.stringify(id)}`)
    this.#turns.set(session, turns)
    turns.set(id, turn)
    this.#count(session)
    const waiting = this.#parts.get(id) ?? []
    this.#parts.delete(id)
    for (const part of waiting) {
      turn.parts.push(part)
      this.#count(session)
    }
  }

  #addPart(part: ValueAtLine): void {
    const id = stringAt(part.value['messageID'], ['messageID'])
    for (const [session, turns] of this.#turns) {
      const turn = turns.get(id)
      if (turn === undefined) continue
      turn.parts.push(part)
      return this.#count(session)
    }
    const waiting = this.#parts.get(id)
    if (waiting === undefined) this.#parts.set(id, [part])
    else waiting.push(part)
  }

  #count(session: string): void {
    this.#values.set(session, (this.#values.get(session) ?? 0) + 1)
  }

  /** Write a session. Returns the items that were taken back. */
  #write(id: string): readonly Range[] {
    const { origin } = this.#sink
    const session = { ...this.#sessions.get(id), id }
    const { created, updated } = objectIn(session, 'time')
    origin.describe(session, { id: 'id', title: 'title', version: 'version' })
    origin.time(isoOf(created))
    const turns = inOrder([...(this.#turns.get(id)?.values() ?? [])])
    const back = textIn(objectIn(session, 'revert'), 'messageID')
    let from: number | undefined
    for (const turn of turns) {
      if (turn.value['id'] === back) from = this.#sink.items
      this.#sink.attempt(turn.line, () => this.#writeTurn(turn, id))
    }
    origin.time(isoOf(updated))
    const { items } = this.#sink
    if (from === undefined || from === items) return []
    origin.aside('item that was taken back', items - from)
    return [[from, items]]
  }

  #writeTurn(turn: Turn, session: string): void {
    const { value, line, beside: others } = turn
    const parts = turn.parts.toSorted((a, b) => compare(a.value['id'], b.value['id'])).map((part) => part.value)
    if (value['role'] === 'assistant') {
      const created = createdOf(value)
      const { title, time = null } = this.#sessions.get(session) ?? {}
      const isCopy = isForkCopy(value['id'], created, title, isObject(time) ? time['created'] : undefined)
      countCall(this.#sink.origin, opencodeUse(value), { time: isoOf(created), ...(isCopy && { isCopy }) })
    }
    const keepOtherFields: KeepOtherFields = (part, ...known) =>
      metaOf(format, fieldsBeside(part, ['type', ...known, ...repeatedIds(part, session, value)]))
    const steps =
      value['role'] === 'assistant' ? stepsOf(parts, keepOtherFields, value) : [userStep(parts, keepOtherFields)]
    if (steps.every(({ content }) => content.length === 0))
      return void this.#sink.entry(line, { info: value, parts, ...(others && { beside: others }) })
    const info = fieldsBeside(value, ['id', 'role', ...(value['sessionID'] === session ? ['sessionID'] : [])]) ?? {}
    if (value['summary'] === true) return this.#writeSummary(turn, parts, steps)
    steps.forEach(({ content, results, aside, at }, index) => {
      const own = {
        ...(index === 0 ? { info, ...(others && { beside: others }) } : timeIn(at, value)),
        ...(aside.length > 0 && { parts: aside }),
      }
      const message: Message = {
        role: roleOf(value),
        content,
        ...(index === 0 && { id: value['id'] as string }),
        ...(Object.keys(own).length > 0 && { meta: { [format]: own } }),
      }
      this.#sink.message(line, message)
      for (const result of results) this.#sink.message(line, result)
    })
  }

  /** Write the summary of a compaction, which replaces everything before it. */
  #writeSummary({ value, line, beside }: Turn, parts: readonly JsonObject[], steps: readonly Step[]): void {
    const text = steps.map(({ content }) => textOf({ role: 'assistant', content })).join('\n')
    const others = parts.flatMap((part) => {
      const rest = part['type'] === 'text' ? fieldsBeside(part, ['type', 'text']) : part
      return rest === undefined ? [] : [rest]
    })
    this.#sink.summary(line, {
      ...{ text, before: this.#sink.items },
      beside: { info: value, parts: others, ...present({ beside }) },
    })
  }
}

const roleOf = ({ role }: JsonObject): Message['role'] => {
  if (role === 'user' || role === 'assistant') return role
  throw new Unexpected(['role'], '"user" or "assistant"', role)
}

/** The content of one step, the results of its calls, and the parts that are neither. */
interface Step {
  readonly content: Part[]
  readonly results: Message[]
  readonly aside: JsonObject[]
  /** When its first part began, if recorded. */
  at?: Json | undefined
}

const emptyStep = (): Step => ({ content: [], results: [], aside: [], at: undefined })

const userStep = (parts: readonly JsonObject[], keepOtherFields: KeepOtherFields): Step => {
  const step = emptyStep()
  for (const part of parts) {
    const read = readSaid(part, keepOtherFields)
    if (read === undefined) step.aside.push(part)
    else step.content.push(read)
  }
  return step
}

const stepsOf = (parts: readonly JsonObject[], keepOtherFields: KeepOtherFields, info: JsonObject): readonly Step[] => {
  const steps = [emptyStep()]
  for (const part of parts) {
    if (part['type'] === 'step-start' && (steps.at(-1)?.content.length ?? 0) > 0) steps.push(emptyStep())
    const step = steps.at(-1) as Step
    const { content, results, aside } = step
    step.at ??= timesOf(part)['start']
    if (part['type'] === 'tool') {
      const state = objectAt(part['state'], ['state'])
      content.push(readCall(part, state, keepOtherFields))
      results.push(...readResult(part, state, info))
      continue
    }
    const read = readSaid(part, keepOtherFields)
    if (read === undefined) aside.push(part)
    else content.push(read)
  }
  return steps
}

/** A text, file or reasoning part; undefined for a part that is not sent to the model. */
const readSaid = (part: JsonObject, keepOtherFields: KeepOtherFields): Part | undefined => {
  switch (part['type']) {
    case 'text':
      return { type: 'text', text: stringAt(part['text'], ['text']), ...keepOtherFields(part, 'text') }
    case 'reasoning': {
      const signature = textIn(objectIn(objectIn(part, 'metadata'), 'anthropic'), 'signature')
      return {
        type: 'reasoning',
        text: stringAt(part['text'], ['text']),
        ...(signature !== undefined && { signature }),
        ...keepOtherFields(part, 'text'),
      }
    }
    case 'file':
      return readFile(part, keepOtherFields)
    default:
      return undefined
  }
}

const readFile = (part: JsonObject, keepOtherFields: KeepOtherFields): ResultPart => {
  const url = stringAt(part['url'], ['url'])
  const source = sourceOf(url)
  const mime = textIn(part, 'mime')
  if (mime?.startsWith('image/') === true) return { type: 'image', source, ...keepOtherFields(part, 'url') }
  const name = textIn(part, 'filename')
  return {
    type: 'file',
    source,
    ...(name !== undefined && { name }),
    ...keepOtherFields(part, 'url', ...(name === undefined ? [] : ['filename'])),
  }
}

const readCall = (part: JsonObject, state: JsonObject, keepOtherFields: KeepOtherFields): Part => {
  const { input, output, error, attachments, ...others } = state
  const isDone = typeof output === 'string'
  const isFailed = typeof error === 'string' && !isDone
  const kept = {
    ...others,
    ...(!isDone && output !== undefined && { output }),
    ...(!isFailed && error !== undefined && { error }),
    ...((!isDone || !Array.isArray(attachments)) && attachments !== undefined && { attachments }),
  }
  const { meta } = keepOtherFields(part, 'callID', 'tool', 'state')
  return {
    ...callPart(stringAt(part['callID'], ['callID']), stringAt(part['tool'], ['tool']), JSON.stringify(input ?? {})),
    meta: { [format]: { ...(meta?.[format] as JsonObject | undefined), state: kept } },
  }
}

/** The result of a call that finished or failed; none for one that was still running. */
const readResult = (part: JsonObject, state: JsonObject, info: JsonObject): readonly Message[] => {
  const { output, error, attachments } = state
  const isDone = typeof output === 'string'
  if (!isDone && typeof error !== 'string') return []
  const files = isDone && Array.isArray(attachments) ? (attachments as readonly Json[]) : []
  const content = [
    textPart(isDone ? output : (error as string)),
    ...files.map((file): ResultPart =>
      isObject(file) && typeof file['url'] === 'string'
        ? readFile(file, (part, ...known) => metaOf(format, fieldsBeside(part, known)))
        : { type: 'provider', provider: format, raw: file },
    ),
  ]
  const answer = { callId: part['callID'] as string, name: part['tool'] as string, content }
  return [
    {
      role: 'tool',
      content: [{ type: 'tool_result', ...answer, ...(!isDone && { isError: true }) }],
      ...metaOf(format, timeIn(timesOf(part)['end'], info)),
    },
  ]
}

/** The start and end of a part: texts and reasoning have them beside their content, calls in their state. */
const timesOf = (part: JsonObject): JsonObject =>
  ownFields({ ...objectIn(part, 'time'), ...objectIn(objectIn(part, 'state'), 'time') })

/** The time of a message that has no `info` of its own: the part's, or else that of the opencode message. */
const timeIn = (time: Json | undefined, info: JsonObject): { readonly time: number } | undefined => {
  const found = typeof time === 'number' ? time : objectIn(info, 'time')['created']
  return typeof found === 'number' ? { time: found } : undefined
}

/** Returns the fields of a part that are not read, as `meta`. */
type KeepOtherFields = (part: JsonObject, ...known: readonly string[]) => { readonly meta?: Meta }

const repeatedIds = (part: JsonObject, session: string, { id }: JsonObject): readonly string[] => [
  ...(part['sessionID'] === session ? ['sessionID'] : []),
  ...(part['messageID'] === id ? ['messageID'] : []),
]

/** By time, as opencode sorts them; if an answer would then precede its question, by id, else in file order. */
const inOrder = (turns: readonly Turn[]): readonly Turn[] => {
  const byTime = turns.toSorted(
    (a, b) => createdOf(a.value) - createdOf(b.value) || compare(a.value['id'], b.value['id']),
  )
  const byId = turns.toSorted((a, b) => compare(a.value['id'], b.value['id']))
  return [byTime, byId, turns].find(answersFollow) ?? byTime
}

const answersFollow = (turns: readonly Turn[]): boolean => {
  const places = new Map(turns.map(({ value }, place) => [value['id'], place]))
  return turns.every(({ value }, place) => (places.get(value['parentID']) ?? -1) < place)
}

/**
 * Whether a message is a copy in a fork: it was created before its session, with an id that was made after it. An id has its time
 * in milliseconds in its first nine digits, without the higher bits. Of other ids only the title tells.
 *
 * Source  opencode 1.18.33, packages/opencode/src: session/session.ts (`fork`), id/id.ts; its files
 */
export const isForkCopy = (
  id: Json | undefined,
  created: Json | undefined,
  title: Json | undefined,
  began: Json | undefined,
): boolean => {
  if (typeof created !== 'number' || typeof began !== 'number' || created >= began) return false
  const [, digits] = /^msg_([0-9a-f]{9})[0-9a-f]{3}/.exec(String(id)) ?? []
  return digits === undefined ? /\(fork #\d+\)$/.test(String(title)) : Number.parseInt(digits, 16) >= began % 2 ** 36
}

const createdOf = (value: JsonObject | undefined): number => {
  const { created } = objectIn(value ?? {}, 'time')
  return typeof created === 'number' ? created : 0
}

const compare = (a: Json | undefined, b: Json | undefined): number =>
  typeof a !== 'string' || typeof b !== 'string' || a === b ? 0 : a < b ? -1 : 1
