/**
 * Encodes any value as bounded JSON data, so that a record can hold unchecked arguments.
 *
 * Encoding never fails. Getters, `toJSON`, Proxies and the redactor may throw; the value that threw is replaced by
 * a marker, like anything else that JSON can't express. Getters and `toJSON` run once each, as in `JSON.stringify`.
 */
import { formatPath, optionsOf, snapshot, type Json, type JsonObject, type Path } from 'indelible/internal/json'
import { createRedactor, type Redact as Redaction, type Redactor } from 'indelible/redact'

/** The limits of an encoded value. */
export interface EncodeLimits {
  /**
   * The most levels of arrays and objects. A deeper value becomes `[Array]`, `[Object]` or its
   * class name. From 1 to 500. Default: 16.
   */
  readonly depth?: number
  /** The most characters of one string or key; a longer one is cut. From 32. Default: 10,000. */
  readonly string?: number
  /**
   * The most characters of the whole value as JSON text, without escapes; the rest is left out.
   * From 256. Default: 100,000.
   */
  readonly size?: number
}

/**
 * Decides what may be kept: true, options or a redactor of `indelible/redact`, for all texts and keys; or a function.
 * The function receives every value before it is encoded, and returns the same value or a replacement. If it throws or
 * returns undefined, `[redacted]` is kept.
 */
export type Redact = Redaction | ((value: unknown, path: Path) => unknown)

/** How to encode a value. */
export interface EncodeOptions {
  /** The limits. Default: those of `EncodeLimits`. */
  readonly limits?: EncodeLimits | undefined
  /** Decides what to keep of each value. With a redactor, bytes are left out. Default: everything. */
  readonly redact?: Redact | undefined
  /** The path of the value, for the redactor. Default: the empty path. */
  readonly path?: Path | undefined
}

/** A value as JSON data, frozen. */
export interface EncodedValue {
  /** The JSON data. */
  readonly value: Json
  /** Whether something was left out because of a limit. */
  readonly cut: boolean
}

/** Replaces a value if the redactor fails. */
export const redactedText = '[redacted]'

/**
 * Encode any value. No value makes it throw, only an unknown option; encoding an encoded value changes nothing.
 *
 * | given | kept |
 * |---|---|
 * | `undefined` | left out of objects; `null` in arrays and by itself |
 * | NaN, infinities, bigint | `"NaN"`, `"Infinity"`, `"-Infinity"`, `"12n"`; -0 as 0 |
 * | Date, RegExp | ISO text (`"Invalid Date"`), its source |
 * | Map, Set | an array of pairs, an array |
 * | byte arrays | `"[Uint8Array(3): 010203]"`, at most 32 bytes of it |
 * | errors | `name`, `message`, own fields, `cause` |
 * | other instances | what `toJSON` gives, or their own fields; `"[Socket]"` where there are none |
 * | functions, symbols | `"[function f]"`, `"Symbol(x)"` |
 * | an ancestor | `"[circular: args[0]]"`; a value in two places stands in both |
 * | lone surrogates | U+FFFD |
 *
 * Cost    one pass over the kept part, however large the value is (bench: records); a redactor reads each text whole
 * @param options limits, a redactor, and the path of the value
 * @returns the JSON data, frozen, and whether something was cut
 * @example
 * encodeValue({ big: 10n }).value // { big: '10n' }
 */
export const encodeValue = (value: unknown, input: EncodeOptions = {}): EncodedValue => {
  const options = optionsOf('encodeValue', input, { limits: true, redact: true, path: true })
  const { redact } = options
  const redactor = redact === undefined || typeof redact === 'function' ? undefined : createRedactor(redact)
  const limits = limitsOf('encodeValue', options.limits)
  const walk: Walk = {
    depth: clampLimit(limits.depth, 16, 1, 500),
    string: clampLimit(limits.string, 10_000, 32, Infinity),
    size: clampLimit(limits.size, 100_000, 256, Infinity),
    redact: redactor === undefined ? (redact as Walk['redact']) : redactWith(redactor),
    path: [...(options.path ?? [])],
    ancestors: [],
    level: 0,
    used: 0,
    cut: false,
    missing: new Map(),
  }
  try {
    const whole = encodeHere(value, walk) ?? null
    const short = walk.used <= walk.size ? whole : shortenValue(whole, walk.size, walk, new Map())
    const clean = redactor?.json(short) ?? short // keys, and values that are found by their key
    const kept = clean === short ? short : (snapshot(clean) as Json)
    return Object.freeze({ value: kept, cut: walk.cut || walk.used > walk.size })
  } catch {
    // Out of stack or memory.
    return Object.freeze({
      value: redact === undefined ? `[${typeof value}: could not be encoded]` : redactedText,
      cut: true,
    })
  }
}

