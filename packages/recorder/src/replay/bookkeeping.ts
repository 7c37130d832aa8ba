/**
 * What clients change from run to run by their nature: names of conversations, ids and times that they make up. A request
 * is matched without them. Each is known by the name of its field, with the client and the version that was seen to send it.
 * Numbers and ids anywhere else count.
 */
import { isObject, type Json, type JsonObject } from 'indelible/internal/json'
import { mapJson } from './json-map.ts'

interface Bookkeeping {
  readonly client: string
  readonly version: string
  /** `parameters`: a field of the request. `content`: a field of a JSON text or of a raw item, or a line of a result. `item`: the type of a raw item with an id of its own. */
  readonly place: 'parameters' | 'content' | 'line' | 'system' | 'item'
  readonly name: string
}

/** Source: each client on loopback, and the texts in its program (2026-11) */
const bookkeeping: readonly Bookkeeping[] = [
  { client: 'Claude Code', version: '2.1.330', place: 'parameters', name: 'metadata.user_id' },
  { client: 'Claude Code', version: '2.1.330', place: 'system', name: 'x-anthropic-billing-header:' },
  { client: 'Codex', version: '0.169.0', place: 'parameters', name: 'prompt_cache_key' },
  { client: 'Codex', version: '0.169.0', place: 'parameters', name: 'client_metadata' },
  { client: 'Codex', version: '0.169.0', place: 'content', name: 'turn_id' },
  { client: 'Codex', version: '0.169.0', place: 'content', name: 'create_time' },
  { client: 'Codex', version: '0.169.0', place: 'content', name: 'chunk_id' },
  { client: 'Codex', version: '0.169.0', place: 'content', name: 'wall_time_seconds' },
  { client: 'Codex', version: '0.169.0', place: 'line', name: 'Chunk ID' },
  { client: 'Codex', version: '0.169.0', place: 'line', name: 'Wall time' },
  { client: 'Codex', version: '0.171.0', place: 'item', name: 'additional_tools' },
  { client: 'opencode', version: '1.18.33', place: 'parameters', name: 'prompt_cache_key' },
]

const namesOf = (place: Bookkeeping['place']): readonly string[] =>
  bookkeeping.flatMap((entry) => (entry.place === place ? [entry.name] : []))

const parameterPaths = namesOf('parameters').map((name) => name.split('.'))
const contentFields: ReadonlySet<string> = new Set(namesOf('content'))
const itemTypes: ReadonlySet<unknown> = new Set(namesOf('item'))
const systemStarts = namesOf('system')
/** Codex 0.171.0 writes `Wall time 0.2 seconds` for scripts. */
const lineStart = `^(?:(?:${namesOf('line').join('|')}): |Wall time (?=[\\d.]+ seconds$))`
const resultLine = new RegExp(`${lineStart}.*$`, 'gm')
const anyInText = new RegExp(`${lineStart}|"(?:${[...contentFields].join('|')})"`, 'm')

/** The parameters of a request without bookkeeping. */
export const withoutBookkeeping = (parameters: JsonObject): JsonObject => {
  const fields: { [name: string]: Json } = { ...parameters }
  for (const [name = '', inner] of parameterPaths) {
    const value = fields[name]
    if (value === undefined) continue
    if (inner === undefined) delete fields[name]
    else if (isObject(value)) {
      const { [inner]: _, ...rest } = value as JsonObject
      if (Object.keys(rest).length === 0) delete fields[name]
      else fields[name] = rest
    }
  }
  return fields
}

/** A system prompt without the blocks that are bookkeeping, and without cache marks. */
export const systemWithoutBookkeeping = (system: Json): Json =>
  Array.isArray(system)
    ? (system as readonly Json[]).filter((block) => {
        const text = isObject(block) ? (block as JsonObject)['text'] : undefined
        return typeof text !== 'string' || !systemStarts.some((start) => text.startsWith(start))
      })
    : system

/** A text of a tool's result without bookkeeping. */
export const resultWithoutBookkeeping = (text: string): string => {
  if (!anyInText.test(text)) return text
  const plain = text.replaceAll(resultLine, '')
  if (!/^\s*[[{]/.test(plain)) return plain
  try {
    return JSON.stringify(itemWithoutBookkeeping(JSON.parse(plain) as Json))
  } catch {
    return plain
  }
}

/** A raw item without bookkeeping. */
export const itemWithoutBookkeeping = (item: Json): Json =>
  mapJson(withoutOwnId(item), (value, name) => (name !== undefined && contentFields.has(name) ? undefined : value))

const withoutOwnId = (item: Json): Json => {
  if (!isObject(item) || !itemTypes.has(item['type'])) return item
  const { id: _, ...rest } = item as JsonObject
  return rest
}
