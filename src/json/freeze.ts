/** Freezes values in place. Only for values that this library made; `snapshot` copies everything else. */
import { freeze } from 'immer'
import { maxDepth, NotJson, snapshot } from './snapshot.ts'

/**
 * Deep-freeze a result of `JSON.parse`.
 *
 * Cost    a fraction of parsing
 * Throws  NotJson for values that JSON text can express but a record can't hold: a lone surrogate,
 *         1e999, nesting beyond `maxDepth`. The value may then be partly frozen
 */
export const freezeParsed = (value: unknown): void => {
  if (!freezeWithin(value, 1)) {
    snapshot(value) // throws with the path
    throw new NotJson([], 'could not be read')
  }
}

const freezeWithin = (value: unknown, depth: number): boolean => {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  if (depth > maxDepth) return false
  if (Array.isArray(value)) {
    for (const item of value) if (!freezeWithin(item, depth + 1)) return false
  } else
    for (const key of Object.keys(value))
      if (!key.isWellFormed() || !freezeWithin((value as { readonly [key: string]: unknown })[key], depth + 1))
        return false
  Object.freeze(value)
  return true
}

/** Deep-freeze a result made of plain data. Parts that are frozen already are frozen all the way down. */
export const freezeResult = <T>(value: T): T => freeze(value, true)
