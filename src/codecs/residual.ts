/**
 * Makes codecs lossless: keeps the difference between the wire and what the codec would write in
 * `meta`, and restores it when the same format is written again.
 *
 * The difference is kept with its message or part and holds no content, so that it stays valid when
 * a text is shortened or a call id changes.
 */
import { define, difference, isObject, ownField, type Json, type JsonObject, type MutableJson } from '../json/index.ts'
import type { Message, Meta, Part } from '../message/index.ts'

/** A codec's entry in `meta`. */
export interface Kept {
  /** Wire fields that the message model lacks or writes differently. Objects are merged into the written form. */
  readonly fields?: JsonObject | undefined
  /** The paths of fields that encoding would write but the wire did not have. */
  readonly absent?: readonly (readonly string[])[] | undefined
  /** Which of several equivalent forms was used, in the codec's own words. */
  readonly as?: string | undefined
}

/**
 * The difference between a wire object and what encoding would write, as an entry of `meta`.
 *
 * @param skip fields whose difference is kept elsewhere or known to be empty
 */
export const keepResidual = (
  format: string,
  wire: JsonObject,
  written: JsonObject,
  as?: string,
  skip: readonly string[] = [],
): { readonly meta?: Meta } => {
  const absent: (readonly string[])[] = []
  const fields = difference(wire, written, skip, (path) => void absent.push(path))
  if (fields === undefined && absent.length === 0 && as === undefined) return emptyObject
  const kept = {
    ...(fields !== undefined && { fields }),
    ...(absent.length > 0 && { absent: freeze(absent.map((path) => freeze(path))) }),
    ...(as !== undefined && { as }),
  }
  return { meta: freeze({ [format]: freeze(kept) }) }
}

/** Restores kept fields. Modifies and returns `written`, which must belong to the caller. */
export const restoreResidual = <T extends object>(written: T, kept: Kept | undefined): T => {
  if (kept === undefined) return written
  const fields = ownField(kept, 'fields')
  if (fields !== undefined) mergeFields(written as MutableObject, fields)
  for (const path of ownField(kept, 'absent') ?? []) remove(written as MutableObject, path)
  return written
}

/** A wire object being written. */
export type MutableObject = { [field: string]: unknown }

const mergeFields = (target: MutableObject, fields: JsonObject): void => {
  for (const key of Object.keys(fields)) {
    const value = fields[key] as Json
    const there = Object.hasOwn(target, key) ? target[key] : undefined
    if (isObject(there) && isObject(value)) mergeFields(there as MutableObject, value)
    else if (key === '__proto__') define(target, key, mutableCopy(value))
    else target[key] = mutableCopy(value)
  }
}

const remove = (target: MutableObject, path: readonly string[]): void => {
  const [key, ...rest] = path
  if (key === undefined || !Object.hasOwn(target, key)) return
  const there = target[key]
  if (rest.length === 0) delete target[key]
  else if (isObject(there)) remove(there as MutableObject, rest)
}

/** The data that a codec kept with a message or part. Data of another shape is ignored. */
export const residualOf = (format: string, owner: { readonly meta?: Meta }): Kept | undefined => {
  const meta = ownField(owner, 'meta')
  if (meta === undefined || !Object.hasOwn(meta, format)) return undefined
  const kept = meta[format]
  if (!isObject(kept)) return undefined
  const [fields, absent, as] = [ownField(kept, 'fields'), ownField(kept, 'absent'), ownField(kept, 'as')]
  return {
    fields: isObject(fields) ? fields : undefined,
    absent: Array.isArray(absent)
      ? (absent as readonly Json[]).filter(
          (path): path is readonly string[] => Array.isArray(path) && path.every((key) => typeof key === 'string'),
        )
      : undefined,
    as: typeof as === 'string' ? as : undefined,
  }
}

/** Marks of `as`, separated by spaces; undefined if there are none. */
export const joinMarks = <Mark extends string>(...words: readonly (Mark | false | undefined)[]): string | undefined =>
  words.filter(Boolean).join(' ') || undefined

export const hasMark = (kept: Kept | undefined, mark: string): boolean => kept?.as?.split(' ').includes(mark) === true

/** The other formats that kept fields with a message or part which `format` can't write. */
export const foreignFields = (
  format: string,
  owner: Message | Part,
  understood: { readonly [format: string]: readonly string[] } = {},
): readonly string[] => {
  const meta = ownField(owner, 'meta')
  return meta === undefined
    ? none
    : Object.keys(meta).filter((name) => {
        if (name === format || !formats.has(name)) return false
        return Object.keys(residualOf(name, owner)?.fields ?? {}).some(
          (field) => ownField(understood, name)?.includes(field) !== true,
        )
      })
}

const none: readonly string[] = []

/** The `meta` keys of all codecs, also of those in `@indelible/codecs`. */
const formats: ReadonlySet<string> = new Set([
  'openai-chat',
  'openai-responses',
  'openai-agents',
  'anthropic',
  'ai-sdk',
  'ai-sdk-ui',
  'gemini',
  'langchain',
])

/** A mutable copy of recorded JSON. */
export const mutableCopy = (value: Json): MutableJson => {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return (value as readonly Json[]).map(mutableCopy)
  const fresh: { [key: string]: MutableJson } = {}
  for (const key of Object.keys(value)) {
    const copy = mutableCopy((value as JsonObject)[key] as Json)
    if (key === '__proto__') define(fresh, key, copy)
    else fresh[key] = copy
  }
  return fresh
}

const { freeze } = Object
const emptyObject = freeze({})
