/** The requests and results of erasing rows in a store. */
import type { BlockId } from '../../proof/kit.ts'
import type { Because, CopiedClaim } from './ledger-row.ts'
import type { LeaseClaim } from './lease.ts'
import type { Head } from './row.ts'

/** Rows of one log to erase. */
export interface RowsToErase extends LeaseClaim {
  /** The id of the log. */
  readonly id: string
  /** The head at which the rows were chosen. Erasing does not change it. */
  readonly expected: Head
  /** The positions of the rows, and the stub that stands for each from now on. Rows that are erased already are skipped. */
  readonly rows: readonly { readonly position: number; readonly stub: string }[]
}

/** The rows to erase, and the ledger's entry about it. */
export interface EraseRequest extends Because {
  /** The rows, log by log. A log without rows is only checked to be at its head. */
  readonly logs: readonly RowsToErase[]
  /** The entry of another store, if the rows were erased there first. Default: they were not. */
  readonly copied?: CopiedClaim
}

/** A log that has its first rows in common with another. */
export interface Sharing {
  /** The id of the other log. */
  readonly id: string
  /** How many rows they share. */
  readonly rows: number
}

/** A block that an erased row referenced and that is still there. */
export interface RemainingBlock {
  /** The SHA-256 of its bytes. */
  readonly block: BlockId
  /** Why: so many rows reference it. */
  readonly rows: number
  /** Why: it was stored on its own, by `putBlocks`. */
  readonly kept: boolean
}

/** Where bytes of erased rows may still be, outside the logs. */
export interface Residue {
  /** `wal`, `file`: of SQLite. `dead rows`: of PostgreSQL. */
  readonly where: 'wal' | 'file' | 'dead rows'
  /** Why they are still there, and what removes them. */
  readonly reason: string
}

/** The result of an erasure. */
export interface Erased {
  /** The head of the ledger after it; undefined if there is no ledger, because nothing was ever erased. */
  readonly head: Head | undefined
  /** How many rows were erased now. */
  readonly rows: number
  /** The blocks of them that other rows still reference. */
  readonly blocks: readonly RemainingBlock[]
  /** Where bytes may still be. Erase the same rows again to try once more. */
  readonly residue: readonly Residue[]
}

/** Where texts were found. */
export interface TextPlaces {
  /** Rows whose body has one of the texts, or that reference a block with one; each of the log that appended it. */
  readonly rows: readonly RowPlace[]
  /** Blocks with one of the texts that were stored on their own, by `putBlocks`. */
  readonly blocks: readonly BlockId[]
  /** The ids of logs that may have one, because not all of their rows could be read. Default: none. */
  readonly unread?: readonly string[]
}

/** A row of a log. */
export interface RowPlace {
  /** The id of the log. */
  readonly id: string
  /** The position of the row. */
  readonly position: number
}
