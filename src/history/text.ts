/**
 * Appends messages stored as JSON text: as safe as `append`, without the copy. A full chunk of
 * texts is parsed when one of its messages is first read.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../either/index.ts'
import { define, freezeParsed, type Immutable, NotJson, ownField, type Path } from '../json/index.ts'
import type { PageKind } from '../pages/index.ts'
import { codeOf } from '../pages/internal.ts'
import { contentLengthOfFill, contentLengthOfText } from './content-length.ts'
import type { HistoryFaultOf, TextFault } from './fault.ts'
import type { History } from './history.ts'
import { kindOf, logOf, record } from './log.ts'
import { chunkLength, lenOf, sealTail, withChunk, type Chunk, type Content } from './state.ts'
import type { Position } from './view.ts'

/** A text that was stored apart from its message. The message's JSON text has an empty string in its place. */
export interface Fill {
  /** The path of the empty string in the message. */
  readonly path: Path
  /** The text to put there. Anything but a string is refused. */
  readonly text: string
}

/** Options of `appendText`. */
interface TextOptions {
  /** The page kind of the message. Default: the history's `classify` decides. */
  readonly page?: PageKind | undefined
  /** Texts to insert before the message is recorded. Default: none. */
  readonly fills?: readonly Fill[]
  /**
   * Checks the message. Default: any JSON is accepted.
   *
   * @returns the problem; undefined if there is none
   */
  readonly check?: (message: unknown) => unknown
}

/**
 * Append a message given as JSON text. The result equals `history.append(JSON.parse(text))`.
 * Nothing else references the parsed value, so it is frozen in place instead of copied.
 *
 * Cost    little more than `JSON.parse` (bench: sessions)
 *
 * @param history the history to append to
 * @param text the message as JSON
 * @param options the page kind, texts to insert, and a check
 * @returns the position; or `UndecodableMessage`, `UnrecordableMessage`, `CallbackThrew`
 * @throws TypeError if this library did not make `history`, or `page` is not a page kind; the history is unchanged
 */
export const appendText = <M>(
  history: History<M>,
  text: string,
  options: TextOptions = {},
): Either<TextFault, Position> => {
  const log = logOf(history)
  if (log === undefined) throw new TypeError('appendText needs a history from createHistory or restoreHistory')
  const page = ownField(options, 'page')
  const check = ownField(options, 'check') ?? noTextCheck
  const read = readText<M>(lenOf(log.content), text, ownField(options, 'fills') ?? [], check)
  if (isLeft(read)) return read
  const message = read.right
  let kind: PageKind
  try {
    kind = page ?? kindOf(log, message)
  } catch (cause) {
    return left({ _tag: 'CallbackThrew', callback: 'classify', cause })
  }
  return right(record(log, message, kind))
}

export interface ChunkText {
  /** The message as JSON, without the texts to insert. */
  readonly text: string
  readonly page: PageKind
  /**
   * Returns the texts to insert. Called when the message is first read.
   *
   * @returns the texts; undefined if one of them can't be read
   */
  readonly fills: () => readonly Fill[] | undefined
}

/** Parses and checks the messages of a chunk. */
export interface ChunkReader {
  /** Checks a message, as for `appendText`. */
  readonly check: (message: unknown) => unknown
  /**
   * Returns the error to throw when a message can't be read. Then no message of the chunk can be read.
   *
   * @param fault the problem, with the position
   */
  readonly errorOf: (fault: UnreadableFault) => unknown
}

/** The fault of a text that is no message. */
type UnreadableFault = HistoryFaultOf<'UnrecordableMessage' | 'UndecodableMessage'>

/**
 * Append a chunk of messages given as JSON texts. All of them are parsed when one of them is first
 * read, and a bad message throws then.
 *
 * Cost    O(texts), without parsing (bench: open)
 *
 * @param history the history to append to; its length must be a multiple of `chunkLength`
 * @param texts `chunkLength` texts
 * @param reader parses and checks the messages
 * @throws TypeError for any other history or number of texts; the history is unchanged
 */
export const appendChunk = <M>(history: History<M>, texts: readonly ChunkText[], reader: ChunkReader): void => {
  const log = logOf(history)
  const content = log && fullChunks(log.content)
  if (log === undefined || content === undefined || texts.length !== chunkLength)
    throw new TypeError('appendChunk needs a history of full chunks, and the texts of one chunk')
  log.content = withChunk(content.state, new UnreadChunk<M>(lenOf(content), texts, reader))
  log.whole = undefined
}

/**
 * Append the messages after the last full chunk, given as JSON texts. They are parsed now. Their lists have no room for
 * more, because most opened sessions stay as they are.
 *
 * @param history the history to append to; its length must be a multiple of `chunkLength`
 * @param texts at most `chunkLength` texts
 * @param reader parses and checks the messages
 * @returns the fault of the first message that can't be read, and the history is unchanged; undefined if all were appended
 * @throws TypeError for any other history or number of texts; the history is unchanged
 */
