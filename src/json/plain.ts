/**
 * Converts program values to JSON data and back. Values that JSON can't express are tagged with
 * their path, so that a value comes back deeply equal.
 */
import { base64Of, bytesOfBase64 } from './base64.ts'
import type { Json } from './json.ts'
import { define } from './own.ts'
import { formatPath, type Path } from './path.ts'

/** The path and kind of a value that JSON can't express, with its text if the JSON value does not have it. */
export type Tag = readonly [path: Path, kind: TagKind, text?: string]

type TagKind = 'undefined' | 'bytes' | 'date' | 'number' | 'bigint' | 'text'

/** A value as JSON data, with tags for everything that JSON can't express. */
interface Plain {
  readonly value: Json
  readonly tags: readonly Tag[]
}

/**
 * A copy of a value as JSON data. `undefined`, bytes, dates, `-0`, `NaN`, infinities, bigints and lone surrogates
 * are tagged. A class instance becomes an object of its own enumerable fields, as with `structuredClone`.
 *
 * Throws  TypeError naming the path, for functions, symbols, maps, sets, other objects with internal state, and cycles
 */
export const plainOf = (value: unknown): Plain => {
  const tags: Tag[] = []
  return { value: plain(value, [], tags, new Set()), tags }
}

const plain = (value: unknown, path: Path, tags: Tag[], around: Set<object>): Json => {
  switch (typeof value) {
    case 'boolean':
      return value
    case 'string':
      if (!halfPair.test(value)) return value
      tags.push([path, 'text', JSON.stringify(value)])
      return value.replaceAll(halfPairs, '\ufffd')
    case 'number':
      if (Number.isFinite(value) && !Object.is(value, -0)) return value
      tags.push([path, 'number', Object.is(value, -0) ? '-0' : String(value)])
      return Number.isFinite(value) ? 0 : null
    case 'bigint':
      tags.push([path, 'bigint'])
      return String(value)
    case 'undefined':
      tags.push([path, 'undefined'])
      return null
    case 'object':
      return value === null ? null : plainObject(value, path, tags, around)
    default:
      throw notRecordable(path, value)
  }
}

const plainObject = (value: object, path: Path, tags: Tag[], around: Set<object>): Json => {
  if (around.has(value)) throw new TypeError(`${placeOf(path)} contains itself; nothing was stored`)
  const kind = Object.prototype.toString.call(value)
  if (kind === '[object Date]') {
    const time = (value as Date).getTime()
    tags.push([path, 'date'])
    return Number.isNaN(time) ? null : new Date(time).toISOString()
  }
  if (kind === '[object Uint8Array]') {
    tags.push([path, 'bytes'])
    return base64Of(value as Uint8Array)
  }
  if (!Array.isArray(value) && statefulTag.test(kind)) throw notRecordable(path, value)
  around.add(value)
  let copy: Json
  if (Array.isArray(value))
    copy = Array.from(value as readonly unknown[], (item, at) => plain(item, [...path, at], tags, around))
  else {
    const fields: [string, Json][] = []
    for (const [key, item] of Object.entries(value)) {
      if (halfPair.test(key))
        throw new TypeError(`${placeOf(path)} has a key with half a surrogate pair; nothing was stored`)
      if (item === undefined) tags.push([[...path, key], 'undefined'])
      else fields.push([key, plain(item, [...path, key], tags, around)])
    }
    copy = Object.fromEntries(fields)
  }
  around.delete(value)
  return copy
}

/** Objects with state outside their fields. */
const statefulTag =
  /^\[object (?:Map|Set|WeakMap|WeakSet|RegExp|Promise|Error|ArrayBuffer|SharedArrayBuffer|DataView|(?:Ui|I)nt\d+Array|Uint8ClampedArray|Float\d+Array|Big(?:Ui|I)nt64Array)\]$/

const halfPair = /\p{Surrogate}/u
const halfPairs = /\p{Surrogate}/gu

const placeOf = (path: Path): string => formatPath(path) || 'the value'

const notRecordable = (path: Path, value: unknown): TypeError =>
  new TypeError(
    `${placeOf(path)} is a ${typeof value === 'object' ? Object.prototype.toString.call(value).slice(8, -1) : typeof value}, which can't be stored; expected JSON data, bytes, dates or undefined. Nothing was stored.`,
  )

/** Rebuilds the original value. Changes and returns `value`, which must be the caller's own. */
export const revivePlain = (value: unknown, tags: readonly Tag[]): unknown => {
  const root = { root: value }
  for (const [path, kind, text] of tags) {
    const steps = ['root', ...path]
    const last = steps.pop() as string
    let owner: { [key: string]: unknown } | undefined = root
    for (const step of steps)
      owner = owner !== undefined && Object.hasOwn(owner, step) ? (owner[step] as typeof owner) : undefined
    if (typeof owner !== 'object' || owner === null) continue // the containing value was removed
    define(owner, last, revivedValue(owner[last], kind, text))
  }
  return root.root
}

const revivedValue = (value: unknown, kind: TagKind, text: string | undefined): unknown => {
  switch (kind) {
    case 'undefined':
      return undefined
    case 'bytes':
      return typeof value === 'string' ? (bytesOfBase64(value) ?? value) : value
    case 'date':
      return new Date(typeof value === 'string' ? value : Number.NaN)
    case 'number':
      return Number(text)
    case 'bigint':
      return typeof value === 'string' ? BigInt(value) : value
    case 'text':
      return text === undefined ? value : JSON.parse(text)
  }
}