/** The limits in options. Throws a TypeError for an unknown name. */
export const limitsOf = (call: string, limits: EncodeLimits | undefined): EncodeLimits =>
  optionsOf(`${call}: limits`, limits, { depth: true, string: true, size: true })

/** The state of one walk: its limits, its position, and the size kept so far. */
interface Walk {
  readonly depth: number
  readonly string: number
  readonly size: number
  readonly redact: ((value: unknown, path: Path) => unknown) | undefined
  readonly path: (string | number)[]
  /** The objects around the current position, each with the length of its path. */
  readonly ancestors: { readonly value: object; readonly place: number }[]
  /** The number of arrays and objects of the result around the current position. */
  level: number
  used: number
  cut: boolean
  /** The number of elements or fields of an object that were skipped because the size limit was reached. */
  readonly missing: Map<object, number>
}

const clampLimit = (limit: number | undefined, otherwise: number, least: number, most: number): number =>
  limit === undefined || Number.isNaN(limit) ? otherwise : Math.min(most, Math.max(least, Math.floor(limit)))

/** Encodes the value at the current position; undefined if it is left out. `asked`: `toJSON` returned the value. */
const encodeHere = (input: unknown, walk: Walk, isRequested = false): Json | undefined => {
  const value = redactValue(input, walk)
  switch (typeof value) {
    case 'string':
      return text(value, walk)
    case 'number':
      return Number.isFinite(value) ? countValue(value === 0 ? 0 : value, walk) : text(String(value), walk)
    case 'boolean':
      return countValue(value, walk)
    case 'bigint':
      return text(`${value}n`, walk)
    case 'symbol':
      return text(String(value), walk)
    case 'undefined':
      return undefined
    default:
      return value === null ? countValue(null, walk) : encodeGuarded(value as object, walk, isRequested)
  }
}

/** Texts are redacted before they are cut, so that no part of a secret is left. Bytes can't be searched. */
const redactWith =
  ({ text }: Redactor) =>
  (value: unknown): unknown => {
    if (typeof value === 'string') return text(value)
    const isBytes = typeof value === 'object' && (ArrayBuffer.isView(value) || tagOf(value as object) === 'ArrayBuffer')
    return isBytes ? `[${classOf(value as object)}(${(value as ArrayBuffer).byteLength})]` : value
  }

const redactValue = (value: unknown, walk: Walk): unknown => {
  if (value === undefined || walk.redact === undefined) return value
  try {
    const kept = walk.redact(value, [...walk.path])
    return kept === undefined ? redactedText : kept
  } catch {
    return redactedText
  }
}

/** Encodes an object or function, even if it throws when it is read. */
const encodeGuarded = (value: object, walk: Walk, isRequested: boolean): Json | undefined => {
  const { level } = walk
  const depth = walk.ancestors.length
  const place = walk.path.length
  try {
    return typeof value === 'function' ? text(functionText(value), walk) : object(value, walk, isRequested)
  } catch (error) {
    walk.level = level
    walk.ancestors.length = depth
    walk.path.length = place
    return unreadable(error, walk)
  }
}

const object = (value: object, walk: Walk, isRequested: boolean): Json | undefined => {
  const ancestor = walk.ancestors.find((each) => each.value === value)
  if (ancestor !== undefined)
    return text(`[circular: ${formatPath(walk.path.slice(0, ancestor.place)) || 'the value itself'}]`, walk)
  if (Array.isArray(value))
    return container(value, walk, () => encodeArray(value.length >>> 0, (index) => value[index] as unknown, walk))
  const plain = isPlain(value)
  if (!plain) {
    const primitive = primitiveOf(value)
    if (primitive !== undefined) return encodeHere(primitive, walk)
    const size = sizeOfMap(value)
    if (size !== undefined)
      return container(value, walk, () => encodeArray(size, nextOf(Map.prototype.entries.call(value)), walk))
    const count = sizeOfSet(value)
    if (count !== undefined)
      return container(value, walk, () => encodeArray(count, nextOf(Set.prototype.values.call(value)), walk))
  }
  if (!isRequested) {
    const { toJSON } = value as { readonly toJSON?: unknown }
    if (typeof toJSON === 'function') {
      const json: unknown = toJSON.call(value, String(walk.path.at(-1) ?? ''))
      if (json !== value) return withAncestor(value, walk, () => encodeHere(json, walk, true))
    }
  }
  const keys = Object.keys(value)
  if (tagOf(value) === 'Error' || value instanceof Error)
    for (const key of ['errors', 'cause', 'message', 'name'])
      if (!keys.includes(key) && (key === 'name' || key === 'message' || Object.hasOwn(value, key))) keys.unshift(key)
  if (!plain && keys.length === 0) return text(`[${classOf(value)}]`, walk)
  return container(value, walk, () => encodeRecord(value as { readonly [key: string]: unknown }, keys, walk))
}

