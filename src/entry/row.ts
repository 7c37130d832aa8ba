/**
 * How a message is stored, as the row of a session and as the first block of a ref: its JSON as it was appended, with its
 * page kind before it. Long texts and attachments are taken out of it and stored as blocks, so that the same file in ten
 * sessions is stored once and an image takes the room of its bytes. An empty string stands where they were.
 *
 *     {"page":"conversation","message":{…}}      classified as that
 *     {"tag":"constraint","message":{…}}         as whoever appended it has tagged it, against the classification
 *     {"page":"evidence","blocks":[{"path":["content",0,"content",0,"text"],"id":"…","as":"utf8"}],"message":{…}}
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isBlockId, blockIdOf, type Hash, type BlockId } from '../proof/index.ts'
import { appendText, type Fill, type History } from '../history/index.ts'
import { historyFaultText } from '../history/fault.ts'
import {
  arrayOf,
  base64Of,
  bytesOfBase64,
  define,
  emptyList,
  filterEach,
  freeze,
  indexIn,
  isArray,
  isLeft,
  joinPaths,
  type Json,
  keysOf,
  left,
  mapEach,
  own,
  OwnMap,
  OwnSet,
  parseText,
  type Path,
  right,
  sliceText,
  taken,
  textOfJson,
  textOfUtf8,
  utf8Of,
} from '../json/index.ts'
import { textOfMessageFault } from '../message/fault.ts'
import { checkMessage, type Message, type MessageFault } from '../message/index.ts'
import { isPageKind, pageKinds, type PageKind } from '../pages/index.ts'
import { type Row } from '../store/index.ts'
import { attachedTo } from './attached.ts'
import { againstStoring } from './placeholder.ts'

/** What is stored for a message. */
export interface EncodedRow {
  /** It speaks of the blocks that were taken out of the message, and of its attachments. */
  readonly row: Row
  /** What was taken out. */
  readonly blocks: readonly Uint8Array[]
  /** Blocks that must be there already: attachments that are not among those that were taken out. */
  readonly attachments: readonly BlockId[]
}

/** What a row says, before its blocks are there. */
export interface DecodedRow {
  /** The page kind of the message. */
  readonly page: PageKind
  /** Whether the kind was given, and is not what classification gave. */
  readonly tagged: boolean
  /** The message as JSON text, without what was taken out of it. */
  readonly text: string
  /** What stands in blocks. Mostly empty. */
  readonly blocks: readonly TakenOut[]
}

/** A text that stands in a block. */
export interface TakenOut {
  /** Where in the message it stood. */
  readonly path: Path
  /** The id of its block. */
  readonly id: BlockId
  /** What the bytes are of it. */
  readonly as: 'base64' | 'utf8'
}

/** A text of that many characters becomes a block: for less, the reference would cost more than what sharing saves. */
export const longText = 4096

/** Base64 of that many characters becomes a block: its bytes are a quarter smaller. */
export const longBase64 = 1024

/**
 * A message as it is stored, or why it can't be: it is a placeholder. Whatever stores messages does it with this.
 *
 * Cost  one `JSON.stringify`; a walk and a digest where something is taken out
 */
export const encodeRow = (
  message: Message,
  page: PageKind,
  tagged: boolean,
  hash: Hash,
): Either<MessageFault, EncodedRow> => {
  const problem = againstStoring(message)
  if (problem !== undefined) return left(problem)
  let text = textOfJson(message as unknown as Json)
  const out = emptyList<TakenOut & { readonly bytes: Uint8Array }>()
  if (text.length >= longBase64) {
    const rest = takeOut(message as unknown as Json, [], (path, as, bytes) => {
      out[out.length] = { path, id: blockIdOf(bytes, hash), as, bytes }
    })
    if (out.length > 0) text = textOfJson(rest)
  }
  const blocks =
    out.length === 0 ? '' : `"blocks":${textOfJson(mapEach(out, ({ path, id, as }) => ({ path, id, as })))},`
  const body = `{"${tagged ? 'tag' : 'page'}":"${page}",${blocks}${messageKey}${text}}`
  const ids = emptyList<BlockId>()
  const known = new OwnSet<BlockId>()
  for (let index = 0; index < out.length; index++) {
    const { id } = out[index] as TakenOut
    known.add(id)
    ids[index] = id
  }
  const attachments = filterEach(attachedTo(message), (id) => !known.has(id))
  for (let index = 0; index < attachments.length; index++) ids[ids.length] = attachments[index] as BlockId
  return right({
    row: { kind: 'entry', body, blocks: arrayOf(ids) },
    blocks: mapEach(out, ({ bytes }) => bytes),
    attachments,
  })
}

