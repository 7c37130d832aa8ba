/**
 * The session keys, wrapped with the host's. Each is the metadata of a log of its own, so that any
 * store can keep it, forks share it, and it is changed and removed in one place.
 */
import * as E from '#fp-ts/Either'
import { pipe } from '#fp-ts/function'
import type { Either } from 'fp-ts/lib/Either.js'
import { hasField, isLeft, left, right, type JsonObject } from 'indelible/internal/json'
import { RecentMap } from 'indelible/internal/sequence'
import type { LogInfo, Store, StoreFault, StoreFaultOf } from 'indelible/store'
import { destroyedKeyLogOf, keyedLogOf, keyLogOf, keyLogs, ownStore, type MediumFault } from 'indelible/internal/store'
import { pagesOf, reasonOf } from 'indelible/internal/task'
import { fromBase64, randomBytes, toBase64 } from './aes.ts'
import { checkKey, type KeyRing } from './ring.ts'
import { deriveKey, openText, sealText } from './sealed.ts'

const markKey = 'indelible.key'

/** The number of unwrapped keys cached in memory. */
const mostKnown = 10_000

/** The number of keys destroyed in this process. When it changes, every vault drops its cached keys. */
let destroyedCount = 0

type NoKey = StoreFaultOf<'NoKey'>

/** The faults of keys. `LogExists` occurs only when a key is created. */
export type KeyFault = MediumFault | StoreFaultOf<'NoKey' | 'LogExists'>

/** Other faults of the key store become `Io`, as if it could not be reached. */
const keyFault = (fault: StoreFault, operation: string): KeyFault => {
  switch (fault._tag) {
    case 'NoKey':
    case 'LogExists':
    case 'Closed':
    case 'Busy':
    case 'ReadOnly':
    case 'Full':
    case 'FileReplaced':
    case 'NotAStore':
    case 'Io':
      return fault
    default:
      return { _tag: 'Io', operation, cause: fault }
  }
}

interface KnownKey {
  readonly secret: Uint8Array
  /** When it was last found in the key store, in milliseconds since 1970. */
  readonly seen: number
}

/** The keys of one scope. */
export class Vault {
  readonly #ring: KeyRing
  readonly #store: Store
  #known = new RecentMap<string, KnownKey>(mostKnown)
  #destroyed = destroyedCount

  constructor(ring: KeyRing, store: Store) {
    this.#ring = ring
    this.#store = ownStore(store)
  }

