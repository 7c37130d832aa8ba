/**
 * The adapter's side of the port. A driver keeps rows and blocks for all scopes. `storeOf` makes a store of it
 * and checks and hashes ids, rows, metadata and blocks in one place, so a driver receives checked input only.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import type { Hash, BlockId } from '../../proof/internal.ts'
import type { JsonObject } from '../../json/index.ts'
import type { SignalLike } from '../../task/index.ts'
import type { StoreFinding, StoreRepair } from './check.ts'
import type { StoreFault } from '../fault.ts'
import type { Block, CheckedAppend } from './plan.ts'
import type { EraseResult, RowPlace, Sharing, TextPlaces } from './erasing.ts'
import type { LeaseAnswer, LeaseClaim, LeaseChange } from './lease.ts'
import type { PlaceQuery, PlacesFound, RowQuery, RowsFound, RowsIndexed, TermsOf } from './row-terms.ts'
import type { AppendedRows, ListQuery, LogInfo, LogPage, LogPiece, RowRange } from './store.ts'
import type { Head, StoredRow } from './row.ts'

export type { Block, CheckedAppend } from './plan.ts'

/** The result of a driver's method: a value or a fault. */
export type Answer<T> = Promise<Either<StoreFault, T>>

/** New metadata as a driver receives it. */
export interface CheckedUpdate extends LeaseClaim {
  /** The version to replace. */
  readonly expected: number
  /** The new metadata. */
  readonly meta: JsonObject
  /** The key that the log must have; the fault for another key is `NoSuchLog`. Undefined: any key. */
  readonly ownKey: string | null | undefined
}

/** A log whose head must not have changed. */
export interface UnchangedLog {
  /** The id of the log. */
  readonly id: string
  /** The head it had; undefined if it did not exist. */
  readonly head: Head | undefined
}

/** The log after which a page of a list starts. Drivers return it as `next`, through `cursorText`. */
export interface Cursor {
  /** The log's sort key: the time of its last append, its number of entries or tokens, or its id; undefined in creation order. */
  readonly value: number | string | undefined
  /** Its number in creation order; 0 in the order of ids. */
  readonly key: number
}

/** A query as a driver receives it. */
export interface CheckedQuery extends Required<Pick<ListQuery, 'limit' | 'where' | 'by'>> {
  /** The log after which the page starts; undefined for the first page. */
  readonly after: Cursor | undefined
}

/**
 * The interface that an adapter implements: the calls of a `Store`, which documents their effects and
 * results, each with the scope as first argument. Scope, ids and arguments are already checked and copied; only
 * differences are documented here. An exception becomes an `Io` fault, for a change with `outcome: 'unknown'`.
 * If the driver knows that nothing was changed, it returns a fault instead. After `close` no method is called.
 *
 * `storeOf` does the rest: it checks the digests of blocks that are read, and returns `Closed` after a close.
 */
export interface StoreDriver {
  /** The driver's SHA-256 function. */
  readonly hash: Hash
  /** The store's clock: milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number
  /** `Store.create`, in one step with the first rows: an append to the empty log, usually without rows. */
  readonly create: (scope: string, id: string, meta: JsonObject, first: CheckedAppend) => Answer<LogInfo>
  /** `Store.info`. */
  readonly info: (scope: string, id: string) => Answer<LogInfo>
  /** `Store.list`. */
  readonly list: (scope: string, query: CheckedQuery) => Answer<LogPage>
  /** `Store.pieces`. Omit it if it would cost as much as a list. */
  readonly pieces?: (scope: string) => Answer<readonly LogPiece[]>
  /** `Store.update`; or the fault of `claimFault`. */
  readonly update: (scope: string, id: string, update: CheckedUpdate) => Answer<LogInfo>
  /**
   * `Store.append`: rows, blocks and the new head in one step. Appends to one log take effect in the order of
   * the calls: a session sends the next one, which expects the head that the first will leave, before the first is done.
   */
  readonly append: (scope: string, id: string, append: CheckedAppend) => Answer<AppendedRows>
  /** `Store.read`. */
  readonly read: (scope: string, id: string, range: RowRange) => Answer<readonly StoredRow[]>
  /** `Store.nodes`. */
  readonly nodes: (scope: string, id: string, positions: readonly number[]) => Answer<readonly Uint8Array[]>
  /** `Store.fork`: `to` shares the first `at` rows of `id`. The cost must not depend on `at`. */
  readonly fork: (scope: string, id: string, to: string, at: number, meta: JsonObject) => Answer<LogInfo>
  /** `Store.remove`; or `Conflict`, if in the same step another log is not at the head of `unchanged`. */
  readonly remove: (scope: string, id: string, unchanged: UnchangedLog | undefined) => Answer<void>
  /** Change the lease of a log as computed by `leaseChanged`, in one transaction. */
  readonly lease: (scope: string, id: string, change: LeaseChange) => Answer<LeaseAnswer>
  /** `Store.putBlocks`. */
  readonly putBlocks: (scope: string, blocks: readonly Block[]) => Answer<void>
  /** `Store.getBlocks`, each id once. Returns the stored blocks by id; no one else may change their bytes. */
  readonly getBlocks: (scope: string, ids: readonly BlockId[]) => Answer<ReadonlyMap<BlockId, Uint8Array>>
  /** `Store.hasBlocks`, each id once. Returns the ids of the blocks stored undamaged. */
  readonly hasBlocks: (scope: string, ids: readonly BlockId[]) => Answer<ReadonlySet<BlockId>>
  /** Erases rows. Omit it if the store can't erase; it then rejects erased rows in copies, too. */
  readonly erasing?: ErasingDriver
  /** Finish pending calls and release the medium. */
  readonly close: () => Promise<void>
  /** `Store.scopes`, each once, in any order. Omit it if the store can't list them. */
  readonly scopes?: () => Answer<readonly string[]>
  /** `Store.check`; or `Cancelled`, once the signal was aborted. Omit it if the store has no bookkeeping that could be wrong. */
  readonly check?: (signal?: SignalLike) => Answer<readonly StoreFinding[]>
  /** `Store.repair`. Never change recorded data. A signal that is aborted leaves no half of a repair. */
  readonly repair?: (signal?: SignalLike) => Answer<readonly StoreRepair[]>
  /** `Store.watch`, for changes by other processes. Omit it if no other process can change the store. */
  readonly watch?: (scope: string, id: string, wake: () => void) => Promise<() => void>
  /** The store's search index. Omit it if there can be none. */
  readonly index?: IndexDriver
}

