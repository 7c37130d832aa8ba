/** An answer of Claude Code, which streaming split into several lines, in its session files and in its output. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, isObject, type JsonObject, Unexpected } from 'indelible/internal/json'
import { decodeResponse } from 'indelible/codecs/anthropic'
import { codecFaultText } from 'indelible/internal/codecs'
import type { Decoded, TranscriptFault } from 'indelible/codecs'
import { digestOf } from '../text/digest.ts'
import type { CallDetails } from '../format/origin.ts'

/** One line of an answer that may span several. */
export interface Piece {
  readonly entry: JsonObject
  readonly message: JsonObject
  readonly line: number
  readonly index: number
}

/** The answer that its lines form: the blocks of all, and the last line's value of every other field. */
export const answer = (pieces: readonly Pick<Piece, 'message'>[]): Either<TranscriptFault, Decoded> => {
  const content = pieces.flatMap(({ message }) =>
    typeof message['content'] === 'string' ? [{ type: 'text', text: message['content'] }] : (message['content'] ?? []),
  )
  return decodeResponse({ ...pieces.at(-1)?.message, content })
}

/** Check that a line can be read by itself. Throws Unexpected. */
export const checkPiece = (piece: Piece): void => {
  const decoded = answer([piece])
  if (isLeft(decoded)) throw unexpectedLine(decoded.left, 0)
}

/** The call behind the answer in these lines. */
export const callOf = (pieces: readonly Piece[]): Omit<CallDetails, 'answer'> => {
  const { entry, message } = pieces.at(-1) as Piece
  const contents = pieces.map((piece) => piece.message['content'] ?? null)
  return {
    id: digestOf(JSON.stringify([message['id'] ?? entry['uuid'] ?? null, contents])),
    time: entry['timestamp'],
    // A branch has copies of the lines of its original.
    ...(isObject(entry['forkedFrom']) && { isCopy: true }),
  }
}

/** A codec's fault with its path relative to the line. */
export const unexpectedLine = (fault: TranscriptFault, steps: number): Unexpected => {
  if (fault._tag !== 'UnexpectedWire')
    return new Unexpected(['message'], `readable (${codecFaultText(fault)})`, undefined)
  return Object.assign(new Unexpected(['message', ...fault.path.slice(steps)], fault.expected, undefined), {
    found: fault.found,
  })
}
