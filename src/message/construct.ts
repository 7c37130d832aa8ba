/**
 * Constructors for messages and parts: `user('hi')`, `assistant('Looking.', toolCall('c1', 'read',
 * { path }))`. The results are frozen; given parts and JSON are used as is (an append copies and
 * freezes everything). Nothing is generated: pass an id if you need one.
 */
import { textOfJson, type Json, type JsonObject, optionsOf } from '../json/index.ts'
import type {
  FilePart,
  ImagePart,
  Message,
  Part,
  ProviderPart,
  ReasoningPart,
  RefusalPart,
  ResultPart,
  Role,
  Source,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from './message.ts'

/**
 * Instructions for the model.
 *
 * @param content texts and parts; a string becomes a text part
 */
export const system = (...content: readonly (string | Part)[]): Message => message('system', content)

/**
 * Instructions for the model, under OpenAI's newer name for the role.
 *
 * @param content texts and parts; a string becomes a text part
 */
export const developer = (...content: readonly (string | Part)[]): Message => message('developer', content)

/**
 * A user message.
 *
 * @param content texts and parts; a string becomes a text part
 * @example
 * user('What is in this picture?', image({ type: 'url', url: 'https://example.com/cat.png' }))
 */
export const user = (...content: readonly (string | Part)[]): Message => message('user', content)

/**
 * A message from the model: text, reasoning and tool calls, in the order the model wrote them.
 *
 * @param content texts and parts; a string becomes a text part
 * @example
 * assistant('Looking.', toolCall('call_1', 'read', { path: 'a.txt' }))
 */
export const assistant = (...content: readonly (string | Part)[]): Message => message('assistant', content)

/**
 * The result of a tool call, as a tool message with one `tool_result` part.
 *
 * @param callId the call's id
 * @param content the result; a string becomes a text part
 * @param options the tool's name, and whether the call failed. Default: it succeeded
 * @example
 * toolResult('call_1', 'no such file', { isError: true })
 */
export const toolResult = (
  callId: string,
  content: string | readonly ResultPart[],
  options: { readonly name?: string; readonly isError?: boolean } = {},
): Message => message('tool', [toolResultPart(callId, content, options)])

/**
 * The result of a tool call as a part, for a message with several, as Anthropic sends parallel results.
 *
 * @param callId the call's id
 * @param content the result; a string becomes a text part
 * @param options the tool's name, and whether the call failed. Default: it succeeded
 */
export const toolResultPart = (
  callId: string,
  content: string | readonly ResultPart[],
  options: { readonly name?: string; readonly isError?: boolean } = {},
): ToolResultPart =>
  Object.freeze({
    type: 'tool_result',
    callId,
    content: typeof content === 'string' ? Object.freeze([text(content)]) : Object.freeze([...content]),
    ...optionsOf('toolResult', options, { name: true, isError: true }),
  })

/** A text part. */
export const text = (value: string): TextPart => Object.freeze({ type: 'text', text: value })

/**
 * An image.
 *
 * @param source a URL, base64 data, or the id of a stored block
 */
export const image = (source: Source): ImagePart =>
  Object.freeze({ type: 'image', source: Object.freeze({ ...source }) })

/**
 * A document, audio or video.
 *
 * @param source a URL, base64 data, or the id of a stored block
 * @param options the name of the file
 */
export const file = (source: Source, options: { readonly name?: string } = {}): FilePart =>
  Object.freeze({ type: 'file', source: Object.freeze({ ...source }), ...optionsOf('file', options, { name: true }) })

/**
 * A tool call by the model.
 *
 * @param id the id that its result will have as `callId`
 * @param name the tool's name
 * @param args the arguments: an object is written as JSON, a string is kept as is
 */
export const toolCall = (id: string, name: string, args: string | JsonObject): ToolCallPart =>
  Object.freeze({ type: 'tool_call', id, name, arguments: typeof args === 'string' ? args : textOfJson(args) })

/**
 * The model's reasoning, with the data that its provider expects back.
 *
 * @param value the reasoning text
 * @param options the provider's summaries, signature and encrypted reasoning
 */
export const reasoning = (
  value: string,
  options: { readonly summary?: readonly string[]; readonly signature?: string; readonly encrypted?: string } = {},
): ReasoningPart =>
  Object.freeze({ type: 'reasoning', text: value, ...optionsOf('reasoning', options, reasoningNames) })

/** A refusal by the model. */
export const refusal = (value: string): RefusalPart => Object.freeze({ type: 'refusal', text: value })

/**
 * A part that only one provider defines, kept unchanged.
 *
 * @param name the provider or format
 * @param raw the part, as JSON
 */
export const provider = (name: string, raw: Json): ProviderPart =>
  Object.freeze({ type: 'provider', provider: name, raw })

/**
 * Error results for the calls that an interrupted run left open, one message each. Appending them
 * settles the record.
 *
 * @param open the open calls, from `openCalls`
 * @param reason the text for the model
 * @returns one tool message per call, in the same order
 * @example
 * for (const message of interruptedResults(openCalls(history.view()), 'interrupted by the user')) history.append(message)
 */
export const interruptedResults = (
  open: readonly Pick<ToolCallPart, 'id' | 'name'>[],
  reason: string,
): readonly Message[] =>
  Object.freeze(open.map(({ id, name }) => toolResult(id, [text(reason)], { name, isError: true })))

const message = (role: Role, content: readonly (string | Part)[]): Message =>
  Object.freeze({ role, content: Object.freeze(content.map((part) => (typeof part === 'string' ? text(part) : part))) })

const reasoningNames = { summary: true, signature: true, encrypted: true } as const
