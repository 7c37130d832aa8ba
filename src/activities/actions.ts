/**
 * What actions have come to, by their ids: so that one that is tried again after its answer was lost gives that answer,
 * and neither calls the model nor tells its end again.
 *
 * Each is a log without rows whose metadata says it: whoever creates it is the first. A store that knows blocks alone has
 * no place for that; then this process remembers, for as long as it lives.
 */
import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import { digestOf } from '../digest/index.ts'
import type { JsonObject } from '../json/index.ts'
import type { LogInfo, Store, StoreFault } from '../store/index.ts'

/** What is known of an action. */
export interface Known {
  /** The digest of what it was given. */
  readonly input: string
  readonly result?: JsonObject
  /** Whether the end of its stream was told. */
  readonly ended: boolean
}

export interface Actions {
  readonly find: (action: string) => Promise<Either<StoreFault, Known | undefined>>
  /** Note what is known now. What was known before stays: the first result, and an end that was told. */
  readonly note: (action: string, known: Known) => Promise<Either<StoreFault, Known>>
}

export const actionsOf = (store: Store): Actions => {
  const read = async (action: string): Promise<Either<StoreFault, { readonly log: LogInfo; readonly known: Known } | undefined>> => {
    const log = await store.info(idOf(action))()
    if (isLeft(log)) return log.left._tag === 'NoSuchLog' ? right(undefined) : log
    const known = knownIn(log.right)
    return known === undefined ? left({ _tag: 'InvalidMeta', path: [], reason: 'is not that of an action' }) : right({ log: log.right, known })
  }
  return {
    find: async (action) => {
      const found = await read(action)
      return isLeft(found) ? found : right(found.right?.known)
    },
    note: async (action, known) => {
      for (;;) {
        const found = await read(action)
        if (isLeft(found)) return found
        const now = found.right === undefined ? known : joined(found.right.known, known)
        const meta = { 'indelible.action': action, ...now }
        const written =
          found.right === undefined
            ? await store.create({ id: idOf(action), meta })()
            : await store.update(found.right.log.id, { expected: found.right.log.version, meta })()
        if (!isLeft(written)) return right(now)
        const { _tag } = written.left
        if (_tag !== 'LogExists' && _tag !== 'MetaConflict' && _tag !== 'NoSuchLog') return written // else somebody was quicker: look again
      }
    },
  }
}

/** The same for this process alone. */
export const actionsInMemory = (most = 10_000): ((scope: string) => Actions) => {
  const all = new Map<string, Known>()
  return (scope) => {
    const keyOf = (action: string): string => JSON.stringify([scope, action])
    return {
      find: async (action) => right(all.get(keyOf(action))),
      note: async (action, known) => {
        const key = keyOf(action)
        const before = all.get(key)
        const now = before === undefined ? known : joined(before, known)
        all.delete(key)
        all.set(key, now)
        for (const oldest of all.keys()) {
          if (all.size <= most) break
          all.delete(oldest)
        }
        return right(now)
      },
    }
  }
}

const joined = (before: Known, { result, ended }: Known): Known => {
  const first = before.result ?? result
  return { input: before.input, ...(first !== undefined && { result: first }), ended: before.ended || ended }
}

/** Whatever an action is called, its log has an id. */
const idOf = (action: string): string => `indelible.action:${digestOf(action)}`

const knownIn = ({ meta }: LogInfo): Known | undefined => {
  const { input, result, ended } = meta as { readonly [key: string]: unknown }
  if (typeof input !== 'string' || typeof ended !== 'boolean') return undefined
  return { input, ended, ...(typeof result === 'object' && result !== null && { result: result as JsonObject }) }
}
