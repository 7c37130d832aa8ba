/** A store with encrypted sessions. Rows are encrypted before they are hashed, and decrypted after they are read. */
import * as E from '#fp-ts/Either'
import { pipe } from '#fp-ts/function'
import type { Either } from 'fp-ts/lib/Either.js'
import { choice, fail, need, pagesOf, untilFault, type Steps, type Task } from 'indelible/internal/task'
import {
  hasField,
  isLeft,
  isObject,
  left,
  optionsOf,
  parseJson,
  present,
  right,
  type Json,
  type JsonObject,
} from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import { isBlockId, type BlockId } from 'indelible/internal/proof'
import { stubFault, attachedTo, decodeRow } from 'indelible/internal/entry'
import type {
  Append,
  AppendedRows,
  EraseResult,
  EraseRequest,
  LogInfo,
  NewLog,
  Store,
  StoredRow,
  StoreFault,
  StoreFaultOf,
} from 'indelible/store'
import type { RowPlace, TextPlaces } from 'indelible/store/driver'
import {
  appendPlanned,
  ownIdFault,
  copyArgument,
  changedOwnMember,
  definePlannedAppend,
  encryptionKey,
  encryptionOf,
  isEncryptedLog,
  isOwnCall,
  isOwnId,
  isSessionMeta,
  ownMember,
  sumsMember,
  ownStore,
  readEncrypted,
  rowLeaf,
  storeTask,
  withoutKeys,
  byteFinderInSlices,
  finderInSlices,
  type TimedRow,
  type DamagedEntry,
  type Fork,
  type RowsToErase,
  type StoreEncryption,
  type RemainingBlock,
} from 'indelible/internal/store'
import { hex, randomBytes } from './aes.ts'
import { clearMeta, forkedKeys, keyAt, openMeta, sealMeta, type LogKeys } from './log-keys.ts'
import { getNamed, hasNamed, putNamed } from './named-blocks.ts'
import { checkKey, checkRing, type KeyRing } from './ring.ts'
import { decryptBlock, decryptRow, encryptedRowBody, encryptRows, rowPrefixOf, type OwnKey } from './row-cipher.ts'
import { deriveKey } from './sealed.ts'
import { Vault } from './vault.ts'

/** The options of `withKeys`. */
export interface KeysOptions {
  /**
   * What to do with plain sessions: `refuse` neither reads nor changes them, `read` reads them, `continue`
   * also appends to them in plain text. Any of them can be verified and removed. Default: `refuse`.
   */
  readonly plain?: 'refuse' | 'read' | 'continue'
}

/**
 * The same store, with new sessions encrypted by keys that the ring's current key wraps. Sessions created without
 * keys are refused (`NoKey`), unless `plain` allows them. Logs that are not sessions are not encrypted. The key
 * store records which ids are encrypted: a plain log with such an id is `DamagedLog`, whatever `plain` is.
 *
 * Cost    for an append: one AES-256-GCM of each row (bench: encryption). For the first use of a
 *         session: one read of its key
 *
 * @param options the handling of plain sessions
 * @returns the store. Closing it closes the wrapped store, but not `ring.keysIn`
 * @throws TypeError if the current key of the ring is invalid, or the store already has keys
 * @example
 * const store = withKeys(await sqliteStore({ path: 'agents.db' }), keyRing([hostKeyOf(process.env.SESSION_KEY)]))
 */
export const withKeys = (store: Store, ring: KeyRing, options: KeysOptions = {}): Store => {
  const { plain = 'refuse' } = optionsOf('withKeys', options, { plain: true })
  choice('withKeys: plain', plain, ['refuse', 'read', 'continue'])
  checkRing('withKeys', ring)
  checkKey(ring.current)
  if (store.encryption !== undefined) throw new TypeError('withKeys: the store already has keys')
  const { keysIn } = ring
  const places = keysIn === undefined ? right(store) : keysIn.scoped(store.scope)
  if (isLeft(places)) throw new TypeError('withKeys: the scope of the store can not be one of keysIn')
  return new EncryptingStore(store, ring, new Vault(ring, places.right), plain).store
}

/** Makes a task. The only cast: the faults are those of the wrapped store's method, and `NoKey`. */
const taskOf = <F extends StoreFault, T>(work: () => Promise<Either<StoreFault, T>>, call: string): Task<F, T> =>
  storeTask(work, call) as Task<F, T>

const stepsOf = <F extends StoreFault, T>(work: () => Steps<StoreFault, T>, call: string): Task<F, T> =>
  taskOf(() => untilFault(work), call)

