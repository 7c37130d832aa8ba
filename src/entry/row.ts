/**
 * The stored form of a message, as a row of a session and as the first block of a ref: its JSON, preceded by
 * its page kind. Long texts and attachments are extracted and stored as blocks, so that a file in ten sessions
 * is stored once, and an image takes only the space of its bytes. An empty string replaces each extracted text.
 *
 *     {"page":"conversation","message":{…}}      page kind from the classification
 *     {"tag":"constraint","message":{…}}         page kind from the appending code, against the classification
 *     {"page":"evidence","blocks":[{"path":["content",0,"content",0,"text"],"id":"…","as":"utf8"}],"message":{…}}
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { blockIdOf, isBlockId, rowLeaf, type BlockId, type Hash, type RowContent } from '../proof/kit.ts'
import type { History } from '../history/index.ts'
import { appendChunk, appendText, chunkLength, type ChunkReader, type ChunkText, type Fill } from '../history/kit.ts'
import { historySentences, type TextFault } from '../history/fault.ts'
import { sentenceOf } from '../task/index.ts'
import {
  arrayOf,
  base64Of,
  bytesOfBase64,
  define,
  emptyList,
  fieldsBeside,
  filterEach,
  freeze,
  freezeParsed,
  ReturnsArgument,
  indexIn,
  isArray,
  isLeft,
  isObject,
  joinPaths,
  type Json,
  keysOf,
  left,
  mapEach,
  ownField,
  OwnMap,
  OwnSet,
  parseText,
  type Path,
  right,
  sliceText,
  bindMethod,
  textOfJson,
  textOfUtf8,
  utf8Of,
} from '../json/index.ts'
import { textOfMessageFault } from '../message/fault.ts'
import type { Message, MessageFault } from '../message/index.ts'
import { checkMessage, isRole } from '../message/kit.ts'
import { isPageKind, pageKinds, type PageKind } from '../pages/index.ts'
import type { Row } from '../store/index.ts'
import { hashedBlock, isEncrypted } from '../store/kit.ts'
import { attachedTo } from './attachments.ts'
import { placeholderFault } from './placeholder.ts'

/** A message in its stored form. */
export interface EncodedRow {
  /** The row. It references the extracted blocks and the message's attachments. */
  readonly row: Row
  /** The contents of the extracted blocks. */
  readonly blocks: readonly Uint8Array[]
  /** Blocks that the store must already have: the attachments not in `blocks`. */
  readonly attachments: readonly BlockId[]
}

/** The content of a row, before its blocks are read. */
export interface DecodedRow {
  readonly page: PageKind
  /** True if the application chose the page kind, and it differs from the classified one. */
  readonly tagged: boolean
  /** The message as JSON text, without the texts in blocks. */
  readonly text: string
  /** The texts in blocks. Usually empty. */
  readonly blocks: readonly ExtractedText[]
}

/** A text of a message, stored as a block. */
export interface ExtractedText {
  readonly path: Path
  readonly id: BlockId
  /** The encoding. `utf8`: the block has the text's UTF-8. `base64`: the block has the bytes that the text encodes. */
  readonly as: 'base64' | 'utf8'
  /** The key of the block, in base64, if the session is encrypted. */
  readonly key?: string
}

/**
 * Texts of at least this many characters become blocks. For shorter ones, the reference would cost
 * more than sharing saves.
 */
export const longText = 4096

/** Base64 of at least this many characters becomes a block, because its bytes take a quarter less. */
export const longBase64 = 1024

/**
 * Encode a message as a row. All code that stores messages uses this.
 *
 * Cost  one `JSON.stringify`; a walk and a digest for each text that becomes a block
 *
 * @param message the message
 * @param page its page kind
 * @param tagged true if the application chose the page kind, and it differs from the classified one
 * @param hash the hash function: SHA-256
 * @returns the row and its blocks; or a fault if the message is a placeholder
 */
