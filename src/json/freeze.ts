/** Freezing in place: for what `JSON.parse` has just given and nobody else holds. Everything else is copied: `snapshot`. */
import { maxDepth, NotJson, snapshot } from './snapshot.ts'

/**
 * Freeze a value that `JSON.parse` gave, all the way down.
 *
 * Cost    a fraction of the parsing
 * Throws  NotJson, where JSON text can say what can't be recorded: half a surrogate pair, 1e999, nesting beyond
 *         `maxDepth`; what was frozen until then is lost to the caller, who gave it away
 */
export const freezeParsed = (value: unknown): void => {
  if (!freezes(value, 1)) {
    snapshot(value) // names the place
    throw new NotJson([], 'could not be read')
  }
}

const { freeze, keys } = Object
const { isArray } = Array

const freezes = (value: unknown, depth: number): boolean => {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  if (depth > maxDepth) return false
  if (isArray(value)) {
    for (let index = 0; index < value.length; index++) if (!freezes(value[index], depth + 1)) return false
  } else {
    for (const key of keys(value)) if (!key.isWellFormed() || !freezes((value as Record<string, unknown>)[key], depth + 1)) return false
  }
  freeze(value)
  return true
}
