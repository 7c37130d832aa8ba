/** Actions in a store of logs: each is a log without rows whose metadata holds its state (compare-and-set). */
import * as E from '#fp-ts/Either'
import { pipe } from '#fp-ts/function'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'indelible/internal/json'
import type { LogInfo, Store, StoreFault } from 'indelible/store'
import { ownStore } from 'indelible/internal/store'
import { pagesOf } from 'indelible/internal/task'
import { digestOfName } from 'indelible/internal/proof'
import { readKnownAction, type Actions, type KnownAction } from './actions.ts'

const start = 'indelible.action:'

const idOf = (action: string): string => start + digestOfName(action)

export const actionsInLogs = (base: Store): Actions => {
  const store = ownStore(base)
  const read = async (
    action: string,
  ): Promise<Either<StoreFault, { readonly log: LogInfo; readonly known: KnownAction } | undefined>> => {
    const log = await store.info(idOf(action))()
    if (isLeft(log)) return log.left._tag === 'NoSuchLog' ? right(undefined) : log
    const known = readKnownAction(log.right.meta)
    return known === undefined
      ? left({ _tag: 'InvalidMeta', path: [], reason: 'is not that of an action' })
      : right({ log: log.right, known })
  }
  return {
    find: async (action) =>
      pipe(
        await read(action),
        E.map((found) => found?.known),
      ),
    note: async (action, change) => {
      for (;;) {
        const found = await read(action)
        if (isLeft(found)) return found
        const before = found.right?.known
        const changed = change(before)
        if (isLeft(changed) || changed.right === before) return changed
        const { failure, ...known } = changed.right
        const meta = { 'indelible.action': action, ...known, ...(failure !== undefined && { failure: { ...failure } }) }
        const written =
          found.right === undefined
            ? await store.create({ id: idOf(action), meta, encrypt: true })()
            : await store.update(found.right.log.id, { expected: found.right.log.version, meta })()
        if (!isLeft(written)) return changed
        const { _tag } = written.left
        if (_tag !== 'LogExists' && _tag !== 'MetaConflict' && _tag !== 'NoSuchLog') return written // else retry: another process wrote first
      }
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
  }
}
