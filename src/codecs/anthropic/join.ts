/**
 * Joins the events of a streamed Messages answer into the body that the server would have sent whole.
 *
 * Two blocks may have one index, and events may be missing: some proxies splice or renumber streams.
 *
 * Source  Anthropic API reference, Messages streaming (2026-11)
 */
import { isObject, jsonIn, ownField, textOrEmpty } from '../../json/index.ts'
import { isIndex, JoinedItems, mergeCounts, valuesIn, type Fields } from '../joining.ts'

/** A block of the answer, as far as it came. */
export interface JoinedBlock {
  readonly index: number
  readonly fields: Fields
  /** The text of its input so far. */
  input: string
  /** Whether its end came. */
  ended: boolean
}

/** Joins events as they arrive. */
export class JoinedMessage {
  #message: Fields | undefined
  #blocks = new JoinedItems<JoinedBlock>()
  /** Whether the last event of the answer came. */
  ended = false

  /** Adds an event of the stream, and returns the block that it concerns. It may be kept and modified. */
  take(event: { readonly [field: string]: unknown }): JoinedBlock | undefined {
    if (this.ended) return undefined // some recordings contain the next answer too
    const { type, index, message, content_block: block, delta, usage } = event
    if (type === 'message_start') this.#start(message)
    else if (type === 'message_stop') this.ended = true
    else if (type === 'message_delta') this.#finish(delta, usage)
    else if (type === 'content_block_start' && isObject(block)) return this.#begin(index, block as Fields)
    else if (type === 'content_block_delta' && isObject(delta)) return this.#grow(index, delta as Fields)
    else if (type === 'content_block_stop') {
      const found = this.#at(index)
      if (found !== undefined) found.ended = true
      return found
    }
    return undefined
  }

  get blocks(): readonly JoinedBlock[] {
    return this.#blocks.all
  }

  /** The body so far; undefined before its first event. */
  get body(): Fields | undefined {
    if (this.#message === undefined && this.#blocks.size === 0) return undefined
    const content = this.#blocks.all.map((block) => blockWire(block, this.ended))
    return { type: 'message', role: 'assistant', ...this.#message, content }
  }

  /** A second start is the same one again, or after blocks a retry that was spliced into the stream: it starts over. */
  #start(message: unknown): void {
    const before = this.#message ?? {}
    const usage = isObject(message) ? ownField(message as Fields, 'usage') : undefined
    this.#message = { ...before, ...(isObject(message) && message) }
    if (this.#blocks.size === 0 && isObject(usage))
      this.#message['usage'] = mergeCounts(ownField(before, 'usage'), usage as Fields)
    this.#blocks = new JoinedItems()
  }

  #finish(delta: unknown, usage: unknown): void {
    const message = (this.#message ??= {})
    if (isObject(delta))
      for (const [field, value] of Object.entries(delta))
        if (field !== '__proto__' && (value !== null || message[field] === undefined)) message[field] = value
    if (isObject(usage)) message['usage'] = mergeCounts(message['usage'], usage)
  }

  #begin(value: unknown, fields: Fields): JoinedBlock {
    const index = this.#blocks.indexOr(value)
    const here = this.#blocks.at(index)
    // The same start again.
    if (here !== undefined && here.fields['id'] !== undefined && here.fields['id'] === fields['id']) return here
    const block: JoinedBlock = { index, fields: { ...fields }, input: '', ended: false }
    this.#blocks.add(block)
    return block
  }

  /** The last block with that index; without an index, the last block. */
  #at(index: unknown): JoinedBlock | undefined {
    return isIndex(index) ? this.#blocks.at(index) : this.#blocks.last
  }

  #grow(index: unknown, { type, ...fields }: Fields): JoinedBlock | undefined {
    const block = this.#at(index) ?? this.#begin(index, { ...(blockOfDelta.get(type) ?? { type: 'text', text: '' }) })
    if (type === 'input_json_delta') block.input += textOrEmpty(fields['partial_json'])
    else if (type === 'citations_delta') {
      const before = block.fields['citations']
      if (Array.isArray(before)) before.push(fields['citation'])
      else block.fields['citations'] = [fields['citation']]
    } else
      // A delta's fields are those of its block, which also covers new kinds of deltas.
      for (const [field, value] of valuesIn(fields)) {
        const before = block.fields[field]
        block.fields[field] = typeof before === 'string' && typeof value === 'string' ? before + value : value
      }
    return block
  }
}

/** The block that a delta belongs to, where its start is missing. */
const blockOfDelta: ReadonlyMap<unknown, Fields> = new Map<unknown, Fields>([
  ['text_delta', { type: 'text', text: '' }],
  ['citations_delta', { type: 'text', text: '' }],
  ['thinking_delta', { type: 'thinking', thinking: '', signature: '' }],
  ['signature_delta', { type: 'thinking', thinking: '', signature: '' }],
  ['input_json_delta', { type: 'input_json_delta' }],
])

/** A block with its input: parsed if it is JSON, otherwise its text. A call that broke off has the text so far. */
export const blockWire = ({ fields, input, ended }: JoinedBlock, isOver: boolean): Fields => {
  const isOpenCall = fields['type'] === 'tool_use' && !ended && !isOver && !hasInput(fields)
  if (input === '' && !isOpenCall) return fields
  return { ...fields, input: jsonIn(input) ?? input }
}

const hasInput = ({ input }: Fields): boolean => isObject(input) && Object.keys(input).length > 0
