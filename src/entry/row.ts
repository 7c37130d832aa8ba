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
import { blockIdOf, isBlockId, rowLeaf, type BlockId, type Hash, type RowContent } from '../proof/internal.ts'
import type { History } from '../history/index.ts'
import {
  appendChunk,
  appendText,
  appendTexts,
  chunkLength,
  type ChunkReader,
  type ChunkText,
  type Fill,
} from '../history/internal.ts'
import { historySentences, type TextFault } from '../history/fault.ts'
import { sentenceOf } from '../task/index.ts'
import { isLeft, left, right } from '../either/index.ts'
import {
  base64Of,
  bytesOfBase64,
  define,
  fieldsBeside,
  freezeParsed,
  isArray,
  isObject,
  type Json,
  ownField,
  type Path,
  textOfJson,
  textOfUtf8,
  utf8Of,
} from '../json/index.ts'
import { textOfMessageFault } from '../message/fault.ts'
import type { Message, MessageFault } from '../message/index.ts'
import { checkMessage, isRole } from '../message/internal.ts'
import { isPageKind, pageKinds, type PageKind } from '../pages/index.ts'
import type { Row } from '../store/index.ts'
import { hashedBlock, isEncrypted } from '../store/internal.ts'
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
interface ExtractedText {
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
const longText = 4096

/** Base64 of at least this many characters becomes a block, because its bytes take a quarter less. */
const longBase64 = 1024

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
  const problem = Object.hasOwn(message, 'meta') ? placeholderFault(message) : undefined
  if (problem !== undefined) return left(problem)
  let text = textOfJson(message as unknown as Json)
  const out: (ExtractedText & { readonly bytes: Uint8Array })[] = []
  if (text.length >= longBase64) {
    const rest = extractText(message as unknown as Json, [], (path, as, bytes) => {
      out.push({ path, id: hashedBlock(bytes, hash), as, bytes })
    })
    if (out.length > 0) text = textOfJson(rest)
  }
  const body = `${envelopeOf(page, tagged, out)}${text}}`
  if (out.length === 0 && !text.includes('"block"'))
    return right({ row: { kind: 'entry', body, blocks: noBlocks }, blocks: noBlocks, attachments: noBlocks })
  const attached = attachedTo(message)
  const ids = out.map(({ id }) => id)
  const attachments = attached.filter((id) => !ids.includes(id))
  return right({
    row: { kind: 'entry', body, blocks: Object.freeze([...ids, ...attachments]) },
    blocks: out.map(({ bytes }) => bytes),
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
    message = JSON.parse(text)
  } catch {
    return false
  }
  if (!isObject(message) || fieldsBeside(message, messageFields) !== undefined) return false
  const content = ownField(message, 'content')
  return isRole(ownField(message, 'role')) && isArray(content) && content.every(isErasedPart)
}

const isErasedPart = (part: unknown): boolean => {
  if (!isObject(part) || fieldsBeside(part, partFields) !== undefined) return false
  return (
    ownField(part, 'type') === 'erased' &&
    typeof (ownField(part, 'id') ?? '') === 'string' &&
    typeof (ownField(part, 'callId') ?? '') === 'string'
  )
}

const messageFields: readonly string[] = ['role', 'content']
const partFields: readonly string[] = ['type', 'id', 'callId']

/**
 * Decode the body of a row. The message is not checked.
 *
 * @returns the parts of the row; or the reason why the body is not a row
 */
export const decodeRow = (body: string): Either<string, DecodedRow> => {
  const start = body.indexOf(messageKey) // it can't occur before, because paths are arrays
  if (start === -1 || !body.endsWith('}')) return left('is not a stored message')
  const text = body.slice(start + messageKey.length, -1)
  for (const { page, tagged, envelope } of plainEnvelopes)
    if (envelope.length === start && body.startsWith(envelope)) return right({ page, tagged, text, blocks: noBlocks })
  const envelope = body.slice(0, start)
  let found: { readonly page?: unknown; readonly tag?: unknown; readonly blocks?: unknown }
  try {
    found = JSON.parse(`${envelope}"message":0}`) as typeof found
  } catch {
    return left('is not a stored message')
  }
  const tag = ownField(found, 'tag')
  const kind = tag ?? ownField(found, 'page')
  const blocks = ownField(found, 'blocks')
  if (!isPageKind(kind) || !isArray(blocks) || !blocks.every(isExtractedText)) return left('is not a stored message')
  freezeParsed(blocks)
  return right({ page: kind, tagged: tag !== undefined, text, blocks })
}

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
  const blocks = out.length === 0 ? '' : `"blocks":${textOfJson(out.map(({ path, id, as }) => ({ path, id, as })))},`
  return `{"${tagged ? 'tag' : 'page'}":"${page}",${blocks}${messageKey}`
}