  /** Create a key with this name; `LogExists` if there is one. */
  async make(name: string): Promise<Either<KeyFault, Uint8Array>> {
    const secret = randomBytes(32)
    const created = await this.#store.create({
      id: keyLogOf(name),
      meta: this.#wrapped(name, this.#store.scope, secret),
      encrypt: false,
    })()
    if (isLeft(created)) return left(keyFault(created.left, 'store a key'))
    this.#keep(name, secret)
    return right(secret)
  }

  /** Whether this key was found in the key store within the last `within` milliseconds. */
  isFresh(name: string, within: number): boolean {
    this.#forgetDestroyed()
    const known = this.#known.get(name)
    return known !== undefined && Math.abs(Date.now() - known.seen) < within
  }

  #forgetDestroyed(): void {
    if (this.#destroyed !== destroyedCount) this.#known = new RecentMap(mostKnown)
    this.#destroyed = destroyedCount
  }

  /**
   * The key with this name, for the log `of`. A cached key is used only if the key store still has
   * it, which is checked.
   */
  async get(name: string, of: string): Promise<Either<KeyFault, Uint8Array>> {
    this.#forgetDestroyed()
    const known = this.#known.get(name)
    const found = await this.#store.info(keyLogOf(name))()
    const noKeyFault = (reason: string): Either<NoKey, never> => {
      this.#known.delete(name)
      return left({ _tag: 'NoKey', id: of, key: name, reason })
    }
    if (isLeft(found)) {
      const { fault } = await this.#missing(name, of, found.left)
      if (fault._tag === 'NoKey') this.#known.delete(name)
      return left(fault)
    }
    const { by, wrapped: text, scope } = found.right.meta
    if (typeof by !== 'string' || typeof text !== 'string' || typeof scope !== 'string')
      return noKeyFault(`the key ${name} is damaged`)
    if (scope !== this.#store.scope)
      return noKeyFault(
        `the key ${name} is wrapped for the scope ${JSON.stringify(scope)}, and this is ${JSON.stringify(this.#store.scope)}: copy the session again from a store with keys`,
      )
    if (known !== undefined) {
      this.#keep(name, known.secret)
      return right(known.secret)
    }
    const keys = await this.#hostKey(by)
    if (hasField(keys, 'cause'))
      return noKeyFault(
        `the key ring failed when it was asked for the host key ${JSON.stringify(by)}: ${reasonOf(keys.cause)}`,
      )
    const { host } = keys
    if (host === undefined)
      return noKeyFault(
        `the key ${name} is wrapped by the host key ${JSON.stringify(by)}, which the key ring lacks: this may be the wrong key file`,
      )
    const secret = unwrapKey(host, name, scope, text)
    if (secret === undefined)
      return noKeyFault(
        `the host key ${JSON.stringify(by)} of the key ring does not open the key ${name}: it is another key with that name, or the wrapped key was altered`,
      )
    this.#keep(name, secret)
    return right(secret)
  }

  /** The key with this name, which is created if there is none. Such a key is never destroyed. */
  async getOrMake(name: string): Promise<Either<KeyFault, Uint8Array>> {
    const known = this.#known.get(name)
    if (known !== undefined) return right(known.secret)
    const made = await this.make(name)
    return isLeft(made) && made.left._tag === 'LogExists' ? this.get(name, name) : made
  }

  /** Record that the log with this id is encrypted, so that a plain log in its place is detected. False if recorded. */
  async mark(id: string): Promise<Either<KeyFault, boolean>> {
    const created = await this.#store.create({ id: keyedLogOf(id), encrypt: false })()
    if (!isLeft(created)) return right(true)
    return created.left._tag === 'LogExists'
      ? right(false)
      : left(keyFault(created.left, 'record that a log is encrypted'))
  }

  /** Whether the key store records that the log with this id is encrypted. */
  async isMarked(id: string): Promise<Either<KeyFault, boolean>> {
    const info = await this.#store.info(keyedLogOf(id))()
    if (!isLeft(info)) return right(true)
    return info.left._tag === 'NoSuchLog' ? right(false) : left(keyFault(info.left, 'read whether a log is encrypted'))
  }

  /** Remove that record, because the log was removed. */
  async unmark(id: string): Promise<void> {
    await this.#store.remove(keyedLogOf(id))()
  }

  /** Remove a key that has encrypted nothing. */
  async discard(name: string): Promise<void> {
    this.#known.delete(name)
    await this.#store.remove(keyLogOf(name))()
  }

  /** Whether the key store has the key of the log `of`. False if it was destroyed. */
  async isThere(name: string, of: string): Promise<Either<KeyFault, boolean>> {
    destroyedCount += 1
    const found = await this.#store.info(keyLogOf(name))()
    if (!isLeft(found)) return right(true)
    const missing = await this.#missing(name, of, found.left)
    return missing.destroyed === true ? right(false) : left(missing.fault)
  }

  /** Destroy the key of the log `of`, and record that in a log of its own. False if it had been destroyed before. */
  async destroy(name: string, of: string): Promise<Either<KeyFault, boolean>> {
    const there = await this.isThere(name, of)
    if (isLeft(there) || !there.right) return there
    const created = await this.#store.create({ id: destroyedKeyLogOf(name), meta: { [markKey]: 0 }, encrypt: false })()
    if (isLeft(created) && created.left._tag !== 'LogExists')
      return left(keyFault(created.left, 'record that a key is destroyed'))
    const removed = await this.#store.remove(keyLogOf(name))()
    return isLeft(removed) && removed.left._tag !== 'NoSuchLog'
      ? left(keyFault(removed.left, 'remove a key'))
      : right(true)
  }

  /** The reason why a key can't be read. */
  async #missing(
    name: string,
    of: string,
    fault: StoreFault,
  ): Promise<{ readonly fault: KeyFault; readonly destroyed?: boolean }> {
    if (fault._tag !== 'NoSuchLog') return { fault: keyFault(fault, 'read a key') }
    const ended = await this.#store.info(destroyedKeyLogOf(name))()
    if (isLeft(ended) && ended.left._tag !== 'NoSuchLog') return { fault: keyFault(ended.left, 'read a key') }
    const reason = isLeft(ended)
      ? `the key ${name} is not in the store of the key ring: the session was encrypted with another key ring or key file, or the key was removed`
      : `the key ${name} was destroyed at ${new Date(ended.right.created).toISOString()}; what it encrypted can no longer be read`
    return { fault: { _tag: 'NoKey', id: of, key: name, reason }, destroyed: !isLeft(ended) }
  }

  /** The metadata of the log with a wrapped key, in a scope. */
  #wrapped(name: string, scope: string, secret: Uint8Array): JsonObject {
    const { id, key } = checkKey(this.#ring.current)
    const wrapped = sealText(deriveKey(key, 'wrap'), toBase64(secret), keyBinding(name, scope))
    return { [markKey]: 1, by: id, scope, wrapped }
  }

  /** The wrapped key of the log `of`, for another scope. */
  async wrappedFor(name: string, of: string, scope: string): Promise<Either<KeyFault, JsonObject>> {
    return pipe(
      await this.get(name, of),
      E.map((secret) => this.#wrapped(name, scope, secret)),
    )
  }

  /** Open every key of the scope. Returns the number of keys. */
  check(): Promise<Either<KeyFault, number>> {
    return this.#each(async (log) =>
      pipe(
        await this.get(nameOf(log), log.id),
        E.map(() => true),
      ),
    )
  }

  /** Wrap every key of the scope with the current host key. Returns the number of rewrapped keys. */
  rotate(): Promise<Either<KeyFault, number>> {
    const { current } = this.#ring
    return this.#each(async (log) => {
      const { id, meta, version } = log
      if (meta['by'] === current.id) return right(false)
      const secret = await this.get(nameOf(log), id)
      if (isLeft(secret)) return secret
      const changed = this.#wrapped(nameOf(log), this.#store.scope, secret.right)
      const updated = await this.#store.update(id, { expected: version, meta: changed })()
      if (!isLeft(updated)) return right(true)
      return updated.left._tag === 'NoSuchLog' || updated.left._tag === 'MetaConflict'
        ? right(false)
        : left(keyFault(updated.left, 'store a key'))
    })
  }

  /** Call `work` with the log of every key, and count the calls that return true. */
  async #each(work: (log: LogInfo) => Promise<Either<KeyFault, boolean>>): Promise<Either<KeyFault, number>> {
    let count = 0
    for await (const page of pagesOf((from) => this.#store.list({ where: { [markKey]: 1 }, ...from })())) {
      if (isLeft(page)) return left(keyFault(page.left, 'list keys'))
      for (const log of page.right.logs) {
        const done = await work(log)
        if (isLeft(done)) return done
        if (done.right) count += 1
      }
    }
    return right(count)
  }

  async #hostKey(id: string): Promise<{ readonly host: Uint8Array | undefined } | { readonly cause: unknown }> {
    const { current } = this.#ring
    try {
      return { host: id === current.id ? current.key : await this.#ring.byId(id) }
    } catch (cause) {
      return { cause }
    }
  }

  #keep(name: string, secret: Uint8Array): void {
    this.#known.set(name, { secret, seen: Date.now() })
  }
}

const nameOf = ({ id }: LogInfo): string => id.slice(keyLogs.length)

/** The context that a wrapped key is bound to. */
const keyBinding = (name: string, scope: string): string => `key ${name} of ${scope}`

const unwrapKey = (key: Uint8Array, name: string, scope: string, text: string): Uint8Array | undefined => {
  if (!(key instanceof Uint8Array)) return undefined
  const secret = openText(deriveKey(key, 'wrap'), text, keyBinding(name, scope))
  return secret === undefined ? undefined : fromBase64(secret)
}