/** `putBlocks` of other stores has no `NoKey` fault, so it becomes `Io` here. */
const ioOf = (fault: StoreFault): Either<StoreFault, never> =>
  left(fault._tag === 'NoKey' ? { _tag: 'Io', operation: 'put blocks', cause: fault } : fault)

/** The name of the scope's secret. */
const scopeKey = 'scope'

/** For this many milliseconds, rows are appended without checking that the key store still has the key. */
const keyCheckMs = 1000

/** The cached state of a log: its keys, and the key of new rows. Undefined if it is not encrypted. */
type KnownLog = (LogKeys & { readonly own: OwnKey }) | undefined

interface OpenedLog {
  readonly known: KnownLog
  readonly log: LogInfo
}

/** The own key of a log; null if it is not encrypted. */
const keyOf = (known: KnownLog): string | null => known?.own.name ?? null

type EncryptedRows = ReturnType<StoreEncryption['rows']>

/** An append with encrypted rows, and the attachments that have to exist. */
type Ready = Either<StoreFault, { readonly append: Append; readonly attached: readonly BlockId[] }>

class EncryptingStore {
  readonly #inner: Store
  readonly #vault: Vault
  readonly #plain: NonNullable<KeysOptions['plain']>
  /** The plain sessions seen so far. */
  readonly #plainSessions = new Set<string>()
  readonly #logs = new Map<string, KnownLog>()
  /** Why logs that were known before have no key any more. */
  readonly #lost = new Map<string, StoreFaultOf<'NoKey'>>()
  /** The last append of each log that had to wait. Later appends to the log wait for it, which keeps their order. */
  readonly #turns = new Map<string, Promise<unknown>>()
  readonly store: Store

