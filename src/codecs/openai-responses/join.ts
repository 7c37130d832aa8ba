/**
 * Joins the events of a streamed response into the body that the server would have sent whole, with the items as far
 * as they came: servers may leave out the final list, the events that end an item, or those that begin one.
 *
 * Source  OpenAI API reference, Responses streaming (2026-11)
 */
import { isObject, listOrEmpty, textOrEmpty } from '../../json/index.ts'
import { isIndex, JoinedItems, type Fields } from '../joining.ts'

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
  readonly #items = new JoinedItems<JoinedItem>()
  /** The last item of each id, and of each id of a type. */
  readonly #byId = new Map<string, JoinedItem>()
  /** The items of each type that are not whole, also by their index: the last one is the last of the list. */
  readonly #open = new Map<unknown, Map<number | undefined, JoinedItem[]>>()
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
    if (this.#response === undefined && this.#items.size === 0) return undefined
    const output = this.#response?.['output']
    const list = Array.isArray(output) ? (output as unknown[]) : []
    if (this.ended && list.length >= this.#items.size) return { ...this.#response, output: list }
    const status = this.#isComplete ? 'completed' : 'incomplete'
    const items = this.#items.all.map(({ fields, done }) => (done ? fields : openItem(fields, status)))
    return { ...this.#response, output: items.length > 0 ? items : list }
  }

  #begin(index: unknown, fields: Fields): JoinedItem {
    const item: JoinedItem = { index: this.#items.indexOr(index), fields, done: false }
    this.#items.add(item)
    this.#name(item)
    const { type } = fields
    const open = this.#open.get(type) ?? new Map<number | undefined, JoinedItem[]>()
    this.#open.set(type, open)
    for (const key of [item.index, undefined]) {
      const known = open.get(key)
      if (known === undefined) open.set(key, [item])
      else known.push(item)
    }
    return item
  }

  #end(index: unknown, fields: Fields): void {
    const known = namesOf(fields)
      .map((name) => this.#byId.get(name))
      .find((item) => item !== undefined && isSame(item.fields, fields))
    const item = known ?? this.#openAt(index, fields['type']) ?? this.#begin(index, fields)
    item.fields = fields
    item.done = true
    this.#name(item)
  }

  /** The item that an event is about: by its id, or by its index, because some servers give every event another id. */
  #itemOf(index: unknown, id: unknown, made: Fields): JoinedItem {
    const type = made['type']
    const hasId = typeof id === 'string'
    const named = hasId ? this.#byId.get(id) : undefined
    return (
      (named?.fields['id'] === id ? named : undefined) ??
      (isIndex(index) || !hasId ? this.#openAt(index, type) : undefined) ??
      this.#begin(index, { ...made, ...(hasId && { id }) })
    )
  }

  #openAt(index: unknown, type: unknown): JoinedItem | undefined {
    const items = this.#open.get(type)?.get(isIndex(index) ? index : undefined) ?? []
    while (items.at(-1)?.done === true) items.pop()
    return items.at(-1)
  }

  /** Makes an item known by its ids. Of items with one id, the last of the list is known by it. */
  #name(item: JoinedItem): void {
    const { id } = item.fields
    for (const name of typeof id === 'string' ? [id, ...namesOf(item.fields)] : namesOf(item.fields)) {
      const known = this.#byId.get(name)
      if (known === undefined || this.#items.placeOf(known) <= this.#items.placeOf(item)) this.#byId.set(name, item)
    }
  }
}

const idFields = ['call_id', 'id'] as const

/** The ids of an item together with its type. */
const namesOf = (fields: Fields): readonly string[] =>
  idFields.flatMap((field) =>
    typeof fields[field] === 'string' ? [`${String(fields['type'])} ${field} ${fields[field]}`] : [],
  )

const isSame = (a: Fields, b: Fields): boolean =>
  a['type'] === b['type'] && idFields.some((field) => typeof b[field] === 'string' && a[field] === b[field])

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
        if (Array.isArray(target['annotations'])) target['annotations'].push(annotation)
        else target['annotations'] = [annotation]
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
  const { annotations } = made
  return (parts[at] ??= {
    ...made,
    ...(Array.isArray(annotations) && { annotations: [...(annotations as unknown[])] }),
  })
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