export const encodeRow = (
  message: Message,
  page: PageKind,
  tagged: boolean,
  hash: Hash,
): Either<MessageFault, EncodedRow> => {
  const problem = placeholderFault(message)
  if (problem !== undefined) return left(problem)
  let text = textOfJson(message as unknown as Json)
  const out = emptyList<ExtractedText & { readonly bytes: Uint8Array }>()
  if (text.length >= longBase64) {
    const rest = extractText(message as unknown as Json, [], (path, as, bytes) => {
      out[out.length] = { path, id: hashedBlock(bytes, hash), as, bytes }
    })
    if (out.length > 0) text = textOfJson(rest)
  }
  const body = `${envelopeOf(page, tagged, out)}${text}}`
  const attached = attachedTo(message)
  if (out.length === 0)
    return right({ row: { kind: 'entry', body, blocks: attached }, blocks: [], attachments: attached })
  const ids = emptyList<BlockId>()
  const known = new OwnSet<BlockId>()
  for (let index = 0; index < out.length; index++) {
    const { id } = out[index] as ExtractedText
    known.add(id)
    ids[index] = id
  }
  const attachments = filterEach(attached, (id) => !known.has(id))
  for (let index = 0; index < attachments.length; index++) ids[ids.length] = attachments[index] as BlockId
  return right({
    row: { kind: 'entry', body, blocks: arrayOf(ids) },
    blocks: mapEach(out, ({ bytes }) => bytes),
    attachments,
  })
}

/**
 * The body that replaces the row of an erased message. It has no blocks.
 *
 * @param message the stub, from `erasedMessage`
 * @param row the page kind of the message, and whether the application chose it
 */
export const erasedBody = (message: Message, { page, tagged }: Pick<DecodedRow, 'page' | 'tagged'>): string =>
  `{"${tagged ? 'tag' : 'page'}":"${page}",${messageKey}${textOfJson(message as unknown as Json)}}`

/**
 * Whether a row is the stub of an erased message: it has a role and call ids, and nothing else.
 *
 * @returns true for what `erasedBody` writes
 */
export const isErasedRow = ({ text, blocks }: DecodedRow): boolean => {
  if (blocks.length > 0) return false
  let message: unknown
  try {
    message = parseText(text)
  } catch {
    return false
  }
  if (!isObject(message) || fieldsBeside(message, messageFields) !== undefined) return false
  const content = ownField(message, 'content')
  if (!isRole(ownField(message, 'role')) || !isArray(content)) return false
  for (let index = 0; index < content.length; index++) if (!isErasedPart(content[index])) return false
  return true
}

const isErasedPart = (part: unknown): boolean => {
  if (!isObject(part) || fieldsBeside(part, partFields) !== undefined) return false
  return (
    ownField(part, 'type') === 'erased' &&
    typeof (ownField(part, 'id') ?? '') === 'string' &&
    typeof (ownField(part, 'callId') ?? '') === 'string'
  )
}

const messageFields: readonly string[] = freeze(['role', 'content'])
const partFields: readonly string[] = freeze(['type', 'id', 'callId'])

/**
 * Decode the body of a row. The message is not checked.
 *
 * @returns the parts of the row; or the reason why the body is not a row
 */
export const decodeRow = (body: string): Either<string, DecodedRow> => {
  const start = indexIn(body, messageKey)
  if (start === -1 || body[body.length - 1] !== '}') return left('is not a stored message')
  const envelope = sliceText(body, 0, start)
  const text = messageText(body)
  const plain = plainEnvelopes.get(envelope)
  if (plain !== undefined) return right({ page: plain.page, tagged: plain.tagged, text, blocks: noBlocks })
  let found: { readonly page?: unknown; readonly tag?: unknown; readonly blocks?: unknown }
  try {
    found = parseText(`${envelope}"message":0}`) as typeof found
  } catch {
    return left('is not a stored message')
  }
  const tag = ownField(found, 'tag')
  const kind = tag ?? ownField(found, 'page')
  const blocks = ownField(found, 'blocks')
  if (!isPageKind(kind) || !isArray(blocks)) return left('is not a stored message')
  for (let index = 0; index < blocks.length; index++)
    if (!isExtractedText(blocks[index])) return left('is not a stored message')
  freezeParsed(blocks)
  return right({ page: kind, tagged: tag !== undefined, text, blocks: blocks as readonly ExtractedText[] })
}

