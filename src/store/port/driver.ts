/**
 * The adapter's side of the port. A driver keeps rows and blocks for all scopes; it is handed only what was checked,
 * and `storeOf` makes a store of it: ids, rows, metadata and blocks are checked and hashed in one place.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import type { Hash, BlockId } from '../../proof/kit.ts'
import type { JsonObject } from '../../json/index.ts'
import type { StoreFinding, StoreRepair } from './check.ts'
import type { StoreFault } from '../fault.ts'
import type { CheckedRow } from './checked-row.ts'
import type { Erased, RowPlace, Sharing, TextPlaces } from './erasing.ts'
import type { LeaseClaim, Lease, LeaseChange } from './lease.ts'
import type { Wake } from './signals.ts'
import type { RowQuery, RowsFound, RowsIndexed, TermsOf } from './row-terms.ts'
import type { Appended, ListQuery, LogInfo, LogPage, RowRange } from './store.ts'
import type { Head, StoredRow } from './row.ts'
import type { Plan } from './plan.ts'

/** The result of a driver's method: a value or a fault. */
export type Answer<T> = Promise<Either<StoreFault, T>>

/** An append as a driver receives it. */
export interface CheckedAppend extends LeaseClaim {
  /** The head that the rows continue. */
  readonly expected: Head
  /** The rows, with their leaf hashes. At least one. */
  readonly rows: readonly CheckedRow[]
  /** The blocks of the rows that came with the append. */
  readonly blocks: readonly Block[]
  /** The operation id of the append, if it has one. */
  readonly operation: string | undefined
  /** The plan of the rows, if it was computed already. Give it to `growth` of the rules. */
  readonly plan: Plan | undefined
  /** Gives the terms of a row, for a driver with an index. */
  readonly terms: TermsOf | undefined
  /** The key that the log must have: `Diverged` if it has another. The rules have `hasKey`. */
  readonly ownKey: string | null | undefined
  /** Whether it gives way to others that have a turn or wait for one. */
  readonly respectTurns: boolean
}

/** New metadata as a driver receives it. */
export interface CheckedUpdate extends LeaseClaim {
  /** The version to replace. */
  readonly expected: number
  /** The new metadata. */
  readonly meta: JsonObject
  /** The key that the log must have: `NoSuchLog` if it has another; undefined: nothing is compared. */
  readonly ownKey: string | null | undefined
}

/** A log that was looked at. */
export interface Unchanged {
  /** The id of the log. */
  readonly id: string
  /** The head that it had; undefined: it was not there. */
  readonly head: Head | undefined
}

/** A block with its id. */
export interface Block {
  /** The SHA-256 of its bytes, as hexadecimal digits. */
  readonly id: BlockId
  /** The driver's own copy. */
  readonly bytes: Uint8Array
}

/** The log after which a page of a list starts. Drivers return it as `next`, by `cursorText`. */
export interface Cursor {
  /** The time of its last append; only if that is the order. */
  readonly appended: number | undefined
  /** Its number in the order of creation. */
  readonly key: number
}

/** A query as a driver receives it. */
export interface CheckedQuery extends Required<Pick<ListQuery, 'limit' | 'where' | 'by'>> {
  /** The log after which the page starts; undefined for the first page. */
  readonly after: Cursor | undefined
}

/**
 * A cursor as the `next` of a page.
 *
 * @param cursor the cursor
 * @returns the text
 */
export const cursorText = ({ appended, key }: Cursor): string =>
  appended === undefined ? `${key}` : `${appended}.${key}`

/**
 * The interface that an adapter implements. Each method is called with a valid scope and valid ids. An error that it
 * throws
 * becomes an `Io` fault; for a change, with `outcome: 'unknown'`. If the driver knows that nothing was changed, it
 * returns a
 * fault instead. After `close` no method is called.
 *
 * `storeOf` does the rest: it checks and copies the input, checks the digests of blocks that are read, and answers
 * `Closed` after a close.
 */
