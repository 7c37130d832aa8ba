/** Describes why part of a file can't be read. */
import type { Either } from 'fp-ts/lib/Either.js'
import type { Decoded, TranscriptFault } from 'indelible/codecs'
import { codecFaultText } from 'indelible/internal/codecs'
import { formatPath, isLeft, type JsonObject, type Path, Unexpected } from 'indelible/internal/json'
import type { Message } from 'indelible/message'

/** The value expected at a path, and the one found. */
export const expectedText = (
  { path, expected, found }: { readonly path: Path; readonly expected: string; readonly found: string },
  what = 'the entry',
): string => `${formatPath(path) || what} should be ${expected}, found ${found}`

/**
 * The text of a codec's fault.
 *
 * @param steps the number of leading path steps to omit
 */
export const reasonOf = (fault: TranscriptFault, steps: number, what?: string): string =>
  fault._tag === 'UnexpectedWire'
    ? expectedText({ ...fault, path: fault.path.slice(steps) }, what)
    : codecFaultText(fault)

/**
 * The messages of a value that a codec read. Throws Unexpected at its path if it can't.
 *
 * @param what the value that the codec expects, as in `readable (the fault)`
 */
export const messagesIn = (
  decoded: Either<TranscriptFault, Decoded>,
  path: Path,
  found: unknown,
  what = 'readable',
): readonly Message[] => {
  if (isLeft(decoded)) throw new Unexpected(path, `${what} (${codecFaultText(decoded.left)})`, found)
  return decoded.right.messages
}

export interface EntryAtLine {
  readonly entry: JsonObject
  readonly line: number
}

/** Groups of entries, each with the messages they decode to. */
type DecodedGroups<P> = readonly (readonly [placed: readonly P[], messages: readonly Message[]])[]

/** Read entries that belong together. An entry that can't be read is reported to `damaged`, and the others are read. */
export const readTogether = <P extends EntryAtLine>(
  placed: readonly P[],
  decode: (entries: readonly JsonObject[]) => Either<TranscriptFault, Decoded>,
  damaged: (item: P, fault: TranscriptFault) => void,
): DecodedGroups<P> => {
  if (placed.length === 0) return []
  const decoded = decode(placed.map(({ entry }) => entry))
  if (!isLeft(decoded)) return [[placed, decoded.right.messages]]
  const readable = placed.filter((item) => {
    const alone = placed.length === 1 ? decoded : decode([item.entry])
    if (isLeft(alone)) damaged(item, alone.left)
    return !isLeft(alone)
  })
  return readable.length < placed.length
    ? readTogether(readable, decode, damaged)
    : placed.flatMap((item) => readTogether([item], decode, damaged))
}
