/** Operations on session keys: wrapping them with another host key, checking, and destroying them. */
import type { Either } from 'fp-ts/lib/Either.js'
import { optionsOf, isLeft, left, present, right } from 'indelible/internal/json'
import type { LogFault, RemoveFault, Store, StoreFault, StoreFaultOf } from 'indelible/store'
import {
  ownIdFault,
  appendToLedger,
  encryptionOf,
  storeTask,
  type LedgerContent,
  type LedgerRow,
  reasonNames,
  type ActionReason,
} from 'indelible/internal/store'
import type { Task } from 'indelible/internal/task'
import { checkStore } from 'indelible/internal/session'
import { checkRing, type KeyRing } from './ring.ts'
import { Vault, type KeyFault } from './vault.ts'

const checkArguments = (call: string, store: Store, ring: KeyRing): void => {
  checkStore(call, store)
  checkRing(call, ring)
}

const vaultOf = (store: Store, ring: KeyRing): Vault => {
  const scoped = ring.keysIn === undefined ? right(store) : ring.keysIn.scoped(store.scope)
  if (isLeft(scoped)) throw new TypeError('the scope of the store can not be one of keysIn')
  return new Vault(ring, scoped.right)
}

/**
 * Wrap the keys of all sessions of a scope with the current key of the ring. The sessions are not changed.
 * Afterwards the older host keys are only needed for backups, and by processes with an older ring.
 *
 * Cost    one update for each key; run it again after a fault
 *
 * @param store the store of the sessions, with or without keys
 * @param ring the ring: its current key, and all keys that wrapped a session key
 * @returns the number of rewrapped keys; or `NoKey`
 */
export const rotateKeys = (store: Store, ring: KeyRing): Task<LogFault, number> => {
  checkArguments('rotateKeys', store, ring)
  return storeTask(async () => asLogFault(await vaultOf(store.encryption?.bare ?? store, ring).rotate()), 'rotateKeys')
}

/**
 * Check that a ring opens every session key of a scope. Nothing is changed. Do this before you
 * remove keys from a ring, and before `rotateKeys`.
 *
 * Cost    one read for each key
 *
 * @param store the store of the sessions, with or without keys
 * @returns the number of keys; or `NoKey` with the first key that the ring does not open
 */
export const checkKeys = (store: Store, ring: KeyRing): Task<LogFault, number> => {
  checkArguments('checkKeys', store, ring)
  return storeTask(async () => asLogFault(await vaultOf(store.encryption?.bare ?? store, ring).check()), 'checkKeys')
}

/**
 * Destroy the key of a session. No one can read the session any more: not its messages, notes or metadata, nor
 * blocks that no other session has, nor the part that forks share with it. Its rows remain, and still verify.
 *
 * The scope's ledger first records the destruction, with the reason and the person. If a process dies in between,
 * the next call completes it. The key of a held session is not destroyed, nor a key that rows of a held fork need.
 *
 * With `keysIn`, this also covers every backup of the sessions' store. Without it, an earlier
 * backup still has the wrapped key, and anyone with the host key can read it. Open stores, in this
 * process or others, stop at their next read; messages already read stay in their memory.
 *
 * Cost    an append to the ledger, and one read for each held session
 *
 * @param store the store of the session, with or without keys
 * @param ring the ring; only `keysIn` is used
 * @param reason the reason and the person, for the ledger
 * @returns true if the key was destroyed; false if it had been destroyed before. `LogHeld` if a
 * held session needs it; `NotALedger` if the ledger can't be read; `NoKey` if the session is not
 * encrypted, or its key is not in the ring's key store
 */
export const destroyKey = (
  store: Store,
  id: string,
  ring: KeyRing,
  reason: ActionReason = {},
): Task<RemoveFault, boolean> => {
  checkArguments('destroyKey', store, ring)
  const because = optionsOf('destroyKey', reason, reasonNames)
  return storeTask(async () => {
    const problem = ownIdFault(id)
    if (problem !== undefined) return left(problem)
    const bare = store.encryption?.bare ?? store
    const log = await bare.info(id)()
    if (isLeft(log)) return log
    const name = encryptionOf(log.right)?.keys.at(-1)
    if (name === undefined)
      return left<StoreFaultOf<'NoKey'>>({
        _tag: 'NoKey',
        id,
        key: 'none',
        reason: 'it has no key to destroy; nothing was changed',
      })
    const vault = vaultOf(bare, ring)
    const there = await vault.isThere(name, id)
    if (isLeft(there) || !there.right) return asLogFault(there)
    const row: LedgerRow = { type: 'destroyed', id, head: log.right.head, key: name, ...because }
    const appended = await appendToLedger(bare, async (ledger) => {
      const holding = await heldKeyFault(bare, ledger, name)
      if (isLeft(holding)) return holding
      return right({ rows: ledger.destroyed.has(name) ? [] : [row], more: {} })
    })
    return isLeft(appended) ? left(appended.left as RemoveFault) : asLogFault(await vault.destroy(name, id))
  }, 'destroyKey')
}

/** `LogHeld` if a held session has rows of the key. */
const heldKeyFault = async (bare: Store, { held }: LedgerContent, name: string): Promise<Either<StoreFault, void>> => {
  for (const { id, reason, by } of held.values()) {
    const log = await bare.info(id)()
    if (isLeft(log)) {
      if (log.left._tag === 'NoSuchLog') continue
      return log
    }
    if (encryptionOf(log.right)?.keys.includes(name) === true)
      return left({ _tag: 'LogHeld', id, ...present({ reason, by }) })
  }
  return right(undefined)
}

/** Narrows the fault type: no key is created here. */
const asLogFault = <T>(answer: Either<KeyFault, T>): Either<LogFault, T> =>
  isLeft(answer) ? left(answer.left as LogFault) : answer
