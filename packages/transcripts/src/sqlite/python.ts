/**
 * Values written by LangGraph for Python, as JSON. It writes msgpack, with extensions for Python
 * objects. No class is looked up and none of their code runs: only the extension's data is read.
 *
 * - A message is written in LangChain's JSON form: `{ lc: 1, type: 'constructor', id, kwargs }`.
 * - Any other object is `{ python: 'uuid.UUID', value }`, or has `args`, its constructor's arguments.
 * - Values that JSON lacks become text: bytes in base64, integers beyond 2^53, and non-finite numbers.
 *
 * Source  langchain-ai/langgraph, libs/checkpoint/langgraph/checkpoint/serde/jsonplus.py (2026-11)
 */
import { decode, type DecoderOptions, ExtensionCodec } from '@msgpack/msgpack'
import { base64Of, isObject, type Json, type JsonObject } from 'indelible/internal/json'
import { checkItems } from './msgpack-items.ts'

/** A decoded extension whose context is not known yet. */
class Extension {
  readonly type: number
  readonly value: unknown
  constructor(type: number, value: unknown) {
    this.type = type
    this.value = value
  }
}

const deltaSnapshotCode = 7
const deepest = 500

/**
 * Read a value. Cost: O(bytes).
 *
 * @param bytes msgpack
 * @returns frozen JSON. Throws an Error if the bytes are not msgpack
 */
export const readPython = (bytes: Uint8Array): Json => asJson(valueOf(bytes, 0), 0)

/** Decodes a value after checking that the bytes can hold the announced items. */
const valueOf = (bytes: Uint8Array, depth: number): unknown => {
  checkItems(bytes)
  return decode(bytes, optionsAt(depth))
}

/** Extensions hold msgpack, which may hold extensions. */
const optionsAt = (depth: number): DecoderOptions & { readonly useBigInt64: true } => {
  const extensionCodec = new ExtensionCodec()
  for (let type = 0; type <= deltaSnapshotCode; type++)
    extensionCodec.register({
      type,
      encode: () => null,
      decode: (data) => {
        if (depth > deepest) throw new Error('extensions nested deeper than 500')
        return new Extension(type, valueOf(data, depth + 1))
      },
    })
  return { extensionCodec, useBigInt64: true, mapKeyConverter: keyOf }
}

const keyOf = (key: unknown): string => {
  const written = asJson(key, 0)
  return typeof written === 'string' ? written : JSON.stringify(written)
}

const asJson = (value: unknown, depth: number): Json => {
  if (depth > deepest) throw new Error('values nested deeper than 500')
  const toJson = (item: unknown): Json => asJson(item, depth + 1)
  if (value === null || value === undefined) return null
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (value instanceof Uint8Array) return base64Of(value)
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map(toJson)
  if (value instanceof Extension) return objectOf(value, toJson)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toJson(item)]))
}

const objectOf = ({ type, value }: Extension, toJson: (value: unknown) => Json): Json => {
  const written = toJson(value)
  if (type === deltaSnapshotCode) return { lc: 2, type: 'delta_snapshot', value: written }
  if (!Array.isArray(written)) return { python: `extension ${type}`, value: written }
  const [module = null, name = null, args = null] = written as readonly Json[]
  if (typeof module !== 'string' || typeof name !== 'string') return { python: 'numpy.ndarray', args: written }
  if (isObject(args) && isMessage(args))
    return { lc: 1, type: 'constructor', id: [...module.split('.'), name], kwargs: args }
  return { python: `${module}.${name}`, [type === 1 || type === 2 ? 'args' : 'value']: args }
}

const isMessage = (fields: JsonObject): boolean =>
  typeof fields['type'] === 'string' && (typeof fields['content'] === 'string' || Array.isArray(fields['content']))
