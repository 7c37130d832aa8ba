/**
 * The port of a search index: the rows that contain certain terms. A store knows nothing of messages, so
 * the appending code supplies a function that finds a row's terms. An index has each term of a row once,
 * without order. It is derived from rows and blocks: it may lack rows, and can be rebuilt at any time.
 */
import type { BlockId } from '../../proof/internal.ts'
import type { Task } from '../../task/index.ts'
import type { LogFault, MediumFault, StoreFaultOf } from '../fault.ts'
import type { Row, StoredRow } from './row.ts'

/**
 * Returns the terms of a row: ASCII letters and digits and any other characters, in any order.
 * Called only by stores with an index. It must not throw.
 *
 * @param block returns a stored block that the row references, if it exists
 */
export type TermsOf = (
  row: Pick<Row, 'kind' | 'body'>,
  block: (id: BlockId) => Uint8Array | undefined,
) => readonly string[]

/** A term to look for. */
export interface WantedTerm {
  /** The term. */
  readonly term: string
  /** If true, matches all terms with this prefix. Default: false. */
  readonly prefix?: boolean
}

/** A search for rows. */
export interface RowQuery {
  /** Terms that a row must have. At least one. */
  readonly all: readonly WantedTerm[]
  /** Terms that a row must not have. Default: none. */
  readonly none?: readonly WantedTerm[]
  /** Only rows of this log, including shared ones. Default: all logs of the scope. */
  readonly log?: string
  /** Only rows with a time, from this one on, in milliseconds since 1970. Default: all. */
  readonly since?: number
  /** Only rows with a time, before this one. Default: all. */
  readonly until?: number
  /** The maximum number of rows, from 1 to 1,000. Default: 100. */
  readonly limit?: number
  /** The `next` of the page before. Default: the first page. */
  readonly after?: string
  /** If false, rows missing from the index are not counted, and `behind` is 0. Default: true. */
  readonly count?: boolean
}

/** A row that matches. */
export interface FoundRow {
  /** The logs that have the row, oldest first: usually one, and its forks. At most 16. */
  readonly logs: readonly string[]
  /** The row. */
  readonly row: StoredRow
  /** The cursor for continuing after this row. */
  readonly cursor: string
}

/** A page of found rows. */
export interface RowsFound {
  /** Rows by log, newest first; within a log, last row first. Some may have been changed or removed since. */
  readonly rows: readonly FoundRow[]
  /** The cursor of the next page. Absent on the last page. */
  readonly next?: string
  /** The number of rows, in all scopes, that the index still lacks. `add` indexes them. */
  readonly behind: number
}

/** A search for the places of several words. */
export interface PlaceQuery extends Pick<RowQuery, 'log' | 'since' | 'until'> {
  /** For each word, its terms: a row with one of them has the word. */
  readonly words: readonly (readonly WantedTerm[])[]
  /** Terms that a row must have as well. Default: none. */
  readonly all?: readonly WantedTerm[]
  /** The maximum number of places of each word. */
  readonly most: number
  /** Only rows of these segments. Default: all. */
  readonly segments?: readonly number[]
}

/** The places of words. */
export interface PlacesFound {
  /** For each word, the segments and positions of its rows in turn: newest segment first, then last position first. */
  readonly places: readonly (readonly number[])[]
  /** The number of messages of the scope, those of forks counted with each. */
  readonly messages: number
  /** The number of rows, in all scopes, that the index still lacks. */
  readonly behind: number
}

/** The result of indexing. */
export interface RowsIndexed {
  /** The number of rows indexed by this call. */
  readonly rows: number
  /** The number of encrypted rows among them, which can't be indexed. Absent if there are none. */
  readonly encrypted?: number
  /** The number of rows that the index still lacks. */
  readonly behind: number
}

/** The search index of a store, shared by all its scopes. */
export interface RowIndex {
  /**
   * Find rows of this scope.
   *
   * @param query the terms, filters and the cursor
   * @returns a page of rows; undefined if the store has no index
   */
  readonly find: (query: RowQuery) => Task<LogFault | StoreFaultOf<'InvalidId' | 'DamagedIndex'>, RowsFound | undefined>
  /**
   * Find rows of several logs, including shared rows.
   *
   * @param logs the ids of the logs; a missing log has no rows
   * @param term the term
   * @returns for each log that has any, its rows with the term, in any order, at most 10,000 in all
   */
  readonly findIn: (
    logs: readonly string[],
    term: string,
  ) => Task<LogFault | StoreFaultOf<'DamagedIndex'>, ReadonlyMap<string, readonly StoredRow[]>>
  /**
   * Find where several words are, without reading the rows.
   *
   * @returns their places; undefined if the store has no index
   */
  readonly places: (query: PlaceQuery) => Task<LogFault | StoreFaultOf<'DamagedIndex'>, PlacesFound | undefined>
  /**
   * Find the logs that have rows.
   *
   * @param places segments and positions, in turn
   * @returns for each place its logs, oldest first, at most 16
   */
  readonly logsAt: (places: readonly number[]) => Task<MediumFault, readonly (readonly string[])[]>
  /**
   * Find the segments that rows were appended to by these logs, or by a removed log whose fork is among them.
   *
   * @param logs the ids of the logs; a missing log has none
   * @returns the segments, in any order
   */
  readonly segmentsOf: (logs: readonly string[]) => Task<MediumFault, readonly number[]>
  /**
   * List the encrypted logs of this scope, which an index can't cover.
   *
   * Cost    O(logs of the scope)
   *
   * @returns their ids; empty if the driver can't list them
   */
  readonly encrypted: () => Task<MediumFault, readonly string[]>
  /**
   * Create an empty index, if there is none. From then on, appends of this handle that supply terms are indexed.
   *
   * @returns nothing; or `NoFullText`, `ReadOnly`
   */
  readonly make: () => Task<MediumFault | StoreFaultOf<'NoFullText'>, void>
  /**
   * Index rows that the index lacks, in all scopes, and remove entries of rows that no longer exist.
   *
   * @param terms returns the terms of a row
   * @param most the maximum number of rows; more than one batch takes several transactions
   * @returns the number of rows indexed, and left
   */
  readonly add: (terms: TermsOf, most: number) => Task<MediumFault | StoreFaultOf<'NoFullText'>, RowsIndexed>
  /** Remove the index. */
  readonly drop: () => Task<MediumFault | StoreFaultOf<'NoFullText'>, void>
}
