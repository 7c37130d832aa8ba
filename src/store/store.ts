/**
 * The store port: what the library needs of a place that keeps records. A store knows logs of rows and blocks of
 * bytes; it knows no message. Whatever passes `storeContract` of `indelible/testing` is one.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Hash } from '../digest/index.ts'
import type { JsonObject } from '../json/index.ts'
import type { BlockId } from '../message/index.ts'
import type { StoreFault } from './fault.ts'

/** What a row is: an entry of the record (a message), or a note about it. Both are leaves of one tree. */
export type RowKind = 'entry' | 'note'

/** What is appended. */
export interface Row {
  readonly kind: RowKind
  /** Any well-formed text, empty and NUL included. It is hashed as its UTF-8 and comes back unchanged. */
  readonly body: string
  /** The blocks that the text speaks of. They live at least as long as the row. */
  readonly blocks?: readonly BlockId[]
}

export interface StoredRow {
  /** Counted from 0 over all rows of the log. */
  readonly position: number
  readonly kind: RowKind
  /** Counted from 0 over the rows of its kind. */
  readonly index: number
  readonly body: string
}

/** How long a log is and the root of the tree of its rows, in hexadecimal: two logs with equal heads are equal. */
export interface Head {
  readonly size: number
  readonly root: string
}

export interface LogInfo {
  readonly id: string
  readonly head: Head
  /** How many rows are entries. */
  readonly entries: number
  /** Milliseconds since 1970. Two logs of one millisecond keep their order in `list`. */
  readonly created: number
  readonly meta: JsonObject
  /** Counts the changes of `meta`, from 1. */
  readonly version: number
}

export interface NewLog {
  readonly id: string
  readonly meta?: JsonObject
}

export interface Append {
  /** The head that the rows continue. */
  readonly expected: Head
  readonly rows: readonly Row[]
  /** Blocks that the rows speak of and that the store may not have yet. Stored with the rows or not at all. */
  readonly blocks?: readonly Uint8Array[]
  /**
   * Names this append, so that it can be tried again: where it has happened before, the answer is that of the first
   * time, whatever `expected` says.
   */
  readonly operation?: string
}

export interface Appended {
  /** The position of the first row. */
  readonly from: number
  /** The head right after the last one. */
  readonly head: Head
}

/** A range by the rules of `Array.prototype.slice`: `{ from: -50 }` is the last fifty. */
export interface RowRange {
  readonly from?: number
  readonly to?: number
  /** Only the rows of this kind; `from` and `to` then count them alone. */
  readonly only?: RowKind
}

export interface Fork {
  /** The id of the new log. */
  readonly id: string
  /** How many rows it shares with the old one. */
  readonly at: number
  readonly meta?: JsonObject
}

export interface MetaUpdate {
  /** The version that `meta` was made from. */
  readonly expected: number
  readonly meta: JsonObject
}

export interface ListQuery {
  /** From 1 to 1,000. Default 100. */
  readonly limit?: number
  /** The `next` of the page before. */
  readonly after?: string
  /** Only logs whose metadata has these values under these keys. */
  readonly where?: { readonly [key: string]: string | number | boolean | null }
}

export interface LogPage {
  /** The last created first. */
  readonly logs: readonly LogInfo[]
  /** Where the next page starts; absent on the last one. */
  readonly next?: string
}

/** Bytes under their SHA-256. */
export interface BlockStore {
  /** The store's SHA-256: the fastest there is where it runs. */
  readonly hash: Hash
  /** The scope whose blocks these are. */
  readonly scope: string
  /**
   * Keep blocks, and give their ids in the same order. What is there already is not stored again. Blocks that are put
   * here, and not with the rows of a log, are kept for good.
   */
  readonly putBlocks: (blocks: readonly Uint8Array[]) => TaskEither<StoreFault, readonly BlockId[]>
  /** The blocks with these ids, in the same order; `undefined` for one that is not there. A damaged one is a fault. */
  readonly getBlocks: (ids: readonly BlockId[]) => TaskEither<StoreFault, readonly (Uint8Array | undefined)[]>
  readonly hasBlocks: (ids: readonly BlockId[]) => TaskEither<StoreFault, readonly boolean[]>
}

/**
 * A store handle: the logs and blocks of one scope. Nothing happens before the task that a method returns is run, and
 * no method throws.
 *
 * Ids of logs, operations and scopes are 1 to 255 bytes of well-formed UTF-8 without control characters. They are
 * compared byte by byte, are never part of a path, and never of a query's text.
 */
export interface Store extends BlockStore {
  /** Start an empty log. */
  readonly create: (log: NewLog) => TaskEither<StoreFault, LogInfo>
  readonly info: (id: string) => TaskEither<StoreFault, LogInfo>
  readonly list: (query?: ListQuery) => TaskEither<StoreFault, LogPage>
  /** Replace a log's metadata, if nobody else has since the version it was made from. */
  readonly update: (id: string, update: MetaUpdate) => TaskEither<StoreFault, LogInfo>
  /**
   * Append rows at the expected head: all of them and their blocks, or nothing and a fault. Once the answer is there
   * they are durable, as far as the store promises that. Appends that wait together share a commit.
   *
   * Cost    one round trip; independent of the length of the log
   */
  readonly append: (id: string, append: Append) => TaskEither<StoreFault, Appended>
  /** Rows, in order. Cost: O(rows that are read + log length). */
  readonly read: (id: string, range?: RowRange) => TaskEither<StoreFault, readonly StoredRow[]>
  /**
   * What is kept beside each row: the root of the largest perfect subtree that ends with it. Those at `peakEnds(n)` are
   * the peaks of the log's first `n` rows.
   */
  readonly nodes: (id: string, positions: readonly number[]) => TaskEither<StoreFault, readonly Uint8Array[]>
  /**
   * A new log that starts with the first rows of another and shares them. Appends to one don't show in the other;
   * either can be removed. Operations are not taken along.
   *
   * Cost    independent of the length of the log
   */
  readonly fork: (id: string, fork: Fork) => TaskEither<StoreFault, LogInfo>
  /** Delete a log with its rows, except those that a fork shares, and with the blocks that nobody else speaks of. */
  readonly remove: (id: string) => TaskEither<StoreFault, void>
  /** The same store for another scope. */
  readonly scoped: (scope: string) => Either<StoreFault, Store>
  /** End this handle; the handle that the store was opened with ends all. What was started is finished first. */
  readonly close: () => TaskEither<StoreFault, void>
}
