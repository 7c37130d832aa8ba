/**
 * How a message is stored, as the row of a session and as the first block of a ref: its JSON as it was appended, with its
 * page kind before it. Long texts and attachments are taken out of it and stored as blocks, so that the same file in ten
 * sessions is stored once and an image takes the room of its bytes. An empty string stands where they were.
 *
 *     {"page":"conversation","message":{…}}      classified as that
 *     {"tag":"constraint","message":{…}}         as whoever appended it has tagged it, against the classification
 *     {"page":"evidence","blocks":[{"path":["content",0,"content",0,"text"],"id":"…","as":"utf8"}],"message":{…}}
 */
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import type { Hash } from '../digest/index.ts'
import { appendText, historyFaultText, type Fill, type History } from '../history/index.ts'
import type { Json, Path } from '../json/index.ts'
import { checkMessage, isBlockId, type BlockId, type Message, type MessageFault } from '../message/index.ts'
import { isPageKind, pageKinds, type PageKind } from '../pages/index.ts'
import { blockIdOf, type Row } from '../store/index.ts'
import { attachedTo } from './attached.ts'
import { base64Of, bytesOfBase64, textOfUtf8 } from './base64.ts'
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
  readonly page: PageKind
  /** Whether the kind was given, and is not what classification gave. */
  readonly tagged: boolean
  /** The message as JSON text, without what was taken out of it. */
  readonly text: string
  readonly blocks: readonly TakenOut[]
}

/** A text that stands in a block. */
export interface TakenOut {
  readonly path: Path
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
export const encodeRow = (message: Message, page: PageKind, tagged: boolean, hash: Hash): Either<MessageFault, EncodedRow> => {
  const problem = againstStoring(message)
  if (problem !== undefined) return left(problem)
  let text = JSON.stringify(message)
  const taken: (TakenOut & { readonly bytes: Uint8Array })[] = []
  if (text.length >= longBase64) {
    const rest = takeOut(message as unknown as Json, [], (path, as, bytes) => taken.push({ path, id: blockIdOf(bytes, hash), as, bytes }))
    if (taken.length > 0) text = JSON.stringify(rest)
  }
  const blocks = taken.length === 0 ? '' : `"blocks":${JSON.stringify(taken.map(({ path, id, as }) => ({ path, id, as })))},`
  const body = `{"${tagged ? 'tag' : 'page'}":"${page}",${blocks}${messageKey}${text}}`
  const own = taken.map(({ id }) => id)
  const attachments = attachedTo(message).filter((id) => !own.includes(id))
  return right({ row: { kind: 'entry', body, blocks: [...own, ...attachments] }, blocks: taken.map(({ bytes }) => bytes), attachments })
}

/** What a row's body says, or why it is none. The message itself is not looked at. */
export const decodeRow = (body: string): Either<string, DecodedRow> => {
  const start = body.indexOf(messageKey) // before the message nothing has this key: paths are lists
  if (start === -1 || !body.endsWith('}')) return left('is not a stored message')
  const envelope = body.slice(0, start)
  const text = body.slice(start + messageKey.length, -1)
  const plain = plainEnvelopes.get(envelope)
  if (plain !== undefined) return right({ ...plain, text, blocks: [] })
  let found: { readonly page?: unknown; readonly tag?: unknown; readonly blocks?: unknown }
  try {
    found = JSON.parse(`${envelope}"message":0}`) as typeof found
  } catch {
    return left('is not a stored message')
  }
  const { page, tag, blocks } = found
  const kind = tag ?? page
  if (!isPageKind(kind) || !Array.isArray(blocks) || !blocks.every(isTakenOut)) return left('is not a stored message')
  return right({ page: kind, tagged: tag !== undefined, text, blocks })
}

/** A block as the text that it was taken from. Throws TypeError, if it can't be that. */
const fillOf = ({ path, as }: TakenOut, bytes: Uint8Array): Fill => ({ path, text: as === 'base64' ? base64Of(bytes) : textOfUtf8(bytes) })

/** Add a message to a history; `bytes` has its blocks. Gives what is wrong with it, if something is. */
export const takeMessage = (history: History<Message>, { page, text, blocks }: DecodedRow, bytes: ReadonlyMap<BlockId, Uint8Array>, check: (message: unknown) => unknown = checkMessage): string | undefined => {
  let fills: readonly Fill[]
  try {
    fills = blocks.map((taken: TakenOut) => fillOf(taken, bytes.get(taken.id) as Uint8Array)) // the caller has found them all
  } catch {
    return 'a block of the row is not the text that it stands for'
  }
  const added = appendText(history, text, { page, fills, check })
  return isLeft(added) ? historyFaultText(added.left) : undefined
}

const messageKey = '"message":'

const plainEnvelopes: ReadonlyMap<string, Pick<DecodedRow, 'page' | 'tagged'>> = new Map(
  [false, true].flatMap((tagged) => pageKinds.map((page) => [`{"${tagged ? 'tag' : 'page'}":"${page}",`, { page, tagged }] as const)),
)

const isTakenOut = (value: unknown): value is TakenOut => {
  if (typeof value !== 'object' || value === null) return false
  const { path, id, as } = value as { readonly path?: unknown; readonly id?: unknown; readonly as?: unknown }
  return Array.isArray(path) && path.every((step) => typeof step === 'string' || typeof step === 'number') && isBlockId(id) && (as === 'base64' || as === 'utf8')
}

type Take = (path: Path, as: TakenOut['as'], bytes: Uint8Array) => unknown

/** The value with an empty string for each text that is handed to `take`; where there is none, the value itself. */
const takeOut = (value: Json, path: Path, take: Take): Json => {
  if (typeof value === 'string') {
    if (value.length < longBase64) return value
    const bytes = bytesOfBase64(value)
    if (bytes === undefined && value.length < longText) return value
    take(path, bytes === undefined ? 'utf8' : 'base64', bytes ?? utf8ToBytes(value))
    return ''
  }
  if (typeof value !== 'object' || value === null) return value
  let changed = false
  const next = (item: Json, step: string | number): Json => {
    const rest = takeOut(item, [...path, step], take)
    changed ||= rest !== item
    return rest
  }
  if (Array.isArray(value)) {
    const items = (value as readonly Json[]).map(next)
    return changed ? items : value
  }
  const members = Object.entries(value).map(([key, item]) => [key, next(item, key)] as const)
  return changed ? Object.fromEntries(members) : value // defines `__proto__` like any other key
}
