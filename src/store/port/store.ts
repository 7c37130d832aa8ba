/**
 * The store port: the interface of a store. A store has logs of rows and blocks of bytes, and knows nothing
 * of messages. Any implementation that passes `storeContract` of `@indelible/testing` is a store.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import type { Task } from '../../task/index.ts'
import type { Hash, BlockId } from '../../proof/internal.ts'
import type { JsonObject } from '../../json/index.ts'
import type { CheckOptions, StoreFinding, StoreRepair } from './check.ts'
import type { RowKind, Row, StoredRow, Head } from './row.ts'
import type { EraseRequest, EraseResult, Sharing, TextPlaces } from './erasing.ts'
import type {
  AppendFault,
  BlockFault,
  EraseFault,
  ForkFault,
  LeaseFault,
  ListFault,
  LogFault,
  MediumFault,
  NewLogFault,
  RemoveFault,
  RenewFault,
  StoreFaultOf,
  UpdateFault,
} from '../fault.ts'
import type { LogIdentity } from './identity.ts'
import type { LeaseClaim, Lease, NewLease, Renewal } from './lease.ts'
import type { OwnCall } from './own-logs.ts'
import type { RowIndex, TermsOf } from './row-terms.ts'

/** The description of a log, without its rows. */
export interface LogInfo {
  /** Its id, unique in the scope. */
  readonly id: string
  /** Its size and root. */
  readonly head: Head
  /** The number of entry rows. */
  readonly entries: number
  /**
   * The tokens that its own rows report: `usage.input` and `usage.output` of notes of the type `receipt`. Shared,
   * encrypted and erased rows count 0.
   */
  readonly tokens: number
  /** The time of creation, in milliseconds since 1970. `list` keeps the order within a millisecond. */
  readonly created: number
  /**
   * The time of the last append: the `at` of the last row; `created` if the log has no row of its
   * own, or that row has no `at`.
   */
  readonly appended: number
  /** Its metadata: a JSON object. */
  readonly meta: JsonObject
  /** The version of `meta`, from 1. Each change adds 1. */
  readonly version: number
}

/** A log to create. */
export interface NewLog extends OwnCall {
  /** Its id: 1 to 255 bytes without control characters, not starting with `indelible.`. */
  readonly id: string
  /** The metadata: a JSON object. Default: `{}`. */
  readonly meta?: JsonObject
  /** The first rows, stored with the log in one commit. Default: none. */
  readonly rows?: readonly Row[]
  /** The blocks that the rows reference, as in an append. Default: none. */
  readonly blocks?: readonly Uint8Array[]
  /** Returns a row's terms for the search index, as in an append. Default: none. */
  readonly terms?: TermsOf
  /**
   * Whether the log is encrypted, if the store has keys (`withKeys` of `@indelible/encryption`).
   * Pass true for anything that contains a user's text.
   */
  readonly encrypt: boolean
}

/**
 * Rows to append, the head that they continue, and their blocks.
 */
export interface Append extends LeaseClaim, OwnCall {
  /** The head that the rows continue. */
  readonly expected: Head
  /** The rows, in order. At least one. */
  readonly rows: readonly Row[]
  /**
   * Blocks that the rows reference and the store may lack. They are stored together with the rows.
   * Default: none.
   */
  readonly blocks?: readonly Uint8Array[]
  /**
   * The operation id of this append. After any failure you can retry with it: if the append already
   * happened, you get its first result, whatever `expected` is. A retry must have the same kinds
   * and bodies; its `at` and `salt` may differ, and are not stored. Default: none.
   */
  readonly operation?: string
  /**
   * Returns the terms of a row. If the store has a search index, the rows are indexed in the same
   * transaction. Default: the index lacks the rows until `add` indexes them.
   */
  readonly terms?: TermsOf
  /**
   * Blocks that encrypted rows name in their texts, and that the store must have. Only stores with
   * keys check it. Default: none.
   */
  readonly attached?: readonly BlockId[]
  /**
   * The id of the key for the log's own rows; null if the log is not encrypted. The fault is
   * `Diverged` if another log now has the id. Default: not compared.
   */
  readonly ownKey?: string | null
}

/** The result of an append. */
export interface AppendedRows {
  /** The position of the first row. */
  readonly from: number
  /** The head right after the last row. */
  readonly head: Head
}

