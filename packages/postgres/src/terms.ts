/**
 * What metadata says, as numbers that an index can hold: a part of the digest of each scalar and of where it stands. Two
 * may have the same number, so what the index finds is looked at again.
 */
import { sumOf } from './sum.ts'
import { isObject, type Json, type JsonObject } from 'indelible/json/kit'

/** The terms of metadata, or of a condition on it, in decimal digits. Arrays have none. */
export const termsOf = (scope: string, meta: JsonObject): readonly string[] => {
  const terms = new Set<string>()
  const gather = (value: Json, path: readonly string[]): void => {
    if (isObject(value)) for (const key of Object.keys(value)) gather(value[key] as Json, [...path, key])
    else if (!Array.isArray(value)) terms.add(sumOf(scope, ...path, value))
  }
  gather(meta, [])
  return [...terms]
}