export interface StoreDriver {
  /** The SHA-256 that the driver uses. */
  readonly hash: Hash
  /**
   * The store's clock. Default: `Date.now`.
   *
   * @returns milliseconds since 1970
   */
  readonly now?: () => number
  /**
   * Create a log, together with its first rows, in one step.
   *
   * @param scope the scope
   * @param id the id of the log
   * @param meta its metadata
   * @param first an append to the empty log; mostly without rows
   * @returns the description of the log; or `LogExists`
   */
  readonly create: (scope: string, id: string, meta: JsonObject, first: CheckedAppend) => Answer<LogInfo>
  /**
   * Describe a log.
   *
   * @param scope the scope
   * @param id the id of the log
   * @returns head, metadata and counts; or `NoSuchLog`
   */
  readonly info: (scope: string, id: string) => Answer<LogInfo>
  /**
   * List the logs of a scope.
   *
   * @param scope the scope
   * @param query the filter, the order and the cursor
   * @returns one page
   */
  readonly list: (scope: string, query: CheckedQuery) => Answer<LogPage>
  /**
   * Replace the metadata, if its version is the expected one.
   *
   * @param scope the scope
   * @param id the id of the log
   * @param update the new metadata, the version that it replaces, and the lease that it is made under
   * @returns the description of the log; or `MetaConflict`, and what `againstClaim` says
   */
  readonly update: (scope: string, id: string, update: CheckedUpdate) => Answer<LogInfo>
  /**
   * Store rows, blocks and the new head in one step, if the head is the expected one.
   *
   * @param scope the scope
   * @param id the id of the log
   * @param append the checked rows, and the head that they continue
   * @returns the position and the new head; or `Conflict`
   */
  readonly append: (scope: string, id: string, append: CheckedAppend) => Answer<Appended>
  /**
   * Wait for a turn to append to a log, which writers get in the order in which they ask. Leave it out if a writer that
   * was refused is not late the next time.
   *
   * @param scope the scope
   * @param id the id of the log
   * @returns a function that ends the turn; or `Busy`
   */
  readonly turn?: (scope: string, id: string) => Answer<() => void>
  /**
   * Read the rows of a range.
   *
   * @param scope the scope
   * @param id the id of the log
   * @param range the range
   * @returns the rows, in order
   */
  readonly read: (scope: string, id: string, range: RowRange) => Answer<readonly StoredRow[]>
  /**
   * Read the stored tree nodes of rows.
   *
   * @param scope the scope
   * @param id the id of the log
   * @param positions the positions of the rows
   * @returns the nodes, in the same order
   */
  readonly nodes: (scope: string, id: string, positions: readonly number[]) => Answer<readonly Uint8Array[]>
  /**
   * Create a log that shares the first `at` rows of another. The cost must not depend on `at`.
   *
   * @param scope the scope
   * @param id the log to fork
   * @param to the id of the new log
   * @param at the number of rows to share
   * @param meta the metadata of the new log
   * @returns the description of the new log
   */
  readonly fork: (scope: string, id: string, to: string, at: number, meta: JsonObject) => Answer<LogInfo>
  /**
   * Remove a log. Rows that forks share stay.
   *
   * @param scope the scope
   * @param id the id of the log
   * @param unchanged another log that must be at this head in the same step; undefined: nothing is compared
   * @returns nothing; or `NoSuchLog`, or `Conflict` of the other log
   */
  readonly remove: (scope: string, id: string, unchanged: Unchanged | undefined) => Answer<void>
  /**
   * Change the lease of a log as `leaseChanged` computes it, in one transaction.
   *
   * @param scope the scope
   * @param id the id of the log
   * @param change the change
   * @returns the lease after the change; undefined if there is none
   */
  readonly lease: (scope: string, id: string, change: LeaseChange) => Answer<Lease | undefined>
  /**
   * Store blocks that stay without a row.
   *
   * @param scope the scope
   * @param blocks the blocks
   * @returns nothing
   */
  readonly putBlocks: (scope: string, blocks: readonly Block[]) => Answer<void>
  /**
   * Read blocks. Nobody else may change the returned bytes.
   *
   * @param scope the scope
   * @param ids their ids, each once
   * @returns the contents of the stored blocks, by id
   */
  readonly getBlocks: (scope: string, ids: readonly BlockId[]) => Answer<ReadonlyMap<BlockId, Uint8Array>>
  /**
   * Find which blocks are stored undamaged.
   *
   * @param scope the scope
   * @param ids their ids, each once
   * @returns the ids of these blocks
   */
  readonly hasBlocks: (scope: string, ids: readonly BlockId[]) => Answer<ReadonlySet<BlockId>>
  /** Erases rows. Leave it out if the store can't: it then takes no erased rows of copies either. */
  readonly erasing?: ErasingDriver
  /** Finish pending calls and release the medium. */
  readonly close: () => Promise<void>
  /**
   * The scopes that have a log, in any order. Leave it out if the store can't tell.
   *
   * @returns their names, each once
   */
  readonly scopes?: () => Answer<readonly string[]>
  /**
   * Check the whole store, in all scopes. Leave it out if the store has no bookkeeping that could be wrong.
   *
   * @returns the findings
   */
  readonly check?: () => Answer<readonly StoreFinding[]>
  /**
   * Rebuild the parts of the store, in all scopes, that follow from its rows and blocks. Never change recorded data.
   *
   * @returns the findings, and the action taken for each
   */
  readonly repair?: () => Answer<readonly StoreRepair[]>
  /**
   * Call `wake` after changes of a log by other processes. Leave it out if no other process can change the store.
   *
   * @param scope the scope
   * @param id the id of the log
   * @param wake called after changes
   * @returns a function that ends it
   */
  readonly watch?: (scope: string, id: string, wake: Wake) => Promise<() => void>
  /** The search index of the store. Leave it out if there can be none. */
  readonly index?: IndexDriver
  /** The states beside logs. Leave it out if the store keeps none. */
  readonly states?: StateDriver
}