/** A range by the rules of `Array.prototype.slice`: `{ from: -50 }` is the last fifty. */
export interface RowRange {
  /** The first position; a negative one counts from the end. Default: 0. */
  readonly from?: number
  /** The position after the last one; a negative one counts from the end. Default: the end. */
  readonly to?: number
  /** Only rows of this kind; `from` and `to` then count only these. Default: all rows. */
  readonly only?: RowKind
}

/** A new log that shares the first rows of another. */
export interface Fork extends OwnCall {
  /** The id of the new log. */
  readonly id: string
  /** The number of rows to share. */
  readonly at: number
  /** Metadata of the new log. Default: `{}`. */
  readonly meta?: JsonObject
  /** Whether the fork of an encrypted log gets the same key, because the log is removed next. Default: false. */
  readonly sameKey?: boolean
}

/** New metadata for a log, and the version that it replaces. */
export interface MetaUpdate extends LeaseClaim, OwnCall {
  /** The version that `meta` replaces. */
  readonly expected: number
  /** The whole new metadata. */
  readonly meta: JsonObject
  /** The log's key, as in an append. The fault is `NoSuchLog` if another log now has the id. Default: not compared. */
  readonly ownKey?: string | null
}

/** A filter on metadata: keys with the values that they must have. An object filters the object under its key. */
export interface Where {
  readonly [key: string]: string | number | boolean | null | Where
}

/** Selects and orders the logs to list. */
export interface ListQuery {
  /** The page size, a whole number from 1 to 1,000; another one is a TypeError. Default: 100. */
  readonly limit?: number
  /** The `next` of the page before. Default: the first page. */
  readonly after?: string
  /**
   * Only logs whose metadata has these values. PostgreSQL has an index for this; other stores check
   * each log. Default: all.
   */
  readonly where?: Where
  /**
   * The order: newest first by creation (`created`) or by the last append (`appended`); by the number
   * of `entries` or the sum of `tokens`, largest first; or by `id`, in byte order. With `appended`, `entries` and
   * `tokens`, a log that grows between two pages moves to the front and may be missing from later pages. Default:
   * `created`.
   *
   * Cost    O(page), by an index, if `where` keeps most logs. With `appended`, the logs of the same moment (a
   *         tenth of a second on SQLite, a second on PostgreSQL) are sorted for each page; with `entries`,
   *         those of about the same number (a quarter). With `tokens`, O(logs) for each page: they have no index, which
   *         each receipt would have to write. In memory, O(logs) for the first page after a change
   */
  readonly by?: 'created' | 'appended' | 'entries' | 'tokens' | 'id'
}

/** An unreadable log. */
export interface DamagedEntry {
  /** Its id, as far as readable. */
  readonly id: string
  /** The damage, in words. */
  readonly reason: string
}

/** One page of a list of logs. */
export interface LogPage {
  /** The logs, in the order of the query. */
  readonly logs: readonly LogInfo[]
  /** Logs with unreadable metadata, listed for any `where`. Remove or repair them. Absent if there are none. */
  readonly damaged?: readonly DamagedEntry[]
  /** The cursor of the next page: pass it as `after`. Absent on the last page. */
  readonly next?: string
}

/** A group of consecutive logs of a scope, in creation order. */
export interface LogPiece {
  /** Identifies the piece. A log stays in its piece. */
  readonly name: string
  /** The cursor for listing these logs by creation: pass it as `after`, with `limit: logs`. */
  readonly after: string
  /** The number of logs in it, up to 1,000. */
  readonly logs: number
  /** A digest of their ids and heads. It changes when one of the logs is added, removed, or changes its head. */
  readonly digest: string
}

/**
 * Small values under names of letters, digits and `/ _ - %`. The first value of a name wins, so
 * processes that share no log can agree on it.
 */
export interface OnceStore {
  /**
   * Read values.
   *
   * @returns the values, in the same order; undefined for a name without one
   */
  readonly get: (names: readonly string[]) => Task<MediumFault, readonly (Uint8Array | undefined)[]>
  /**
   * Store a value, if the name has none. After a fault the value may or may not be stored: read it.
   *
   * @returns true if it was stored; false if the name already has a value
   */
  readonly put: (name: string, value: Uint8Array) => Task<MediumFault, boolean>
  /**
   * List names. Absent if the key-value store has no `keys`.
   *
   * @param start the start of the names. Default: all
   * @returns the names, in any order
   */
  readonly list?: (start?: string) => Task<MediumFault, readonly string[]>
  /**
   * Remove values. Absent if the key-value store has no `deletePrefix`.
   *
   * @param start the start of the names
   */
  readonly remove?: (start: string) => Task<MediumFault, void>
}

