/**
 * The metadata of an encrypted log: the keys of its rows, with the first row of each, and the rest
 * of the metadata, encrypted with the last key. Without that key, any change is detected.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { freezeResult, isLeft, isObject, parseJson, right, sortKeys, type JsonObject } from 'indelible/internal/json'
import type { StoreFaultOf } from 'indelible/store'
import { checkMeta, encryptionKey, sumsMember, type EncryptionMeta } from 'indelible/internal/store'
import { openText, sealText } from './sealed.ts'

export type LogKeys = Pick<EncryptionMeta, 'keys' | 'from'>

/** The parts of metadata that stay readable: the library's own keys without the sums of calls, and `clear`, which the owner chooses. */
const isClear = (key: string): boolean =>
  (key === 'clear' || key.startsWith('indelible.')) && key !== encryptionKey && key !== sumsMember

const clearOf = (meta: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(meta).filter(([key]) => isClear(key)))

/** The stored form of a log's metadata. */
export const sealMeta = (
  id: string,
  key: Uint8Array,
  { keys, from }: LogKeys,
  jsonObject: JsonObject,
): Either<StoreFaultOf<'InvalidMeta'>, JsonObject> => {
  const checked = checkMeta(jsonObject)
  if (isLeft(checked)) return checked
  const meta = checked.right
  const clear = clearOf(meta)
  const rest = Object.fromEntries(
    Object.entries(meta).filter(([name]) => !(Object.hasOwn(clear, name) || name === encryptionKey)),
  )
  const sealed = sealText(key, JSON.stringify(rest), metaBinding(id, { keys, from }, clear))
  return right({ ...clear, [encryptionKey]: { keys, from, meta: sealed } })
}

/** The context that the encrypted part is bound to. Sorted, because stores may return keys in any order. */
const metaBinding = (id: string, { keys, from }: LogKeys, clear: JsonObject): string =>
  `metadata ${JSON.stringify([id, keys, from, sortKeys(clear)])}`

/** Decrypts metadata, and keeps the list of keys. Undefined if it is not what its key encrypted. */
export const openMeta = (
  id: string,
  key: Uint8Array,
  encryption: EncryptionMeta,
  meta: JsonObject,
): JsonObject | undefined => {
  const { keys, from, meta: sealed } = encryption
  const clear = clearOf(meta)
  const text = openText(key, sealed, metaBinding(id, encryption, clear))
  const rest = text === undefined ? undefined : parseJson(text)
  if (rest === undefined || isLeft(rest) || !isObject(rest.right)) return undefined
  return freezeResult({ ...clear, [encryptionKey]: { keys, from }, ...rest.right })
}

/** The part of metadata that is readable without the key. */
export const clearMeta = (encryption: EncryptionMeta, meta: JsonObject): JsonObject =>
  freezeResult({ ...clearOf(meta), [encryptionKey]: encryption as unknown as JsonObject })

/** The keys of a fork: those of the shared rows, and its own. */
export const forkedKeys = ({ keys, from }: LogKeys, at: number, own: string): LogKeys => {
  const shared = from.filter((start) => start < at)
  return { keys: [...keys.slice(0, shared.length), own], from: [...shared, at] }
}

/** The key of the row at a position. Undefined if the first key starts after it. */
export const keyAt = ({ keys, from }: LogKeys, position: number): string | undefined =>
  keys[from.findLastIndex((start) => start <= position)]
