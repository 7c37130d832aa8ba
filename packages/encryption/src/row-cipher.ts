/** Encrypts and decrypts rows and their blocks. */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right, utf8Of } from 'indelible/internal/json'
import type { BlockId, Hash } from 'indelible/internal/proof'
import { stubFault } from 'indelible/internal/entry'
import type { Append, Row, Store, StoredRow, StoreFaultOf } from 'indelible/store'
import { encryptedBody, hashedBlock, readEncrypted, type EncryptedText } from 'indelible/internal/store'
import { fromBase64, mac, toBase64 } from './aes.ts'
import { openBytes, openText, sealBytes, sealText } from './sealed.ts'

/** The key for new rows of a log. */
export interface OwnKey {
  readonly name: string
  /** The start of all row bodies encrypted with it. */
  readonly prefix: string
  readonly key: Uint8Array
  /** The secret of the scope. With a block's digest it determines the block's key. */
  readonly scope: Uint8Array
}

/** The key of a block. Equal blocks of one scope have the same key. */
export const blockKey = (scope: Uint8Array, digest: BlockId): Uint8Array => mac(scope, utf8Of(`block ${digest}`))

type Rows = Required<Pick<Append, 'rows' | 'blocks' | 'attached'>>

/** Encrypts rows for an append at a position. Rows already encrypted with this key are unchanged. */
export const encryptRows = (
  own: OwnKey,
  from: number,
  { rows, blocks = [] }: Pick<Append, 'rows' | 'blocks'>,
  { hash, now }: Pick<Store, 'hash' | 'now'>,
): Either<StoreFaultOf<'InvalidRow'>, Rows> => {
  const isOurs = ({ body }: Row): boolean => body.startsWith(own.prefix)
  if (rows.every(isOurs)) return right({ rows, blocks, attached: [] })
  const bytesById = blocks.length === 0 ? undefined : new Map(blocks.map((bytes) => [hashedBlock(bytes, hash), bytes]))
  const stored = new Map<BlockId, Uint8Array>()
  const encrypted: Row[] = []
  const attached = new Set<BlockId>()
  for (const [index, row] of rows.entries()) {
    if (isOurs(row)) {
      encrypted.push(row)
      continue
    }
    const { kind, at = now(), salt, erased } = row
    const stub = erased === undefined ? undefined : stubFault(kind, row.body)
    if (stub !== undefined) return left({ _tag: 'InvalidRow', index, reason: stub })
    const inside = bytesById === undefined ? undefined : withBlocks(row, bytesById, own.scope, hash)
    if (inside?.missed === true)
      return left({ _tag: 'InvalidRow', index, reason: 'has blocks that its text does not name' })
    for (const [id, bytes] of inside?.blocks ?? []) stored.set(id, bytes)
    const ids = inside === undefined ? noIds : [...inside.blocks.keys()]
    for (const id of row.blocks ?? noIds) if (inside?.named.has(id) !== true) attached.add(id)
    const place = { kind, position: from + index, at, salt, erased }
    encrypted.push({ ...row, at, body: encryptedRowBody(own, place, inside?.body ?? row.body, ids), blocks: ids })
  }
  return right({ rows: encrypted, blocks: [...stored.values()], attached: [...attached] })
}

const noIds: readonly BlockId[] = Object.freeze([])

/** The start of all row bodies encrypted with a key. */
export const rowPrefixOf = (key: string): string => encryptedBody({ key, cipher: '', blocks: [] }).slice(0, -2)

/** The fields of a row beside its text. */
export type RowBinding = Pick<StoredRow, 'kind' | 'position' | 'at'> & {
  readonly [F in 'salt' | 'erased']?: StoredRow[F] | undefined
}

/** The stored body of a row. It can only be decrypted as this row, at this position, with these blocks. */
export const encryptedRowBody = (
  { name, key }: Pick<OwnKey, 'name' | 'key'>,
  place: RowBinding,
  text: string,
  blocks: readonly BlockId[] = [],
): string => encryptedBody({ key: name, cipher: sealText(key, text, rowBinding(place, { key: name, blocks })), blocks })

/** The context that a row is bound to. A stub can't pass for a row, nor a note for a message. */
const rowBinding = (
  { kind, position, at, salt, erased }: RowBinding,
  { key, blocks }: Omit<EncryptedText, 'cipher'>,
): string =>
  `${erased === undefined ? 'row' : 'stub'} ${kind} ${key} ${position} ${at} ${salt ?? ''} ${erased ?? ''} ${blocks.join(' ')}`

const messageKey = '"message":'

interface ExtractedText {
  readonly id: BlockId
}

/** The text of a row that names its blocks by their encrypted form, with their keys; and these blocks. */
const withBlocks = (
  { kind, body, blocks = [] }: Row,
  bytesById: ReadonlyMap<BlockId, Uint8Array>,
  scope: Uint8Array,
  hash: Hash,
): {
  readonly body: string
  readonly blocks: ReadonlyMap<BlockId, Uint8Array>
  /** The blocks that the text names. */
  readonly named: ReadonlySet<BlockId>
  readonly missed: boolean
} => {
  const stored = new Map<BlockId, Uint8Array>()
  const named = new Set<BlockId>()
  const start = kind === 'note' ? -1 : body.indexOf(messageKey)
  const note = kind === 'note' && blocks.length > 0 ? (JSON.parse(body) as JsonEnvelope) : undefined
  const envelope = start === -1 ? undefined : (JSON.parse(`${body.slice(0, start)}${messageKey}0}`) as JsonEnvelope)
  const changed = (note ?? envelope)?.blocks?.map((block): ExtractedText => {
    const bytes = bytesById.get(block.id)
    if (bytes === undefined) return block
    const key = blockKey(scope, block.id)
    const sealed = sealBytes(key, bytes)
    const id = hashedBlock(sealed, hash)
    stored.set(id, sealed)
    named.add(block.id)
    return Object.assign({}, block, { id, key: toBase64(key) })
  })
  const { message: _, ...rest } = envelope ?? {}
  const text =
    changed === undefined
      ? body
      : note !== undefined
        ? JSON.stringify({ ...note, blocks: changed })
        : `${JSON.stringify({ ...rest, blocks: changed }).slice(0, -1)},${body.slice(start)}`
  return {
    body: text,
    blocks: stored,
    named,
    missed: kind === 'entry' && blocks.some((id) => bytesById.has(id) && !named.has(id)),
  }
}

interface JsonEnvelope {
  readonly blocks?: readonly ExtractedText[]
  readonly message?: unknown
}

/** A row as it was appended; undefined if it is not what the key encrypted for this position. */
export const decryptRow = (row: StoredRow, key: Uint8Array): StoredRow | undefined => {
  const parts = readEncrypted(row.body)
  const body = parts && openText(key, parts.cipher, rowBinding(row, parts))
  return body === undefined ? undefined : Object.freeze({ ...row, body, stored: row.body })
}

/**
 * Decrypt a block of an encrypted row.
 *
 * @param key the key from the decrypted row
 * @returns the content; undefined if the key does not fit
 */
export const decryptBlock = (key: string, bytes: Uint8Array): Uint8Array | undefined => {
  const secret = fromBase64(key)
  return secret && openBytes(secret, bytes)
}
