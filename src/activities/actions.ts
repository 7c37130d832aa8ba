/**
 * What actions have come to, by their ids: so that one that is tried again after its answer was lost gives that answer,
 * and neither calls the model nor tells its end again.
 *
 * Each is a log without rows whose metadata says it: whoever creates it is the first. A store that knows blocks alone has
 * no place for that; then this process remembers, for as long as it lives.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../json/index.ts'
import { digestOf } from '../proof/index.ts'
import type { JsonObject } from '../json/index.ts'
import type { LogInfo, Store, StoreFault } from '../store/index.ts'
import type { ActivityFault } from './fault.ts'

/** What is known of an action. */
export interface Known {
  /** The digest of what it was given; empty, where only its end is known. */
  readonly input: string
  /** How often it was begun: the last to begin is the one that counts. */
  readonly attempt: number
  readonly result?: JsonObject
  /** Whether the end of its stream was told. */
  readonly ended: boolean
}

/** What is to be known, given what is; or why it can't be. Called again, if somebody else was quicker. */
export type Change = (known: Known | undefined) => Either<ActivityFault, Known>

export interface Actions {
  readonly find: (action: string) => Promise<Either<StoreFault, Known | undefined>>
  /** Note a change, unless it changes nothing. Gives what is known then. */
  readonly note: (action: string, change: Change) => Promise<Either<ActivityFault, Known>>
}

/** The action begins, for the first time or again. One that has a result stays as it is. */
export const begun =
  (action: string, input: string, attempt: number): Change =>
  (known) => {
    if (known === undefined) return right({ input, attempt, ended: false })
    const refusal = refused(action, input, known)
    if (refusal !== undefined) return left(refusal)
    return right(
      known.result !== undefined ? known : { ...known, input, attempt: Math.max(attempt, known.attempt + 1) },
    )
  }

/** The action has a result: this one, unless it had one before. `ended` says that there is no stream whose end is to be told. */
export const answered =
  (action: string, input: string, result: JsonObject, ended: boolean): Change =>
  (known) => {
    if (known === undefined) return right({ input, attempt: 1, result, ended })
    const refusal = refused(action, input, known)
    if (refusal !== undefined) return left(refusal)
    return right(known.result !== undefined ? known : { ...known, input, result, ended: known.ended || ended })
  }

/** The end of the action's stream was told, by this attempt. */
export const ended =
  (attempt: number): Change =>
  (known) =>
    right(
      known?.ended === true
        ? known
        : { input: '', ...known, attempt: Math.max(attempt, known?.attempt ?? 0), ended: true },
    )

/** Why an action can't be done with this input. */
export const refused = (action: string, input: string, known: Known): ActivityFault | undefined => {
  if (known.input !== '' && known.input !== input) return { _tag: 'OtherAction', action }
  return known.ended && known.result === undefined ? { _tag: 'ActionEnded', action } : undefined
}

export const actionsOf = (store: Store): Actions => {
  const read = async (
    action: string,
  ): Promise<Either<StoreFault, { readonly log: LogInfo; readonly known: Known } | undefined>> => {
    const log = await store.info(idOf(action))()
    if (isLeft(log)) return log.left._tag === 'NoSuchLog' ? right(undefined) : log
    const known = knownIn(log.right)
    return known === undefined
      ? left({ _tag: 'InvalidMeta', path: [], reason: 'is not that of an action' })
      : right({ log: log.right, known })
  }
  return {
    find: async (action) => {
      const found = await read(action)
      return isLeft(found) ? found : right(found.right?.known)
    },
    note: async (action, change) => {
      for (;;) {
        const found = await read(action)
        if (isLeft(found)) return found
        const before = found.right?.known
        const changed = change(before)
        if (isLeft(changed) || changed.right === before) return changed
        const meta = { 'indelible.action': action, ...changed.right }
        const written =
          found.right === undefined
            ? await store.create({ id: idOf(action), meta })()
            : await store.update(found.right.log.id, { expected: found.right.log.version, meta })()
        if (!isLeft(written)) return changed
        const { _tag } = written.left
        if (_tag !== 'LogExists' && _tag !== 'MetaConflict' && _tag !== 'NoSuchLog') return written // else somebody was quicker: look again
      }
    },
  }
}

/** The same for this process alone. */
export const actionsInMemory = (most = 10_000): Actions => {
  const all = new Map<string, Known>()
  return {
    find: async (action) => right(all.get(action)),
    note: async (action, change) => {
      const changed = change(all.get(action))
      if (isLeft(changed)) return changed
      all.delete(action)
      all.set(action, changed.right)
      for (const oldest of all.keys()) {
        if (all.size <= most) break
        all.delete(oldest)
      }
      return changed
    },
  }
}

/** Whatever an action is called, its log has an id. */
const idOf = (action: string): string => `indelible.action:${digestOf(action)}`

const knownIn = ({ meta }: LogInfo): Known | undefined => {
  const { input, attempt = 1, result, ended: told } = meta as { readonly [key: string]: unknown }
  if (typeof input !== 'string' || typeof attempt !== 'number' || typeof told !== 'boolean') return undefined
  return {
    input,
    attempt,
    ended: told,
    ...(typeof result === 'object' && result !== null && { result: result as JsonObject }),
  }
}
