/**
 * The events of a stream that says what a whole body says. Texts come in pieces. A body that broke off gives the events
 * of what it has, without those that end it.
 *
 * Source  the streaming references of OpenAI, Anthropic and Gemini (2026-11)
 */
import { isObject, ownField } from 'indelible/internal/json'
import type { RecordedApi, Wire } from '../apis/index.ts'

/** An event of a stream. */
export interface StreamEvent {
  readonly event?: string
  readonly data: string
}

interface Writing {
  /** Whether the body broke off. */
  readonly isCut: boolean
  /** Whether the client asks for the token counts in a chunk of their own. */
  readonly countsTokens: boolean
}

/** The events of a body. */
export const eventsOf = (api: RecordedApi, body: Wire, writing: Writing): readonly StreamEvent[] =>
  writers[api](body, writing)

const pieces = (text: unknown): readonly string[] => (typeof text === 'string' ? (text.match(/[^]{1,40}/gu) ?? []) : [])

const objects = (value: unknown): readonly Wire[] =>
  (Array.isArray(value) ? value.filter(isObject) : []) as readonly Wire[]

const named = (event: Wire): StreamEvent => ({ event: String(event['type']), data: JSON.stringify(event) })

const plain = (event: object): StreamEvent => ({ data: JSON.stringify(event) })

const pick = (from: Wire, names: readonly string[]): Wire =>
  Object.fromEntries(names.flatMap((name) => (ownField(from, name) === undefined ? [] : [[name, from[name]]])))

const anthropicEvents = (body: Wire, { isCut }: Writing): readonly StreamEvent[] => {
  const { content, usage, context_management: context } = body
  const blocks = objects(content)
  const events: Wire[] = [
    {
      type: 'message_start',
      message: { ...body, content: [], stop_reason: null, stop_sequence: null, usage: startOf(usage) },
    },
  ]
  for (const [index, block] of blocks.entries()) {
    const { start, deltas } = blockEvents(block)
    events.push({ type: 'content_block_start', index, content_block: start })
    for (const delta of deltas) events.push({ type: 'content_block_delta', index, delta })
    if (!isCut || index < blocks.length - 1) events.push({ type: 'content_block_stop', index })
  }
  if (isCut) return events.map(named)
  const delta = { stop_reason: null, ...pick(body, ['stop_reason', 'stop_sequence', 'stop_details', 'container']) }
  events.push(
    {
      type: 'message_delta',
      delta,
      usage: usage ?? { output_tokens: 0 },
      ...(context !== undefined && { context_management: context }),
    },
    { type: 'message_stop' },
  )
  return events.map(named)
}

/** The counts of Anthropic's first event: those that it has only at the end are left out. */
const startOf = (usage: unknown): unknown => {
  if (!isObject(usage)) return { input_tokens: 0, output_tokens: 0 }
  const { iterations: _iterations, server_tool_use: _tools, ...start } = usage
  return start
}

/** How a block of Anthropic's begins and grows. */
const blockEvents = (block: Wire): { readonly start: Wire; readonly deltas: readonly Wire[] } => {
  const { type, text, citations, thinking, signature, input } = block
  if (type === 'text')
    return {
      start: { ...block, text: '', ...(Array.isArray(citations) && { citations: [] }) },
      deltas: [
        ...pieces(text).map((piece) => ({ type: 'text_delta', text: piece })),
        ...objects(citations).map((citation) => ({ type: 'citations_delta', citation })),
      ],
    }
  if (type === 'thinking')
    return {
      start: { ...block, thinking: '', signature: '' },
      deltas: [
        ...pieces(thinking).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
        ...(typeof signature === 'string' && signature !== '' ? [{ type: 'signature_delta', signature }] : []),
      ],
    }
  if (input === undefined || (isObject(input) && Object.keys(input).length === 0)) return { start: block, deltas: [] }
  const json = typeof input === 'string' ? input : JSON.stringify(input)
  return {
    start: { ...block, input: {} },
    deltas: pieces(json).map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
  }
}

const chatEvents = (body: Wire, { isCut, countsTokens }: Writing): readonly StreamEvent[] => {
  const { choices, usage, object: _object, ...rest } = body
  const chunk = (more: object): StreamEvent => plain({ ...rest, object: 'chat.completion.chunk', choices: [], ...more })
  const events: StreamEvent[] = []
  for (const [at, choice] of objects(choices).entries()) {
    const { index = at, message, finish_reason: reason, ...others } = choice
    const part = (delta: object, more: object = {}): StreamEvent =>
      chunk({ choices: [{ index, delta, finish_reason: null, ...more }] })
    const {
      role = 'assistant',
      content,
      tool_calls: calls,
      ...fields
    } = isObject(message) ? (message as Wire) : ({} as Wire)
    events.push(part({ role, ...fields, ...(typeof content === 'string' ? { content: '' } : { content }) }, others))
    for (const piece of pieces(content)) events.push(part({ content: piece }))
    for (const [index, call] of objects(calls).entries()) {
      const { function: called, ...own } = call
      const { arguments: text, ...name } = isObject(called) ? (called as Wire) : ({} as Wire)
      const isFunction = isObject(called)
      events.push(
        part({ tool_calls: [{ index, ...own, ...(isFunction && { function: { ...name, arguments: '' } }) }] }),
      )
      for (const piece of pieces(text)) events.push(part({ tool_calls: [{ index, function: { arguments: piece } }] }))
    }
    if (!isCut) events.push(part({}, { finish_reason: reason ?? null }))
  }
  if (isCut) return events
  if (countsTokens && usage !== undefined) events.push(chunk({ usage }))
  return [...events, { data: '[DONE]' }]
}

