/**
 * Content that only one provider knows, as `ai` shows it: tools that the provider ran, images that it made, and sources.
 * The record keeps the provider's own form; a page gets these parts.
 *
 * Source  `ai` 7.0.173, `UIMessage`; Anthropic, OpenAI Responses and Gemini API references (2026-11)
 */
import { isObject, ownField, type Json, type JsonObject } from 'indelible/internal/json'
import { residualOf, type MutableObject } from 'indelible/internal/codecs'
import type { Message } from 'indelible/message'

/** A call of a tool that the provider ran, a result of one, or a file that it made. */
type ShownPart =
  | {
      readonly call: string
      readonly name: string
      readonly input: Json
      readonly output?: Json
      readonly file?: string
    }
  | { readonly resultOf: string; readonly output: Json; readonly error?: string }

/** What a page shows of a provider's raw part; undefined if it has no form in `ai`. */
export const shownPart = (provider: string, raw: Json, index: number): ShownPart | undefined => {
  if (!isObject(raw)) return undefined
  const part = raw as JsonObject
  if (provider === 'anthropic') return anthropicPart(part)
  if (provider === 'openai-responses') return responsesPart(part)
  return provider === 'gemini' ? geminiPart(part, index) : undefined
}

const anthropicPart = (part: JsonObject): ShownPart | undefined => {
  const { type, id, name, input = {}, tool_use_id, content = null } = part
  if (typeof type !== 'string') return undefined
  if ((type === 'server_tool_use' || type === 'mcp_tool_use') && typeof id === 'string' && typeof name === 'string')
    return { call: id, name, input }
  if (!type.endsWith('_tool_result') || typeof tool_use_id !== 'string') return undefined
  const code = isObject(content) ? ownField(content as JsonObject, 'error_code') : undefined
  return { resultOf: tool_use_id, output: content, ...(typeof code === 'string' && { error: code }) }
}

const responsesPart = (part: JsonObject): ShownPart | undefined => {
  const { type, id, status: _status, result, action, output, ...rest } = part
  if (typeof type !== 'string' || !type.endsWith('_call') || typeof id !== 'string') return undefined
  const name = type.slice(0, -'_call'.length)
  if (!providerTools.has(name)) return undefined
  if (name === 'image_generation' && typeof result === 'string')
    return { call: id, name, input: {}, output: { status: 'completed' }, file: result }
  return { call: id, name, input: action ?? rest, output: output ?? result ?? { status: part['status'] ?? null } }
}

/** The tools of Responses that OpenAI runs. All others are run by the application. */
const providerTools: ReadonlySet<string> = new Set([
  ...['web_search', 'file_search', 'code_interpreter', 'image_generation', 'mcp'],
])

const geminiPart = ({ executableCode, codeExecutionResult }: JsonObject, index: number): ShownPart | undefined => {
  if (isObject(executableCode))
    return { call: `code-${index}`, name: 'code_execution', input: executableCode as JsonObject }
  if (isObject(codeExecutionResult)) return { resultOf: `code-${index - 1}`, output: codeExecutionResult as JsonObject }
  return undefined
}

/** The sources of a text, or of a whole message, as parts of a page: each address once. */
export const sourceParts = (owner: Pick<Message, 'meta'>, known: Set<string>): readonly MutableObject[] => {
  const parts: MutableObject[] = []
  const search = (value: Json | undefined): void => {
    if (Array.isArray(value)) for (const inner of value as readonly Json[]) search(inner)
    if (!isObject(value)) return
    const entry = value as JsonObject
    const url = entry['url'] ?? entry['uri']
    if (typeof url === 'string' && !known.has(url)) {
      known.add(url)
      const title = entry['title']
      parts.push({
        type: 'source-url',
        sourceId: url,
        url,
        ...(typeof title === 'string' && { title }),
      })
    } else if (url === undefined) for (const inner of Object.values(entry)) search(inner)
  }
  for (const [format, names] of sourceFields) {
    const fields = residualOf(format, owner)?.fields as JsonObject | undefined
    for (const name of fields === undefined ? [] : names) search(fieldIn(fields as JsonObject, name))
  }
  const response = owner.meta && ownField(owner.meta, 'gemini-response')
  if (isObject(response)) search(fieldIn(response as JsonObject, 'groundingMetadata.groundingChunks'))
  return parts
}

const fieldIn = (fields: JsonObject, path: string): Json | undefined =>
  path
    .split('.')
    .reduce<Json | undefined>((at, key) => (isObject(at) ? ownField(at as JsonObject, key) : undefined), fields)

/** Where each format keeps the sources of a text or a message. */
const sourceFields: readonly (readonly [format: string, names: readonly string[]])[] = [
  ['anthropic', ['citations']],
  ['openai-responses', ['part.annotations']],
  ['openai-chat', ['annotations']],
]
