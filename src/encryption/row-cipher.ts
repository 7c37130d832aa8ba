/** Rows and their blocks, encrypted and decrypted. */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right, utf8Of } from '../json/index.ts'
import type { BlockId, Hash } from '../proof/index.ts'
import {
  encryptedBody,
  hashedBlock,
  isEncrypted,
  readEncrypted,
  type Append,
  type Row,
  type StoredRow,
  type StoreFaultOf,
} from '../store/index.ts'
import { fromBase64, mac, toBase64 } from './aes.ts'
import { openBytes, openText, sealBytes, sealText, type Keys } from './sealed.ts'

/** What rows of a log are encrypted by. */
export interface OwnKey {
  /** The id of the key. */
  readonly name: string
  readonly keys: Keys
  /** The secret of the scope: with the digest of a block it makes the block's key. */
  readonly scope: Uint8Array
}

/** The key of a block: the same for the same bytes of one scope. */
export const blockKey = (scope: Uint8Array, digest: BlockId): Uint8Array => mac(scope, utf8Of(`block ${digest}`))

type Rows = Required<Pick<Append, 'rows' | 'blocks' | 'attached'>>

/** Rows as they are stored. Those that are encrypted already stay. */
export const encryptRows = (
  { name, keys, scope }: OwnKey,
  { rows, blocks = [], operation }: Pick<Append, 'rows' | 'blocks' | 'operation'>,
  hash: Hash,
): Either<StoreFaultOf<'InvalidRow'>, Rows> => {
  if (rows.every(({ body, erased }) => erased !== undefined || isEncrypted(body)))
    return right({ rows, blocks, attached: [] })
  const given = new Map(blocks.map((bytes) => [hashedBlock(bytes, hash), bytes]))
  const stored = new Map<BlockId, Uint8Array>()
  const encrypted: Row[] = []
  const attached = new Set<BlockId>()
  for (const [index, row] of rows.entries()) {
    if (row.erased !== undefined) {
      encrypted.push(row) // a ledger says what stands for it
      continue
    }
    const inside = given.size === 0 ? undefined : withBlocks(row, given, scope, hash)
    if (inside?.missed === true)
      return left({ _tag: 'InvalidRow', index, reason: 'has blocks that its text does not name' })
    const about = aboutOf(row.kind, name)
    const repeat = operation === undefined ? undefined : `${index} ${operation}`
    const cipher = sealText(keys, inside?.body ?? row.body, about, repeat)
    for (const [id, bytes] of inside?.blocks ?? []) stored.set(id, bytes)
    const ids = [...(inside?.blocks.keys() ?? [])]
    for (const id of row.blocks ?? []) if (!given.has(id)) attached.add(id)
    const { blocks: _, ...rest } = row
    encrypted.push({
      ...rest,
      body: encryptedBody({ key: name, cipher, blocks: ids }),
      ...(ids.length > 0 && { blocks: ids }),
    })
  }
  return right({ rows: encrypted, blocks: [...stored.values()], attached: [...attached] })
}

const messageKey = '"message":'

interface TakenOut {
  readonly id: BlockId
  readonly key?: string
}

/** The text of a row that names its blocks by their encrypted form, with their keys; and these blocks. */
const withBlocks = (
  { body, blocks = [] }: Row,
  given: ReadonlyMap<BlockId, Uint8Array>,
  scope: Uint8Array,
  hash: Hash,
): { readonly body: string; readonly blocks: ReadonlyMap<BlockId, Uint8Array>; readonly missed: boolean } => {
  const stored = new Map<BlockId, Uint8Array>()
  const named = new Set<BlockId>()
  const start = body.indexOf(messageKey)
  const envelope = start === -1 ? undefined : (JSON.parse(`${body.slice(0, start)}${messageKey}0}`) as JsonEnvelope)
  const changed = envelope?.blocks?.map((block): TakenOut => {
    const bytes = given.get(block.id)
    if (bytes === undefined) return block
    const key = blockKey(scope, block.id)
    const sealed = sealBytes(key, bytes)
    const id = hashedBlock(sealed, hash)
    stored.set(id, sealed)
    named.add(block.id)
    return { ...block, id, ...{ key: toBase64(key) } }
  })
  const { message: _, ...rest } = envelope ?? {}
  const text =
    changed === undefined ? body : `${JSON.stringify({ ...rest, blocks: changed }).slice(0, -1)},${body.slice(start)}`
  return { body: text, blocks: stored, missed: blocks.some((id) => given.has(id) && !named.has(id)) }
}

/** The blocks of a row that was decrypted, with their keys. */
export const blocksIn = (body: string): readonly { readonly id: BlockId; readonly key: string }[] => {
  const start = body.indexOf(messageKey)
  if (start === -1 || !body.startsWith('"blocks":', body.indexOf(',') + 1)) return []
  const { blocks = [] } = JSON.parse(`${body.slice(0, start)}${messageKey}0}`) as JsonEnvelope
  return blocks.flatMap(({ id, key }) => (key === undefined ? [] : [{ id, key }]))
}

interface JsonEnvelope {
  readonly blocks?: readonly TakenOut[]
  readonly message?: unknown
}

/** A note can't be read as a message, nor a text under one key's name under another's. */
export const aboutOf = (kind: Row['kind'], name: string): string => `${kind} ${name}`

/** A row as it was appended; undefined if it is not what the key encrypted. */
export const decryptRow = (row: StoredRow, keys: Pick<Keys, 'text'>): StoredRow | undefined => {
  const parts = readEncrypted(row.body)
  const body = parts === undefined ? undefined : openText(keys, parts.cipher, aboutOf(row.kind, parts.key))
  return body === undefined ? undefined : Object.freeze({ ...row, body, stored: row.body })
}

/**
 * The content of a block of an encrypted row.
 *
 * @param key the key, as the decrypted row has it
 * @param bytes the stored bytes
 * @returns the content; undefined if it is not that key's
 */
export const decryptBlock = (key: string, bytes: Uint8Array): Uint8Array | undefined => {
  const secret = fromBase64(key)
  return secret?.length === 32 ? openBytes(secret, bytes) : undefined
}
