/** Actions in the memory of one process, for stores that keep only blocks. Processes don't share them. */
import { isLeft, right } from 'indelible/internal/json'
import type { Actions, KnownAction } from './actions.ts'

/** Actions by id, at most `most`; the least recently noted is dropped first. */
export const actionsInMemory = (most = 10_000, now: () => number = Date.now): Actions => {
  const all = new Map<string, { readonly known: KnownAction; readonly began: number }>()
  return {
    find: async (action) => right(all.get(action)?.known),
    note: async (action, change) => {
      const before = all.get(action)
      const changed = change(before?.known)
      if (isLeft(changed)) return changed
      all.delete(action)
      all.set(action, { known: changed.right, began: before?.began ?? now() })
      for (const oldest of all.keys()) {
        if (all.size <= most) break
        all.delete(oldest)
      }
      return changed
    },
    forget: async (before) => {
      const old = [...all].filter(([, { began }]) => began < before)
      for (const [action] of old) all.delete(action)
      return right(old.length)
    },
  }
}
