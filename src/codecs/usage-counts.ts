/** The token counts of a stream, which come in several events. */
import { isObject } from '../json/index.ts'

type Counts = { readonly [field: string]: unknown }

/**
 * Counts so far with those of a later event. Null and zero replace nothing: servers fill fields with them that they
 * don't count there.
 */
export const mergeCounts = (before: unknown, later: Counts): Counts => {
  const counts: { [field: string]: unknown } = isObject(before) ? { ...before } : {}
  for (const [field, value] of Object.entries(later)) {
    if (field === '__proto__' || value === null || value === undefined) continue
    const known = counts[field]
    if (value === 0 && typeof known === 'number') continue
    counts[field] = isObject(value) && isObject(known) ? mergeCounts(known, value as Counts) : value
  }
  return counts
}
