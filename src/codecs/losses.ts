/** The common part of `encode`: collects losses while messages are written. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isPolluted, left, right, withoutPrototypes, type Path } from '../json/index.ts'
import type { EncodeFault } from './fault.ts'
import type { EncodeOptions, Encoded, Loss } from './codec.ts'
import { isErased, type Message, type Part, type Source } from '../message/index.ts'
import { erasedMark, withErasedText } from '../message/kit.ts'
import { foreignFields } from './residual.ts'
import { BlockMissing, resolveSource, type Resolved } from './source.ts'

/** Passed to a message writer: the position, and functions to report losses and resolve sources. */
export interface Writing {
  readonly position: number
  /** @param at the position of the message. Default: the current one */
  readonly lose: (path: Path, reason: string, at?: number) => undefined
  /** A source with its bytes or URL. */
  readonly resolve: (source: Source, path: Path) => Resolved
}

/** Fields kept by other formats that this writer can write. */
export type UnderstoodFields = { readonly [format: string]: readonly string[] }

/**
 * Calls a format's writer for every message.
 *
 * @param finish called after the last message. It, like every message, may report losses for earlier ones
 */
export const encodeMessages = <Wire>(
  format: string,
  messages: Iterable<Message>,
  options: EncodeOptions,
  wire: Wire,
  write: (message: Message, writing: Writing) => void,
  understood: UnderstoodFields = {},
  finish?: (writing: Writing) => void,
): Either<EncodeFault, Encoded<Wire>> => {
  const losses: Loss[] = []
  const polluted = isPolluted()
  let position = 0
  const writing = {
    position,
    lose: (path: Path, reason: string, at = position): undefined =>
      void losses.push(Object.freeze({ position: at, path, reason })),
    resolve: (source: Source, path: Path) => resolveSource(source, options, format, position, path),
  }
  try {
    for (const given of messages) {
      const message = polluted ? (withoutPrototypes(given) as Message) : given
      writing.position = position
      loseForeignFields(format, message, writing, understood)
      if (isErased(message)) writing.lose(['content'], `was erased: written as ${erasedMark}`)
      write(withErasedText(message), writing)
      position += 1
    }
    finish?.(writing)
  } catch (error) {
    if (error instanceof BlockMissing) return left(error.fault)
    throw error
  }
  return right({ wire, losses: Object.freeze(losses.sort((left, right) => left.position - right.position)) })
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