  constructor(inner: Store, ring: KeyRing, vault: Vault, plain: NonNullable<KeysOptions['plain']>) {
    this.#inner = inner
    this.#vault = vault
    this.#plain = plain
    const { index: _, ...rest } = inner // encrypted rows are not indexed
    this.store = Object.freeze<Store>({
      ...rest,
      encryption: {
        bare: inner,
        rows: (id, append) => this.#encrypted(id, append),
        block: decryptBlock,
        keyFor: (key, of, scope) => taskOf(() => vault.wrappedFor(key, of, scope), 'encryption.keyFor'),
      },
      create: (log) => taskOf(() => this.#create(copyArgument(log)), 'store.create'),
      info: (id) => taskOf(() => this.#info(id), 'store.info'),
      list: (query) =>
        taskOf(async () => {
          const page = await inner.list(query)()
          if (isLeft(page)) return page
          const damaged: DamagedEntry[] = [...(page.right.damaged ?? [])]
          const read = await Promise.all(
            page.right.logs.map(async (log) => [log.id, await this.#readable(log)] as const),
          )
          const logs: LogInfo[] = []
          for (const [id, log] of read)
            if (!isLeft(log)) logs.push(log.right)
            else if (log.left._tag === 'DamagedLog') damaged.push(Object.freeze({ id, reason: log.left.reason }))
            else return log
          return right(
            Object.freeze({
              ...page.right,
              logs: Object.freeze(logs),
              ...(damaged.length > 0 && { damaged: Object.freeze(damaged) }),
            }),
          )
        }, 'store.list'),
      update: (id, update) =>
        taskOf(async () => {
          const own = copyArgument(update)
          const { expected, meta, ownKey: meant } = own
          const problem = ownIdFault(id, own)
          const opened = problem === undefined ? await this.#openedNow(id) : left(problem)
          if (isLeft(opened)) return opened
          const { known, log } = opened.right
          const continued = known === undefined ? this.#continued(id) : right(undefined)
          if (isLeft(continued)) return continued
          const ownKey = meant === undefined ? keyOf(known) : meant
          const stored = known === undefined ? right(meta) : sealMeta(id, known.own.key, known, meta)
          if (isLeft(stored)) return stored
          const changed =
            known === undefined || log.version !== expected
              ? undefined
              : changedClear(log.meta, { ...stored.right, ...sumsIn(meta) })
          if (changed !== undefined && !isOwnCall(own)) return left(ownMember(changed))
          const place = known === undefined ? inner : ownStore(inner) // the encrypted metadata is a key of the library's own
          const updated = await place.update(id, { ...own, meta: stored.right, ownKey })()
          if (!isLeft(updated)) return this.#readable(updated.right)
          if (updated.left._tag !== 'MetaConflict') return updated
          const theirs = await this.#readable({ ...log, meta: updated.left.meta })
          return isLeft(theirs) ? theirs : left({ ...updated.left, meta: theirs.right.meta })
        }, 'store.update'),
      append: (id, append) => taskOf(() => this.#append(id, copyArgument(append)), 'store.append'),
      read: (id, range) =>
        taskOf(async () => {
          const rows = await inner.read(id, range)()
          return isLeft(rows) ? rows : this.#decrypted(id, rows.right)
        }, 'store.read'),
      fork: (id, fork) => stepsOf(() => this.#fork(id, copyArgument(fork)), 'store.fork'),
      remove: (id, call) =>
        taskOf(async () => {
          const removed = await inner.remove(id, call)()
          if (!isLeft(removed)) {
            this.#forget(id)
            this.#plainSessions.delete(id)
            if (!isOwnId(id)) await this.#vault.unmark(id)
          }
          return removed
        }, 'store.remove'),
      containing: (texts) => stepsOf(() => this.#containing([...texts]), 'store.containing'),
      erase: (request) => stepsOf(() => this.#erase(copyArgument(request)), 'store.erase'),
      putBlocks: (blocks) =>
        taskOf(async () => {
          const own = blocks.map((bytes) => Uint8Array.from(bytes)) // the caller may change its own
          const put = await untilFault(async function* () {
            const scope = yield* need(vault.getOrMake(scopeKey))
            const ids: BlockId[] = []
            for (const bytes of own) ids.push(yield* need(putNamed(inner, scope, bytes)))
            return Object.freeze(ids)
          })
          return isLeft(put) ? ioOf(put.left) : put
        }, 'store.putBlocks'),
      getBlocks: ([...ids]) => taskOf(() => this.#withScope((scope) => getNamed(inner, scope, ids)), 'store.getBlocks'),
      hasBlocks: ([...ids]) => taskOf(() => this.#withScope((scope) => hasNamed(inner, scope, ids)), 'store.hasBlocks'),
      scoped: (name) =>
        pipe(
          inner.scoped(name),
          E.map((scoped) => withKeys(scoped, ring, { plain })),
        ),
    })
    definePlannedAppend(this.store, (id, append) => this.#append(id, append))
  }

  async #withScope<T>(work: (scope: Uint8Array) => Promise<Either<StoreFault, T>>): Promise<Either<StoreFault, T>> {
    const scope = await this.#vault.getOrMake(scopeKey)
    return isLeft(scope) ? scope : work(scope.right)
  }

  async #create(log: NewLog): Promise<Either<StoreFault, LogInfo>> {
    const { id, meta = {}, encrypt = false } = log
    const problem = ownIdFault(id, log)
    if (problem !== undefined) return left(problem)
    const own = encrypt ? await this.#newKey() : right(undefined)
    if (isLeft(own)) return own
    if (own.right === undefined) return this.#forgotten(id, await this.#inner.create(log)())
    return this.#marked(id, own.right.name, () => this.#createWith(own.right as OwnKey, log, meta))
  }

  /**
   * Create an encrypted log, after recording its id. If that fails, the new key has encrypted
   * nothing and is removed.
   */
  async #marked(
    id: string,
    newKey: string | undefined,
    make: () => Promise<Either<StoreFault, LogInfo>>,
  ): Promise<Either<StoreFault, LogInfo>> {
    const marked = isOwnId(id) ? right(false) : await this.#vault.mark(id)
    const made = isLeft(marked) ? marked : await make()
    if (!isLeft(made) || hasField(made.left, 'outcome')) return made
    if (newKey !== undefined) await this.#vault.discard(newKey)
    if (!isLeft(marked) && marked.right) {
      const there = await this.#inner.info(id)()
      if (isLeft(there) ? there.left._tag === 'NoSuchLog' : !isEncryptedLog(there.right)) await this.#vault.unmark(id)
    }
    return made
  }

  /** Forgets the keys of an earlier log with the id of a new one. Those of a log that is there are in use. */
  #forgotten(id: string, made: Either<StoreFault, LogInfo>): Either<StoreFault, LogInfo> {
    if (!isLeft(made) || made.left._tag !== 'LogExists') this.#forget(id)
    return made
  }

  #forget(id: string): void {
    this.#logs.delete(id)
    this.#lost.delete(id)
  }

  async #createWith(own: OwnKey, log: NewLog, meta: JsonObject): Promise<Either<StoreFault, LogInfo>> {
    const ready = encryptRows(own, 0, { rows: log.rows ?? [], blocks: log.blocks ?? [] }, this.#inner)
    if (isLeft(ready)) return ready
    const sealed = sealMeta(log.id, own.key, { keys: [own.name], from: [0] }, meta)
    if (isLeft(sealed)) return sealed
    const { attached, ...rows } = ready.right
    const missing = await untilFault(() => this.#missing(attached))
    if (isLeft(missing)) return missing
    const created = this.#forgotten(log.id, await this.#inner.create({ ...log, ...rows, meta: sealed.right })())
    return isLeft(created) ? created : right(await this.#readableNew(created.right, meta))
  }

  async #newKey(): Promise<Either<StoreFault, OwnKey>> {
    const name = hex(randomBytes(12))
    const secret = await this.#vault.make(name)
    if (isLeft(secret)) return secret
    const key = rowKeyOf(secret.right)
    return pipe(
      await this.#vault.getOrMake(scopeKey),
      E.map((scope) => ({ name, prefix: rowPrefixOf(name), key, scope })),
    )
  }

  /** The row key with this name, for the log `id`. */
  async #keyOf(name: string, id: string): Promise<Either<StoreFault, Uint8Array>> {
    return pipe(await this.#vault.get(name, id), E.map(rowKeyOf))
  }

  /** A log with its keys. Its metadata is trusted only if it was encrypted with the log's own key. */
  async #opened(log: LogInfo): Promise<Either<StoreFault, OpenedLog>> {
    const opened = await this.#openedBy(log)
    // A concurrent append uses what was known before, also if the store or the key store did not answer this time.
    if (!isLeft(opened)) {
      this.#lost.delete(log.id)
      this.#logs.set(log.id, opened.right.known)
    } else if (isUnreadable(opened.left)) {
      const { left: fault } = opened
      const isLost = this.#logs.delete(log.id) || this.#lost.has(log.id)
      if (isLost && fault._tag === 'NoKey') this.#lost.set(log.id, fault)
    }
    return opened
  }

  async #openedBy(log: LogInfo): Promise<Either<StoreFault, OpenedLog>> {
    const { id, meta } = log
    if (!isEncryptedLog(log)) return this.#openedPlain(log)
    const encryption = encryptionOf(log)
    const name = encryption?.keys.at(-1)
    if (encryption === undefined || name === undefined)
      return left(damagedMeta(log, 'does not list the keys of the log'))
    const key = await this.#keyOf(name, id)
    const scope = isLeft(key) ? key : await this.#vault.getOrMake(scopeKey)
    if (isLeft(key)) return key
    if (isLeft(scope)) return scope
    const input = openMeta(id, key.right, encryption, meta)
    if (input === undefined)
      return left(damagedMeta(log, 'is not what its key encrypted: it was changed without the key'))
    const { keys, from } = encryption
    const known = { keys, from, own: { name, prefix: rowPrefixOf(name), key: key.right, scope: scope.right } }
    return right({ known, log: Object.freeze({ ...log, meta: input }) })
  }

  async #openedPlain(log: LogInfo): Promise<Either<StoreFault, OpenedLog>> {
    const { id, meta } = log
    const opened = right({ known: undefined, log })
    if (isOwnId(id)) return opened
    const marked = await this.#vault.isMarked(id)
    if (isLeft(marked)) return marked
    if (marked.right)
      return left(
        damagedMeta(log, 'does not mark the log as encrypted, although it was: another log was put in its place'),
      )
    if (!isSessionMeta(meta)) return opened
    this.#plainSessions.add(id)
    return this.#plain === 'refuse'
      ? noKey(id, "it can't be used by a store with keys (withKeys, plain: 'read' or 'continue')")
      : opened
  }

  /** Whether rows may be added to a log without encryption. */
  #continued(id: string): Either<StoreFaultOf<'NoKey'>, void> {
    return this.#plain !== 'continue' && this.#plainSessions.has(id)
      ? noKey(id, "it can't be continued by a store with keys (withKeys, plain: 'continue')")
      : right(undefined)
  }

  async #openedNow(id: string): Promise<Either<StoreFault, OpenedLog>> {
    const log = await this.#inner.info(id)()
    return isLeft(log) ? log : this.#opened(log.right)
  }

  /** The cached keys of a log; looked up if there are none. */
  async #knownOf(id: string): Promise<Either<StoreFault, KnownLog>> {
    return this.#logs.has(id)
      ? right(this.#logs.get(id))
      : pipe(
          await this.#openedNow(id),
          E.map(({ known }) => known),
        )
  }

  async #info(id: string): Promise<Either<StoreFault, LogInfo>> {
    const log = await this.#inner.info(id)()
    return isLeft(log) ? log : this.#readable(log.right)
  }

  /** Decrypts the metadata. Without the key only the clear part remains: a log can be verified without its key. */
  async #readable(log: LogInfo): Promise<Either<StoreFault, LogInfo>> {
    const opened = await this.#opened(log)
    if (!isLeft(opened)) return right(opened.right.log)
    if (opened.left._tag !== 'NoKey') return opened
    const encryption = encryptionOf(log)
    return right(encryption === undefined ? log : Object.freeze({ ...log, meta: clearMeta(encryption, log.meta) }))
  }

