/**
 * The codec interface: reading and writing one foreign format.
 *
 * The law of every codec: `encode(decode(x).messages)` equals `x` as JSON (apart from key order), for everything in
 * `x` that the format or a later version of it allows. Data without an equivalent in the message model is kept in
 * `provider` parts and in `meta` under the codec's name, in the same shape for all codecs: see `Kept` in residual.ts.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import type { Path } from '../json/index.ts'
import type { Sequence } from '../sequence/index.ts'
import type { DecodeFault, EncodeFault } from './fault.ts'
import type { BlockId } from '../proof/internal.ts'
import type { Message, PairingFault, Settled } from '../message/index.ts'

/** Reads and writes one foreign format. */
export interface Codec<Wire, Options extends EncodeOptions = EncodeOptions> {
  /** The format's name: its key in `meta`, and the `provider` of parts that it carries raw. */
  readonly format: string
  /**
   * Reads a conversation. Never throws. The messages are frozen and share nothing with the input.
   *
   * Cost    O(wire); bench: codecs
   *
   * @returns the messages; or a fault with the path
   */
  readonly decode: (wire: unknown) => Either<DecodeFault, Decoded>
  /**
   * Writes a conversation for a request. It must be settled, because every provider rejects a call
   * without a result. The wire is a new mutable value that shares nothing with the messages.
   *
   * With `allow`, the conversation need not be settled: for an application's own storage, or for a
   * view that waits for an approval.
   *
   * Cost    O(messages); bench: codecs
   */
  readonly encode: Encode<Wire, Options>
}

/** Writes a conversation: a settled one, or one with the problems permitted by `allow`. */
export interface Encode<Wire, Options extends EncodeOptions = EncodeOptions> {
  /**
   * Writes a conversation that need not be settled.
   *
   * @param options `allow`: the problems that the wire may have
   * @returns the wire and the losses; or `Unsettled`, `UnresolvedBlock`
   */
  (messages: Sequence<Message>, options: Options & UnsettledOptions): Either<EncodeFault | PairingFault, Encoded<Wire>>
  /**
   * Writes a settled conversation.
   *
   * @param messages the conversation, from `settle` or `mend`
   * @returns the wire and the losses; or `UnresolvedBlock`
   */
  (messages: Settled<Sequence<Message>>, options?: Options): Either<EncodeFault, Encoded<Wire>>
}

/**
 * The pairing problems that a stored wire may have, although a request may not.
 *
 * `open-calls`: calls without a result, such as calls that wait for an approval or have unfinished
 * input. Any other problem is the fault `Unsettled`. `unsettled`: every problem, as recorded.
 */
type Allowed = 'open-calls' | 'unsettled'

/** Options for writing a conversation that need not be settled. */
export interface UnsettledOptions extends EncodeOptions {
  /** The pairing problems that the wire may have. */
  readonly allow: Allowed
}

/** Options for writing a conversation. */
export interface EncodeOptions {
  /**
   * Returns the content of a stored block, for images and files with `block` sources. Default: such
   * a source is the fault `UnresolvedBlock`.
   *
   * @returns its content in base64 and its media type; undefined if it is missing
   */
  readonly block?: (id: BlockId) => { readonly data: string; readonly mediaType: string } | undefined
}

/** Reads a conversation: see `Codec.decode`. */
export type Decode = (wire: unknown) => Either<DecodeFault, Decoded>

/** The result of a decoder. */
export interface Decoded {
  /** The messages. Frozen. */
  readonly messages: readonly Message[]
  /** The values changed while reading: half a surrogate pair, a number out of range. Usually empty. */
  readonly losses: readonly Loss[]
}

/** The result of an encoder. */
export interface Encoded<Wire> {
  /** The conversation in the foreign format: a new mutable value. */
  readonly wire: Wire
  /** The content that the format can't hold, in conversation order. */
  readonly losses: readonly Loss[]
}

/** A value that was lost or changed. */
export interface Loss {
  /** When encoding, the message's position; when decoding, the position in the wire's list. */
  readonly position: number
  /** The path within the message. */
  readonly path: Path
  /** The reason as a clause. */
  readonly reason: string
}
