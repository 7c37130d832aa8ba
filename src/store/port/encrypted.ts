/**
 * Encrypted rows, as a store sees them: the body of a row is a text that names a key and has the ciphertext. What can be
 * done without the key is done here: telling that a row is encrypted, and which blocks it references.
 *
 *     {"encrypted":"KEY.BASE64"}                              KEY: the id of the key; BASE64: nonce, tag and ciphertext
 *     {"encrypted":"KEY.BASE64","blocks":["…","…"]}           of a row that references blocks, which are encrypted too
 */
import { isArray, isObject, type JsonObject, present, sliceText } from '../../json/index.ts'
import { digestOf, digestOfName, isBlockId, type BlockId } from '../../proof/kit.ts'
import type { StoreFaultOf } from '../fault.ts'
import type { StoredRow, TimedRow } from './row.ts'
import type { LogInfo } from './store.ts'

/** The parts of an encrypted text. */
export interface EncryptedText {
  /** The id of the key. */
  readonly key: string
  /** Nonce, tag and ciphertext, each in base64. */
  readonly cipher: string
  /** The blocks that the row references. */
  readonly blocks: readonly BlockId[]
}

const beginning = '{"encrypted":"'

/**
 * Whether the text of a row is encrypted.
 *
 * @param body the text of a row, as a store without keys gives it
 */
export const isEncrypted = (body: string): boolean => sliceText(body, 0, beginning.length) === beginning

/** The text of an encrypted row. */
export const encryptedBody = ({ key, cipher, blocks }: EncryptedText): string =>
  blocks.length === 0
    ? `${beginning}${key}.${cipher}"}`
    : `${beginning}${key}.${cipher}","blocks":${JSON.stringify(blocks)}}`

/** The parts of an encrypted text; undefined if it is not one, or is damaged. */
export const readEncrypted = (body: string): EncryptedText | undefined => {
  if (!isEncrypted(body)) return undefined
  const plain = body.endsWith('"}') ? body.slice(beginning.length, -2) : undefined
  if (plain !== undefined && !plain.includes('"')) return partsOf(plain, [])
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return undefined
  }
  if (!isObject(value)) return undefined
  const { encrypted, blocks = [] } = value as { readonly encrypted?: unknown; readonly blocks?: unknown }
  if (typeof encrypted !== 'string' || !Array.isArray(blocks) || !blocks.every(isBlockId)) return undefined
  const parts = partsOf(encrypted, blocks)
  return parts !== undefined && encryptedBody(parts) === body ? parts : undefined // nothing else may stand there
}

const partsOf = (text: string, blocks: readonly BlockId[]): EncryptedText | undefined => {
  const dot = text.indexOf('.')
  return dot < 1 ? undefined : { key: text.slice(0, dot), cipher: text.slice(dot + 1), blocks }
}

/** The log that keeps a wrapped key. */
export const keyLogOf = (key: string): string => `${keyLogs}${key}`
/** The log that says that a key was destroyed, and when. */
export const destroyedKeyLogOf = (key: string): string => `indelible.destroyed.${key}`
/** The log that says, where keys are kept, that the log of an id is encrypted. */
export const keyedLogOf = (id: string): string => `indelible.keyed.${digestOf(id)}`
/** The log that keeps the stream of a chat. */
export const streamLogOf = (chat: string): string => `indelible.stream.${digestOfName(chat)}`
/** How the names of the logs of wrapped keys begin. */
export const keyLogs = 'indelible.key.'

/** Under which key of a log's metadata it stands that its rows are encrypted, by which keys. */
export const encryptionKey = 'indelible.encryption'

/** The encryption that a log's metadata describes. */
export interface EncryptionMeta {
  /** The ids of the keys of its rows: those that it shares with the log that it was forked from, and its own last. */
  readonly keys: readonly string[]
  /** The first row of each key: from there on, rows are of that key, up to the first row of the next. */
  readonly from: readonly number[]
  /** The rest of its metadata, encrypted by the last of them. */
  readonly meta: string
}

/**
 * What a log's metadata says of its encryption, as it is stored; undefined if it is not encrypted, was read with its keys, or
 * says it in no shape that this library gives.
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
 * @param log the log, or a session's
 * @returns true if its rows are encrypted
 */
export const isEncryptedLog = (log: Pick<LogInfo, 'meta'>): boolean => Object.hasOwn(log.meta, encryptionKey)

/** A text in the metadata of every encrypted log, and seldom of others, to search for in a database. */
export const encryptionMark: string = `"${encryptionKey}":`

/** Whether metadata as it is stored is that of an encrypted log. */
export const isEncryptedMeta = (text: string): boolean => {
  const meta = parseOrText(text)
  return isObject(meta) && isEncryptedLog({ meta: meta as JsonObject })
}

/** The id of the key that an encrypted log's own rows and metadata are of, whether it was read with keys or without. */
export const ownKeyOf = ({ meta }: { readonly meta: JsonObject }): string | undefined => {
  const found = Object.hasOwn(meta, encryptionKey) ? meta[encryptionKey] : undefined
  const keys = isObject(found) ? found['keys'] : undefined
  const own: unknown = isArray(keys) ? keys.at(-1) : undefined
  return typeof own === 'string' ? own : undefined
}

/** Cached by the metadata's text, which is the same at each append of a log. */
const keysOfTexts = new Map<string, string | undefined>()

/** The same for metadata as it is stored; undefined also if it can't be read. */
export const ownKeyIn = (text: string): string | undefined => {
  if (!text.includes(encryptionMark)) return undefined
  const known = keysOfTexts.get(text)
  if (known !== undefined) return known
  const meta: unknown = parseOrText(text)
  const key = isObject(meta) ? ownKeyOf({ meta: meta as JsonObject }) : undefined
  if (keysOfTexts.size >= 1000) keysOfTexts.clear()
  keysOfTexts.set(text, key)
  return key
}

const parseOrText = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Why a log can't be read or written by a store without keys. */
export const withoutKeys = (id: string, key: string | undefined): StoreFaultOf<'NoKey'> => ({
  _tag: 'NoKey',
  id,
  key: key ?? 'unknown',
  reason: 'it was opened without keys: give the key ring',
})

/** A row as it is appended to another store, where it is encrypted: the ciphertext, with the blocks that it references. */
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
