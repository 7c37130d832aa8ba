/**
 * A checkpoint of LangGraph, as SqliteSaver keeps it: the state of a thread, of which the channel `messages` is the
 * conversation. Read from `{ thread_id, checkpoint, metadata }`; the database is read by `indelible/transcript/sqlite`.
 *
 * Source  langchain-ai/langgraphjs, libs/checkpoint-sqlite/src/index.ts; langchain-ai/langchainjs, langchain-core/src:
 *         load/serializable.ts (`lc: 1`), messages/*.ts (2026-05)
 */
import {
  arrayAt,
  fieldsBeside,
  isObject,
  objectAt,
  stringAt,
  Unexpected,
  type Json,
  type JsonObject,
  type Path,
} from '../json/index.ts'
import { sourceOf } from '../codecs/index.ts'
import type { Message, Meta, Part, ResultPart, Role } from '../message/index.ts'
import type { LineFormat, Sink } from './line-format.ts'
import { count, objectIn, textIn } from './origin.ts'

const format = 'langgraph'

const isCheckpoint = (entry: JsonObject): boolean =>
  isObject(entry['checkpoint']) && isObject(entry['checkpoint']['channel_values'])

export const langgraph: LineFormat = {
  format,
  matches: isCheckpoint,
  reader: (sink) => {
    let entries = 0
    return {
      read: (entry, line) => {
        if (!isCheckpoint(entry)) throw new Unexpected(['checkpoint'], 'a checkpoint with channel_values', entry)
        if (entries++ === sink.pick) readCheckpoint(entry, line, sink)
        else sink.aside('checkpoint of another thread')
      },
      end: () => ({ count: entries, dropped: [] }),
    }
  },
}

const readCheckpoint = (entry: JsonObject, line: number, sink: Sink): void => {
  const { origin } = sink
  const checkpoint = objectAt(entry['checkpoint'], ['checkpoint'])
  const channels = objectAt(checkpoint['channel_values'], ['checkpoint', 'channel_values'])
  const at = ['checkpoint', 'channel_values', 'messages']
  const { messages = [] } = channels
  origin.time(checkpoint['ts'])
  origin.id = textIn(entry, 'thread_id')
  const beside = {
    ...fieldsBeside(checkpoint, ['channel_values', ...(origin.started === checkpoint['ts'] ? ['ts'] : [])]),
    channel_values: fieldsBeside(channels, ['messages']) ?? {},
  }
  origin.metadata = {
    ...fieldsBeside(entry, ['checkpoint', ...(origin.id === undefined ? [] : ['thread_id'])]),
    checkpoint: beside,
  }
  arrayAt(messages, at).forEach((message, index) => {
    try {
      sink.message(line, readMessage(objectAt(message, [...at, index]), [...at, index], sink))
    } catch (error) {
      if (!(error instanceof Unexpected)) throw error
      sink.unexpected(line, error)
    }
  })
}

const kinds: ReadonlyMap<Json | undefined, Role> = new Map<Json | undefined, Role>([
  ['HumanMessage', 'user'],
  ['AIMessage', 'assistant'],
  ['SystemMessage', 'system'],
  ['ToolMessage', 'tool'],
  ['FunctionMessage', 'tool'],
  ['human', 'user'],
  ['ai', 'assistant'],
  ['system', 'system'],
  ['tool', 'tool'],
  ['function', 'tool'],
])

/** A message as LangChain writes it: a constructor with its arguments, or its fields with a `type`. */
const readMessage = (wire: JsonObject, at: Path, sink: Sink): Message => {
  const isConstructor = isObject(wire['kwargs']) && Array.isArray(wire['id'])
  const [fields, path] = isConstructor ? [objectAt(wire['kwargs'], at), [...at, 'kwargs']] : [wire, at]
  const name = isConstructor ? (wire['id'] as readonly Json[]).at(-1) : wire['type']
  const role = kinds.get(typeof name === 'string' ? name.replace(/Chunk$/, '') : name)
  if (role === undefined) throw new Unexpected(at, 'a message of a known class', name)
  // A constructor is always written the same way; what is not so is kept.
  const written = isConstructor ? fieldsBeside(wire, ['kwargs', ...usual(wire)]) : undefined
  const own = { ...(written && { constructor: written }), ...(!isConstructor && { type: name as Json }) }
  return role === 'tool' ? readResult(fields, own, path) : readSpoken(role, fields, own, path, sink)
}

const usual = ({ lc, type, id }: JsonObject): readonly string[] => {
  const [library, folder, name, ...more] = id as readonly Json[]
  const isUsual =
    library === 'langchain_core' && folder === 'messages' && more.length === 0 && !String(name).endsWith('Chunk')
  return [...(lc === 1 ? ['lc'] : []), ...(type === 'constructor' ? ['type'] : []), ...(isUsual ? ['id'] : [])]
}

