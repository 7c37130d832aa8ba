/** What an application keeps readable, beyond what contexts keep by themselves. */
import type { View } from '../history/index.ts'
import { describe, jsonEqual, ownItems, isCount } from '../json/index.ts'
import type { Message } from '../message/index.ts'
import { isPageKind, residencyLevels, type PageKind, type ResidencyLevel } from '../pages/index.ts'
import { indexesOf } from '../pages/internal.ts'
import { indexIn } from './positions.ts'

/**
 * What stays readable: positions of the record and page kinds; or a function that answers a level for each index of a view. It is
 * called when an epoch starts, with what was recorded before, and must be pure. `full` and `compressed` keep a message (whole, or
 * cut to 400 tokens), `pointer` leaves out its summary line, and undefined leaves the choice to the library. Kept messages fall away
 * before the budget is exceeded, and no level puts a page under its minimum.
 */
export type Keep = readonly (number | PageKind)[] | ((view: View<Message>) => readonly (ResidencyLevel | undefined)[])

/** A frozen copy of a list, so that its caller can't change it while contexts continue each other; a function as it is. */
export const checkKeep = (keep: Keep | undefined): Keep | undefined => {
  if (keep === undefined || typeof keep === 'function') return keep
  if (!Array.isArray(keep))
    throw new TypeError(
      `deriveContext: \`keep\` is ${describe(keep)}; expected positions and page kinds, or a function`,
    )
  const items = ownItems(keep as readonly unknown[])
  for (const item of items)
    if (!isCount(item) && !isPageKind(item))
      throw new TypeError(`deriveContext: \`keep\` contains ${describe(item)}; expected a position or a page kind`)
  return Object.freeze(items as (number | PageKind)[])
}

/** Whether two contexts keep the same. */
export const isSameKeep = (a: Keep | undefined, b: Keep | undefined): boolean =>
  a === b || (typeof a === 'object' && typeof b === 'object' && jsonEqual(a, b))

/** The levels that `keep` asks for before an index, by index. */
export const keptIn = (
  view: View<Message>,
  end: number,
  keep: Keep | undefined,
): ReadonlyMap<number, ResidencyLevel> => {
  const kept = new Map<number, ResidencyLevel>()
  if (keep === undefined) return kept
  if (typeof keep === 'function') {
    for (const [index, level] of levelsFrom(keep(view.slice(0, end))).entries())
      if (level !== undefined && index < end) kept.set(index, level)
    return kept
  }
  const kinds = new Set<unknown>(keep)
  for (const index of indexesOf(view.pages, (kind) => kinds.has(kind))) if (index < end) kept.set(index, 'full')
  for (const item of keep) {
    const index = typeof item === 'number' ? indexIn(view, item) : -1
    if (index !== -1 && index < end) kept.set(index, 'full')
  }
  return kept
}

/** The answer of a `keep` function, copied and frozen before it is checked: its list may change later, or each time it is read. */
const levelsFrom = (answer: unknown): readonly (ResidencyLevel | undefined)[] => {
  if (!Array.isArray(answer)) throw new TypeError(`\`keep\` returned ${describe(answer)}; expected a list of levels`)
  const levels = Object.freeze(ownItems(answer as readonly (ResidencyLevel | undefined)[]))
  for (const [index, level] of levels.entries())
    if (level !== undefined && !residencyLevels.includes(level))
      throw new TypeError(`\`keep\` returned ${describe(level)} for index ${index}; expected a level or undefined`)
  return levels
}
