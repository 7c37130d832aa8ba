/**
 * Joins the chunks of a streamed Chat Completion into the body that the server would have sent whole. Also of servers
 * that are only compatible: their chunks repeat names and ids, and number calls in ways of their own.
 *
 * Source  OpenAI API reference, Chat Completions streaming; OpenRouter, reasoning details (2026-11)
 */
import { isObject, ownField, ownFields } from '../../json/index.ts'
import { mergeCounts, valuesIn, type Fields } from '../joining.ts'
import { JoinedCalls, type ChatGrowth } from './join-calls.ts'

/** Joins chunks as they arrive. */
export class JoinedCompletion {
  #rest: Fields = {}
  readonly #choices = new Map<unknown, JoinedChoice>()

  /** Adds a chunk of the stream. It may be kept and modified. */
  take(chunk: { readonly [field: string]: unknown }): readonly ChatGrowth[] {
    const { choices, usage, ...rest } = chunk
    for (const [field, value] of valuesIn(rest)) if (value !== '') this.#rest[field] = value
    this.#count(usage)
    const { x_groq: groq } = rest
    if (isObject(groq)) this.#count(groq['usage'])
    const grown: ChatGrowth[] = []
    for (const choice of Array.isArray(choices) ? (choices as readonly unknown[]) : []) {
      if (!isObject(choice)) continue
      const index = choice['index'] ?? 0
      const known = this.#choices.get(index) ?? new JoinedChoice()
      this.#choices.set(index, known)
      const pieces = known.take(choice as Fields)
      if (index === 0) for (const piece of pieces) grown.push(piece)
      this.#count(choice['usage']) // Moonshot
    }
    return grown
  }

  /** Why the first choice ended; undefined as long as it has not. */
  get reason(): string | undefined {
    return this.#first?.[1].reason
  }

  /** The body so far, with the first choice first; undefined before one. */
  get body(): Fields | undefined {
    const first = this.#first
    if (first === undefined) return undefined
    const others = [...this.#choices].filter((choice) => choice !== first && choice[0] !== first[0])
    return {
      ...this.#rest,
      choices: [first, ...others].map(([index, { message, reason, rest }]) =>
        Object.assign({ index, message, finish_reason: reason }, rest),
      ),
    }
  }

  get #first(): readonly [unknown, JoinedChoice] | undefined {
    const zero = this.#choices.get(0)
    return zero === undefined ? [...this.#choices][0] : [0, zero]
  }

  #count(usage: unknown): void {
    if (isObject(usage)) this.#rest['usage'] = mergeCounts(ownField(this.#rest, 'usage'), usage)
  }
}

class JoinedChoice {
  readonly #message: Fields = {}
  readonly #calls = new JoinedCalls()
  /** A message that the server sent whole; Perplexity sends the one so far beside each delta. */
  #whole: Fields | undefined
  /** The other fields of the choice, such as `logprobs`. */
  readonly rest: Fields = {}
  #hasDelta = false
  #isBlank = false
  reason: string | undefined