/** The primitive value or text of an object that is not a container; undefined for a container. */
const primitiveOf = (value: object): unknown => {
  if (ArrayBuffer.isView(value))
    return bytesText(value, new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
  const read = leaves.get(tagOf(value))
  if (read === undefined) return undefined
  try {
    return read(value)
  } catch {
    return undefined // only its tag says so
  }
}

/** By tag, not by `instanceof`: generated code may run in another realm. */
const leaves: ReadonlyMap<string, (value: object) => unknown> = new Map<string, (value: object) => unknown>([
  [
    'Date',
    (value) =>
      Number.isNaN(Date.prototype.getTime.call(value)) ? 'Invalid Date' : Date.prototype.toISOString.call(value),
  ],
  ['RegExp', (value) => RegExp.prototype.toString.call(value)],
  [
    'ArrayBuffer',
    (value) =>
      bytesText(
        value,
        new Uint8Array(ArrayBuffer.prototype.slice.call(value, 0, 32)),
        (value as ArrayBuffer).byteLength,
      ),
  ],
  ['String', (value) => String.prototype.valueOf.call(value)],
  ['Number', (value) => Number.prototype.valueOf.call(value)],
  ['Boolean', (value) => Boolean.prototype.valueOf.call(value)],
  ['BigInt', (value) => BigInt.prototype.valueOf.call(value)],
])

const tagOf = (value: object): string => Object.prototype.toString.call(value).slice(8, -1)

/** The size of a Map or Set; undefined if the value is not one. */
const sizeBy =
  (tag: string, constructor: { readonly prototype: object }): ((value: object) => number | undefined) =>
  (value) => {
    if (tagOf(value) !== tag && !Object.prototype.isPrototypeOf.call(constructor.prototype, value)) return undefined
    try {
      return Reflect.get(constructor.prototype, 'size', value) as number
    } catch {
      return undefined
    }
  }

const sizeOfMap = sizeBy('Map', Map) as (value: object) => number | undefined
const sizeOfSet = sizeBy('Set', Set)

/** An object literal of any realm, or an object without a prototype. */
const isPlain = (value: object): boolean => {
  const prototype = Object.getPrototypeOf(value) as object | null
  if (prototype === null || prototype === Object.prototype) return true
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf')
}

const container = (value: object, walk: Walk, fill: () => Json): Json => {
  if (walk.level >= walk.depth) {
    walk.cut = true
    return text(`[${classOf(value)}]`, walk)
  }
  walk.level += 1
  walk.used += 2
  const filled = withAncestor(value, walk, fill)
  walk.level -= 1
  return filled
}

const withAncestor = <T>(value: object, walk: Walk, work: () => T): T => {
  walk.ancestors.push({ value, place: walk.path.length })
  const result = work()
  walk.ancestors.pop()
  return result
}

const encodeArray = (length: number, at: (index: number) => unknown, walk: Walk): Json => {
  const result: Json[] = []
  for (let index = 0; index < length; index++) {
    if (walk.used > walk.size) {
      walk.missing.set(result, length - index)
      break
    }
    walk.path.push(index)
    walk.used += 1
    const kept = readOrNote(() => at(index), walk)
    result.push(kept === undefined ? countValue(null, walk) : kept)
    walk.path.pop()
  }
  return Object.freeze(result)
}

const encodeRecord = (value: { readonly [key: string]: unknown }, keys: readonly string[], walk: Walk): Json => {
  const result: { [key: string]: Json } = {}
  for (let index = 0; index < keys.length; index++) {
    if (walk.used > walk.size) {
      walk.missing.set(result, keys.length - index)
      break
    }
    const key = keys[index] as string
    walk.path.push(key)
    const kept = readOrNote(() => value[key], walk)
    walk.path.pop()
    if (kept === undefined) continue
    const name = fieldName(key, result, walk)
    walk.used += name.length + 4
    defineField(result, name, kept)
  }
  return Object.freeze(result)
}

/** Runs a getter or a trap. */
const readOrNote = (get: () => unknown, walk: Walk): Json | undefined => {
  let value: unknown
  try {
    value = get()
  } catch (error) {
    return unreadable(error, walk)
  }
  return encodeHere(value, walk)
}

const nextOf = (values: IterableIterator<unknown>) => (): unknown => values.next().value

/** A plain assignment would run the setter of `__proto__`, or one added to Object.prototype. */
const defineField = (target: { [key: string]: Json }, key: string, value: Json): void => {
  if (key in Object.prototype)
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true })
  else target[key] = value
}

