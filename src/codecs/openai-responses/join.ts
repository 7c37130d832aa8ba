/**
 * Joins the events of a streamed response into the body that the server would have sent whole, with the items as far
 * as they came: servers may leave out the final list, the events that end an item, or those that begin one.
 *
 * Source  OpenAI API reference, Responses streaming (2026-11)
 */
import { isObject, listOrEmpty, textOrEmpty } from '../../json/index.ts'
import { indexFor, insertByIndex, isIndex, type Fields } from '../joining.ts'

/** An item of the answer, as far as it came. */
interface JoinedItem {
  readonly index: number
  fields: Fields
  /** Whether the item came whole. */
  done: boolean
}

/** Joins events as they arrive. */
export class JoinedEvents {
  #response: Fields | undefined
  readonly #items: JoinedItem[] = []
  #isComplete = false
  /** Whether the last event of the answer came. */
  ended = false

  /** Adds an event of the stream. It may be kept and modified. */
  take(event: { readonly [field: string]: unknown }): void {
    if (this.ended) return // some recordings contain the next answer too
    const { type, response, item, output_index: index, item_id: id } = event
    if (isObject(response)) {
      this.#response = { ...this.#response, ...response }
      this.#isComplete = type === 'response.completed'
      this.ended = this.#isComplete || type === 'response.incomplete'
    } else if (type === 'response.output_item.added' && isObject(item)) this.#begin(index, item as Fields)
    else if (type === 'response.output_item.done' && isObject(item)) this.#end(index, item as Fields)
    else {
      const kind = kindOf(event)
      const about = kind && this.#itemOf(index, id, kind.item)
      if (about?.done === false) kind?.grow(about.fields, event)
    }
  }

