/** A store whose sessions are encrypted: rows are encrypted before they are hashed, and decrypted after they are read. */
import type { Either } from 'fp-ts/lib/Either.js'
import type { Task } from '../task/index.ts'
import { isLeft, isObject, left, right, type JsonObject } from '../json/index.ts'
import type { BlockId } from '../proof/index.ts'
import {
  encryptionKey,
  encryptionOf,
  isEncrypted,
  encryptedBody,
  readEncrypted,
  storeTask,
  withoutKeys,
  type Append,
  type Appended,
  type Erased,
  type EraseRequest,
  type Fork,
  type NewLog,
  byteFinderOf,
  finderOf,
  type RowPlace,
  type RowsToErase,
  type TextPlaces,
  type StoreEncryption,
  type EncryptionMeta,
  type LogInfo,
  type Row,
  type Store,
  type StoredRow,
  type StoreFault,
} from '../store/index.ts'
import { randomBytes } from './aes.ts'
import { getNamed, hasNamed, putNamed } from './named-blocks.ts'
import { checkedKey, type KeyRing } from './ring.ts'
import { aboutOf, blocksIn, decryptBlock, decryptRow, encryptRows, type OwnKey } from './row-cipher.ts'
import { keysOf, openText, sealText, type Keys } from './sealed.ts'
import { Vault } from './vault.ts'

/**
 * The same store, whose new sessions are encrypted with keys that the ring's current key wraps. Sessions that were
 * created without keys stay as they are, and are read and continued as before; so are logs that are no sessions.
 *
 * Cost    of an append: one AES-256-GCM of each row (bench: encryption). The first time that a session is met: one read
 *         of its key
 *
 * @param store the store to wrap
 * @param ring the keys of the host
 * @returns the store. Closing it closes the wrapped one, and not `ring.keysIn`
 * @throws TypeError if the current key of the ring is none, or the store has keys already
 * @example
 * const store = withKeys(sqliteStore({ path: 'agents.db' }), keyRing([hostKeyOf(process.env.SESSION_KEY)]))
 */
export const withKeys = (store: Store, ring: KeyRing): Store => {
  checkedKey(ring.current)
  if (store.encryption !== undefined) throw new TypeError('withKeys: the store has keys already')
  const { keysIn } = ring
  const places = keysIn === undefined ? right(store) : keysIn.scoped(store.scope)
  if (isLeft(places)) throw new TypeError('withKeys: the scope of the store can not be one of keysIn')
  return new Encrypting(store, ring, new Vault(ring, places.right)).store
}

/** Makes a task. The one cast: the faults are those of the wrapped store's method, and `NoKey`. */
const taskOf = <F extends StoreFault, T>(work: () => Promise<Either<StoreFault, T>>, change?: string): Task<F, T> =>
  storeTask(work, change) as Task<F, T>

/** To put a block can't fail for want of a key, elsewhere: here that is a failure of the place. */
const ioOf = (fault: StoreFault): Either<StoreFault, never> =>
  left(fault._tag === 'NoKey' ? { _tag: 'Io', operation: 'put blocks', cause: fault } : fault)

/** The name of the secret of a scope. */
const scopeKey = 'scope'

/** A log as it is known here: by which key its rows are encrypted. Undefined: they are not. */
type Known = OwnKey | undefined

class Encrypting {
  readonly #inner: Store
  readonly #vault: Vault
  readonly #logs = new Map<string, Known>()
  /** By the id of a key. */
  readonly #derived = new Map<string, Keys>()
  readonly store: Store