/** The message in the body of a row. Its key can't occur before it, because paths are arrays. */
const messageText = (body: string): string => sliceText(body, indexIn(body, messageKey) + messageKey.length, -1)

/**
 * Whether the body of a row is exactly what `encodeRow` writes: no other fields beside the message, and no block keys.
 *
 * @param body the stored text
 * @param row the result of `decodeRow`
 * @returns true if this is the only spelling of the row
 */
export const isRowText = (body: string, { page, tagged, text, blocks }: DecodedRow): boolean =>
  body === `${envelopeOf(page, tagged, blocks)}${text}}`

/** The text before the message. */
const envelopeOf = (page: PageKind, tagged: boolean, out: readonly ExtractedText[]): string => {
  const blocks =
    out.length === 0 ? '' : `"blocks":${textOfJson(mapEach(out, ({ path, id, as }) => ({ path, id, as })))},`
  return `{"${tagged ? 'tag' : 'page'}":"${page}",${blocks}${messageKey}`
}

/** Turns a block back into its text. Throws TypeError if the bytes are not valid. */
const fillOf = ({ path, as }: ExtractedText, bytes: Uint8Array): Fill => ({
  path,
  text: as === 'base64' ? base64Of(bytes) : textOfUtf8(bytes),
})

/**
 * Append the message of a row to a history.
 *
 * @param history the history to append to
 * @param row the decoded row
 * @param bytes the blocks of the row, by id
 * @param check checks the message, as for `appendText`
 * @returns the reason why the message could not be appended; undefined if it was
 */
export const takeMessage = (
  history: History<Message>,
  { page, text, blocks }: DecodedRow,
  bytes: ReadonlyMap<BlockId, Uint8Array>,
  check: (message: unknown) => unknown = checkMessage,
): string | undefined => {
  const fills = fillsOf(blocks, bytes)
  if (fills === undefined) return blockMismatch
  const added = appendText(history, text, { page, fills, check })
  return isLeft(added) ? textFaultText(added.left) : undefined
}

const blockMismatch = 'a block of the row does not decode to its text'

/** The texts in blocks. The caller has found all blocks. Undefined if one is not valid text. */
const fillsOf = (
  blocks: readonly ExtractedText[],
  bytes: ReadonlyMap<BlockId, Uint8Array>,
): readonly Fill[] | undefined => {
  try {
    return mapEach(blocks, (block) => fillOf(block, getFrom(bytes, block.id) as Uint8Array))
  } catch {
    return undefined
  }
}

/** A separate function, so that the closure keeps only these two values alive. */
const fillsLater =
  (blocks: readonly ExtractedText[], bytes: ReadonlyMap<BlockId, Uint8Array>): ChunkText['fills'] =>
  () =>
    fillsOf(blocks, bytes)

/** Copies of the blocks that a row names, so that no other code can change them before they are read. */
const copiesOf = (
  blocks: readonly ExtractedText[],
  bytes: ReadonlyMap<BlockId, Uint8Array>,
): ReadonlyMap<BlockId, Uint8Array> => {
  const copies = new OwnMap<BlockId, Uint8Array>()
  for (let index = 0; index < blocks.length; index++) {
    const { id } = blocks[index] as ExtractedText
    copies.set(id, new Bytes(getFrom(bytes, id) as Uint8Array))
  }
  return copies
}

/** The reason why a message's text can't be read. */
const textFaultText = (fault: TextFault): string => sentenceOf(historySentences(textOfMessageFault), fault)

/**
 * Decode a stored row for `takeRow`, which accepts nothing else, so that code in between can't change it.
 *
 * @returns the parts of the row, frozen; or the reason why it is not a row
 */
