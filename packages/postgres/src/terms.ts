/**
 * Encodes metadata as numbers for an index: part of a digest of each scalar with its path.
 * Different values may have the same number, so rows found by the index are checked again.
 */
import { sumOf } from './sum.ts'
import { isObject, type Json, type JsonObject } from 'indelible/internal/json'

/** The terms of metadata, or of a filter on it, in decimal digits. Arrays have none. */
export const termsOf = (scope: string, meta: JsonObject): readonly string[] => {
  const terms = new Set<string>()
  const gather = (value: Json, path: readonly string[]): void => {
    if (isObject(value)) for (const key of Object.keys(value)) gather(value[key] as Json, [...path, key])
    else if (!Array.isArray(value)) terms.add(sumOf(scope, ...path, value))
  }
  gather(meta, [])
  return [...terms]
}
