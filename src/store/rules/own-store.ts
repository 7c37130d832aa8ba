import { shareIdentity } from './block-handle.ts'
import { ownCall } from '../port/own-logs.ts'
import type { Store } from '../port/store.ts'

/**
 * The same store for the library's own calls, which may change the library's own logs.
 *
 * @returns a handle for the library's own calls
 */
export const ownStore = (store: Store): Store => {
  const own = Object.freeze<Store>({
    ...store,
    create: (log) => store.create({ ...log, ...ownCall }),
    update: (id, update) => store.update(id, { ...update, ...ownCall }),
    append: (id, append) => store.append(id, { ...append, ...ownCall }),
    fork: (id, fork) => store.fork(id, { ...fork, ...ownCall }),
    remove: (id) => store.remove(id, ownCall),
  })
  shareIdentity(own, store)
  return own
}