  /** The body so far; undefined before its first event. */
  get body(): Fields | undefined {
    if (this.#response === undefined && this.#items.length === 0) return undefined
    const output = this.#response?.['output']
    const list = Array.isArray(output) ? (output as unknown[]) : []
    if (this.ended && list.length >= this.#items.length) return { ...this.#response, output: list }
    const status = this.#isComplete ? 'completed' : 'incomplete'
    const items = this.#items.map(({ fields, done }) => (done ? fields : openItem(fields, status)))
    return { ...this.#response, output: items.length > 0 ? items : list }
  }

  #begin(given: unknown, fields: Fields): JoinedItem {
    return insertByIndex(this.#items, { index: indexFor(this.#items, given), fields, done: false })
  }

  #end(index: unknown, fields: Fields): void {
    const known = this.#items.findLast((one) => isSame(one.fields, fields)) ?? this.#openAt(index, fields['type'])
    const item = known ?? this.#begin(index, fields)
    item.fields = fields
    item.done = true
  }

  /** The item that an event is about: by its id, or by its index, because some servers give every event another id. */
  #itemOf(index: unknown, id: unknown, made: Fields): JoinedItem {
    const type = made['type']
    const hasId = typeof id === 'string'
    return (
      (hasId ? this.#items.findLast(({ fields }) => fields['id'] === id) : undefined) ??
      (isIndex(index) || !hasId ? this.#openAt(index, type) : undefined) ??
      this.#begin(index, { ...made, ...(hasId && { id }) })
    )
  }

  #openAt(index: unknown, type: unknown): JoinedItem | undefined {
    return this.#items.findLast(
      (item) => !item.done && item.fields['type'] === type && (!isIndex(index) || item.index === index),
    )
  }
}

const isSame = (one: Fields, other: Fields): boolean =>
  one['type'] === other['type'] &&
  (['call_id', 'id'] as const).some((field) => typeof other[field] === 'string' && one[field] === other[field])

/** A change of an item by an event. */
interface Growing {
  /** The item, where its beginning is missing. */
  readonly item: Fields
  readonly grow: (item: Fields, event: { readonly [field: string]: unknown }) => void
}

const message: Fields = { type: 'message', role: 'assistant', status: 'in_progress' }
const reasoning: Fields = { type: 'reasoning' }

/** How an event changes its item; undefined if it does not. */
const kindOf = (event: { readonly [field: string]: unknown }): Growing | undefined => {
  const type = String(event['type']).replace(/^response\./, '')
  const [, name = '', step = ''] = /^(.*)\.(added|delta|done)$/.exec(type) ?? []
  const text = textFields.get(name)
  if (text !== undefined) return { item: text.item, grow: (item, more) => growText(item, text, step, more) }
  const ofReasoning = isObject(event['part']) && event['part']['type'] === 'reasoning_text'
  const part = partFields.get(ofReasoning ? 'reasoning_content_part' : name)
  if (part !== undefined) return { item: part.item, grow: (item, more) => setPart(item, part, more) }
  if (name === 'output_text.annotation')
    return {
      item: message,
      grow: (item, { content_index: at, annotation }) => {
        const target = partAt(item, 'content', at, { type: 'output_text', text: '', annotations: [] })
        target['annotations'] = [...listOrEmpty(target['annotations']), annotation]
      },
    }
  return undefined
}

/** A text that grows: a field of an item, or of a part in its list. */
interface TextField {
  readonly item: Fields
  /** Also the field of the event that ends it, with the whole text. */
  readonly field: string
  readonly part?: { readonly list: string; readonly index: string; readonly made: Fields }
}

const ofPart = (item: Fields, list: string, index: string, made: Fields, field = 'text'): TextField => ({
  item,
  field,
  part: { list, index, made },
})
const ofItem = (type: string, field: string): TextField => ({ item: { type }, field })

const textFields: ReadonlyMap<string, TextField> = new Map([
  ['output_text', ofPart(message, 'content', 'content_index', { type: 'output_text', text: '', annotations: [] })],
  ['refusal', ofPart(message, 'content', 'content_index', { type: 'refusal', refusal: '' }, 'refusal')],
  ['reasoning_text', ofPart(reasoning, 'content', 'content_index', { type: 'reasoning_text', text: '' })],
  ['reasoning_summary_text', ofPart(reasoning, 'summary', 'summary_index', { type: 'summary_text', text: '' })],
  ['function_call_arguments', ofItem('function_call', 'arguments')],
  ['mcp_call_arguments', ofItem('mcp_call', 'arguments')],
  ['custom_tool_call_input', ofItem('custom_tool_call', 'input')],
  ['code_interpreter_call_code', ofItem('code_interpreter_call', 'code')],
])

const growText = (
  item: Fields,
  { field, part }: TextField,
  step: string,
  event: { readonly [field: string]: unknown },
): void => {
  const target = part === undefined ? item : partAt(item, part.list, event[part.index], part.made)
  const { delta, name } = event
  const more = step === 'done' ? event[field] : undefined
  if (typeof name === 'string' && part === undefined) item['name'] ??= name
  if (typeof more === 'string' && more !== '') target[field] = more
  else if (typeof delta === 'string') target[field] = `${textOrEmpty(target[field])}${delta}`
}

interface PartField {
  readonly item: Fields
  readonly list: string
  readonly index: string
}

const partFields: ReadonlyMap<string, PartField> = new Map([
  ['content_part', { item: message, list: 'content', index: 'content_index' }],
  ['reasoning_content_part', { item: reasoning, list: 'content', index: 'content_index' }],
  ['reasoning_summary_part', { item: reasoning, list: 'summary', index: 'summary_index' }],
])

/** Sets a part as it came, unless it has less text than is known. */
const setPart = (item: Fields, { list, index }: PartField, event: { readonly [field: string]: unknown }): void => {
  const { part } = event
  if (!isObject(part)) return
  const known = partAt(item, list, event[index], { ...part })
  for (const [field, value] of Object.entries(part))
    if (field !== '__proto__' && !(value === '' && textOrEmpty(known[field]) !== '')) known[field] = value
}

const partAt = (item: Fields, list: string, index: unknown, made: Fields): Fields => {
  const parts = listOrEmpty(item[list]) as Fields[]
  item[list] = parts
  const at = isIndex(index) ? Math.min(index, parts.length) : Math.max(0, parts.length - 1)
  return (parts[at] ??= { ...made })
}

/** An item that did not come whole, with the fields of a whole one. */
const openItem = (fields: Fields, status: string): Fields => {
  const { type } = fields
  return {
    ...fields,
    ...(type === 'message' && { content: listOrEmpty(fields['content']) }),
    ...(type === 'reasoning' && { summary: listOrEmpty(fields['summary']) }),
    ...(type === 'function_call' && { arguments: textOrEmpty(fields['arguments']) }),
    ...(fields['status'] === 'in_progress' && { status }),
  }
}