const responsesEvents = (body: Wire, { isCut }: Writing): readonly StreamEvent[] => {
  const { output, usage, status, ...rest } = body
  const started = {
    ...rest,
    status: 'in_progress',
    output: [],
    ...(usage !== undefined && { usage: null }),
    ...('error' in rest && { error: null }),
    ...('incomplete_details' in rest && { incomplete_details: null }),
  }
  const events: Wire[] = [
    { type: 'response.created', response: started },
    { type: 'response.in_progress', response: started },
  ]
  const items = objects(output)
  for (const [index, item] of items.entries()) {
    const place = { output_index: index, item_id: item['id'] ?? `item_${index}` }
    const grown = itemEvents(item)
    events.push({ type: 'response.output_item.added', output_index: index, item: grown.start })
    for (const event of grown.events) events.push({ ...event, ...place })
    if (!isCut || index < items.length - 1)
      events.push({ type: 'response.output_item.done', output_index: index, item })
  }
  const end = status === 'failed' ? 'failed' : status === 'incomplete' ? 'incomplete' : 'completed'
  if (!isCut) events.push({ type: `response.${end}`, response: body })
  return events.map((event, at) => named({ ...event, sequence_number: at }))
}

/** Texts of items: their fields, and the names of their events. */
const itemTexts: { readonly [type: string]: readonly [field: string, event: string] } = {
  function_call: ['arguments', 'function_call_arguments'],
  mcp_call: ['arguments', 'mcp_call_arguments'],
  custom_tool_call: ['input', 'custom_tool_call_input'],
  code_interpreter_call: ['code', 'code_interpreter_call_code'],
}

/** Texts of the parts of items, in the same way, with the name of the events of the part. */
const partTexts: { readonly [type: string]: readonly [field: string, event: string, part: string] } = {
  output_text: ['text', 'output_text', 'content_part'],
  refusal: ['refusal', 'refusal', 'content_part'],
  reasoning_text: ['text', 'reasoning_text', 'content_part'],
  summary_text: ['text', 'reasoning_summary_text', 'reasoning_summary_part'],
}

/** How an item of a response begins and grows. */
const itemEvents = (item: Wire): { readonly start: Wire; readonly events: readonly Wire[] } => {
  const text = ownField(itemTexts, String(item['type']))
  if (text !== undefined) {
    const [field, event] = text
    return { start: { ...item, status: 'in_progress', [field]: '' }, events: textEvents(event, field, item[field]) }
  }
  if (item['type'] !== 'message' && item['type'] !== 'reasoning') return { start: item, events: [] }
  const { summary, content } = item
  return {
    start: {
      ...item,
      ...(item['type'] === 'message' && { status: 'in_progress' }),
      ...(Array.isArray(summary) && { summary: [] }),
      ...(Array.isArray(content) && { content: [] }),
    },
    events: [
      ...objects(summary).flatMap((part, at) => partEvents(part, { summary_index: at })),
      ...objects(content).flatMap((part, at) => partEvents(part, { content_index: at })),
    ],
  }
}

const textEvents = (event: string, field: string, text: unknown, more: object = {}): readonly Wire[] => [
  ...pieces(text).flatMap((delta) => [{ type: `response.${event}.delta`, ...more, delta }]),
  { type: `response.${event}.done`, ...more, [field]: text },
]

const partEvents = (part: Wire, place: object): readonly Wire[] => {
  const text = ownField(partTexts, String(part['type']))
  if (text === undefined)
    return [
      { type: 'response.content_part.added', ...place, part },
      { type: 'response.content_part.done', ...place, part },
    ]
  const [field, event, of] = text
  const { annotations } = part
  return [
    {
      type: `response.${of}.added`,
      ...place,
      part: { ...part, [field]: '', ...(Array.isArray(annotations) && { annotations: [] }) },
    },
    ...textEvents(event, field, part[field], place),
    ...objects(annotations).flatMap((annotation, at) => [
      {
        type: 'response.output_text.annotation.added',
        ...place,
        annotation_index: at,
        annotation,
      },
    ]),
    { type: `response.${of}.done`, ...place, part },
  ]
}

const geminiEvents = (body: Wire): readonly StreamEvent[] => {
  const [candidate, ...others] = objects(body['candidates'])
  const content = isObject(candidate?.['content']) ? (candidate['content'] as Wire) : {}
  const parts = objects(content['parts'])
  if (candidate === undefined || others.length > 0 || parts.length < 2) return [plain(body)]
  const { index = 0 } = candidate
  const same = pick(body, ['modelVersion', 'responseId'])
  return parts.map((part, at) => {
    const own = { ...content, parts: [part] }
    return at < parts.length - 1
      ? plain({ ...same, candidates: [{ content: own, index }] })
      : plain({ ...body, candidates: [{ ...candidate, content: own }] })
  })
}

const writers: { readonly [Api in RecordedApi]: (body: Wire, writing: Writing) => readonly StreamEvent[] } = {
  anthropic: anthropicEvents,
  'openai-chat': chatEvents,
  'openai-responses': responsesEvents,
  gemini: geminiEvents,
}
