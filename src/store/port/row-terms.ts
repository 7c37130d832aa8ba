/**
 * The port of a search index: which rows have certain terms. A store knows no message, so whoever appends says how the
 * terms of a row are found; an index holds the terms of each row once, without their order. It follows from the rows and
 * blocks: it may lack rows, and can be made anew at any time.
 */
import type { BlockId } from '../../proof/kit.ts'
import type { Task } from '../../task/index.ts'
import type { LogFault, MediumFault, StoreFaultOf } from '../fault.ts'
import type { Row, StoredRow } from './row.ts'

/**
 * Gives the terms of a row: texts of letters and digits of ASCII and any other characters, in any order. Called only by
 * stores that have an index; it must not throw.
 *
 * @param block gives the stored blocks that the row references, as far as they are there
 */
export type TermsOf = (
  row: Pick<Row, 'kind' | 'body'>,
  block: (id: BlockId) => Uint8Array | undefined,
) => readonly string[]

/** A term to look for. */
export interface WantedTerm {
  /** The term. */
  readonly term: string
  /** True: any term that begins so. Default: false. */
  readonly prefix?: boolean
}

/** The rows to find. */
export interface RowQuery {
  /** Terms that a row has. At least one. */
  readonly all: readonly WantedTerm[]
  /** Terms that a row does not have. Default: none. */
  readonly none?: readonly WantedTerm[]
  /** Only rows of this log, those it shares with others included. Default: all logs of the scope. */
  readonly log?: string
  /** Only rows with a time, from this on: milliseconds since 1970. Default: all. */
  readonly since?: number
  /** Only rows with a time before this. Default: all. */
  readonly until?: number
  /** The most rows, from 1 to 1,000. Default: 100. */
  readonly limit?: number
  /** The `next` of the page before. Default: the first page. */
  readonly after?: string
  /** False: don't count the rows that the index lacks; `behind` is 0. Default: true. */
  readonly count?: boolean
}

/** A row that has the terms. */
export interface FoundRow {
  /** The logs that have the row, oldest first: mostly one, and its forks. At most 16. */
  readonly logs: readonly string[]
  /** The row. */
  readonly row: StoredRow
  /** The cursor of the rows behind it. */
  readonly cursor: string
}

/** A page of found rows. */
export interface RowsFound {
  /** Rows of the newest log first, and of a log its last row first. Maybe some that have been changed or removed since. */
  readonly rows: readonly FoundRow[]
  /** The cursor of the next page. Absent on the last page. */
  readonly next?: string
  /** The number of rows, in all scopes, that the index does not have yet. `add` indexes them. */
  readonly behind: number
}

/** What was indexed. */
export interface RowsIndexed {
  /** The number of rows that were indexed now. */
  readonly rows: number
  /** How many of them are encrypted, so that the index has nothing of them. Absent if none is. */
  readonly encrypted?: number
  /** The number of rows that the index does not have yet. */
  readonly behind: number
}

/** The search index of a store: one for all of its scopes. */
export interface RowIndex {
  /**
   * Find rows of this scope.
   *
   * @param query the terms, filters and the cursor
   * @returns a page of rows; undefined if the store has no index
   */
  readonly find: (query: RowQuery) => Task<LogFault | StoreFaultOf<'InvalidId' | 'DamagedIndex'>, RowsFound | undefined>
  /**
   * Find rows of several logs, those that they share with others included.
   *
   * @param logs the ids of the logs; those that are missing have no rows
   * @param term the term
   * @returns for each log its rows that have the term, in any order, at most 10,000 in all
   */
  readonly findIn: (
    logs: readonly string[],
    term: string,
  ) => Task<LogFault | StoreFaultOf<'DamagedIndex'>, ReadonlyMap<string, readonly StoredRow[]>>
  /**
   * Name the logs of this scope that are encrypted: an index has nothing of them.
   *
   * Cost    O(logs of the scope)
   *
   * @returns their ids; none, if the driver can't tell
   */
  readonly encrypted: () => Task<MediumFault, readonly string[]>
  /**
   * Make an index without rows, if there is none. From now on, appends of this handle that say their terms are indexed.
   *
   * @returns nothing; or `NoFullText`, `ReadOnly`
   */
  readonly make: () => Task<MediumFault | StoreFaultOf<'NoFullText'>, void>
  /**
   * Index rows that it does not have, in all scopes, and forget rows that are not there any more.
   *
   * @param terms gives the terms of a row
   * @param most the most rows; more than one piece is committed in several transactions
   * @returns the number of rows indexed, and left
   */
  readonly add: (terms: TermsOf, most: number) => Task<MediumFault | StoreFaultOf<'NoFullText'>, RowsIndexed>
  /** Remove the index. */
  readonly drop: () => Task<MediumFault | StoreFaultOf<'NoFullText'>, void>
}
