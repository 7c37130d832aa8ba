/** Encodes settled conversations, or unsettled ones as far as `allow` permits. */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, optionsOf, type OptionNames } from '../json/index.ts'
import { choice } from '../task/index.ts'
import type { EncodeFault } from './fault.ts'
import type { Encode, Encoded, EncodeOptions, UnsettledOptions } from './codec.ts'
import { encodeMessages, type UnderstoodFields, type Writer } from './losses.ts'
import { settle, type Message, type PairingFault, type Settled } from '../message/index.ts'
import type { Sequence } from '../sequence/index.ts'

/**
 * Makes a codec's `encode`.
 *
 * @param start makes the writer of one conversation
 * @param names the names of the options besides those of every codec
 */
export const encoderFor =
  <Wire, Options extends EncodeOptions = EncodeOptions>(
    format: string,
    start: (options: Options) => Writer,
    names?: OptionNames<Omit<Options, keyof EncodeOptions>>,
    understood: UnderstoodFields = {},
  ): Encode<Wire, Options> =>
  (
    messages: Settled<Sequence<Message>> | Sequence<Message>,
    input?: Options & Partial<UnsettledOptions>,
  ): Either<never, Encoded<Wire>> => {
    const known = { block: true, ...names, allow: true } as OptionNames<Options & Partial<UnsettledOptions>>
    const options = optionsOf('encode', input, known)
    if (options.allow !== undefined) choice('encode: allow', options.allow, ['open-calls', 'unsettled'])
    const problems = options.allow === 'open-calls' ? problemsOf(messages) : []
    const answer: Either<EncodeFault | PairingFault, Encoded<unknown>> = problems.length > 0
      ? left({ _tag: 'Unsettled', problems })
      : encodeMessages(format, messages, options, start(options), understood)
    // The output follows the format's wire.ts, plus fields restored from its own wire; `Unsettled` needs `allow`.
    return answer as Either<never, Encoded<Wire>>
  }

/** The problems of a conversation other than calls without results. */
const problemsOf = (messages: Sequence<Message>): PairingFault['problems'] => {
  const settled = settle(messages)
  return settled._tag === 'Right' ? [] : settled.left.problems.filter(({ _tag }) => _tag !== 'UnansweredCall')
}
