/** Encodes settled conversations, or unsettled ones as far as `allow` permits. */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, optionsOf, type OptionNames } from '../json/index.ts'
import { choice } from '../task/index.ts'
import type { EncodeFault } from './fault.ts'
import type { Encode, Encoded, EncodeOptions, UnsettledOptions } from './codec.ts'
import { settle, type Message, type PairingFault, type Settled } from '../message/index.ts'
import type { Sequence } from '../sequence/index.ts'

/**
 * Makes a codec's `encode` from a function that writes any sequence.
 *
 * @param names the names of all options
 */
export const encoderFor =
  <Wire, Options extends EncodeOptions = EncodeOptions>(
    write: (messages: Sequence<Message>, options?: Options) => Either<EncodeFault, Encoded<Wire>>,
    names: OptionNames<Options> = encodeNames as OptionNames<Options>, // a codec with more options passes them
  ): Encode<Wire, Options> =>
  (
    messages: Settled<Sequence<Message>> | Sequence<Message>,
    given?: Options & Partial<UnsettledOptions>,
  ): Either<never, Encoded<Wire>> => {
    const known = { ...names, allow: true } as OptionNames<Options & Partial<UnsettledOptions>>
    const options = optionsOf('encode', given, known)
    if (options.allow !== undefined) choice('encode: allow', options.allow, ['open-calls', 'unsettled'])
    const problems = options.allow === 'open-calls' ? problemsOf(messages) : []
    const answer: Either<EncodeFault | PairingFault, Encoded<Wire>> = problems.length > 0
      ? left({ _tag: 'Unsettled', problems })
      : write(messages, options)
    return answer as Either<never, Encoded<Wire>> // `Unsettled` needs `allow`: see the overloads of `Encode`
  }

/** The names of the options of every codec. */
export const encodeNames: OptionNames<EncodeOptions> = { block: true }

/** The problems of a conversation other than calls without results. */
const problemsOf = (messages: Sequence<Message>): PairingFault['problems'] => {
  const settled = settle(messages)
  return settled._tag === 'Right' ? [] : settled.left.problems.filter(({ _tag }) => _tag !== 'UnansweredCall')
}