/** The interface of a search index: the calls of a `RowIndex`. */
export interface IndexDriver {
  /** `RowIndex.find`, with the limit checked. */
  readonly find: (scope: string, query: RowQuery & { readonly limit: number }) => Answer<RowsFound | undefined>
  /** `RowIndex.findIn`, each log once. */
  readonly findIn: (
    scope: string,
    logs: readonly string[],
    term: string,
  ) => Answer<ReadonlyMap<string, readonly StoredRow[]>>
  /** `RowIndex.places`. Without it, `logsAt` and `segmentsOf`, questions are answered by reading messages. */
  readonly places?: (scope: string, query: PlaceQuery) => Answer<PlacesFound | undefined>
  /** `RowIndex.logsAt`. */
  readonly logsAt?: (scope: string, places: readonly number[]) => Answer<readonly (readonly string[])[]>
  /** `RowIndex.segmentsOf`. */
  readonly segmentsOf?: (scope: string, logs: readonly string[]) => Answer<readonly number[]>
  /** `RowIndex.encrypted`. Without it, no logs are reported. */
  readonly encrypted?: (scope: string) => Answer<readonly string[]>
  /** `RowIndex.make`. */
  readonly make: () => Answer<void>
  /** `RowIndex.add`. */
  readonly add: (terms: TermsOf, most: number) => Answer<RowsIndexed>
  /** `RowIndex.drop`. */
  readonly drop: () => Answer<void>
}

/** An erasure as a driver receives it. */
export interface CheckedErasure {
  /**
   * The rows by log, none of them erased yet. Each keeps its leaf, and its tokens are taken from the sum of the log that appended
   * it. The heads of the log and of the ledger, compared in the same step, prove that the rows are the ones that were read.
   */
  readonly logs: readonly (LeaseClaim & {
    readonly id: string
    readonly expected: Head
    readonly rows: readonly {
      readonly position: number
      readonly leaf: Uint8Array
      readonly stub: string
      readonly tokens: number
    }[]
  })[]
  /** The append to the ledger, with the ledger's id and metadata. If it expects no rows, the ledger is created. */
  readonly ledger: { readonly id: string; readonly meta: { readonly [key: string]: 1 }; readonly append: CheckedAppend }
  /**
   * Its place in an erasure of several slices. The old bytes of all are removed from the medium with the `last`, or
   * later without an erasure.
   */
  readonly slice: 'one of several' | 'last'
}

/** The erasing part of a driver. */
export interface ErasingDriver {
  /**
   * `Store.erase`, in one step: compare the head and the lease of each log, replace the rows with their stubs,
   * without salt and blocks, drop the blocks that nothing else references, and append to the ledger. Then remove the
   * old bytes from the medium; without an erasure, only that. The result's head is undefined if nothing was appended.
   */
  readonly erase: (scope: string, erasure: CheckedErasure | undefined) => Answer<Omit<EraseResult, 'rows'>>
  /** `Store.sharing`. */
  readonly sharing: (scope: string, id: string) => Answer<readonly Sharing[]>
  /** `Store.containing`, with each row listed for the log that appended it. */
  readonly containing: (scope: string, texts: readonly string[]) => Answer<TextPlaces>
  /** The erased rows of a scope, each for the log that appended it. Omit it if `check` reads the rows of each log. */
  readonly erased?: (scope: string) => Answer<readonly RowPlace[]>
}

/** The interface of an adapter for blocks without logs. */
export type BlockDriver = Pick<StoreDriver, 'hash' | 'putBlocks' | 'getBlocks' | 'hasBlocks'>