export const readRow = (row: RowContent): Either<string, DecodedRow> => {
  const content = contentOf(row)
  const { kind, body, erased, stored } = content
  if (kind !== 'entry' || typeof body !== 'string') return left('is not a stored message')
  if (stored !== undefined && (typeof stored !== 'string' || !isEncrypted(stored))) return left('was never encrypted')
  const decoded = decodeRow(body)
  if (isLeft(decoded)) return decoded
  if (erased !== undefined && !isErasedRow(decoded.right))
    return left('was erased, and says more than what stands for an erased message')
  return right(freeze(ReadRow.stamp(decoded.right, content)))
}

/** The content of a row. Each field is read once, because a getter can return something else each time. */
const contentOf = (row: RowContent): RowContent => ({
  kind: row.kind,
  body: row.body,
  at: row.at,
  salt: ownField(row, 'salt'),
  erased: ownField(row, 'erased'),
  stored: ownField(row, 'stored'),
})

/**
 * Append the message of a stored row to a history, and compute the leaf of its text.
 *
 * Cost    that of `takeMessage`, and a digest of the row and of each text in a block
 *
 * @param history the history to append to
 * @param row the result of `readRow`
 * @param bytes the blocks of the row, by id
 * @param hash the hash function: SHA-256
 * @returns the leaf; or the reason why the message could not be appended
 * @throws TypeError if `row` is not from `readRow`
 */
export const takeRow = (
  history: History<Message>,
  row: DecodedRow,
  bytes: ReadonlyMap<BlockId, Uint8Array>,
  hash: Hash,
): Either<string, Uint8Array> => {
  const content = ReadRow.content(row)
  const reason = blockFaultOf(row, bytes, hash) ?? takeMessage(history, row, bytes)
  return reason === undefined ? right(rowLeaf(content, hash)) : left(reason)
}

/** The reason why the blocks of a row don't match their ids. */
const blockFaultOf = (
  { blocks }: DecodedRow,
  bytes: ReadonlyMap<BlockId, Uint8Array>,
  hash: Hash,
): string | undefined => {
  for (let index = 0; index < blocks.length; index++) {
    const { id, key } = blocks[index] as ExtractedText
    const found = key === undefined ? getFrom(bytes, id) : undefined // encrypted blocks have an authentication tag instead
    if (found !== undefined && blockIdOf(found, hash) !== id) return `block ${id} is not what was appended`
  }
  return undefined
}

/**
 * Appends stored rows to an empty history. Full chunks of messages are parsed when first read;
 * `end` parses the last messages.
 */
export class UnreadRows {
  readonly #history: History<Message>
  readonly #reader: ChunkReader
  #texts = emptyList<ChunkText>()

