/**
 * The store port: what the library needs of a place that keeps records. A store knows logs of rows and blocks of
 * bytes; it knows no message. Whatever passes `storeContract` of `indelible/testing` is one.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import type { Task } from '../task/index.ts'
import type { Hash, BlockId } from '../proof/index.ts'
import type { JsonObject } from '../json/index.ts'
import type { StoreFinding, StoreRepair } from './check.ts'
import type { RowKind, Row, StoredRow, Head } from './row.ts'
import type {
  AppendFault,
  BlockFault,
  ForkFault,
  LeaseFault,
  ListFault,
  LogFault,
  MediumFault,
  NewLogFault,
  RenewFault,
  StoreFaultOf,
  UpdateFault,
} from './fault.ts'
import type { AppendClaim, Lease, NewLease, Renewal } from './lease.ts'

/** What is known of a log without reading its rows. */
export interface LogInfo {
  /** Its id, unique in the scope. */
  readonly id: string
  /** Its size and root. */
  readonly head: Head
  /** How many rows are entries. */
  readonly entries: number
  /** Milliseconds since 1970. Two logs of one millisecond keep their order in `list`. */
  readonly created: number
  /**
   * When the log was last appended to: the `at` of its last row. `created` where that row has no `at`, or is shared with the
   * log that this one was forked from, or is not there.
   */
  readonly appended: number
  /** Its metadata: a JSON object. */
  readonly meta: JsonObject
  /** Counts the changes of `meta`, from 1. */
  readonly version: number
}

/** A log to start. */
export interface NewLog {
  /** Its id: 1 to 255 bytes without control characters. */
  readonly id: string
  /** Default: `{}`. */
  readonly meta?: JsonObject
  /** What it starts with, stored with the log in one commit. Default: nothing. */
  readonly rows?: readonly Row[]
  /** Blocks that the rows speak of, as in an append. */
  readonly blocks?: readonly Uint8Array[]
}

/**
 * Rows to append, the head that they continue, and their blocks. With `lease`, or `respectLease`, the store looks at the
 * log's lease in the same transaction.
 */
export interface Append extends AppendClaim {
  /** The head that the rows continue. */
  readonly expected: Head
  /** The rows, in order. At least one. */
  readonly rows: readonly Row[]
  /** Blocks that the rows speak of and that the store may not have yet. Stored with the rows or not at all. */
  readonly blocks?: readonly Uint8Array[]
  /**
   * Names this append, so that it can be tried again: where it has happened before, the answer is that of the first
   * time, whatever `expected` says. Kinds and bodies say what an operation is; `at` and `salt` of a retry may differ, and are
   * not stored.
   */
  readonly operation?: string
}

/** Where the rows of an append stand. */
export interface Appended {
  /** The position of the first row. */
  readonly from: number
  /** The head right after the last one. */
  readonly head: Head
}

/** A range by the rules of `Array.prototype.slice`: `{ from: -50 }` is the last fifty. */
export interface RowRange {
  /** The first position; a negative one counts from the end. Default: 0. */
  readonly from?: number
  /** The position after the last one; a negative one counts from the end. Default: the end. */
  readonly to?: number
  /** Only the rows of this kind; `from` and `to` then count them alone. */
  readonly only?: RowKind
}

/** A new log that shares the first rows of another. */
export interface Fork {
  /** The id of the new log. */
  readonly id: string
  /** How many rows it shares with the old one. */
  readonly at: number
  /** Metadata of the new log. Default: `{}`. */
  readonly meta?: JsonObject
}

/** New metadata for a log, and the version that it replaces. */
export interface MetaUpdate {
  /** The version that `meta` was made from. */
  readonly expected: number
  /** The whole new metadata. */
  readonly meta: JsonObject
}

/** Scalars that metadata must have under these keys; an object asks the same of what stands under its key. */
export interface Where {
  readonly [key: string]: string | number | boolean | null | Where
}

