/** The common part of `encode`: checks its options, and collects losses while messages are written. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isPolluted, left, optionsOf, right, withoutPrototypes, type OptionNames, type Path } from '../json/index.ts'
import type { Sequence } from '../sequence/index.ts'
import { choice } from '../task/index.ts'
import type { EncodeFault } from './fault.ts'
import type { Encode, EncodeOptions, Encoded, Loss, UnsettledOptions } from './codec.ts'
import {
  isErased,
  settle,
  type FilePart,
  type ImagePart,
  type Message,
  type PairingFault,
  type Part,
  type ProviderPart,
  type Settled,
  type Source,
} from '../message/index.ts'
import { erasedMark, type UnerasedMessage, withErasedText } from '../message/internal.ts'
import { foreignFields, mutableCopy, type MutableObject } from './residual.ts'
import { BlockMissing, resolveSource, type Resolved } from './source.ts'

/** Passed to a message writer: the position, and functions to report losses and resolve sources. */
export interface Writing {
  readonly position: number
  /** @param at the position of the message. Default: the current one */
  readonly lose: (path: Path, reason: string, at?: number) => undefined
  readonly at: (...path: Path) => Place
  readonly format: string
  /** A source with its bytes or URL. */
  readonly resolve: (source: Source, path: Path) => Resolved
}

/** A place in the message that is being written, such as a part. */
export class Place {
  readonly path: Path
  readonly #writing: Writing

  constructor(writing: Writing, path: Path) {
    this.#writing = writing
    this.path = path
  }

  in(...inside: Path): Place {
    return new Place(this.#writing, [...this.path, ...inside])
  }

  lose(reason: string, ...inside: Path): undefined {
    return this.#writing.lose([...this.path, ...inside], reason)
  }

  /** The source of an image or file, with its bytes or URL. */
  sourceOf({ source }: ImagePart | FilePart): Resolved {
    return this.#writing.resolve(source, [...this.path, 'source'])
  }

  /** A part carried raw; lost if another format carries it. */
  rawOf({ provider, raw }: ProviderPart): MutableObject | undefined {
    if (provider === this.#writing.format) return mutableCopy(raw) as MutableObject
    return this.lose(`is known only to ${provider}`)
  }
}

/** Fields kept by other formats that this writer can write. */
type UnderstoodFields = { readonly [format: string]: readonly string[] }

interface Writer {
  /** The conversation in the foreign format, complete after the last message. */
  readonly wire: unknown
  readonly write: (message: UnerasedMessage, writing: Writing) => void
  /** Called after the last message. It, like every message, may report losses for earlier ones. */
  readonly finish: (writing: Writing) => void
}

/** A writer for a format that is a list. */
export const listWriter = (
  write: (message: UnerasedMessage, wire: MutableObject[], writing: Writing) => void,
): Writer => {
  const wire: MutableObject[] = []
  return { wire, write: (message, writing) => write(message, wire, writing), finish: () => undefined }
}

/**
 * Makes a codec's `encode`, for settled conversations, and for unsettled ones as far as `allow` permits.
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

/** Calls a format's writer for every message. */
const encodeMessages = (
  format: string,
  messages: Iterable<Message>,
  options: EncodeOptions,
  writer: Writer,
  understood: UnderstoodFields,
): Either<EncodeFault, Encoded<unknown>> => {
  const losses: Loss[] = []
  const polluted = isPolluted()
  let position = 0
  const writing: Writing & { position: number } = {
    format,
    position,
    lose: (path, reason, at = position) => void losses.push(Object.freeze({ position: at, path, reason })),
    resolve: (source, path) => resolveSource(source, options, format, position, path),
    at: (...path) => new Place(writing, path),
  }
  try {
    for (const input of messages) {
      const message = polluted ? (withoutPrototypes(input) as Message) : input
      writing.position = position
      loseForeignFields(format, message, writing, understood)
      if (isErased(message)) writing.lose(['content'], `was erased: written as ${erasedMark}`)
      writer.write(withErasedText(message), writing)
      position += 1
    }
    writer.finish(writing)
  } catch (error) {
    if (error instanceof BlockMissing) return left(error.fault)
    throw error
  }
  return right({
    wire: writer.wire,
    losses: Object.freeze(losses.sort((left, right) => left.position - right.position)),
  })
}

/** Reports fields in `meta` that only another format understands. */
const loseForeignFields = (format: string, message: Message, { lose }: Writing, understood: UnderstoodFields): void => {
  const checkOwner = (owner: Message | Part, ...at: Path): void => {
    for (const name of foreignFields(format, owner, understood)) lose([...at, 'meta', name], `is known only to ${name}`)
  }
  if (message.meta !== undefined) checkOwner(message)
  for (let index = 0; index < message.content.length; index++) {
    const part = message.content[index] as Part
    if (part.meta !== undefined) checkOwner(part, 'content', index)
    if (part.type !== 'tool_result') continue
    for (let inner = 0; inner < part.content.length; inner++) {
      const answer = part.content[inner] as Part
      if (answer.meta !== undefined) checkOwner(answer, 'content', index, 'content', inner)
    }
  }
}
