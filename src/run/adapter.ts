/** The common part of all providers' adapters: requests from records, answers through a codec. */
import { isLeft } from '../json/index.ts'
import { type Codec, type Loss } from '../codecs/index.ts'
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

/** The record as the provider's wire. Throws, if it can't be said at all. */
export const wireOf = <Wire>(codec: Codec<Wire>, { messages }: ModelRequest, { onLosses }: AdapterOptions): Wire => {
  const encoded = codec.encode(messages)
  if (isLeft(encoded)) throw new Error(codecFaultText(encoded.left))
  if (encoded.right.losses.length > 0) onLosses?.(encoded.right.losses)
  return encoded.right.wire
}

/** The provider's answer as messages. Throws if the codec can't read it. */
export const messagesOf = (codec: Codec<unknown>, wire: unknown): readonly Message[] => {
  const decoded = codec.decode(wire)
  if (isLeft(decoded)) throw new Error(codecFaultText(decoded.left))
  return decoded.right.messages
}

/** An answer as one message, also where its provider ran tools in between and their results stand among its parts. */
export const joinMessages = (messages: readonly Message[]): Message => {
  const [only, ...more] = messages
  if (only !== undefined && more.length === 0 && only.role === 'assistant') return only
  return { role: 'assistant', content: messages.flatMap(({ content }) => content) }
}

/** The one part that a piece of the wire is. */
export const partOf = (codec: Codec<unknown>, wire: unknown): Part => {
  const [part] = messagesOf(codec, wire).flatMap(({ content }) => content)
  if (part === undefined) throw new Error('the answer has a block without content')
  return part
}
