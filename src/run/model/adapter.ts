/** Shared by all provider adapters: requests from records, answers through a codec. */
import type { Either } from 'fp-ts/lib/Either.js'
import { describe, isLeft, optionsOf, type OptionNames } from '../../json/index.ts'
import type { Codec, CodecFault, Decoded, DecodeFault, Encoded, Loss } from '../../codecs/index.ts'
import { codecFaultText } from '../../codecs/fault.ts'
import { type Message, type Part } from '../../message/index.ts'
import type { ModelRequest } from './model.ts'
import type { EncodeFault } from '../../codecs/internal.ts'

/** Options shared by all provider adapters. */
export interface AdapterOptions {
  /** The provider's name for the model. */
  readonly model: string
  /** The name in receipts and errors. Default: `model`. */
  readonly name?: string
  /**
   * Receives the parts of the record that this provider's format cannot express. Default: they are dropped.
   *
   * @param losses the parts, with their places and reasons
   */
  readonly onLosses?: (losses: readonly Loss[]) => void
}

export const adapterOptionsOf = <Options extends AdapterOptions>(
  call: string,
  input: Options,
  names: OptionNames<Options>,
): Options => {
  const options = optionsOf(call, input, names)
  if (typeof options.model !== 'string')
    throw new TypeError(`${call}: \`model\` is ${describe(options.model)}; expected the provider's name for the model`)
  return options
}

export const adapterNames: OptionNames<AdapterOptions> = { model: true, name: true, onLosses: true }

/** A codec's result. Throws an Error with the sentence of its fault. */
const orThrow = <T>(result: Either<CodecFault | EncodeFault, T>): T => {
  if (isLeft(result)) throw new Error(codecFaultText(result.left))
  return result.right
}

/** Throws if only instructions are left: this provider takes them in a field of their own, and refuses a request without messages. */
export const checkAnswerable = (messages: readonly unknown[]): void => {
  if (messages.length === 0)
    throw new Error('nothing was sent: the context has only instructions; append a user message first')
}

/**
 * Throws if a request has instructions twice: in the provider's own parameter, and as a system message. A provider that takes
 * one system prompt would get only one of them.
 */
const checkInstructionsOnce = ({ parameters, messages }: ModelRequest): void => {
  const name = promptParameters.find((parameter) => (parameters[parameter] ?? undefined) !== undefined)
  if (name === undefined || ![...messages].some(({ role }) => role === 'system')) return
  throw new Error(
    `nothing was sent: the request has a system prompt twice, as \`parameters.${name}\` and as a system message; pass it as \`instructions\` of the run, which take the place of the record's`,
  )
}

/** The system prompt's names in the parameters of Anthropic, OpenAI's Responses, the AI SDK and Gemini. */
const promptParameters = ['system', 'instructions', 'systemInstruction'] as const

/** The record in the provider's wire format. Throws if it can't be encoded at all, or has instructions twice. */
export const wireOf = <Wire>(
  request: ModelRequest,
  encode: (messages: ModelRequest['messages']) => Either<EncodeFault, Encoded<Wire>>,
  { onLosses }: Pick<AdapterOptions, 'onLosses'>,
): Wire => {
  checkInstructionsOnce(request)
  const { wire, losses } = orThrow(encode(request.messages))
  if (losses.length > 0) onLosses?.(losses)
  return wire
}

/** The tools of a request: the provider's own (web search …) from the parameters, then ours. */
export const toolsBeside = (
  { parameters: { tools: offered } }: ModelRequest,
  ours: readonly object[],
): { readonly tools?: readonly unknown[] } => {
  const tools = [...(Array.isArray(offered) ? (offered as readonly unknown[]) : []), ...ours]
  return tools.length > 0 ? { tools } : {}
}

/** The provider's answer as messages. Throws if the codec can't read it. */
export const messagesOf = (decoded: Either<DecodeFault, Decoded>): readonly Message[] => orThrow(decoded).messages

/** Joins an answer into one message. If the provider ran tools itself, their results are among the parts. */
export const joinMessages = (messages: readonly Message[]): Message => {
  const [only, ...more] = messages
  if (only !== undefined && more.length === 0 && only.role === 'assistant') return only
  return { role: 'assistant', content: messages.flatMap(({ content }) => content) }
}

/** Decodes a piece of the wire format that is a single part. */
export const partOf = (codec: Codec<unknown>, wire: unknown): Part => {
  const [part] = messagesOf(codec.decode(wire)).flatMap(({ content }) => content)
  if (part === undefined) throw new Error('the answer has a block without content')
  return part
}
