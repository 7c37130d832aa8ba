/**
 * What a codec is: one foreign format, read and written.
 *
 * The law of every codec: `encode(decode(x).messages)` equals `x` as JSON (key order aside), for whatever `x` has that
 * the format or a later version of it allows. What the message model has no word for is kept in `provider` parts and in
 * `meta` under the codec's name, in one shape for all of them: see `Kept` in residual.ts.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import type { Path } from '../json/index.ts'
import type { Sequence } from '../sequence/index.ts'
import type { DecodeFault, EncodeFault } from './fault.ts'
import type { BlockId } from '../proof/kit.ts'
import type { Message, PairingFault, Settled } from '../message/index.ts'

/** One foreign format: how to read and write it. */
export interface Codec<Wire> {
  /** The name of the format: its namespace in `meta`, and the `provider` of parts that it carries raw. */
  readonly format: string
  /**
   * Read a conversation. It never throws. The messages are frozen and share nothing with the input.
   *
   * Cost    O(wire); bench: codecs
   *
   * @returns the messages; or a fault with the path
   */
  readonly decode: (wire: unknown) => Either<DecodeFault, Decoded>
  /**
   * Write a conversation as a request carries it. It must be settled, because every provider refuses a call without a
   * result. The wire is a new mutable value that shares nothing with the messages.
   *
   * With `allow`, the conversation need not be settled: for an application's own storage, or for a view that waits for
   * an approval.
   *
   * Cost    O(messages); bench: codecs
   */
  readonly encode: Encode<Wire>
}

/** Writes a conversation: a settled one, or one with the problems that `allow` names. */
export interface Encode<Wire, Options extends EncodeOptions = EncodeOptions> {
  /**
   * Write a conversation that need not be settled.
   *
   * @param options `allow`: the problems that the wire may have
   * @returns the wire and the losses; or `Unsettled`, `UnresolvedBlock`
   */
  (messages: Sequence<Message>, options: Options & UnsettledOptions): Either<EncodeFault | PairingFault, Encoded<Wire>>
  /**
   * Write a settled conversation.
   *
   * @param messages the conversation, from `settle` or `mend`
   * @returns the wire and the losses; or `UnresolvedBlock`
   */
  (messages: Settled<Sequence<Message>>, options?: Options): Either<EncodeFault, Encoded<Wire>>
}

/**
 * The pairing problems that a wire may have, though no request may.
 *
 * `open-calls`: calls without a result, such as calls that wait for an approval or have unfinished input. Any other
 * problem is the fault `Unsettled`. `unsettled`: every problem, as it was recorded.
 */
export type Allowed = 'open-calls' | 'unsettled'

/** How to write a conversation that need not be settled. */
export interface UnsettledOptions extends EncodeOptions {
  /** The pairing problems that the wire may have. */
  readonly allow: Allowed
}

/** How to write a conversation. */
export interface EncodeOptions {
  /**
   * Gives the content of a stored block, for messages whose images or files are `block` sources. Default: such a source
   * is the fault `UnresolvedBlock`.
   *
   * @returns its content in base64 and its media type; undefined if it is missing
   */
  readonly block?: (id: BlockId) => { readonly data: string; readonly mediaType: string } | undefined
}

/** The result of a decoder. */
export interface Decoded {
  /** The messages. Frozen. */
  readonly messages: readonly Message[]
  /** The values that were changed while reading: half a character in a text, a number out of range. Mostly empty. */
  readonly losses: readonly Loss[]
}

/** The result of an encoder. */
export interface Encoded<Wire> {
  /** The conversation in the foreign format: a new mutable value. */
  readonly wire: Wire
  /** The content that the format can't hold, in the order of the conversation. */
  readonly losses: readonly Loss[]
}

/** A value that was lost or changed. */
export interface Loss {
  /** When encoding, the position of the message; when decoding, that in the wire's list. */
  readonly position: number
  /** The path in the message. */
  readonly path: Path
  /** The reason, in words. */
  readonly reason: string
}
