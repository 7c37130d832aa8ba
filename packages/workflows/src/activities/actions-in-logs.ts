/** Actions in a store of logs: each is a log without rows whose metadata holds its state (compare-and-set). */
import { isLeft, left, right } from 'indelible/internal/json'
import type { LogInfo, Store } from 'indelible/store'
import { ownStore } from 'indelible/internal/store'
import { pagesOf } from 'indelible/internal/task'
import { digestOfName } from 'indelible/internal/proof'
import { actionsIn, readKnownAction, type Actions } from './actions.ts'

const start = 'indelible.action:'

const idOf = (action: string): string => start + digestOfName(action)

export const actionsInLogs = (base: Store): Actions => {
  const store = ownStore(base)
  return actionsIn<LogInfo | undefined>({
    read: async (action) => {
      const log = await store.info(idOf(action))()
      if (isLeft(log)) return log.left._tag === 'NoSuchLog' ? right({ known: undefined, place: undefined }) : log
      const known = readKnownAction(log.right.meta)
      return known === undefined
        ? left({ _tag: 'InvalidMeta', path: [], reason: 'is not that of an action' })
        : right({ known, place: log.right })
    },
    write: async (action, { failure, ...known }, log) => {
      const meta = { 'indelible.action': action, ...known, ...(failure !== undefined && { failure: { ...failure } }) }
      const written =
        log === undefined
          ? await store.create({ id: idOf(action), meta, encrypt: true })()
          : await store.update(log.id, { expected: log.version, meta })()
      if (!isLeft(written)) return right(true)
      const { _tag } = written.left
      return _tag === 'LogExists' || _tag === 'MetaConflict' || _tag === 'NoSuchLog' ? right(false) : written
    },
    forget: async (before) => {
      const old: string[] = []
      for await (const page of pagesOf((from) => store.list({ limit: 1000, ...from })())) {
        if (isLeft(page)) return page
        for (const { id, created } of page.right.logs) if (id.startsWith(start) && created < before) old.push(id)
      }
      let forgotten = 0
      for (const id of old) {
        const removed = await store.remove(id)()
        if (!isLeft(removed)) forgotten += 1
        else if (removed.left._tag !== 'NoSuchLog') return removed
      }
      return right(forgotten)
    },
  })
}
