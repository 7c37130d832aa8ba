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
import type { Appended, ListQuery, LogInfo, LogPage, LogPiece, RowRange } from './store.ts'
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
export interface UnchangedLog {
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
  /** What it is listed by: the time of its last append, the number of its entries, or its id; undefined in the order of creation. */
  readonly value: number | string | undefined
  /** Its number in the order of creation; 0 in the order of ids. */
  readonly key: number
}

/** A query as a driver receives it. */
export interface CheckedQuery extends Required<Pick<ListQuery, 'limit' | 'where' | 'by'>> {
  /** The log after which the page starts; undefined for the first page. */
  readonly after: Cursor | undefined
}

/** A cursor as the `next` of a page in this order. No other order takes it, but that of ids. */
export const cursorText = ({ value, key }: Cursor, by: CheckedQuery['by']): string =>
  by === 'id' ? `${value}` : by === 'created' ? `${key}` : `${value}${by === 'appended' ? '.' : ':'}${key}`

/**
 * The interface that an adapter implements: the calls of a {@link Store}, which documents what they do and answer, each with the
 * scope before its arguments. Scope, ids and arguments were checked and copied; what differs is said here. An error that a
 * method throws becomes an `Io` fault; for a change, with `outcome: 'unknown'`. If the driver knows that nothing was changed, it
 * returns a fault instead. After `close` no method is called.
 *
 * `storeOf` does the rest: it checks the digests of blocks that are read, and answers `Closed` after a close.
 */
export interface StoreDriver {
  /** The SHA-256 that the driver uses. */
  readonly hash: Hash
  /** The store's clock: milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number
  /** {@link Store.create}, in one step with the first rows: an append to the empty log, mostly without rows. */
  readonly create: (scope: string, id: string, meta: JsonObject, first: CheckedAppend) => Answer<LogInfo>
  /** {@link Store.info}. */
  readonly info: (scope: string, id: string) => Answer<LogInfo>
  /** {@link Store.list}. */
  readonly list: (scope: string, query: CheckedQuery) => Answer<LogPage>
  /** {@link Store.pieces}. Leave it out if it would cost as much as a list. */
  readonly pieces?: (scope: string) => Answer<readonly LogPiece[]>
  /** {@link Store.update}; or what `againstClaim` says. */
  readonly update: (scope: string, id: string, update: CheckedUpdate) => Answer<LogInfo>
  /** {@link Store.append}: rows, blocks and the new head in one step. */
  readonly append: (scope: string, id: string, append: CheckedAppend) => Answer<Appended>
  /** {@link Store.turn}. Leave it out if a writer that was refused is not late the next time. */
  readonly turn?: (scope: string, id: string) => Answer<() => void>
  /** {@link Store.read}. */
  readonly read: (scope: string, id: string, range: RowRange) => Answer<readonly StoredRow[]>
  /** {@link Store.nodes}. */
  readonly nodes: (scope: string, id: string, positions: readonly number[]) => Answer<readonly Uint8Array[]>
  /** {@link Store.fork}: `to` shares the first `at` rows of `id`. The cost must not depend on `at`. */
  readonly fork: (scope: string, id: string, to: string, at: number, meta: JsonObject) => Answer<LogInfo>
  /** {@link Store.remove}; or `Conflict`, if another log is not at the head of `unchanged` in the same step. */
  readonly remove: (scope: string, id: string, unchanged: UnchangedLog | undefined) => Answer<void>
  /** Change the lease of a log as `leaseChanged` computes it, in one transaction. Answers the lease after the change. */
  readonly lease: (scope: string, id: string, change: LeaseChange) => Answer<Lease | undefined>
  /** {@link Store.putBlocks}. */
  readonly putBlocks: (scope: string, blocks: readonly Block[]) => Answer<void>
  /** {@link Store.getBlocks}, each id once. Answers the stored blocks by id; nobody else may change their bytes. */
  readonly getBlocks: (scope: string, ids: readonly BlockId[]) => Answer<ReadonlyMap<BlockId, Uint8Array>>
  /** {@link Store.hasBlocks}, each id once. Answers the ids of the blocks that are stored undamaged. */
  readonly hasBlocks: (scope: string, ids: readonly BlockId[]) => Answer<ReadonlySet<BlockId>>
  /** Erases rows. Leave it out if the store can't: it then takes no erased rows of copies either. */
  readonly erasing?: ErasingDriver
  /** Finish pending calls and release the medium. */
  readonly close: () => Promise<void>
  /** {@link Store.scopes}, in any order, each once. Leave it out if the store can't tell. */
  readonly scopes?: () => Answer<readonly string[]>
  /** {@link Store.check}. Leave it out if the store has no bookkeeping that could be wrong. */
  readonly check?: () => Answer<readonly StoreFinding[]>
  /** {@link Store.repair}. Never change recorded data. */
  readonly repair?: () => Answer<readonly StoreRepair[]>
  /** {@link Store.watch}, for changes by other processes. Leave it out if no other process can change the store. */
  readonly watch?: (scope: string, id: string, wake: Wake) => Promise<() => void>
  /** The search index of the store. Leave it out if there can be none. */
  readonly index?: IndexDriver
  /** The states beside logs. Leave it out if the store keeps none. */
  readonly states?: StateDriver
}

/**
 * {@link LogStates}: a text beside each log, which can be lost at any time. It is removed with its log, and in the step that
 * erases a row of it: of each log that shares the row.
 */
export interface StateDriver {
  /** {@link LogStates.read}. */
  readonly read: (scope: string, id: string) => Answer<string | undefined>
  /** {@link LogStates.write}. */
  readonly write: (scope: string, id: string, text: string) => Answer<void>
}

/** The interface of a search index: the calls of a {@link RowIndex}. */
export interface IndexDriver {
  /** {@link RowIndex.find}, with the limit checked. */
  readonly find: (scope: string, query: RowQuery & { readonly limit: number }) => Answer<RowsFound | undefined>
  /** {@link RowIndex.findIn}, each log once. */
  readonly findIn: (
    scope: string,
    logs: readonly string[],
    term: string,
  ) => Answer<ReadonlyMap<string, readonly StoredRow[]>>
  /** {@link RowIndex.encrypted}. A driver without it names none. */
  readonly encrypted?: (scope: string) => Answer<readonly string[]>
  /** {@link RowIndex.make}. */
  readonly make: () => Answer<void>
  /** {@link RowIndex.add}. */
  readonly add: (terms: TermsOf, most: number) => Answer<RowsIndexed>
  /** {@link RowIndex.drop}. */
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
   * {@link Store.erase}, in one step: compare the head and the lease of each log, put the stubs in place of the rows, without
   * salt and blocks, drop the blocks that nothing else references, and append to the ledger. Then remove what the medium keeps
   * of the old bytes; without an erasure, only that. The answer's head is undefined if nothing was appended.
   */
  readonly erase: (scope: string, erasure: CheckedErasure | undefined) => Answer<Omit<Erased, 'rows'>>
  /** {@link Store.sharing}. */
  readonly sharing: (scope: string, id: string) => Answer<readonly Sharing[]>
  /** {@link Store.containing}: the rows of each log that appended them. */
  readonly containing: (scope: string, texts: readonly string[]) => Answer<TextPlaces>
  /** The rows of a scope that were erased, of each log that appended them. Leave it out if `check` reads the rows of each log. */
  readonly erased?: (scope: string) => Answer<readonly RowPlace[]>
}

/** The interface of an adapter that keeps blocks and no logs. */
export type BlockDriver = Pick<StoreDriver, 'hash' | 'putBlocks' | 'getBlocks' | 'hasBlocks'>