  constructor(inner: Store, ring: KeyRing, vault: Vault) {
    this.#inner = inner
    this.#vault = vault
    const { index: _, ...rest } = inner // what is encrypted is in no index
    this.store = Object.freeze<Store>({
      ...rest,
      encryption: {
        bare: inner,
        rows: (id, append) => this.#encrypted(id, append),
        block: decryptBlock,
        forget: (key) => this.#forget(key),
      },
      create: (log) => taskOf(async () => this.#create(log), 'store.create'),
      info: (id) => taskOf(async () => this.#info(id)),
      list: (query) =>
        taskOf(async () => {
          const page = await inner.list(query)()
          if (isLeft(page)) return page
          const logs: LogInfo[] = []
          for (const log of page.right.logs) logs.push(await this.#readable(log))
          return right(Object.freeze({ ...page.right, logs: Object.freeze(logs) }))
        }),
      update: (id, { expected, meta }) =>
        taskOf(async () => {
          const log = await inner.info(id)()
          if (isLeft(log)) return log
          const encryption = encryptionOf(log.right)
          const known = await this.#learned(log.right)
          if (isLeft(known)) return known
          const stored =
            known.right === undefined || encryption === undefined ? meta : sealMeta(known.right, encryption.keys, meta)
          const updated = await inner.update(id, { expected, meta: stored })()
          if (!isLeft(updated)) return right(await this.#readable(updated.right))
          const { left: fault } = updated
          if (fault._tag !== 'MetaConflict') return updated
          return left({ ...fault, meta: this.#metaOf(fault.meta, known.right) })
        }, 'store.update'),
      append: (id, append) => taskOf(async () => this.#append(id, append), 'store.append'),
      read: (id, range) =>
        taskOf(async () => {
          const rows = await inner.read(id, range)()
          return isLeft(rows) ? rows : this.#decrypted(id, rows.right)
        }),
      fork: (id, fork) => taskOf(async () => this.#fork(id, fork), 'store.fork'),
      remove: (id) =>
        taskOf(async () => {
          const removed = await inner.remove(id)()
          if (!isLeft(removed)) this.#logs.delete(id)
          return removed
        }, 'store.remove'),
      containing: (texts) => taskOf(async () => this.#containing(texts)),
      erase: (request) => taskOf(async () => this.#erase(request), 'store.erase'),
      putBlocks: (blocks) =>
        taskOf(async () => {
          const own = blocks.map((bytes) => Uint8Array.from(bytes)) // the caller may change its own
          const scope = await vault.getOrMake(scopeKey)
          if (isLeft(scope)) return ioOf(scope.left)
          const ids: BlockId[] = []
          for (const bytes of own) {
            const put = await putNamed(inner, scope.right, bytes)
            if (isLeft(put)) return ioOf(put.left)
            ids.push(put.right)
          }
          return right(Object.freeze(ids))
        }, 'store.putBlocks'),
      getBlocks: (ids) => taskOf(async () => this.#withScope((scope) => getNamed(inner, scope, ids))),
      hasBlocks: (ids) => taskOf(async () => this.#withScope((scope) => hasNamed(inner, scope, ids))),
      scoped: (name) => {
        const scoped = inner.scoped(name)
        return isLeft(scoped) ? scoped : right(withKeys(scoped.right, ring))
      },
    })
  }

  #forget(key: string): void {
    this.#derived.delete(key)
    this.#vault.forget(key)
    for (const [id, known] of this.#logs) if (known?.name === key) this.#logs.delete(id)
  }

  async #withScope<T>(work: (scope: Uint8Array) => Promise<Either<StoreFault, T>>): Promise<Either<StoreFault, T>> {
    const scope = await this.#vault.getOrMake(scopeKey)
    return isLeft(scope) ? scope : work(scope.right)
  }

  async #create(log: NewLog): Promise<Either<StoreFault, LogInfo>> {
    const { id, meta = {}, encrypt = false } = log
    const own = encrypt ? await this.#newKey() : right(undefined)
    if (isLeft(own)) return own
    this.#logs.delete(id)
    if (own.right === undefined) return this.#inner.create(log)()
    const created = await this.#createWith(own.right, log, meta)
    if (isLeft(created) && !('outcome' in created.left)) await this.#vault.destroy(own.right.name) // it encrypted nothing
    return created
  }

  async #createWith(own: OwnKey, log: NewLog, meta: JsonObject): Promise<Either<StoreFault, LogInfo>> {
    const ready = encryptRows(own, { rows: log.rows ?? [], blocks: log.blocks ?? [] }, this.#inner.hash)
    if (isLeft(ready)) return ready
    const { attached, ...rows } = ready.right
    const missing = await this.#missing(attached)
    if (isLeft(missing)) return missing
    const created = await this.#inner.create({ ...log, ...rows, meta: sealMeta(own, [own.name], meta) })()
    return isLeft(created) ? created : right(await this.#readable(created.right))
  }

  async #newKey(): Promise<Either<StoreFault, OwnKey>> {
    const name = Array.from(randomBytes(12), (byte) => byte.toString(16).padStart(2, '0')).join('')
    const secret = await this.#vault.make(name)
    if (isLeft(secret)) return secret
    const scope = await this.#vault.getOrMake(scopeKey)
    return isLeft(scope) ? scope : right({ name, keys: this.#keysOf(name, secret.right), scope: scope.right })
  }

  #keysOf(name: string, secret: Uint8Array): Keys {
    const known = this.#derived.get(name) ?? keysOf(secret)
    this.#derived.set(name, known)
    return known
  }

  /** By which key the rows of a log are encrypted. */
  async #learned(log: LogInfo): Promise<Either<StoreFault, Known>> {
    const own = encryptionOf(log)?.keys.at(-1)
    const known = this.#logs.get(log.id)
    if (this.#logs.has(log.id) && known?.name === own) return right(known)
    if (own === undefined) {
      this.#logs.set(log.id, undefined)
      return right(undefined)
    }
    const secret = await this.#vault.get(own, log.id)
    const scope = isLeft(secret) ? secret : await this.#vault.getOrMake(scopeKey)
    if (isLeft(secret)) return secret
    if (isLeft(scope)) return scope
    const learned = { name: own, keys: this.#keysOf(own, secret.right), scope: scope.right }
    this.#logs.set(log.id, learned)
    return right(learned)
  }

  async #info(id: string): ReturnType<ReturnType<Store['info']>> {
    const log = await this.#inner.info(id)()
    return isLeft(log) ? log : right(await this.#readable(log.right))
  }

  /** With the metadata as it was given. Without the key, with what is clear of it: a log can be verified without. */
  async #readable(log: LogInfo): Promise<LogInfo> {
    const known = await this.#learned(log)
    if (isLeft(known) || known.right === undefined) return log
    return Object.freeze({ ...log, meta: this.#metaOf(log.meta, known.right) })
  }

  #metaOf(meta: JsonObject, known: Known): JsonObject {
    const encryption = encryptionOf({ meta })
    return known === undefined || encryption === undefined ? meta : openMeta(known, encryption, meta)
  }

  /** Without waiting: for a log that is known here. */
  #encrypted(id: string, append: Pick<Append, 'rows' | 'blocks' | 'operation'>): ReturnType<StoreEncryption['rows']> {
    const { rows, blocks = [] } = append
    if (!this.#logs.has(id)) return left(withoutKeys(id, 'unknown'))
    const known = this.#logs.get(id)
    return known === undefined ? right({ rows, blocks, attached: [] }) : encryptRows(known, append, this.#inner.hash)
  }

  async #append(id: string, { attached, ...append }: Append): Promise<Either<StoreFault, Appended>> {
    if (!this.#logs.has(id)) {
      const log = await this.#inner.info(id)()
      const known = isLeft(log) ? log : await this.#learned(log.right)
      if (isLeft(known)) return known
    }
    const ready = this.#encrypted(id, append)
    if (isLeft(ready)) return ready
    const { attached: found, ...rows } = ready.right
    const needed = attached ?? found
    const missing = needed.length === 0 ? undefined : await this.#missing(needed)
    if (missing !== undefined && isLeft(missing)) return missing
    // What was planned for the rows counts only for the same array.
    const appended = await this.#inner.append(id, rows.rows === append.rows ? append : { ...append, ...rows })()
    if (!isLeft(appended) || appended.left._tag !== 'Conflict') return appended
    const missed = await this.#decrypted(id, appended.left.missed)
    return isLeft(missed) ? missed : left({ ...appended.left, missed: missed.right })
  }

  /** `MissingBlock`, if one of the attachments is not there. */
  async #missing(attached: readonly BlockId[]): Promise<Either<StoreFault, void>> {
    if (attached.length === 0) return right(undefined)
    const there = await this.#withScope((scope) => hasNamed(this.#inner, scope, attached))
    if (isLeft(there)) return there
    const ids = attached.filter((_, index) => there.right[index] !== true)
    return ids.length === 0 ? right(undefined) : left({ _tag: 'MissingBlock', ids })
  }

  /** Rows as they were appended. A row of an encrypted log that is not encrypted was put there by somebody without keys. */
  async #decrypted(id: string, rows: readonly StoredRow[]): Promise<Either<StoreFault, readonly StoredRow[]>> {
    const first = rows[0]
    if (first === undefined) return right(rows)
    if (!this.#logs.has(id)) {
      const log = await this.#inner.info(id)()
      if (isLeft(log)) return log
      const known = await this.#learned(log.right)
      if (isLeft(known)) return known
    }
    const known = this.#logs.get(id)
    const decrypted: StoredRow[] = []
    for (const row of rows) {
      const damage = (reason: string): Either<StoreFault, never> =>
        left({ _tag: 'DamagedLog', id, position: row.position, reason })
      const name = readEncrypted(row.body)?.key
      if (name === undefined) {
        if (known !== undefined && row.erased === undefined)
          return damage('the row is not encrypted, and the log is: somebody without its keys wrote it')
        decrypted.push(row)
        continue
      }
      const keys = this.#derived.get(name) ?? (await this.#keysFor(name, id))
      if ('_tag' in keys) return left(keys)
      const plain = decryptRow(row, keys)
      if (plain === undefined) return damage('the row is not what its key encrypted: it was altered')
      decrypted.push(plain)
    }
    return right(Object.freeze(decrypted))
  }

  async #keysFor(name: string, id: string): Promise<Keys | StoreFault> {
    const secret = await this.#vault.get(name, id)
    return isLeft(secret) ? secret.left : this.#keysOf(name, secret.right)
  }

  async #fork(id: string, { sameKey = false, ...fork }: Fork): Promise<Either<StoreFault, LogInfo>> {
    const parent = await this.#inner.info(id)()
    if (isLeft(parent)) return parent
    const encryption = encryptionOf(parent.right)
    this.#logs.delete(fork.id)
    if (encryption === undefined) return this.#inner.fork(id, fork)()
    const own = sameKey ? await this.#learned(parent.right) : await this.#newKey()
    if (isLeft(own)) return own
    const key = own.right as OwnKey // the log is encrypted
    const keys = sameKey ? encryption.keys : [...encryption.keys, key.name]
    const forked = await this.#inner.fork(id, { ...fork, meta: sealMeta(key, keys, fork.meta ?? {}) })()
    if (!isLeft(forked)) return right(await this.#readable(forked.right))
    if (!sameKey && !('outcome' in forked.left)) await this.#vault.destroy(key.name)
    return forked
  }

  /** Nothing is found in what is encrypted, so it is read. Logs without their key are found by what is readable of them. */
  async #containing(texts: readonly string[]): Promise<Either<StoreFault, TextPlaces>> {
    const found = await this.#inner.containing(texts)()
    if (isLeft(found)) return found
    const logs: LogInfo[] = []
    let after: string | undefined
    do {
      const page = await this.#inner.list({ limit: 500, ...(after !== undefined && { after }) })()
      if (isLeft(page)) return page
      logs.push(...page.right.logs)
      after = page.right.next
    } while (after !== undefined)
    const [isIn, isInBytes] = [finderOf(texts), byteFinderOf(texts)]
    const read = new Set<string>()
    const seen = new Set<string>() // forks show the rows that they share
    const blocks = new Map<BlockId, boolean>()
    const places: RowPlace[] = []
    for (const { id, head, ...log } of logs.toReversed()) {
      const known = await this.#learned({ id, head, ...log })
      if (isLeft(known) || known.right === undefined) continue
      read.add(id)
      for (let from = 0; from < head.size; from += 500) {
        const rows = await this.#inner.read(id, { from, to: from + 500 })()
        const plain = isLeft(rows) ? rows : await this.#decrypted(id, rows.right)
        if (isLeft(plain)) break
        for (const { position, body, stored = '' } of plain.right) {
          const place = `${position} ${stored}`
          if (seen.has(place)) continue
          seen.add(place)
          if (isIn(body) || (await this.#isInBlocks(body, isInBytes, blocks))) places.push({ id, position })
        }
      }
    }
    const rows = found.right.rows.filter((row) => !read.has(row.id)) // else they are among the others
    return right(Object.freeze({ rows: Object.freeze([...rows, ...places]), blocks: found.right.blocks }))
  }

  /** Whether one of the blocks of a row has what is looked for. */
  async #isInBlocks(
    body: string,
    isIn: (bytes: Uint8Array) => boolean,
    known: Map<BlockId, boolean>,
  ): Promise<boolean> {
    for (const { id, key } of blocksIn(body)) {
      if (!known.has(id)) {
        const found = await this.#inner.getBlocks([id])()
        const bytes = isLeft(found) ? undefined : found.right[0]
        const plain = bytes && decryptBlock(key, bytes)
        known.set(id, plain !== undefined && isIn(plain))
      }
      if (known.get(id) === true) return true
    }
    return false
  }

  /** The stubs that stand for erased rows say who spoke, so they are encrypted, too. */
  async #erase(request: EraseRequest): Promise<Either<StoreFault, Erased>> {
    const logs: RowsToErase[] = []
    for (const log of request.logs) {
      const found = await this.#inner.info(log.id)()
      // A log of which nothing is erased needs no key: it is only looked at.
      const known = isLeft(found) || log.rows.length === 0 ? found : await this.#learned(found.right)
      if (isLeft(known)) return known
      const own = known.right
      if (own === undefined || !('keys' in own)) {
        logs.push(log)
        continue
      }
      const positions = log.rows.map(({ position }) => position)
      const from = Math.min(...positions)
      const read = await this.#inner.read(log.id, { from, to: Math.max(...positions) + 1 })()
      if (isLeft(read)) return read
      const rows = log.rows.map(({ position, stub }) => ({
        position,
        stub: encryptedStub(own, read.right[position - from]?.kind ?? 'entry', stub),
      }))
      logs.push({ ...log, rows })
    }
    return this.#inner.erase({ ...request, logs })()
  }
}

const encryptedStub = ({ name, keys }: OwnKey, kind: Row['kind'], stub: string): string =>
  isEncrypted(stub) ? stub : encryptedBody({ key: name, cipher: sealText(keys, stub, aboutOf(kind, name)), blocks: [] })

/** What stays readable of metadata: what the library says of a log, and what its owner wants to be readable. */
const isClear = (key: string): boolean => key === 'clear' || key.startsWith('indelible.')

/** Metadata as it is stored. What is readable of it can't be changed without the key either. */
const sealMeta = (own: OwnKey, keys: readonly string[], meta: JsonObject): JsonObject => {
  const clear = Object.fromEntries(Object.entries(meta).filter(([key]) => isClear(key) && key !== encryptionKey))
  const rest = Object.fromEntries(Object.entries(meta).filter(([key]) => !isClear(key)))
  return {
    ...clear,
    [encryptionKey]: { keys, meta: sealText(own.keys, JSON.stringify(rest), aboutMeta(keys)) },
  }
}

const aboutMeta = (keys: readonly string[]): string => `metadata ${keys.join(' ')}`

/** Metadata as it was given; what is clear of it, where the rest can't be read. */
const openMeta = (own: OwnKey, { keys, meta: sealed }: EncryptionMeta, meta: JsonObject): JsonObject => {
  const text = openText(own.keys, sealed, aboutMeta(keys))
  const rest: unknown = text === undefined ? undefined : JSON.parse(text)
  return isObject(rest) ? { ...meta, ...(rest as JsonObject) } : meta
}
