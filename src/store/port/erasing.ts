/** The requests and results of erasing rows in a store. */
import type { BlockId } from '../../proof/internal.ts'
import type { ActionReason, CopiedClaim } from './ledger-row.ts'
import type { LeaseClaim } from './lease.ts'
import type { Head } from './row.ts'

/** Rows of one log to erase. */
export interface RowsToErase extends LeaseClaim {
  /** The id of the log. */
  readonly id: string
  /** The head at which the rows were chosen. Erasing does not change the head. */
  readonly expected: Head
  /**
   * The positions of the rows, and the stub that replaces each. Rows erased before are skipped. The ledger keeps the digests, by
   * which a program recognizes a copy of the row.
   */
  readonly rows: readonly {
    readonly position: number
    readonly stub: string
    readonly digests?: readonly string[]
  }[]
}

/** The rows to erase, and the reason for the ledger. */
export interface EraseRequest extends ActionReason {
  /** The rows by log. Of a log without rows, only the head is checked. */
  readonly logs: readonly RowsToErase[]
  /** The ledger entry of another store, if the rows were erased there first. Default: none. */
  readonly copied?: CopiedClaim
}

/** A log that shares its first rows with another. */
export interface Sharing {
  /** The id of the other log. */
  readonly id: string
  /** The number of shared rows. */
  readonly rows: number
}

/** A block of an erased row that the store still has. */
export interface RemainingBlock {
  /** The SHA-256 of its bytes. */
  readonly block: BlockId
  /** The number of rows that still reference it. */
  readonly rows: number
  /** Whether it was also stored on its own, by `putBlocks`. */
  readonly kept: boolean
}

/** A place outside the logs that may still have bytes of erased rows. */
export interface Residue {
  /** `wal` and `file` for SQLite, `dead rows` for PostgreSQL. */
  readonly where: 'wal' | 'file' | 'dead rows'
  /** The reason, and how they get removed. */
  readonly reason: string
}

/** The result of an erasure. */
export interface EraseResult {
  /** The head of the ledger afterwards; undefined without a ledger, because nothing was ever erased. */
  readonly head: Head | undefined
  /** The number of rows erased now. */
  readonly rows: number
  /** The blocks of these rows that the store still has. */
  readonly blocks: readonly RemainingBlock[]
  /** The places that may still have bytes. Erase the same rows again to retry. */
  readonly residue: readonly Residue[]
}

/** The places of texts. */
export interface TextPlaces {
  /** Rows with one of the texts in their body or a referenced block, each for the log that appended it. */
  readonly rows: readonly RowPlace[]
  /** Blocks with one of the texts that were stored on their own, by `putBlocks`. */
  readonly blocks: readonly BlockId[]
  /** The ids of logs with one of the texts in the id of an operation, which a retry must find. Default: none. */
  readonly operations?: readonly string[]
  /** The ids of logs with unreadable rows, which may have a text. Default: none. */
  readonly unread?: readonly string[]
}

/** A row of a log. */
export interface RowPlace {
  /** The id of the log. */
  readonly id: string
  /** The position of the row. */
  readonly position: number
}