/** Which logs to list. */
export interface ListQuery {
  /** From 1 to 1,000. Default 100. */
  readonly limit?: number
  /** The `next` of the page before. */
  readonly after?: string
  /** Only logs whose metadata has these values under these keys. PostgreSQL has an index for it; the others look at each log. */
  readonly where?: Where
  /**
   * What comes first: the log that was `created` last, or that was `appended` to last. By `appended`, a log that is
   * appended to between two pages moves to the front, and the later pages don't have it. Default: `created`.
   *
   * Cost    `appended` sorts all logs that `where` leaves, for each page
   */
  readonly by?: 'created' | 'appended'
}

/** A log that is there and can't be read: its id, as far as that can be, and what is wrong with it. */
export interface DamagedEntry {
  /** Its id, as far as it can be read. */
  readonly id: string
  /** What is wrong with it, in words. */
  readonly reason: string
}

/** A page of a list of logs. */
export interface LogPage {
  /** The last first, by what the query says. */
  readonly logs: readonly LogInfo[]
  /** Logs that are there, and that nothing can be said of, whatever `where` asks: one can be removed, or repaired. */
  readonly damaged?: readonly DamagedEntry[]
  /** Where the next page starts; absent on the last one. */
  readonly next?: string
}

/**
 * Small values under names of letters, digits and `/ _ - %`. The first value of a name stays, so that processes that share
 * no log can agree.
 */
export interface OnceStore {
  /** The values of these names, in the same order; `undefined` where there is none. */
  readonly get: (names: readonly string[]) => Task<MediumFault, readonly (Uint8Array | undefined)[]>
  /** True: it was kept. False: the name has a value already, which stays. After a failure either may be so: read it. */
  readonly put: (name: string, value: Uint8Array) => Task<MediumFault, boolean>
  /** The names that begin so, in any order. Absent, where the store has no `keys`. */
  readonly list?: (start?: string) => Task<MediumFault, readonly string[]>
  /** Remove the values of all names that begin so. Absent, where the store has no `deletePrefix`. */
  readonly remove?: (start: string) => Task<MediumFault, void>
}

/** Bytes under their SHA-256. */
export interface BlockStore {
  /** Values of which the first stays. Only where the store has no logs, and has `putIfAbsent`. */
  readonly once?: OnceStore
  /** The store's SHA-256: the fastest there is where it runs. */
  readonly hash: Hash
  /** The scope whose blocks these are. */
  readonly scope: string
  /**
   * Keep blocks, and give their ids in the same order. What is there already is not stored again, unless it is damaged.
   * Blocks that are put here, and not with the rows of a log, are kept for good.
   */
  readonly putBlocks: (blocks: readonly Uint8Array[]) => Task<MediumFault, readonly BlockId[]>
  /** The blocks with these ids, in the same order; `undefined` for one that is not there. A damaged one is a fault. */
  readonly getBlocks: (ids: readonly BlockId[]) => Task<BlockFault, readonly (Uint8Array | undefined)[]>
  /**
   * Whether there are blocks with these ids, in the same order. A damaged one is not there: it can be put again, and is
   * whole then.
   *
   * Cost    the blocks are read, by the store or by its server
   */
  readonly hasBlocks: (ids: readonly BlockId[]) => Task<BlockFault, readonly boolean[]>
}

/**
 * A store handle: the logs and blocks of one scope. Nothing happens before the task that a method returns is run, and
 * no method throws.
 *
 * Ids of logs, operations and scopes are 1 to 255 bytes of well-formed UTF-8 without control characters. They are
 * compared byte by byte, are never part of a path, and never of a query's text.
 */
