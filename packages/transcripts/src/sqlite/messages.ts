/**
 * Applies writes to a list of messages like LangGraph's `add_messages`: a message with a known id
 * replaces the old one, a removal deletes it, any other message is added.
 *
 * Source  langchain-ai/langgraph, libs/langgraph/langgraph/graph/message.py, channels/delta.py (2026-11)
 */
import { isObject, type Json, type JsonObject } from 'indelible/internal/json'

/**
 * Apply writes to messages. Cost: O(messages + writes).
 *
 * @param base the messages before: a list
 * @param writes the writes, in order: a message, a list of messages, or an overwrite
 */
export const addMessages = (base: Json, writes: readonly Json[]): readonly Json[] => {
  let messages = new Map<string, Json>()
  let unnamed = 0
  const put = (message: Json): void => {
    messages.set(idOf(message) ?? ` ${unnamed++}`, message)
  }
  const restart = (value: Json | undefined): void => {
    messages = new Map()
    for (const message of listOf(value)) put(message)
  }
  restart(base)
  for (const write of writes) {
    const overwrite = overwriteOf(write)
    if (overwrite !== undefined) {
      restart(overwrite)
      continue
    }
    for (const message of listOf(write)) {
      const removed = removalOf(message)
      if (removed === '__remove_all__') messages = new Map()
      else if (removed !== undefined) messages.delete(removed)
      else put(message)
    }
  }
  return [...messages.values()]
}

const listOf = (value: Json | undefined): readonly Json[] =>
  value === undefined || value === null ? [] : Array.isArray(value) ? value.map(asMessage) : [asMessage(value as Json)]

const roles: { readonly [role: string]: string } = { user: 'human', assistant: 'ai', developer: 'system' }
const typeOf = (role: string): string => roles[role] ?? role

/** Expands the short forms of a message: a text, a pair of role and text, and `{ role, content }`. */
const asMessage = (value: Json): Json => {
  if (typeof value === 'string') return { type: 'human', content: value }
  if (Array.isArray(value)) {
    const [role, content] = value as readonly Json[]
    return typeof role === 'string' && content !== undefined ? { type: typeOf(role), content } : value
  }
  if (!isObject(value) || typeof value['role'] !== 'string' || value['type'] !== undefined) return value
  const type = typeOf(value['role'])
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => (key === 'role' ? ['type', type] : [key, field])),
  )
}

/** The fields of a message in each form: in `kwargs`, in `data`, or at the top. */
const fieldsOf = (message: Json): JsonObject => {
  if (!isObject(message)) return {}
  if (isObject(message['kwargs'])) return message['kwargs']
  return isObject(message['data']) && message['content'] === undefined ? message['data'] : message
}

const idOf = (message: Json): string | undefined => {
  const { id } = fieldsOf(message)
  return typeof id === 'string' ? id : undefined
}

const removalOf = (message: Json): string | undefined => {
  const isRemoval =
    isObject(message) &&
    (message['type'] === 'remove' ||
      fieldsOf(message)['type'] === 'remove' ||
      (Array.isArray(message['id']) && message['id'].at(-1) === 'RemoveMessage'))
  return isRemoval ? (idOf(message) ?? '') : undefined
}

/** The value of an overwrite, which replaces the list: Python's `Overwrite(…)` or its plain forms. */
const overwriteOf = (write: Json): Json | undefined => {
  if (!isObject(write)) return undefined
  if (write['__overwrite__'] !== undefined) return write['__overwrite__']
  if (write['type'] === '__overwrite__') return write['value'] ?? null
  const { python, args } = write
  return python === 'langgraph.types.Overwrite' && isObject(args) ? (args['value'] ?? null) : undefined
}
