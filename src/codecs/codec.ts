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
import type { BlockId } from '../proof/index.ts'
import type { Message, PairingFault, Settled } from '../message/index.ts'

/** One foreign format: how it is read and how it is written. */
export interface Codec<Wire> {
  /** Its name: that of its namespace in `meta`, and of the `provider` of parts that it carries raw. */
  readonly format: string
  /**
   * Read a conversation. Total: it never throws, whatever it is given. The messages are frozen and share nothing with
   * the input.
   *
   * Cost    O(wire); bench: codecs
   */
  readonly decode: (wire: unknown) => Either<DecodeFault, Decoded>
  /**
   * Write a conversation as a request carries it. Only a settled one: a request in which a call has no result is
   * refused by every provider. The wire is a fresh mutable value that shares nothing with the messages.
   *
   * With `allow`, write a conversation that need not be settled, for a place that takes it: what an application stores,
   * or shows while it waits for an approval.
   *
   * Cost    O(messages); bench: codecs
   */
  readonly encode: Encode<Wire>
}

/** How a codec writes: a settled conversation, or one with what `allow` names. */
export interface Encode<Wire, Options extends EncodeOptions = EncodeOptions> {
  (messages: Sequence<Message>, options: Options & UnsettledOptions): Either<EncodeFault | PairingFault, Encoded<Wire>>
  (messages: Settled<Sequence<Message>>, options?: Options): Either<EncodeFault, Encoded<Wire>>
}

/**
 * What a wire may hold that no request may.
 *
 * `open-calls`: calls without a result, such as those that wait for an approval or whose input is unfinished. Any other
 * pairing problem is the fault `Unsettled`, with those problems. `unsettled`: anything, as it was recorded.
 */
export type Allowed = 'open-calls' | 'unsettled'

/** How a conversation is written that need not be settled. */
export interface UnsettledOptions extends EncodeOptions {
  /** What the wire may hold. */
  readonly allow: Allowed
}

/** How a conversation is written. */
export interface EncodeOptions {
  /** The content of a stored block, for messages whose images or files are `block` sources. Default: a fault names it. */
  readonly block?: (id: BlockId) => { readonly data: string; readonly mediaType: string } | undefined
}

/** What a decoder read. */
export interface Decoded {
  /** The messages. Frozen. */
  readonly messages: readonly Message[]
  /** What was read other than it stood there: text with half a character in it, a number out of range. Mostly empty. */
  readonly losses: readonly Loss[]
}

/** What an encoder wrote. */
export interface Encoded<Wire> {
  /** The conversation in the foreign format: a fresh mutable value. */
  readonly wire: Wire
  /** Everything that the format can't say, in the order of the conversation. */
  readonly losses: readonly Loss[]
}

/** One thing that did not come through. */
export interface Loss {
  /** When encoding, the message's position; when decoding, that in the wire's list. */
  readonly position: number
  /** Where in it. */
  readonly path: Path
  /** Why, in words. */
  readonly reason: string
}
