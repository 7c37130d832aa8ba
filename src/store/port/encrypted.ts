/**
 * Encrypted rows, as a store sees them: the body of a row is a text with a key id and the ciphertext. This
 * file does what needs no key: recognizing an encrypted row, and finding the blocks that it references.
 *
 *     {"encrypted":"KEY.BASE64"}                              KEY: the id of the key; BASE64: nonce, tag and ciphertext
 *     {"encrypted":"KEY.BASE64","blocks":["…","…"]}           of a row that references blocks, which are encrypted too
 */
import { isArray, isObject, jsonIn, type JsonObject, present } from '../../json/index.ts'
import { digestOf, isBlockId, type BlockId } from '../../proof/internal.ts'
import type { StoreFaultOf } from '../fault.ts'
import type { StoredRow, TimedRow } from './row.ts'
import type { LogInfo } from './store.ts'

export interface EncryptedText {
  readonly key: string
  /** Nonce, tag and ciphertext, each in base64. */
  readonly cipher: string
  /** The blocks that the row references. */
  readonly blocks: readonly BlockId[]
}

const beginning = '{"encrypted":"'

/**
 * Whether a row's body is encrypted.
 *
 * @param body the body of a row, as a store without keys returns it
 */
export const isEncrypted = (body: string): boolean => body.startsWith(beginning)

export const encryptedBody = ({ key, cipher, blocks }: EncryptedText): string =>
  blocks.length === 0
    ? `${beginning}${key}.${cipher}"}`
    : `${beginning}${key}.${cipher}","blocks":${JSON.stringify(blocks)}}`

/** The parts of an encrypted text; undefined if it is not one, or is damaged. */
export const readEncrypted = (body: string): EncryptedText | undefined => {
  if (!isEncrypted(body)) return undefined
  const plain = body.endsWith('"}') ? body.slice(beginning.length, -2) : undefined
  if (plain !== undefined && !plain.includes('"')) return partsOf(plain, [])
  const value = jsonIn(body)
  if (!isObject(value)) return undefined
  const { encrypted, blocks = [] } = value as { readonly encrypted?: unknown; readonly blocks?: unknown }
  if (typeof encrypted !== 'string' || !Array.isArray(blocks) || !blocks.every(isBlockId)) return undefined
  const parts = partsOf(encrypted, blocks)
  return parts !== undefined && encryptedBody(parts) === body ? parts : undefined // rejects any other spelling
}

const partsOf = (text: string, blocks: readonly BlockId[]): EncryptedText | undefined => {
  const dot = text.indexOf('.')
  return dot < 1 ? undefined : { key: text.slice(0, dot), cipher: text.slice(dot + 1), blocks }
}

/** The id of the log with a wrapped key. */
export const keyLogOf = (key: string): string => `${keyLogs}${key}`
/** The id of the log that records when a key was destroyed. */
export const destroyedKeyLogOf = (key: string): string => `indelible.destroyed.${key}`
/** The id of the log, in the store of the keys, that records that a log is encrypted. */
export const keyedLogOf = (id: string): string => `indelible.keyed.${digestOf(id)}`
/** The prefix of the ids of key logs. */
export const keyLogs = 'indelible.key.'

/** The metadata key that marks a log as encrypted, and lists its keys. */
export const encryptionKey = 'indelible.encryption'

/** The encryption that a log's metadata describes. */
export interface EncryptionMeta {
  /** The ids of the keys of its rows: those shared with the log it was forked from, then its own. */
  readonly keys: readonly string[]
  /** The first row of each key. Its rows end before the first row of the next key. */
  readonly from: readonly number[]
  /** The rest of its metadata, encrypted with the last key. */
  readonly meta: string
}

/**
 * The encryption in a log's stored metadata; undefined if the log is not encrypted, was read with
 * its keys, or has it in a shape that this library does not write.
 */
export const encryptionOf = ({ meta }: { readonly meta: JsonObject }): EncryptionMeta | undefined => {
  const found = Object.hasOwn(meta, encryptionKey) ? meta[encryptionKey] : undefined
  if (!isObject(found)) return undefined
  const { keys, from, meta: sealed } = found
  return isArray(keys) &&
    keys.length > 0 &&
    keys.every((key) => typeof key === 'string') &&
    isArray(from) &&
    from.length === keys.length &&
    from.every((start) => Number.isSafeInteger(start)) &&
    typeof sealed === 'string'
    ? (found as unknown as EncryptionMeta)
    : undefined
}

/**
 * Whether a log is encrypted.
 *
 * @param log the log, or a session's log
 * @returns true if its rows are encrypted
 */
export const isEncryptedLog = (log: Pick<LogInfo, 'meta'>): boolean => Object.hasOwn(log.meta, encryptionKey)

/** A text in the metadata of every encrypted log, and of few others, to search for in a database. */
export const encryptionMark: string = `"${encryptionKey}":`

/** Whether stored metadata is that of an encrypted log. */
export const isEncryptedMeta = (text: string): boolean => {
  const meta = jsonIn(text)
  return isObject(meta) && isEncryptedLog({ meta })
}

/** The id of the key for an encrypted log's own rows and metadata, whether it was read with keys or not. */
export const ownKeyOf = ({ meta }: { readonly meta: JsonObject }): string | undefined => {
  const found = Object.hasOwn(meta, encryptionKey) ? meta[encryptionKey] : undefined
  const keys = isObject(found) ? found['keys'] : undefined
  const own: unknown = isArray(keys) ? keys.at(-1) : undefined
  return typeof own === 'string' ? own : undefined
}

/** Like `ownKeyOf`, for stored metadata; also undefined if it can't be read. */
export const ownKeyIn = (text: string): string | undefined => {
  const meta = text.includes(encryptionMark) ? jsonIn(text) : undefined
  return isObject(meta) ? ownKeyOf({ meta }) : undefined
}

/** The fault for a log that a store without keys can't read or write. */
export const withoutKeys = (id: string, key: string | undefined): StoreFaultOf<'NoKey'> => ({
  _tag: 'NoKey',
  id,
  key: key ?? 'unknown',
  reason: 'it was opened without keys: pass the key ring',
})

/** A row for an append to another store in its encrypted form: the ciphertext, with the blocks that it references. */
export const encryptedRow = ({
  kind,
  body,
  at,
  salt,
  erased,
}: Pick<StoredRow, 'kind' | 'body' | 'at' | 'salt' | 'erased'>): TimedRow => ({
  kind,
  body,
  at,
  ...present({ salt }),
  ...(erased === undefined ? { blocks: readEncrypted(body)?.blocks ?? [] } : { erased }),
})