export const appendTexts = <M>(
  history: History<M>,
  texts: readonly ChunkText[],
  reader: ChunkReader,
): UnreadableFault | undefined => {
  const log = logOf(history)
  const content = log && fullChunks(log.content)
  if (log === undefined || content === undefined || texts.length > chunkLength)
    throw new TypeError('appendTexts needs a history of full chunks, and the texts of one chunk')
  const codes = texts.map(({ page }) => codeOf(page))
  const messages = readTexts<M>(lenOf(content), texts, reader.check)
  if (isLeft(messages)) return messages.left
  log.content = { state: content.state, tail: { messages: messages.right, codes } }
  log.whole = undefined
  return undefined
}

/** Seals a full tail; undefined if the tail is partly full. */
const fullChunks = <M>(content: Content<M>): Content<M> | undefined => {
  const { length } = content.tail.messages
  return length === 0 ? content : length === chunkLength ? sealTail(content) : undefined
}

/** A chunk that parses its messages when one of them is first read. */
class UnreadChunk<M> implements Chunk<M> {
  readonly kinds: string
  readonly #start: number
  readonly #reader: ChunkReader
  #texts: readonly Pick<ChunkText, 'text' | 'fills'>[]
  #messages: readonly Immutable<M>[] | undefined

  constructor(start: number, chunks: readonly ChunkText[], { check, errorOf }: ChunkReader) {
    this.kinds = String.fromCharCode(...chunks.map(({ page }) => codeOf(page)))
    this.#start = start
    this.#reader = { check, errorOf }
    this.#texts = chunks.map(({ text, fills }) => ({ text, fills })) // the caller's may change
  }

  get messages(): readonly Immutable<M>[] {
    return (this.#messages ??= this.#read())
  }

  /** The lengths of the texts; undefined once they are parsed, or if one of them lacks a stored text. */
  contentLengths(): Uint32Array | undefined {
    const { length } = this.#texts
    if (length === 0) return undefined
    const lengths = new Uint32Array(length)
    for (const [index, { text, fills }] of this.#texts.entries()) {
      const texts = fills()
      if (texts === undefined) return undefined
      let own = contentLengthOfText(text)
      for (const filling of texts) own += contentLengthOfFill(filling.path, filling.text)
      lengths[index] = own
    }
    return lengths
  }

  #read(): readonly Immutable<M>[] {
    const read = readTexts<M>(this.#start, this.#texts, this.#reader.check)
    if (isLeft(read)) throw this.#reader.errorOf(read.left)
    this.#texts = []
    return Object.freeze(read.right)
  }
}

/** The messages of texts, or the fault of the first one that can't be read. Throws what `check` throws. */
const readTexts = <M>(
  start: number,
  texts: readonly Pick<ChunkText, 'text' | 'fills'>[],
  check: ChunkReader['check'],
): Either<UnreadableFault, Immutable<M>[]> => {
  const messages: Immutable<M>[] = []
  for (const { text, fills } of texts) {
    const position = start + messages.length
    const own = fills()
    if (own === undefined) return unrecordableFault(position, [], 'lacks a text that is stored in a block')
    const read = readText<M>(position, text, own, check)
    if (!isLeft(read)) messages.push(read.right)
    // An error that `check` throws is no fault of the message: it may be a stack overflow.
    else if (read.left._tag === 'CallbackThrew') throw read.left.cause
    else return left(read.left)
  }
  return right([...messages]) // without room for more
}

/** Parse a message, insert its texts, freeze it and check it: everything that precedes recording. */
const readText = <M>(
  position: number,
  text: string,
  fills: readonly Fill[],
  check: (message: unknown) => unknown,
): Either<TextFault, Immutable<M>> => {
  let message: unknown
  try {
    message = JSON.parse(text)
  } catch {
    return unrecordableFault(position, [], 'is not JSON text')
  }
  for (const { path, text: filling } of fills) {
    // Anything but a string would be recorded unfrozen.
    if (typeof filling !== 'string') return unrecordableFault(position, path, 'can only be filled with a string')
    if (!fillText(message, path, filling))
      return unrecordableFault(position, path, 'is not an empty string, so no text can be inserted there')
  }
  try {
    freezeParsed(message)
  } catch (error) {
    if (error instanceof NotJson) return unrecordableFault(position, error.path, error.reason)
    throw error
  }
  try {
    const problem = check(message)
    if (problem !== undefined) return left({ _tag: 'UndecodableMessage', position, cause: problem })
  } catch (cause) {
    return left({ _tag: 'CallbackThrew', callback: 'check', cause })
  }
  return right(message as Immutable<M>) // the check found no problem
}

const unrecordableFault = (
  position: number,
  path: Path,
  reason: string,
): Either<HistoryFaultOf<'UnrecordableMessage'>, never> => left({ _tag: 'UnrecordableMessage', position, path, reason })

const noTextCheck = (): undefined => undefined

/** Put a text at its path. Returns false if the path does not lead to an empty string. */
const fillText = (message: unknown, path: Path, text: string): boolean => {
  const place = path.slice(0, -1).reduce(member, message)
  const key = path.at(-1)
  if (member(place, key) !== '') return false
  define(place as object, key as string | number, text)
  return true
}

const member = (value: unknown, key: unknown): unknown =>
  typeof value === 'object' &&
  value !== null &&
  (typeof key === 'string' || typeof key === 'number') &&
  Object.hasOwn(value, key)
    ? (value as { readonly [key: string | number]: unknown })[key]
    : undefined