export interface Store extends BlockStore {
  /** The store's clock: milliseconds since 1970. What appends to a log takes the `at` of its rows from it. */
  readonly now: () => number
  /** Start a log, empty or with its first rows. */
  readonly create: (log: NewLog) => Task<NewLogFault, LogInfo>
  /** The head, metadata and counts of a log, without its rows. `NoSuchLog` if there is none. */
  readonly info: (id: string) => Task<LogFault, LogInfo>
  /** A page of the logs of this scope, the last created first. */
  readonly list: (query?: ListQuery) => Task<ListFault, LogPage>
  /** Replace a log's metadata, if nobody else has since the version it was made from. */
  readonly update: (id: string, update: MetaUpdate) => Task<UpdateFault, LogInfo>
  /**
   * Append rows at the expected head: all of them and their blocks, or nothing and a fault. Once the answer is there
   * they are durable, as far as the store promises that. Appends that wait together share a commit.
   *
   * Cost    one round trip; independent of the length of the log
   */
  readonly append: (id: string, append: Append) => Task<AppendFault, Appended>
  /** Rows, in order. Cost: O(rows that are read + log length). */
  readonly read: (id: string, range?: RowRange) => Task<LogFault, readonly StoredRow[]>
  /**
   * What is kept beside each row: the root of the largest perfect subtree that ends with it. Those at `peakEnds(n)` are
   * the peaks of the log's first `n` rows.
   */
  readonly nodes: (id: string, positions: readonly number[]) => Task<LogFault, readonly Uint8Array[]>
  /**
   * A new log that starts with the first rows of another and shares them. Appends to one don't show in the other;
   * either can be removed. Operations are not taken along.
   *
   * Cost    independent of the length of the log
   */
  readonly fork: (id: string, fork: Fork) => Task<ForkFault, LogInfo>
  /** Delete a log with its rows, except those that a fork shares, and with the blocks that nobody else speaks of. */
  readonly remove: (id: string) => Task<LogFault, void>
  /**
   * Hold everything that is kept against everything else, in all scopes: rows against the tree, blocks against their
   * digests, and the store's own bookkeeping. Changes nothing. `[]`: it is all as it was written.
   *
   * Cost    O(everything); a reader among others
   */
  readonly check: () => Task<MediumFault, readonly StoreFinding[]>
  /**
   * Rebuild what the rest of the store proves, in all scopes, and say of every finding what was done. No row and no block
   * that was recorded is changed or removed.
   *
   * Cost    O(everything), in one transaction: others wait
   */
  readonly repair: () => Task<MediumFault, readonly StoreRepair[]>
  /**
   * Take the lease of a log. `LeaseHeld` while somebody else holds one. One that has expired is taken over.
   *
   * A lease keeps nobody from appending without one. Give its number with each append (`lease`): then nothing is appended
   * once the lease is lost, however long its holder was paused.
   *
   * Cost    one transaction beside the log
   */
  readonly lease: (id: string, lease: NewLease) => Task<LeaseFault, Lease>
  /** Make a lease last longer. `LeaseLost` once it has expired, also where nobody has taken it since. */
  readonly renew: (id: string, renewal: Renewal) => Task<RenewFault, Lease>
  /** Give a lease back. One that is lost already stays as it is. */
  readonly release: (id: string, number: number) => Task<LogFault, void>
  /** Ask the holder to stop: it sees that at its next renewal. Gives the lease that was asked; undefined: nobody holds one. */
  readonly requestStop: (id: string) => Task<LogFault, Lease | undefined>
  /** Who holds the log; undefined: nobody. */
  readonly leaseOf: (id: string) => Task<LogFault, Lease | undefined>
  /**
   * Call `wake` whenever the log may have changed: by this handle, by another of this process, or by another process. What
   * changed is read. Several changes may be one call, a call may come for nothing, and `wake` must return quickly. Once
   * this task resolves, no change goes without a call. The function that it gives ends it; so does a close of the store,
   * with a last call. A log that is not there can be watched.
   *
   * Cost    nothing in memory. SQLite and PostgreSQL poll for what other processes do: at most 5 times a second for all
   *         logs of a handle, and PostgreSQL once in 5 seconds while its notifications arrive
   */
  readonly watch: (id: string, wake: () => void) => Task<MediumFault | StoreFaultOf<'InvalidId'>, () => void>
  /** The same store for another scope. */
  readonly scoped: (scope: string) => Either<StoreFaultOf<'InvalidId'>, Store>
  /** End this handle; the handle that the store was opened with ends all. What was started is finished first. */
  readonly close: () => Task<StoreFaultOf<'Io'>, void>
}
