/** Actions in the memory of one process, for stores that keep only blocks. Processes don't share them. */
import { right } from 'indelible/internal/json'
import { RecentMap } from 'indelible/internal/sequence'
import { actionsIn, type Actions, type KnownAction } from './actions.ts'

/** The most actions to remember; the least recently used is dropped first. */
const mostActions = 10_000

interface Entry {
  readonly known: KnownAction
  readonly began: number
}

export const actionsInMemory = (now: () => number): Actions => {
  const all = new RecentMap<string, Entry>(mostActions)
  return actionsIn<Entry | undefined>({
    read: async (action) => {
      const entry = all.get(action)
      return right({ known: entry?.known, place: entry })
    },
    write: async (action, known, entry) => {
      if (all.get(action) !== entry) return right(false)
      all.set(action, { known, began: entry?.began ?? now() })
      return right(true)
    },
    forget: async (before) => {
      const old = [...all.keys()].filter((action) => (all.get(action)?.began ?? before) < before)
      for (const action of old) all.delete(action)
      return right(old.length)
    },
  })
}