  /**
   * @param history the history to append to
   * @param errorOf returns the error that reading an invalid message throws
   */
  constructor(history: History<Message>, errorOf: (position: number, reason: string) => unknown) {
    this.#history = history
    this.#reader = {
      textOf: messageText,
      check: checkMessage,
      errorOf: (fault) => errorOf(fault.position, textFaultText(fault)),
    }
  }

  /**
   * Append the message of a stored row, and compute the leaf of its text.
   *
   * Cost    a digest of the row and of each text in a block
   *
   * @param unread the rows before it
   * @param row the result of `readRow`
   * @param bytes the blocks of the row, by id
   * @param hash the hash function: SHA-256
   * @returns the leaf; or the reason why the message could not be appended
   * @throws TypeError if `row` is not from `readRow`
   */
  static take(
    unread: UnreadRows,
    row: DecodedRow,
    bytes: ReadonlyMap<BlockId, Uint8Array>,
    hash: Hash,
  ): Either<string, Uint8Array> {
    const content = ReadRow.content(row)
    const { page, blocks } = row
    const own = blocks.length === 0 ? bytes : copiesOf(blocks, bytes)
    const problem = blockFaultOf(row, own, hash)
    if (problem !== undefined) return left(problem)
    if (unread.#texts.length === chunkLength) {
      appendChunk(unread.#history, unread.#texts, unread.#reader)
      unread.#texts = emptyList()
    }
    const fills = blocks.length === 0 ? readNoFills : fillsLater(blocks, own)
    unread.#texts[unread.#texts.length] = { stored: content.body, page, fills }
    return right(rowLeaf(content, hash))
  }

  /**
   * Append the remaining messages.
   *
   * @returns the position of a message that could not be appended, and the reason; undefined if all were appended
   */
  static end(unread: UnreadRows): { readonly position: number; readonly reason: string } | undefined {
    const { length } = unread.#texts
    for (let index = 0; index < length; index++) {
      const { stored, page, fills } = unread.#texts[index] as ChunkText
      const given = fills()
      const position = unread.#history.len
      if (given === undefined) return { position, reason: blockMismatch }
      const added = appendText(unread.#history, messageText(stored), { page, fills: given, check: checkMessage })
      if (isLeft(added)) return { position, reason: textFaultText(added.left) }
    }
    unread.#texts = emptyList()
    return undefined
  }
}
freeze(UnreadRows)

/** The private name of `readRow`'s results: the row from which each was decoded, as it was at that time. */
class ReadRow extends ReturnsArgument {
  readonly #content: RowContent

  private constructor(decoded: object, content: RowContent) {
    super(decoded)
    this.#content = content
  }

  static stamp(decoded: DecodedRow, content: RowContent): DecodedRow {
    return new ReadRow(decoded, content) as unknown as DecodedRow
  }

  static content(decoded: DecodedRow): RowContent {
    if (!(#content in decoded)) throw new TypeError('takeRow needs a row that readRow gave')
    return (decoded as unknown as ReadRow).#content
  }
}

const messageKey = '"message":'

const noBlocks: readonly ExtractedText[] = freeze([])
const noFills: readonly Fill[] = freeze([])
const readNoFills: ChunkText['fills'] = () => noFills
const Bytes = Uint8Array // taken when this module loads
const getFrom: <Key, Value>(map: ReadonlyMap<Key, Value>, key: Key) => Value | undefined = bindMethod(Map.prototype.get)

const plainEnvelopes = new OwnMap<string, Pick<DecodedRow, 'page' | 'tagged'>>()
for (const isTagged of [false, true])
  for (const page of pageKinds)
    plainEnvelopes.set(`{"${isTagged ? 'tag' : 'page'}":"${page}",`, { page, tagged: isTagged })

const isExtractedText = (value: unknown): value is ExtractedText => {
  if (typeof value !== 'object' || value === null) return false
  const path: unknown = ownField(value as ExtractedText, 'path')
  const id: unknown = ownField(value as ExtractedText, 'id')
  const as: unknown = ownField(value as ExtractedText, 'as')
  const key: unknown = ownField(value as ExtractedText, 'key')
  if (!isArray(path) || !isBlockId(id) || (as !== 'base64' && as !== 'utf8')) return false
  if (key !== undefined && typeof key !== 'string') return false
  for (let index = 0; index < path.length; index++)
    if (typeof path[index] !== 'string' && typeof path[index] !== 'number') return false
  return true
}

type Take = (path: Path, as: ExtractedText['as'], bytes: Uint8Array) => void

/** The value with an empty string for each text passed to `take`; the value itself if there are none. */
const extractText = (value: Json, path: Path, take: Take): Json => {
  if (typeof value === 'string') {
    if (value.length < longBase64) return value
    const bytes = bytesOfBase64(value)
    if (bytes === undefined && value.length < longText) return value
    take(path, bytes === undefined ? 'utf8' : 'base64', bytes ?? utf8Of(value))
    return ''
  }
  if (typeof value !== 'object' || value === null) return value
  let changed = false
  const next = (item: Json, step: string | number): Json => {
    const rest = extractText(item, joinPaths(path, [step]), take)
    changed ||= rest !== item
    return rest
  }
  if (isArray(value)) {
    const items = mapEach(value as readonly Json[], next)
    return changed ? items : value
  }
  const rest: { [key: string]: Json } = {}
  const keys = keysOf(value)
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string
    define(rest, key, next((value as { readonly [key: string]: Json })[key] as Json, key))
  }
  return changed ? rest : value
}