/** Bytes under their SHA-256. */
export interface BlockStore {
  /** Values that are written only once. Only in stores without logs whose key-value store has `putIfAbsent`. */
  readonly once?: OnceStore
  /** The store's SHA-256: the fastest available implementation. */
  readonly hash: Hash
  /** The scope of the blocks. */
  readonly scope: string
  /**
   * Store blocks permanently. A block that the store already has is not stored again, unless it is
   * damaged. Blocks that come with a log's rows are removed with them; these are not.
   *
   * @returns their ids, in the same order
   */
  readonly putBlocks: (blocks: readonly Uint8Array[]) => Task<MediumFault, readonly BlockId[]>
  /**
   * Read blocks.
   *
   * @returns their contents, in the same order; undefined for a missing block. `DamagedBlock` for an altered one
   */
  readonly getBlocks: (ids: readonly BlockId[]) => Task<BlockFault, readonly (Uint8Array | undefined)[]>
  /**
   * Whether the store has blocks. A damaged block counts as missing: store it again to replace it.
   *
   * Cost    the blocks are read, by the store or by its server
   *
   * @param ids their ids
   * @returns true or false for each, in the same order
   */
  readonly hasBlocks: (ids: readonly BlockId[]) => Task<BlockFault, readonly boolean[]>
}

/** Encrypts and decrypts for a store. Made by `withKeys` of `@indelible/encryption`. */
export interface StoreEncryption {
  /** The same store without keys, which returns rows in stored form. */
  readonly bare: Store
  /**
   * Encrypt rows for an append. Rows of a log without encryption are returned unchanged.
   *
   * @param id the id of the log, which must have been read or created through this store
   * @param append the head that the rows continue, the rows with their times, and their blocks
   * @returns the rows and blocks to append; or `NoKey`, `InvalidRow`
   */
  readonly rows: (
    id: string,
    append: Pick<Append, 'expected' | 'rows' | 'blocks'>,
  ) => Either<StoreFaultOf<'NoKey' | 'InvalidRow'>, Required<Pick<Append, 'rows' | 'blocks' | 'attached'>>>
  /**
   * Decrypt a block of a row.
   *
   * @param key the key, as the row has it
   * @param bytes the stored bytes
   * @returns the content; undefined if the key does not fit
   */
  readonly block: (key: string, bytes: Uint8Array) => Uint8Array | undefined
  /**
   * Wrap a key again for another scope. A wrapped key opens only in the scope that it was wrapped for.
   *
   * @param key the id of the key
   * @param of the id of the log that uses the key
   * @param scope the other scope
   * @returns the metadata for the key's log in that scope; or `NoKey`
   */
  readonly keyFor: (key: string, of: string, scope: string) => Task<LogFault, JsonObject>
}

/**
 * A store handle: the logs and blocks of one scope. A method starts its work at once and returns a task. It
 * throws only for a mistake in the program: a TypeError for options that are null, or of the wrong type.
 *
 * Ids of logs, operations and scopes are 1 to 255 bytes of well-formed UTF-8 without control characters. They are
 * compared byte by byte, and never become part of a path or of query text. Ids that start with `indelible.` belong
 * to the library's own logs: you can read these logs, but a call that would change one fails with `InvalidId`.
 */
