/** The common part of all providers' adapters: requests from records, answers through a codec. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from '../json/index.ts'
import type { Codec, CodecFault, Decoded, DecodeFault, Encoded, EncodeFault, Loss } from '../codecs/index.ts'
import { codecFaultText } from '../codecs/fault.ts'
import { type Message, type Part } from '../message/index.ts'
import type { ModelRequest } from './model.ts'

/** Options of every provider's adapter. */
export interface AdapterOptions {
  /** The name of the model, as the provider has it. */
  readonly model: string
  /** The name in receipts and errors. Default: `model`. */
  readonly name?: string
  /**
   * Receives the parts of the record that this provider's requests can't hold. Default: they are dropped.
   *
   * @param losses the parts, with their places and reasons
   */
  readonly onLosses?: (losses: readonly Loss[]) => void
}

/** What a codec gives. Throws Error, with the sentence of its fault. */
const orThrow = <T>(result: Either<CodecFault | EncodeFault, T>): T => {
  if (isLeft(result)) throw new Error(codecFaultText(result.left))
  return result.right
}

/** The record as the provider's wire. Throws, if it can't be said at all. */
export const wireOf = <Wire>(encoded: Either<EncodeFault, Encoded<Wire>>, { onLosses }: AdapterOptions): Wire => {
  const { wire, losses } = orThrow(encoded)
  if (losses.length > 0) onLosses?.(losses)
  return wire
}

/** The tools of a request: those of the provider's own (web search …), which stand among the parameters, and ours. */
export const toolsBeside = (
  { parameters: { tools: given } }: ModelRequest,
  ours: readonly object[],
): { readonly tools?: readonly unknown[] } => {
  const tools = [...(Array.isArray(given) ? (given as readonly unknown[]) : []), ...ours]
  return tools.length > 0 ? { tools } : {}
}

/** The provider's answer as messages. Throws if the codec can't read it. */
export const messagesOf = (decoded: Either<DecodeFault, Decoded>): readonly Message[] => orThrow(decoded).messages

/** An answer as one message, also where its provider ran tools in between and their results stand among its parts. */
export const joinMessages = (messages: readonly Message[]): Message => {
  const [only, ...more] = messages
  if (only !== undefined && more.length === 0 && only.role === 'assistant') return only
  return { role: 'assistant', content: messages.flatMap(({ content }) => content) }
}

/** The one part that a piece of the wire is. */
export const partOf = (codec: Codec<unknown>, wire: unknown): Part => {
  const [part] = messagesOf(codec.decode(wire)).flatMap(({ content }) => content)
  if (part === undefined) throw new Error('the answer has a block without content')
  return part
}