/** What a row's body says, or why it is none. The message itself is not looked at. */
export const decodeRow = (body: string): Either<string, DecodedRow> => {
  const start = indexIn(body, messageKey) // before the message nothing has this key: paths are lists
  if (start === -1 || body[body.length - 1] !== '}') return left('is not a stored message')
  const envelope = sliceText(body, 0, start)
  const text = sliceText(body, start + messageKey.length, -1)
  const plain = plainEnvelopes.get(envelope)
  if (plain !== undefined) return right({ page: plain.page, tagged: plain.tagged, text, blocks: noBlocks })
  let found: { readonly page?: unknown; readonly tag?: unknown; readonly blocks?: unknown }
  try {
    found = parseText(`${envelope}"message":0}`) as typeof found
  } catch {
    return left('is not a stored message')
  }
  const tag = own(found, 'tag')
  const kind = tag ?? own(found, 'page')
  const blocks = own(found, 'blocks')
  if (!isPageKind(kind) || !isArray(blocks)) return left('is not a stored message')
  for (let index = 0; index < blocks.length; index++)
    if (!isTakenOut(blocks[index])) return left('is not a stored message')
  return right({ page: kind, tagged: tag !== undefined, text, blocks: blocks as readonly TakenOut[] })
}

/** A block as the text that it was taken from. Throws TypeError, if it can't be that. */
const fillOf = ({ path, as }: TakenOut, bytes: Uint8Array): Fill => ({
  path,
  text: as === 'base64' ? base64Of(bytes) : textOfUtf8(bytes),
})

/** Add a message to a history; `bytes` has its blocks. Gives what is wrong with it, if something is. */
export const takeMessage = (
  history: History<Message>,
  { page, text, blocks }: DecodedRow,
  bytes: ReadonlyMap<BlockId, Uint8Array>,
  check: (message: unknown) => unknown = checkMessage,
): string | undefined => {
  let fills: readonly Fill[]
  try {
    fills = mapEach(blocks, (block) => fillOf(block, getFrom(bytes, block.id) as Uint8Array)) // the caller has found them all
  } catch {
    return 'a block of the row is not the text that it stands for'
  }
  const added = appendText(history, text, { page, fills, check })
  return isLeft(added) ? historyFaultText(added.left, textOfMessageFault) : undefined
}

const messageKey = '"message":'

const noBlocks: readonly TakenOut[] = freeze([])
const getFrom: <Key, Value>(map: ReadonlyMap<Key, Value>, key: Key) => Value | undefined = taken(Map.prototype.get)

const plainEnvelopes = new OwnMap<string, Pick<DecodedRow, 'page' | 'tagged'>>()
for (const tagged of [false, true])
  for (const page of pageKinds) plainEnvelopes.set(`{"${tagged ? 'tag' : 'page'}":"${page}",`, { page, tagged })

const isTakenOut = (value: unknown): value is TakenOut => {
  if (typeof value !== 'object' || value === null) return false
  const { path, id, as } = value as { readonly path?: unknown; readonly id?: unknown; readonly as?: unknown }
  if (!isArray(path) || !isBlockId(id) || (as !== 'base64' && as !== 'utf8')) return false
  for (let index = 0; index < path.length; index++)
    if (typeof path[index] !== 'string' && typeof path[index] !== 'number') return false
  return true
}

type Take = (path: Path, as: TakenOut['as'], bytes: Uint8Array) => void

/** The value with an empty string for each text that is handed to `take`; where there is none, the value itself. */
const takeOut = (value: Json, path: Path, take: Take): Json => {
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
    const rest = takeOut(item, joinPaths(path, [step]), take)
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