export interface Store extends BlockStore {
  /**
   * The store's clock. Writers take the `at` of new rows from it.
   *
   * @returns milliseconds since 1970
   */
  readonly now: () => number
  /**
   * Create a log, empty or with its first rows.
   *
   * @returns the description of the log; or `LogExists`, `InvalidId`
   */
  readonly create: (log: NewLog) => Task<NewLogFault, LogInfo>
  /**
   * Describe a log, without its rows.
   *
   * @returns head, metadata and counts; or `NoSuchLog`
   */
  readonly info: (id: string) => Task<LogFault, LogInfo>
  /**
   * The identities of a log's rows: the log's own, and before it those of the logs that it shares
   * rows with. Erasure claims name them, so that a claim can't be applied to another log.
   *
   * @returns each identity with its first row; or `NoSuchLog`
   */
  readonly identities: (id: string) => Task<LogFault, readonly LogIdentity[]>
  /**
   * List the logs of this scope, page by page.
   *
   * @param query a filter, the order, the page size, and the cursor. Default: the first 100, by creation
   */
  readonly list: (query?: ListQuery) => Task<ListFault, LogPage>
  /**
   * Digests over all logs of this scope, for finding changed logs without listing all. Absent if
   * this kind of store has none.
   *
   * Cost    O(logs), about a twentieth of a list
   *
   * @returns the pieces, in creation order
   */
  readonly pieces?: () => Task<MediumFault, readonly LogPiece[]>
  /**
   * Replace the metadata of a log. Keys that start with `indelible.` belong to the library: if one
   * would change, the fault is `InvalidMeta`.
   *
   * @param update the new metadata, and the version that it replaces
   * @returns the description of the log; or `MetaConflict` if another writer changed the metadata first, `LeaseLost`
   */
  readonly update: (id: string, update: MetaUpdate) => Task<UpdateFault, LogInfo>
  /**
   * Append rows at the expected head: all of them with their blocks, or nothing and a fault. When the
   * task resolves, they are as durable as the store guarantees. Concurrent appends share a commit; those to one log
   * take effect in the order of the calls.
   *
   * Cost    one round trip; independent of the length of the log
   *
   * @param append the rows, the head that they continue, and an operation id for retries
   * @returns the position of the first row and the new head; or `Conflict` with the missed rows,
   * `OperationMismatch`, `LeaseLost`, `MissingBlock`
   */
  readonly append: (id: string, append: Append) => Task<AppendFault, AppendedRows>
  /**
   * Read rows, in order. Cost: O(rows read + log length).
   *
   * @param range the first and last position, and the kind. Default: all rows
   */
  readonly read: (id: string, range?: RowRange) => Task<LogFault, readonly StoredRow[]>
  /**
   * Read tree nodes. The node of a row is the root of the largest perfect subtree that ends with
   * it. The nodes at the positions `peakEnds(n)` minus 1 are the peaks of the log's first `n` rows.
   *
   * @returns the nodes, in the same order
   */
  readonly nodes: (id: string, positions: readonly number[]) => Task<LogFault, readonly Uint8Array[]>
  /**
   * Create a log that shares the first rows of another. Later appends to one don't appear in the
   * other, and either can be removed. Operation ids are not copied.
   *
   * Cost    independent of the length of the log
   *
   * @param id the log to fork
   * @param fork the new id, the number of rows to share, and the metadata
   * @returns the description of the new log; or `NoSuchLog`, `LogExists`, `BeyondEnd`
   */
  readonly fork: (id: string, fork: Fork) => Task<ForkFault, LogInfo>
  /**
   * Remove a log: its rows, except those that a fork shares, and the blocks that no other row references.
   *
   * @param options a signal that ends it while the log is still there; after that, the rows are deleted in slices
   * @returns nothing; or `NoSuchLog`, `LogHeld` if the scope's ledger records a hold on it,
   * `NotALedger` if the ledger can't be read
   */
  readonly remove: (id: string, options?: CheckOptions & OwnCall) => Task<RemoveFault, void>
  /**
   * Erase rows: stubs replace them, the leaves remain, and the scope's ledger records what was
   * erased, why, by whom and when. Every log that shares a row shows the stub. Up to 256 rows are
   * erased in one step, or none of them is. `eraseMessages` selects the rows of a session.
   *
   * Cost    a transaction; the rows of the ledger, once. SQLite then empties its write-ahead log and scans the file
   *
   * @param request the rows with their stubs, the reason and the person
   * @returns the head of the ledger, the remaining blocks, and the places that may still have
   * bytes; or `LogHeld`, `Conflict` if a log is at another head, `LeaseLost`
   */
  readonly erase: (request: EraseRequest) => Task<EraseFault, EraseResult>
  /**
   * The logs that share first rows with a log: its forks, the log it was forked from, and that log's forks.
   *
   * @returns the other logs, with the number of shared rows
   */
  readonly sharing: (id: string) => Task<EraseFault, readonly Sharing[]>
  /**
   * Find texts in the scope: in the bodies of rows, or as UTF-8 in blocks.
   *
   * Cost    O(all rows and blocks of the scope)
   *
   * @returns the rows with one of the texts in their body or a block, and the blocks stored on their own
   */
  readonly containing: (texts: readonly string[]) => Task<EraseFault, TextPlaces>
  /**
   * Check the whole store, in all scopes: rows against the tree, blocks against their digests, and the store's own
   * bookkeeping. It changes nothing.
   *
   * Cost    O(everything), in slices; other processes may read and write meanwhile
   *
   * @param options a signal that ends the check
   *
   * @returns the findings; empty if nothing is damaged
   */
  readonly check: (options?: CheckOptions) => Task<MediumFault, readonly StoreFinding[]>
  /**
   * Rebuild everything in the store, in all scopes, that can be derived from its rows and blocks.
   * Rows and blocks are never changed or removed.
   *
   * Cost    that of `check`, in slices. If it finds something, once more in one transaction: other writers wait. A signal that
   *         is aborted leaves the store of SQLite as it was; in PostgreSQL each finding is repaired by itself
   *
   * @param options a signal that ends the repair
   *
   * @returns the findings, and the action taken for each
   */
  readonly repair: (options?: CheckOptions) => Task<MediumFault, readonly StoreRepair[]>
  /**
   * Take the lease of a log. An expired lease is taken over.
   *
   * A lease does not stop other writers from changing the log without one. Pass its number with each append,
   * update and erasure (`lease`): after you lose the lease these fail, however long the process was paused.
   *
   * Cost    one transaction beside the log
   *
   * @param lease the holder's name and the time to live
   * @returns the lease, and the head of the log, which includes all appends of earlier holders; or `LeaseHeld` while another
   * holder has it
   */
  readonly lease: (id: string, lease: NewLease) => Task<LeaseFault, Lease & { readonly head: Head }>
  /**
   * Extend a lease.
   *
   * @param renewal the number of the lease, and its new time to live
   * @returns the lease; or `LeaseLost` if it was released, or if another one was taken since. An
   * expired lease can be renewed until then
   */
  readonly renew: (id: string, renewal: Renewal) => Task<RenewFault, Lease>
  /**
   * Release a lease. Releasing a lost lease changes nothing.
   *
   * @returns the head of the log, which includes every append that was stored before the release
   */
  readonly release: (id: string, number: number) => Task<LogFault, Head>
  /**
   * Ask the holder to stop. The holder receives the request at its next renewal.
   *
   * @returns the lease; undefined if there is none
   */
  readonly requestStop: (id: string) => Task<LogFault, Lease | undefined>
  /**
   * The current lease of a log.
   *
   * @returns the lease; undefined if there is none
   */
  readonly leaseOf: (id: string) => Task<LogFault, Lease | undefined>
  /**
   * Call `wake` whenever the log may have changed: through this handle, another handle of this
   * process, or another process. Read the log to see what changed. One call may cover several
   * changes, or none. From the moment the task resolves, no change is missed. Closing the store
   * ends the watch, with a last call. You can watch a log that does not exist.
   *
   * Cost    nothing in memory. SQLite and PostgreSQL poll for changes of other processes: at most 5
   *         times a second for all logs of a handle; PostgreSQL once in 5 seconds while its
   *         notifications arrive
   *
   * @param wake called after changes; it must return quickly
   * @returns a function that ends the watch
   */
  readonly watch: (id: string, wake: () => void) => Task<MediumFault | StoreFaultOf<'InvalidId'>, () => void>
  /** Encrypts and decrypts its sessions. Absent if the store was opened without keys. */
  readonly encryption?: StoreEncryption
  /** The search index of the store. Absent if this kind of store keeps none. */
  readonly index?: RowIndex
  /**
   * The scopes that have a log, so that a program can report a wrong scope.
   *
   * Cost    O(scopes)
   *
   * @returns their names, sorted; undefined if this kind of store can't list them
   */
  readonly scopes: () => Task<MediumFault, readonly string[] | undefined>
  /**
   * The same store for another scope.
   *
   * @param scope the name of the scope
   * @returns a handle; or `InvalidId`
   */
  readonly scoped: (scope: string) => Either<StoreFaultOf<'InvalidId'>, Store>
  /** Finish pending calls, then close this handle. Closing the handle that opened the store closes all its handles. */
  readonly close: () => Task<StoreFaultOf<'Io'>, void>
}