  take({
    delta,
    message,
    finish_reason: reason,
    index: _index,
    usage: _usage,
    ...rest
  }: Fields): readonly ChatGrowth[] {
    const { logprobs, ...others } = ownFields(rest)
    if (isObject(logprobs)) mergeFields(this.rest, { logprobs }) // a list that grows
    for (const [field, value] of valuesIn(others)) this.rest[field] = value
    if (typeof reason === 'string' && reason !== '') this.reason = reason
    if (isObject(message)) this.#whole = message as Fields
    if (!isObject(delta)) return []
    this.#hasDelta = true
    const grown: ChatGrowth[] = []
    for (const [field, value] of valuesIn(delta)) {
      if (field === 'role') continue
      if (field === 'tool_calls') for (const piece of this.#calls.take(value)) grown.push(piece)
      else if (field === 'function_call' && isObject(value)) this.#calls.takeLegacy(value as Fields)
      else for (const piece of this.#grow(field, value)) grown.push(piece)
    }
    return grown
  }

  /** The message so far. */
  get message(): Fields {
    if (!this.#hasDelta && this.#whole !== undefined) return this.#whole
    const { calls, legacy } = this.#calls
    const message: Fields = { role: 'assistant', content: null, ...this.#message }
    if (calls.length > 0) message['tool_calls'] = calls
    if (legacy !== undefined) message['function_call'] = legacy
    // Servers send an empty text beside calls, where a whole answer has none.
    if (this.#isBlank && Object.keys(message).length === 2 && message['content'] === null) message['content'] = ''
    return message
  }

  *#grow(field: string, input: unknown): Generator<ChatGrowth> {
    const message = this.#message
    const value = field === 'content' && typeof input !== 'object' ? String(input) : input
    const before = ownField(message, field)
    if (field === 'content' && (Array.isArray(before) || typeof value === 'object')) {
      const parts = (Array.isArray(before) ? before : textParts(before)) as Fields[]
      message[field] = parts
      for (const item of Array.isArray(value) ? (value as readonly unknown[]) : [value]) {
        const part = isObject(item) ? item : { type: 'text', text: String(item) }
        if (part['text'] === '') continue
        const key = addItem(parts, part as Fields, true)
        yield { key, field, text: textIn(part), message: () => ({ role: 'assistant', content: [key] }) }
      }
    } else if (Array.isArray(value)) {
      const list = (Array.isArray(before) ? before : []) as unknown[]
      message[field] = list
      for (const item of value as readonly unknown[])
        if (isObject(item)) addItem(list as Fields[], item as Fields, false)
        else list.push(item)
    } else if (isObject(value) && isObject(before)) mergeFields(before as Fields, value as Fields)
    else if (value === '' && before === undefined) this.#isBlank ||= field === 'content'
    else if (typeof value !== 'string' || fixedFields.has(field)) message[field] = value
    else {
      message[field] = typeof before === 'string' ? before + value : value
      yield { key: field, field, text: value, message: () => ({ role: 'assistant', [field]: message[field] }) }
    }
  }
}

const textParts = (text: unknown): readonly Fields[] =>
  typeof text === 'string' && text !== '' ? [{ type: 'text', text }] : []

const textIn = ({ type, text }: { readonly [field: string]: unknown }): string =>
  type === 'text' && typeof text === 'string' ? text : ''

/** Texts that a server may repeat, and that don't grow. */
const fixedFields: ReadonlySet<string> = new Set(['id', 'type', 'index', 'name', 'format', 'status', 'signature'])

/**
 * Adds an item of a list, or appends its texts to the item that it continues: the one with its type and index; of the
 * content, also a text after a text.
 */
const addItem = (list: Fields[], item: Fields, isContent: boolean): Fields => {
  const last = list.at(-1)
  const hasIndex = item['index'] !== undefined && item['index'] !== null
  const isText = isContent && isTextItem(item) && isObject(last) && isTextItem(last) && last['type'] === item['type']
  const items = hasIndex ? itemsOf(list) : lists.get(list)
  const known = hasIndex ? items?.find(item) : isText ? last : undefined
  if (known === undefined || Object.values(item).some(isObject)) {
    const own = { ...item }
    list.push(own)
    items?.add(own)
    return own
  }
  mergeFields(known, item)
  items?.add(known)
  return known
}

/** The items of a list by their type, index and id. */
class ListItems {
  readonly #positions = new Map<Fields, number>()
  /** The last item of each type and index: of all ids, and of each one. */
  readonly #last = new Map<unknown, Map<unknown, { any: Fields; readonly byId: Map<unknown, Fields> }>>()

  add(item: Fields): void {
    const { type, index, id } = item
    if (!this.#positions.has(item)) this.#positions.set(item, this.#positions.size)
    const ofType = this.#last.get(type) ?? new Map<unknown, { any: Fields; readonly byId: Map<unknown, Fields> }>()
    this.#last.set(type, ofType)
    const here = ofType.get(index) ?? { any: item, byId: new Map<unknown, Fields>() }
    ofType.set(index, here)
    here.any = this.#laterOf(here.any, item)
    here.byId.set(id, this.#laterOf(here.byId.get(id) ?? item, item))
  }

  /** The last item with that type and index, and that id if both have one. */
  find({ type, index, id }: Fields): Fields | undefined {
    const here = this.#last.get(type)?.get(index)
    if (here === undefined || id === undefined || id === null) return here?.any
    const named = here.byId.get(id)
    const unnamed = here.byId.get(undefined)
    if (unnamed === undefined || unnamed['id'] !== undefined) return named
    return named === undefined ? unnamed : this.#laterOf(named, unnamed)
  }

  #laterOf(a: Fields, b: Fields): Fields {
    return (this.#positions.get(a) as number) > (this.#positions.get(b) as number) ? a : b
  }
}

/** The items of the lists of answers that are being joined. */
const lists = new WeakMap<readonly unknown[], ListItems>()

const itemsOf = (list: readonly unknown[]): ListItems => {
  const known = lists.get(list) ?? new ListItems()
  if (!lists.has(list)) for (const item of list) if (isObject(item)) known.add(item as Fields)
  lists.set(list, known)
  return known
}

/** Whether it is a text, or Mistral's thinking, which is a list of texts, and nothing beside. */
const isTextItem = (item: Fields): boolean =>
  Object.keys(item).every((field) => field === 'type' || field === 'text' || field === 'thinking')

const mergeFields = (target: Fields, more: Fields): void => {
  for (const [field, value] of valuesIn(more)) {
    const before = target[field]
    if (typeof before === 'string' && typeof value === 'string' && !fixedFields.has(field))
      target[field] = before + value
    else if (Array.isArray(before) && Array.isArray(value))
      for (const item of value as readonly unknown[])
        if (isObject(item)) addItem(before as Fields[], item as Fields, true)
        else before.push(item)
    else if (isObject(before) && isObject(value)) mergeFields(before as Fields, value as Fields)
    else target[field] = value
  }
}