  /** A log that was just made, with its metadata in clear. It is there, so that a failing read of its keys is no fault. */
  async #readableNew(log: LogInfo, meta: JsonObject): Promise<LogInfo> {
    const read = await this.#readable(log)
    if (!isLeft(read)) return read.right
    const encryption = encryptionOf(log)
    return Object.freeze({ ...log, meta: { ...(encryption && clearMeta(encryption, log.meta)), ...meta } })
  }

  /** Encrypts rows synchronously, for a log that is cached. */
  #encrypted(id: string, append: Parameters<StoreEncryption['rows']>[1]): EncryptedRows {
    const known = this.#logs.get(id)
    if (known !== undefined) return encryptRows(known.own, append.expected.size, append, this.#inner)
    if (!this.#logs.has(id)) {
      const reason = 'it was not opened through this store'
      return left(this.#lost.get(id) ?? { ...withoutKeys(id, undefined), reason })
    }
    const { rows, blocks = [] } = append
    const continued = this.#continued(id)
    return isLeft(continued) ? continued : right({ rows, blocks, attached: [] })
  }

  /** Encrypts rows, and rejects those that were encrypted for an earlier log with this id. */
  #forLog(id: string, append: Append): Ready {
    const { expected, rows } = append
    const known = this.#logs.get(id)
    const ownKey = keyOf(known)
    if ((append.ownKey !== undefined && append.ownKey !== ownKey) || rows.some(({ body }) => isOfAnother(known, body)))
      return left({ _tag: 'Diverged', id, expected, actual: expected })
    const stored = this.#encrypted(id, append)
    if (isLeft(stored)) return stored
    const { blocks, attached } = stored.right
    // The rows of a plan are encrypted already. Their array identifies it.
    const isReady = stored.right.rows === rows && append.ownKey !== undefined
    return right({
      append: isReady ? append : { ...append, rows: stored.right.rows, blocks, ownKey },
      attached: append.attached ?? attached,
    })
  }

  /** Appends to a log are sent in the order of their calls, even those that have to wait first. */
  #append(id: string, append: Append): Promise<Either<StoreFault, AppendedRows>> {
    const problem = ownIdFault(id, append)
    if (problem !== undefined) return Promise.resolve(left(problem))
    if (!this.#turns.has(id) && this.#isReady(id)) {
      const ready = this.#forLog(id, append)
      if (isLeft(ready)) return Promise.resolve(ready)
      if (ready.right.attached.length === 0) return this.#sent(id, ready.right.append)
    }
    return this.#inTurn(id, append)
  }

  async #inTurn(id: string, append: Append): Promise<Either<StoreFault, AppendedRows>> {
    const before = this.#turns.get(id)
    const turn = (async (): Promise<
      Either<StoreFault, { readonly answer: Promise<Either<StoreFault, AppendedRows>> }>
    > => {
      await before
      return pipe(
        await this.#prepared(id, append),
        E.map((ready) => ({ answer: this.#sent(id, ready.append) })),
      )
    })()
    this.#turns.set(id, turn)
    const begun = await turn
    if (this.#turns.get(id) === turn) this.#turns.delete(id)
    return isLeft(begun) ? begun : begun.right.answer
  }

  /** Whether rows can be sent without a lookup. The store itself checks that the log is still the cached one. */
  #isReady(id: string): boolean {
    const known = this.#logs.get(id)
    return this.#logs.has(id) && (known === undefined || this.#vault.isFresh(known.own.name, keyCheckMs))
  }

  async #prepared(id: string, append: Append): Promise<Ready> {
    if (!this.#isReady(id)) {
      const known = this.#logs.get(id)
      const seen = known === undefined ? await this.#openedNow(id) : await this.#keyOf(known.own.name, id)
      if (isLeft(seen)) return seen
    }
    const ready = this.#forLog(id, append)
    if (isLeft(ready)) return ready
    const missing = await untilFault(() => this.#missing(ready.right.attached))
    return isLeft(missing) ? missing : ready
  }

  async #sent(id: string, append: Append): Promise<Either<StoreFault, AppendedRows>> {
    const appended = await appendPlanned(this.#inner, id, append)
    if (!isLeft(appended)) return appended
    if (appended.left._tag === 'OperationMismatch') {
      const { left: fault } = appended
      return untilFault(() => this.#repeated(id, append, fault))
    }
    if (appended.left._tag !== 'Conflict') return appended
    const missed = await this.#decrypted(id, appended.left.missed)
    return isLeft(missed) ? missed : left({ ...appended.left, missed: missed.right })
  }

  /** Encrypting a text twice gives different bytes, so a repeated operation can only be compared by decrypting. */
  async *#repeated(
    id: string,
    { expected, rows }: Append,
    fault: StoreFaultOf<'OperationMismatch'>,
  ): Steps<StoreFault, AppendedRows> {
    const { from, head } = fault
    const known = this.#logs.get(id)
    if (known === undefined || head === undefined || head.size - from !== rows.length) return yield* fail(fault)
    const stored = yield* need(this.#decrypted(id, yield* need(this.#inner.read(id, { from, to: head.size }))))
    const isSame = stored.every(({ kind, body, erased }, index) => {
      const row = rows[index] as TimedRow // from `encryptRows`
      const stored = decryptRow({ ...row, index, position: expected.size + index }, known.own.key)
      return row.kind === kind && (erased !== undefined || stored?.body === body)
    })
    return isSame ? Object.freeze({ from, head }) : yield* fail(fault)
  }

  /** `MissingBlock` if an attachment is missing. */
  async *#missing(attached: readonly BlockId[]): Steps<StoreFault, void> {
    if (attached.length === 0) return
    const there = yield* need(this.#withScope((scope) => hasNamed(this.#inner, scope, attached)))
    const ids = attached.filter((_, index) => there[index] !== true)
    if (ids.length > 0) yield* fail({ _tag: 'MissingBlock', ids })
  }

  async #decrypted(id: string, rows: readonly StoredRow[]): Promise<Either<StoreFault, readonly StoredRow[]>> {
    if (rows.length === 0) return right(rows)
    const opened = await this.#knownOf(id)
    if (isLeft(opened)) return opened
    const known = opened.right
    const decrypted = await this.#decryptedBy(id, known, rows)
    if (!isLeft(decrypted) || decrypted.left._tag !== 'DamagedLog') return decrypted
    // The id may now belong to another log.
    const again = await this.#openedNow(id)
    return isLeft(again) || keyOf(again.right.known) === keyOf(known)
      ? decrypted
      : this.#decryptedBy(id, again.right.known, rows)
  }

  /** Decrypts rows. A row that the log's key for its position has not encrypted was written by someone without keys. */
  async #decryptedBy(
    id: string,
    known: KnownLog,
    rows: readonly StoredRow[],
  ): Promise<Either<StoreFault, readonly StoredRow[]>> {
    const decrypted: StoredRow[] = []
    const keys = new Map<string, Uint8Array>()
    for (const row of rows) {
      const rowDamage = (reason: string): Either<StoreFault, never> =>
        left({ _tag: 'DamagedLog', id, position: row.position, reason })
      const parts = readEncrypted(row.body)
      if (known === undefined) {
        if (parts !== undefined) return rowDamage('the row is encrypted, but the log is not')
        decrypted.push(row)
        continue
      }
      if (parts === undefined)
        return rowDamage('the row is not encrypted, but the log is: it was written without the keys')
      if (parts.key !== keyAt(known, row.position))
        return rowDamage('the row has another key than the log uses at this position: it was moved')
      const key = keys.has(parts.key) ? right(keys.get(parts.key) as Uint8Array) : await this.#keyOf(parts.key, id)
      if (isLeft(key)) return key
      keys.set(parts.key, key.right)
      const plain = decryptRow(row, key.right)
      if (plain === undefined)
        return rowDamage('the row is not what its key encrypted for this position: it was altered or moved')
      const problem = row.erased === undefined ? undefined : stubFault(row.kind, plain.body)
      if (problem !== undefined) return rowDamage(`the row ${problem}`)
      decrypted.push(plain)
    }
    return right(Object.freeze(decrypted))
  }

  async *#fork(id: string, { sameKey = false, ...fork }: Fork): Steps<StoreFault, LogInfo> {
    const problem = ownIdFault(id, fork) ?? ownIdFault(fork.id, fork)
    if (problem !== undefined) return yield* fail(problem)
    const { known } = yield* need(this.#openedNow(id))
    if (known === undefined) {
      yield* need(this.#continued(id))
      return yield* need(this.#forgotten(fork.id, await this.#inner.fork(id, fork)()))
    }
    const { name, key } = sameKey ? known.own : yield* need(this.#newKey())
    const sealed = sealMeta(fork.id, key, forkedKeys(known, fork.at, name), fork.meta ?? {})
    const forked = this.#marked(fork.id, sameKey ? undefined : name, async () =>
      isLeft(sealed) ? sealed : this.#forgotten(fork.id, await this.#inner.fork(id, { ...fork, meta: sealed.right })()),
    )
    return this.#readableNew(yield* need(forked), fork.meta ?? {})
  }

  /** Encrypted texts can't be searched, so they are decrypted. Logs without a key or with a damaged row are listed. */
  async *#containing(texts: readonly string[]): Steps<StoreFault, TextPlaces> {
    const found = yield* need(this.#inner.containing(texts))
    const looking: TextSearch = {
      isIn: await finderInSlices(texts),
      isInBytes: await byteFinderInSlices(texts),
      blocks: new Map(),
      places: new Map(),
    }
    const unread: string[] = []
    for await (const page of pagesOf((from) => this.#inner.list({ limit: 500, ...from })())) {
      for (const log of (yield* need(page)).logs) {
        if (!isEncryptedLog(log)) continue
        const looked = await untilFault(() => this.#lookIn(log, looking))
        if (!isLeft(looked) || looked.left._tag === 'NoSuchLog') continue // removed meanwhile
        if (!isUnreadable(looked.left)) yield* fail(looked.left)
        unread.push(log.id)
      }
    }
    return Object.freeze({
      rows: Object.freeze([...found.rows, ...looking.places.values()]),
      ...present({ operations: found.operations }),
      blocks: found.blocks,
      unread: Object.freeze(unread),
    })
  }

  async *#lookIn(log: LogInfo, looking: TextSearch): Steps<StoreFault, void> {
    const { known } = yield* need(this.#opened(log))
    for (let from = 0; from < log.head.size; from += 500) {
      const rows = yield* need(this.#inner.read(log.id, { from, to: from + 500 }))
      for (const { position, body, stored = '' } of yield* need(this.#decrypted(log.id, rows))) {
        if (looking.isIn(stored)) continue // already found by the inner store
        if (!looking.isIn(body) && !(yield* this.#isInBlocks(log.id, position, body, looking))) continue
        const place = `${position} ${stored}`
        const isOwn = readEncrypted(stored)?.key === known?.own.name
        if (isOwn || !looking.places.has(place)) looking.places.set(place, Object.freeze({ id: log.id, position }))
      }
    }
  }

  /** Whether one of a row's blocks has one of the texts. */
  async *#isInBlocks(
    log: string,
    position: number,
    body: string,
    { isInBytes, blocks }: TextSearch,
  ): Steps<StoreFault, boolean> {
    const decoded = decodeRow(body)
    for (const { id, key } of isLeft(decoded) ? [] : decoded.right.blocks) {
      if (!blocks.has(id)) {
        const [bytes] = yield* need(this.#inner.getBlocks([id]))
        const plain = bytes === undefined || key === undefined ? bytes : decryptBlock(key, bytes)
        if (bytes !== undefined && plain === undefined)
          yield* fail({ _tag: 'DamagedLog', id: log, position, reason: `block ${id} is not what its key encrypted` })
        blocks.set(id, plain !== undefined && isInBytes(plain))
      }
      if (blocks.get(id) === true) return true
    }
    return false
  }

  /** Stubs are encrypted too, each with the key of its row, because they reveal the role. */
  async *#erase(request: EraseRequest): Steps<StoreFault, EraseResult> {
    const logs: RowsToErase[] = []
    const attached = new Set<BlockId>()
    for (const log of request.logs) {
      const problem = ownIdFault(log.id)
      if (problem !== undefined) yield* fail(problem)
      // A log without rows to erase needs no key: only its head is checked.
      const known = log.rows.length === 0 ? undefined : (yield* need(this.#openedNow(log.id))).known
      if (known === undefined) {
        logs.push(log)
        continue
      }
      const rows: RowsToErase['rows'][number][] = []
      for (const [index, { position, stub, ...more }] of log.rows.entries()) {
        const stored = isCount(position)
          ? await untilFault(() => this.#stubFor(log.id, known, position, stub, attached))
          : right(stub)
        if (isLeft(stored) && stored.left._tag === 'InvalidRow') yield* fail({ ...stored.left, index })
        rows.push({ ...more, position, stub: yield* need(stored) })
      }
      logs.push({ ...log, rows })
    }
    const erased = yield* need(this.#inner.erase({ ...request, logs }))
    if (attached.size === 0) return erased
    const remaining = yield* this.#remaining([...attached])
    return Object.freeze({ ...erased, blocks: Object.freeze([...erased.blocks, ...remaining]) })
  }

  /** Encrypts the stub of a row, and collects the row's attachments. */
  async *#stubFor(
    id: string,
    known: NonNullable<KnownLog>,
    position: number,
    stub: string,
    attached: Set<BlockId>,
  ): Steps<StoreFault, string> {
    const [row] = yield* need(this.#inner.read(id, { from: position, to: position + 1 }))
    if (row === undefined || row.erased !== undefined) return stub // beyond the end, or already erased
    const reason = stubFault(row.kind, stub)
    if (reason !== undefined) yield* fail({ _tag: 'InvalidRow', index: 0, reason })
    const [plain] = yield* need(this.#decryptedBy(id, known, [row]))
    for (const block of attachmentsOf(plain as StoredRow)) attached.add(block)
    const name = readEncrypted(row.body)?.key ?? known.own.name
    const key = yield* need(this.#keyOf(name, id))
    const erased = hex(rowLeaf(row, this.#inner.hash))
    const { kind, at } = row
    return encryptedRowBody({ name, key }, { kind, position, at, erased }, stub)
  }

  /** The attachments that still exist: they were stored on their own. */
  async *#remaining(attached: readonly BlockId[]): Steps<StoreFault, readonly RemainingBlock[]> {
    const there = yield* need(this.#withScope((scope) => hasNamed(this.#inner, scope, attached)))
    const blocks: RemainingBlock[] = []
    for (const [index, block] of attached.entries()) {
      if (there[index] !== true) continue
      const { rows } = yield* this.#containing([block])
      blocks.push(Object.freeze({ block, rows: rows.length, kept: true }))
    }
    return blocks
  }
}

interface TextSearch {
  readonly isIn: (text: string) => boolean
  readonly isInBytes: (bytes: Uint8Array) => boolean
  /** For each block already read, whether it has one of the texts. */
  readonly blocks: Map<BlockId, boolean>
  /** The places, by row: rows shared with forks are listed once. */
  readonly places: Map<string, RowPlace>
}

const rowKeyOf = (secret: Uint8Array): Uint8Array => deriveKey(secret, 'text')

/** Whether a log, or part of it, is unreadable, however often it is tried. */
const isUnreadable = ({ _tag }: StoreFault): boolean =>
  _tag === 'NoKey' || _tag === 'DamagedLog' || _tag === 'DamagedBlock'

/**
 * Whether a row is encrypted with a key other than the log's own. A plain text may look encrypted,
 * but has no key id.
 */
const isOfAnother = (known: KnownLog, body: string): boolean => {
  if (known !== undefined && body.startsWith(known.own.prefix)) return false
  const key = readEncrypted(body)?.key
  return key !== undefined && key !== known?.own.name && (known === undefined || /^[0-9a-f]{24}$/.test(key))
}

/** The sums of calls: the only key of the library's own that is encrypted with the metadata of the caller. */
const sumsIn = (meta: JsonObject): JsonObject =>
  Object.hasOwn(meta, sumsMember) ? { [sumsMember]: meta[sumsMember] as Json } : {}

/** The library's own metadata key that an update would change, apart from the encryption. */
const changedClear = (before: JsonObject, after: JsonObject): string | undefined =>
  changedOwnMember({ ...before, [encryptionKey]: true }, { ...after, [encryptionKey]: true })

const isCount = (position: number): boolean => Number.isSafeInteger(position) && position >= 0

/** The images and files of a row's message that are blocks, and the instructions of a receipt. */
const attachmentsOf = ({ kind, body }: StoredRow): readonly BlockId[] => {
  const decoded = kind === 'entry' ? decodeRow(body) : undefined
  const note = kind === 'note' ? parseJson(body) : undefined
  if (note !== undefined && !isLeft(note) && isObject(note.right) && isBlockId(note.right['instructions']))
    return [note.right['instructions']]
  if (decoded === undefined || isLeft(decoded)) return []
  const message = parseJson(decoded.right.text)
  return isLeft(message) ? [] : attachedTo(message.right as unknown as Message) // checked before it was appended
}

const noKey = (id: string, reason: string): Either<StoreFaultOf<'NoKey'>, never> =>
  left({ _tag: 'NoKey', id, key: 'none', reason })

const damagedMeta = ({ id, head }: LogInfo, what: string): StoreFaultOf<'DamagedLog'> => ({
  _tag: 'DamagedLog',
  id,
  position: head.size,
  reason: `its metadata ${what}`,
})