/**
 * A text beside each log, which can be lost at any time. It is removed with its log, and in the step that erases a row of it:
 * of each log that shares the row.
 */
export interface StateDriver {
  /**
   * Read the text of a log.
   *
   * @param scope the scope
   * @param id the id of the log
   * @returns the text; undefined if there is none
   */
  readonly read: (scope: string, id: string) => Answer<string | undefined>
  /**
   * Put a text in place of the one before.
   *
   * @param scope the scope
   * @param id the id of the log
   * @param text the text
   * @returns nothing; or `NoSuchLog`
   */
  readonly write: (scope: string, id: string, text: string) => Answer<void>
}

/** The interface of a search index; `RowIndex` says what its methods do. */
export interface IndexDriver {
  /**
   * Find rows.
   *
   * @param scope the scope
   * @param query the terms, filters and the cursor; the limit is checked
   * @returns a page of rows; undefined if there is no index
   */
  readonly find: (scope: string, query: RowQuery & { readonly limit: number }) => Answer<RowsFound | undefined>
  /**
   * Find rows of several logs.
   *
   * @param scope the scope
   * @param logs the ids of the logs
   * @param term the term
   * @returns for each log the rows that have the term
   */
  readonly findIn: (
    scope: string,
    logs: readonly string[],
    term: string,
  ) => Answer<ReadonlyMap<string, readonly StoredRow[]>>
  /**
   * Name the encrypted logs of a scope. A driver without it names none.
   *
   * @param scope the scope
   * @returns their ids
   */
  readonly encrypted?: (scope: string) => Answer<readonly string[]>
  /**
   * Make an index without rows, if there is none.
   *
   * @returns nothing
   */
  readonly make: () => Answer<void>
  /**
   * Index rows that the index lacks.
   *
   * @param terms gives the terms of a row
   * @param most the most rows
   * @returns the number of rows indexed, and left
   */
  readonly add: (terms: TermsOf, most: number) => Answer<RowsIndexed>
  /**
   * Remove the index, if there is one.
   *
   * @returns nothing
   */
  readonly drop: () => Answer<void>
}

/** An erasure as a driver receives it. */
export interface CheckedErasure {
  /** The rows, log by log; each with the leaf that it has and keeps. */
  readonly logs: readonly (LeaseClaim & {
    readonly id: string
    readonly expected: Head
    readonly rows: readonly { readonly position: number; readonly leaf: Uint8Array; readonly stub: string }[]
  })[]
  /** What is appended to the ledger, whose id and metadata these are. It is created if it expects no rows. */
  readonly ledger: { readonly id: string; readonly meta: { readonly [key: string]: 1 }; readonly append: CheckedAppend }
}

/** The part of a driver that erases. */
export interface ErasingDriver {
  /**
   * In one step: compare the head and the lease of each log, put the stubs in place of the rows, without salt and blocks, drop the blocks
   * that nothing else references, and append to the ledger. Then remove what the medium keeps of the old bytes.
   *
   * @param scope the scope
   * @param erasure the rows and the ledger's row; with no rows, only what the medium keeps is removed
   * @returns the head of the ledger after it (undefined: nothing was appended), the blocks that remain, and where bytes may
   * still be; or `Conflict` of a log or of the ledger
   */
  readonly erase: (scope: string, erasure: CheckedErasure | undefined) => Answer<Omit<Erased, 'rows'>>
  /**
   * The logs that have their first rows in common with a log.
   *
   * @param scope the scope
   * @param id the id of the log
   * @returns the other logs
   */
  readonly sharing: (scope: string, id: string) => Answer<readonly Sharing[]>
  /**
   * The rows of a scope whose bodies contain one of some texts, or that reference a block that does, as UTF-8; and the
   * blocks with one of them that were stored on their own. Cost: all rows and blocks are read.
   *
   * @param scope the scope
   * @param texts the texts
   * @returns the rows, of each log that appended them, and the blocks
   */
  readonly containing: (scope: string, texts: readonly string[]) => Answer<TextPlaces>
  /**
   * The rows of a scope that were erased, for a check of the whole store. Leave it out if `check` reads the rows of each log.
   *
   * @param scope the scope
   * @returns the rows, of each log that appended them
   */
  readonly erased?: (scope: string) => Answer<readonly RowPlace[]>
}

/** The interface of an adapter that keeps blocks and no logs. */
export type BlockDriver = Pick<StoreDriver, 'hash' | 'putBlocks' | 'getBlocks' | 'hasBlocks'>
