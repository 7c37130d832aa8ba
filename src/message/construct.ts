/**
 * Constructors that read as the conversation does: `user('hi')`, `assistant('Looking.', toolCall('c1', 'read', { path }))`.
 * What they make is frozen; parts and JSON that they are given are taken as they are (an append copies and freezes
 * everything). Nothing is generated: an id that is wanted is given.
 */
import { freeze, mapEach, textOfJson, type Json, type JsonObject } from '../json/index.ts'
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

/** Instructions. A string becomes one text part. */
export const system = (...content: readonly (string | Part)[]): Message => message('system', content)

/** Instructions, in OpenAI's later word for them. */
export const developer = (...content: readonly (string | Part)[]): Message => message('developer', content)

/** What the person says. */
export const user = (...content: readonly (string | Part)[]): Message => message('user', content)

/** What the model says: text, reasoning and tool calls, in the order in which it said them. */
export const assistant = (...content: readonly (string | Part)[]): Message => message('assistant', content)

/**
 * The message that answers the call `callId`: a tool message with one `tool_result` part.
 *
 * @example
 * toolResult('call_1', 'no such file', { isError: true })
 */
export const toolResult = (
  callId: string,
  content: string | readonly ResultPart[],
  options: { readonly name?: string; readonly isError?: boolean } = {},
): Message => message('tool', [toolResultPart(callId, content, options)])

/** One answer among several in one message, as Anthropic sends the results of parallel calls. */
export const toolResultPart = (
  callId: string,
  content: string | readonly ResultPart[],
  options: { readonly name?: string; readonly isError?: boolean } = {},
): ToolResultPart =>
  freeze({
    type: 'tool_result',
    callId,
    content: typeof content === 'string' ? freeze([text(content)]) : mapEach(content, (part) => part),
    ...options,
  })

/** A text part. */
export const text = (value: string): TextPart => freeze({ type: 'text', text: value })

/** An image, from a URL, base64 or a stored block. */
export const image = (source: Source): ImagePart => freeze({ type: 'image', source: freeze({ ...source }) })

/** A document, audio or video. */
export const file = (source: Source, options: { readonly name?: string } = {}): FilePart =>
  freeze({ type: 'file', source: freeze({ ...source }), ...options })

/** A call the model asks for. Arguments given as an object are written as JSON; a string is kept as it is. */
export const toolCall = (id: string, name: string, args: string | JsonObject): ToolCallPart =>
  freeze({ type: 'tool_call', id, name, arguments: typeof args === 'string' ? args : textOfJson(args) })

/** The model's reasoning, with what its provider wants back. */
export const reasoning = (
  value: string,
  options: { readonly summary?: readonly string[]; readonly signature?: string; readonly encrypted?: string } = {},
): ReasoningPart => freeze({ type: 'reasoning', text: value, ...options })

/** The model declines. */
export const refusal = (value: string): RefusalPart => freeze({ type: 'refusal', text: value })

/** A part that only one provider knows, as it came. */
export const provider = (name: string, raw: Json): ProviderPart => freeze({ type: 'provider', provider: name, raw })

const message = (role: Role, content: readonly (string | Part)[]): Message =>
  freeze({ role, content: mapEach(content, (part) => (typeof part === 'string' ? text(part) : part)) })
