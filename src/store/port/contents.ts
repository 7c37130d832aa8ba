/**
 * What rows have besides content: the names and values of this library in the JSON of messages, notes and envelopes,
 * listed once. Whatever is not listed is content: every other text, number and member name, at any depth. Erasing
 * looks for content in the file, in notes and in other rows; a search for messages to erase looks through it.
 */
import { isArray, isObject, ownField } from '../../json/index.ts'

/** Member names of messages, parts, sources, notes, and of the envelope of a row. */
const ownNames: ReadonlySet<string> = new Set([
  ...['page', 'tag', 'blocks', 'path', 'id', 'as', 'message', 'encrypted', 'role', 'content', 'name', 'meta', 'type'],
  ...['text', 'source', 'url', 'data', 'mediaType', 'arguments', 'callId', 'isError', 'summary', 'signature'],
  ...['provider', 'raw', 'after', 'answer', 'at', 'cacheRead', 'cacheWrite', 'closed', 'contextDigest', 'details'],
  ...['estimated', 'from', 'head', 'size', 'root', 'index', 'input', 'kind', 'lease', 'len', 'model', 'namespace'],
  ...['instructions', 'output', 'parameters', 'part', 'position', 'promptDigest', 'reason', 'results', 'said'],
  ...['sourceDigest', 'started', 'external', 'state', 'step', 'to', 'together', 'usage', 'waiting', 'was', 'indelible'],
  ...['program', 'file', 'digest', 'key'],
])

/** Members with a value of a fixed list. Another value is content. */
const listedNames: ReadonlySet<string> = new Set(['type', 'role', 'page', 'tag', 'as', 'kind', 'state', 'was'])
const listedValues: ReadonlySet<string> = new Set([
  ...['system', 'developer', 'user', 'assistant', 'tool', 'text', 'image', 'file', 'url', 'base64', 'block', 'utf8'],
  ...['tool_call', 'tool_result', 'reasoning', 'refusal', 'provider', 'erased', 'application', 'input', 'journal'],
  ...['page', 'pin', 'unpin', 'receipt', 'retraction', 'seal', 'summary', 'tool_started', 'kept_file', 'queued'],
  ...['taken', 'waiting', 'answered', 'failed', 'cancelled', 'entry', 'note'],
  ...['bootstrap', 'constraint', 'plan', 'preference', 'evidence', 'conversation'],
])

/** Members of a typed object that name it. An erasure keeps the ids of calls, so that results find them. */
const idNames: ReadonlySet<string> = new Set(['id', 'callId', 'step'])

/** A media type without parameters, such as a file's name. */
const plainMediaType = /^[a-z]{1,20}\/[a-zA-Z0-9.+*-]{1,80}$/

/** Members with data of an application, a tool or a provider, in which ids and types are content like all else. */
const foreignNames: ReadonlySet<string> = new Set([
  ...['meta', 'raw', 'parameters', 'details', 'value', 'before', 'patches'],
])

/** A piece of content. */
interface Content {
  /** A text, a member name, a number in its JSON form, or the id of a call, a step or a block. */
  readonly what: 'text' | 'name' | 'number' | 'id'
  readonly text: string
}

/**
 * All content of a JSON value, in order.
 *
 * @param isForeign whether the value is data of an application, a tool or a provider. Default: false
 */
export const contentsOf = (value: unknown, isForeign = false): readonly Content[] => {
  const found: Content[] = []
  // Not recursive: a text can be JSON that is nested deeper than the call stack. The next value is the last one.
  const left: (Content | { readonly value: unknown; readonly foreign: boolean })[] = [{ value, foreign: isForeign }]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if ('what' in next) {
      found.push(next)
      continue
    }
    const { value: inner, foreign } = next
    if (typeof inner === 'string') found.push({ what: 'text', text: inner })
    else if (typeof inner === 'number') found.push({ what: 'number', text: JSON.stringify(inner) })
    else if (isArray(inner)) for (const item of inner.toReversed()) left.push({ value: item, foreign })
    else if (isObject(inner)) {
      const type = ownField(inner as { readonly type?: unknown }, 'type')
      const isTyped = !foreign && typeof type === 'string' && listedValues.has(type)
      for (const [name, item] of Object.entries(inner).toReversed()) {
        if (typeof item !== 'string')
          left.push({
            value: item,
            foreign: foreign || foreignNames.has(name) || (name === 'content' && type === 'application'),
          })
        else if (
          !(listedNames.has(name) && listedValues.has(item)) &&
          !(isTyped && name === 'mediaType' && plainMediaType.test(item))
        )
          left.push({ what: isTyped && idNames.has(name) ? 'id' : 'text', text: item })
        if (!ownNames.has(name)) left.push({ what: 'name', text: name })
      }
    }
  }
  return found
}

/** Whether a member name looks like one of a program, such as `file_path`: it stands in many rows. */
export const isProgramName = (name: string): boolean => /^[a-z][a-zA-Z_.-]*$/.test(name)