const nothingNamed: Either<string, readonly NamedBlock[]> = right([])

/** A copy of a block, because bytes can change before they are read; or its text once that was read. */
class NamedBlock {
  #content: Uint8Array | string
  #as: ExtractedText['as'] | undefined

  constructor(bytes: Uint8Array) {
    this.#content = new Uint8Array(bytes) // a Buffer's `slice` is no copy
  }

  get bytes(): Uint8Array {
    const content = this.#content
    if (typeof content !== 'string') return content
    return this.#as === 'base64' ? (bytesOfBase64(content) as Uint8Array) : utf8Of(content)
  }

  /** The text for which the block stands. Throws TypeError if the bytes are not valid. */
  textAs(as: ExtractedText['as']): string {
    if (typeof this.#content === 'string' && this.#as === as) return this.#content
    const text = as === 'base64' ? base64Of(this.bytes) : textOfUtf8(this.bytes)
    if (this.#as === undefined) [this.#content, this.#as] = [text, as]
    return text
  }
}

/**
 * The blocks that rows name. Many rows may name one: it is checked, copied and decoded once, so that reading them takes
 * no more memory than their blocks.
 */
export class NamedBlocks {
  readonly #known = new Map<BlockId, NamedBlock>()

  /**
   * The blocks of a row.
   *
   * @param bytes the blocks that are not known yet, by id
   * @param hash checks that the bytes are those of the id. Default: they were checked
   * @returns the blocks; or the reason why one is not
   */
  of(
    { blocks }: DecodedRow,
    bytes: ReadonlyMap<BlockId, Uint8Array>,
    hash?: Hash,
  ): Either<string, readonly NamedBlock[]> {
    if (blocks.length === 0) return nothingNamed
    const found: NamedBlock[] = []
    for (const { id, key } of blocks) {
      let block = this.#known.get(id)
      if (block === undefined) {
        block = new NamedBlock(bytes.get(id) as Uint8Array) // the caller has found all blocks
        // Encrypted blocks have an authentication tag instead.
        if (hash !== undefined && key === undefined && blockIdOf(block.bytes, hash) !== id)
          return left(`block ${id} is not what was appended`)
        this.#known.set(id, block)
      }
      found.push(block)
    }
    return right(found)
  }
}

/**
 * Append the message of a row to a history.
 *
 * @param history the history to append to
 * @param row the decoded row
 * @param bytes the blocks of the row, by id
 * @param check checks the message, as for `appendText`
 * @param named the blocks of other rows
 * @returns the reason why the message could not be appended; undefined if it was
 */
export const takeMessage = (
  history: History<Message>,
  row: DecodedRow,
  bytes: ReadonlyMap<BlockId, Uint8Array>,
  check: (message: unknown) => unknown = checkMessage,
  named: NamedBlocks = new NamedBlocks(),
): string | undefined => {
  const own = named.of(row, bytes)
  return isLeft(own) ? own.left : takeText(history, row, own.right, check)
}

const takeText = (
  history: History<Message>,
  { page, text, blocks }: DecodedRow,
  own: readonly NamedBlock[],
  check: (message: unknown) => unknown,
): string | undefined => {
  const fills = fillsOf(blocks, own)
  if (fills === undefined) return blockMismatch
  const added = appendText(history, text, { page, fills, check })
  return isLeft(added) ? textFaultText(added.left) : undefined
}

const blockMismatch = 'a block of the row does not decode to its text'

/** The texts in blocks. Undefined if one is not valid text. */
const fillsOf = (blocks: readonly ExtractedText[], own: readonly NamedBlock[]): readonly Fill[] | undefined => {
  try {
    return blocks.map(({ path, as }, index) => ({ path, text: (own[index] as NamedBlock).textAs(as) }))
  } catch {
    return undefined
  }
}

/** A separate function, so that the closure keeps only these two values alive. */
const fillsLater =
  (blocks: readonly ExtractedText[], own: readonly NamedBlock[]): ChunkText['fills'] =>
  () =>
    fillsOf(blocks, own)

/** The reason why a message's text can't be read. */
const textFaultText = (fault: TextFault): string => sentenceOf(historySentences(textOfMessageFault), fault)

/** A decoded row, with the row from which it was decoded. */
export interface ReadRow extends DecodedRow {
  readonly content: RowContent
}

/**
 * Decode a stored row for `takeRow`.
 *
 * @returns the parts of the row, frozen; or the reason why it is not a row
 */
export const readRow = (row: RowContent): Either<string, ReadRow> => {
  const content = contentOf(row)
  const { kind, body, erased, stored } = content
  if (kind !== 'entry' || typeof body !== 'string') return left('is not a stored message')
  if (stored !== undefined && (typeof stored !== 'string' || !isEncrypted(stored))) return left('was never encrypted')
  const decoded = decodeRow(body)
  if (isLeft(decoded)) return decoded
  const { page, tagged, text, blocks } = decoded.right
  if (erased !== undefined && !isErasedRow(decoded.right))
    return left('was erased, and says more than what stands for an erased message')
  return right(Object.freeze({ page, tagged, text, blocks, content }))
}

/** The content of a row, read once: what a store returned may change between its decoding and its digest. */
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
 * Cost    that of `takeMessage`, and a digest of the row and of each text in a new block
 *
 * @param history the history to append to
 * @param row the result of `readRow`
 * @param bytes the blocks of the row, by id
 * @param hash the hash function: SHA-256
 * @param named the blocks of other rows
 * @returns the leaf; or the reason why the message could not be appended
 */
export const takeRow = (
  history: History<Message>,
  row: ReadRow,
  bytes: ReadonlyMap<BlockId, Uint8Array>,
  hash: Hash,
  named: NamedBlocks = new NamedBlocks(),
): Either<string, Uint8Array> => {
  const own = named.of(row, bytes, hash)
  if (isLeft(own)) return own
  const reason = takeText(history, row, own.right, checkMessage)
  return reason === undefined ? right(rowLeaf(row.content, hash)) : left(reason)
}

/**
 * Appends stored rows to an empty history. Full chunks of messages are parsed when first read;
 * `end` parses the last messages.
 */
export class UnreadRows {
  readonly #history: History<Message>
  readonly #reader: ChunkReader
  #texts: ChunkText[] = []
  #named = new NamedBlocks()

  /**
   * @param history the history to append to
   * @param errorOf returns the error that reading an invalid message throws
   */
  constructor(history: History<Message>, errorOf: (position: number, reason: string) => unknown) {
    this.#history = history
    this.#reader = {
      check: checkMessage,
      errorOf: (fault) => errorOf(fault.position, textFaultText(fault)),
    }
  }

  /**
   * Append the message of a stored row, and compute the leaf of its text.
   *
   * Cost    a digest of the row and of each text in a new block
   *
   * @param row the result of `readRow`
   * @param bytes the blocks of the row, by id
   * @param hash the hash function: SHA-256
   * @returns the leaf; or the reason why the message could not be appended
   */
  take(row: ReadRow, bytes: ReadonlyMap<BlockId, Uint8Array>, hash: Hash): Either<string, Uint8Array> {
    const { page, text, blocks, content } = row
    const own = this.#named.of(row, bytes, hash)
    if (isLeft(own)) return own
    if (this.#texts.length === chunkLength) {
      appendChunk(this.#history, this.#texts, this.#reader)
      this.#texts = []
    }
    const fills = blocks.length === 0 ? readNoFills : fillsLater(blocks, own.right)
    this.#texts.push({ text, page, fills })
    return right(rowLeaf(content, hash))
  }

  /**
   * Append the remaining messages.
   *
   * @returns the position of a message that could not be appended, and the reason; undefined if all were appended
   */
  end(): { readonly position: number; readonly reason: string } | undefined {
    const fault = appendTexts(this.#history, this.#texts, this.#reader)
    this.#texts = []
    this.#named = new NamedBlocks() // each row keeps its own
    return fault && { position: fault.position, reason: textFaultText(fault) }
  }
}

const messageKey = '"message":'

const noBlocks: readonly never[] = Object.freeze([])
const readNoFills: ChunkText['fills'] = () => []

/** What precedes the message in a row without blocks. */
const plainEnvelopes = pageKinds.flatMap((page) =>
  [false, true].map((tagged) => ({ page, tagged, envelope: `{"${tagged ? 'tag' : 'page'}":"${page}",` })),
)

const isExtractedText = (value: unknown): value is ExtractedText => {
  if (typeof value !== 'object' || value === null) return false
  const path: unknown = ownField(value as ExtractedText, 'path')
  const id: unknown = ownField(value as ExtractedText, 'id')
  const as: unknown = ownField(value as ExtractedText, 'as')
  const key: unknown = ownField(value as ExtractedText, 'key')
  if (!isArray(path) || !isBlockId(id) || (as !== 'base64' && as !== 'utf8')) return false
  if (key !== undefined && typeof key !== 'string') return false
  return path.every((step) => typeof step === 'string' || typeof step === 'number')
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
    const rest = extractText(item, [...path, step], take)
    changed ||= rest !== item
    return rest
  }
  if (isArray(value)) {
    const items = (value as readonly Json[]).map(next)
    return changed ? items : value
  }
  const rest: { [key: string]: Json } = {}
  for (const [key, item] of Object.entries(value)) define(rest, key, next(item, key))
  return changed ? rest : value
}