const readResult = (fields: JsonObject, own: JsonObject, at: Path): Message => {
  const { status, name, id } = fields
  const known = [
    'content',
    'tool_call_id',
    ...(status === 'error' ? ['status'] : []),
    ...(typeof name === 'string' ? ['name'] : []),
    ...(typeof id === 'string' ? ['id'] : []),
  ]
  return {
    role: 'tool',
    content: [
      {
        type: 'tool_result',
        callId: stringAt(fields['tool_call_id'], [...at, 'tool_call_id']),
        content: contentOf(fields['content'], [...at, 'content']).map(readBlock),
        ...(typeof name === 'string' && { name }),
        ...(status === 'error' && { isError: true }),
      },
    ],
    ...(typeof id === 'string' && { id }),
    ...metaOf({ ...fieldsBeside(fields, ['type', ...known]), ...own }),
  }
}

const readSpoken = (role: Role, fields: JsonObject, own: JsonObject, at: Path, sink: Sink): Message => {
  if (role === 'assistant') countUse(fields, sink)
  const { id, name } = fields
  const calls =
    role === 'assistant' && Array.isArray(fields['tool_calls']) ? (fields['tool_calls'] as readonly Json[]) : []
  const parts = calls.map((call, index) => readCall(objectAt(call, [...at, 'tool_calls', index]), at, index))
  const ids = new Set(parts.flatMap((part) => (part.type === 'tool_call' ? [part.id] : [])))
  // Anthropic's calls stand among the blocks, too.
  const isCall = (block: Json): boolean =>
    isObject(block) && block['type'] === 'tool_use' && typeof block['id'] === 'string' && ids.has(block['id'])
  const blocks = contentOf(fields['content'], [...at, 'content'])
  const again = blocks.filter(isCall)
  const known = [
    'content',
    ...(calls.length > 0 ? ['tool_calls'] : []),
    ...(typeof id === 'string' ? ['id'] : []),
    ...(typeof name === 'string' ? ['name'] : []),
  ]
  return {
    role,
    content: [...blocks.filter((block) => !isCall(block)).map(readSaid), ...parts],
    ...(typeof id === 'string' && { id }),
    ...(typeof name === 'string' && { name }),
    ...metaOf({
      ...fieldsBeside(fields, ['type', ...known]),
      ...own,
      ...(again.length > 0 && { blocks: again }),
    }),
  }
}

const readCall = (call: JsonObject, at: Path, index: number): Part => {
  const path = [...at, 'tool_calls', index]
  const rest = fieldsBeside(call, ['id', 'name', 'args', ...(call['type'] === 'tool_call' ? ['type'] : [])])
  return {
    type: 'tool_call',
    id: stringAt(call['id'], [...path, 'id']),
    name: stringAt(call['name'], [...path, 'name']),
    arguments: JSON.stringify(call['args'] ?? {}),
    ...metaOf(rest ?? {}),
  }
}

const countUse = (fields: JsonObject, { origin }: Sink): void => {
  const used = objectIn(fields, 'usage_metadata')
  const { cache_read, cache_creation } = objectIn(used, 'input_token_details')
  const said = objectIn(fields, 'response_metadata')
  origin.model(said['model_name'] ?? said['model'])
  if (count(used['input_tokens']) > 0)
    origin.usage({
      input: used['input_tokens'],
      output: used['output_tokens'],
      cacheRead: cache_read,
      cacheWrite: cache_creation,
    })
}

const contentOf = (content: Json | undefined, at: Path): readonly Json[] => {
  if (typeof content === 'string') return content === '' ? [] : [content]
  return arrayAt(content, at)
}

const readSaid = (block: Json): Part => {
  if (isObject(block)) {
    const text =
      block['type'] === 'thinking' ? block['thinking'] : block['type'] === 'reasoning' ? block['reasoning'] : undefined
    const signature = textIn(block, 'signature')
    if (typeof text === 'string')
      return {
        type: 'reasoning',
        text,
        ...(signature !== undefined && { signature }),
        ...metaOf({
          ...fieldsBeside(block, ['type', block['type'] as string, ...(signature === undefined ? [] : ['signature'])]),
        }),
      }
  }
  return readBlock(block)
}

const readBlock = (block: Json): ResultPart => {
  if (typeof block === 'string') return { type: 'text', text: block }
  if (isObject(block)) {
    if (block['type'] === 'text' && typeof block['text'] === 'string')
      return { type: 'text', text: block['text'], ...metaOf(fieldsBeside(block, ['type', 'text']) ?? {}) }
    const image = block['image_url']
    if (block['type'] === 'image_url' && typeof image === 'string')
      return { type: 'image', source: sourceOf(image), ...metaOf(fieldsBeside(block, ['type', 'image_url']) ?? {}) }
    if (block['type'] === 'image_url' && isObject(image) && typeof image['url'] === 'string') {
      const rest = fieldsBeside(image, ['url'])
      const beside = { ...fieldsBeside(block, ['type', 'image_url']), ...(rest && { image_url: rest }) }
      return { type: 'image', source: sourceOf(image['url']), ...metaOf(beside) }
    }
  }
  return { type: 'provider', provider: format, raw: block }
}

const metaOf = (others: JsonObject): { readonly meta?: Meta } =>
  Object.keys(others).length === 0 ? {} : { meta: { [format]: others } }