const countValue = <T extends number | boolean | null>(value: T, walk: Walk): T => {
  walk.used += String(value).length
  return value
}

const text = (value: string, walk: Walk): string => {
  const kept = fitText(value, walk.string)
  if (kept.length < value.length) walk.cut = true
  walk.used += kept.length + 2
  return kept
}

/** A well-formed text of at most `most` characters, with a note of how many were cut. */
const fitText = (value: string, most: number): string => {
  if (value.length <= most) return value.toWellFormed()
  const note = (kept: number): string => `… (${value.length - kept} more)`
  const space = most - note(0).length
  const end = isHighSurrogate(value.charCodeAt(space - 1)) ? space - 1 : space
  return value.slice(0, end).toWellFormed() + note(end)
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code < 0xdc00

/** The field name for a key. Two keys can become equal when cut or made well-formed. */
const fieldName = (key: string, taken: object, walk: Walk): string => {
  const name = fitText(key, walk.string)
  if (name.length < key.length) walk.cut = true
  if (!Object.hasOwn(taken, name)) return name
  let count = 2
  while (Object.hasOwn(taken, `${fitText(key, walk.string - 12)}~${count}`)) count += 1
  return `${fitText(key, walk.string - 12)}~${count}`
}

const functionText = (value: object): string => {
  const { name } = value as { readonly name?: unknown }
  return typeof name === 'string' && name !== '' ? `[function ${name}]` : '[function]'
}

const bytesText = (value: object, bytes: Uint8Array, length = bytes.length): string => {
  const hex = Array.from(bytes.subarray(0, 32), (byte) => byte.toString(16).padStart(2, '0')).join('')
  return `[${classOf(value)}(${length}): ${hex}${length > 32 ? '…' : ''}]`
}

/** The class name of a value. Runs its getters, so it may throw. */
export const classOf = (value: object): string => {
  const { constructor } = value as { readonly constructor?: unknown }
  const name: unknown = typeof constructor === 'function' ? constructor.name : undefined
  return typeof name === 'string' && name !== '' ? name.slice(0, 100).toWellFormed() : 'Object'
}

/** The marker for a value that throws when read, without the error's text if a redactor has not seen it. */
const unreadable = (error: unknown, walk: Walk): string => {
  if (walk.redact !== undefined) return text('[unreadable]', walk)
  try {
    return text(`[unreadable: ${fitText(String(error), 100)}]`, walk)
  } catch {
    return text('[unreadable]', walk)
  }
}

/** The smallest remainder worth keeping of a value that does not fit. */
const leastKept = 64
/** Room for the note of how much is missing. */
const noteRoom = 24

/** The value cut at the end to at most `room` characters. Only called for larger values. */
const shortenValue = (value: Json, space: number, walk: Walk, sizes: Map<object, number>): Json => {
  if (typeof value === 'string') return fitText(value, space - 2)
  if (typeof value !== 'object' || value === null) return value
  const missing = walk.missing.get(value) ?? 0
  const isList = Array.isArray(value)
  const fields: readonly (readonly [string, Json])[] = Object.entries(value)
  const list: Json[] = []
  const result: { [key: string]: Json } = {}
  let left = space - 2 - noteRoom
  let kept = 0
  for (const [key, field] of fields) {
    const frame = isList ? 1 : key.length + 4
    const size = sizeOf(field, sizes) + frame
    const fits = size <= left && !walk.missing.has(field as object)
    if (!fits && (left - frame < leastKept || !isLong(field))) break
    const part = fits ? field : shortenValue(field, left - frame, walk, sizes)
    if (isList) list.push(part)
    else defineField(result, key, part)
    kept += 1
    left -= fits ? size : sizeOf(part, sizes) + frame
    if (!fits) break
  }
  const more = fields.length - kept + missing
  if (more > 0 && isList) list.push(`… ${more} more`)
  else if (more > 0) defineField(result, fieldName('…', result, walk), `${more} more`)
  return Object.freeze(isList ? list : result)
}

const isLong = (value: Json): boolean => typeof value === 'string' || (typeof value === 'object' && value !== null)

/** Characters as JSON text without escapes, counted like the walk counts them. */
const sizeOf = (value: Json, sizes: Map<object, number>): number => {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return String(value).length
  const known = sizes.get(value)
  if (known !== undefined) return known
  let size = 2
  if (Array.isArray(value)) for (const item of value as readonly Json[]) size += sizeOf(item, sizes) + 1
  else for (const [key, field] of Object.entries(value as JsonObject)) size += key.length + 4 + sizeOf(field, sizes)
  sizes.set(value, size)
  return size
}
