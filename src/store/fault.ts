/** Faults of a store, as data. */
import { reasonOf, taskOf, type CallbackThrew, type TaskOf, sentencesOf, type Sentences } from '../task/index.ts'
import { callbackFaultText } from '../task/fault.ts'
import { formatPath, type JsonObject, type Path } from '../json/index.ts'
import type { BlockId } from '../proof/internal.ts'
import type { Head, StoredRow } from './port/row.ts'

/** A fault of a store. Released tags never change. */
export type StoreFault =
  /** The log has grown. `missed` has the rows after the expected head, at most 1,000. Nothing was appended. */
  | {
      readonly _tag: 'Conflict'
      readonly id: string
      readonly expected: Head
      readonly actual: Head
      readonly missed: readonly StoredRow[]
    }
  /** The log does not extend the expected head: it is another record. Nothing was appended. */
  | { readonly _tag: 'Diverged'; readonly id: string; readonly expected: Head; readonly actual: Head }
  /** The operation id was already used to append other rows, from position `from`. */
  | {
      readonly _tag: 'OperationMismatch'
      readonly id: string
      readonly operation: string
      /** The position of the first row that the operation appended. */
      readonly from: number
      /** The head after its last row. */
      readonly head?: Head
    }
  /** Another writer changed the metadata first: `meta` is at version `actual`. Nothing was changed. */
  | {
      readonly _tag: 'MetaConflict'
      readonly id: string
      readonly expected: number
      readonly actual: number
      readonly meta: JsonObject
    }
  /** The scope has no log with this id. */
  | { readonly _tag: 'NoSuchLog'; readonly id: string }
  /** The scope has a log with this id already. */
  | { readonly _tag: 'LogExists'; readonly id: string }
  /** The scope's log with this id has another purpose than `wanted`. It was not changed. */
  | { readonly _tag: 'OtherLog'; readonly id: string; readonly wanted: string }
  /** The position `at` is not in the log, which has `size` rows. */
  | { readonly _tag: 'BeyondEnd'; readonly id: string; readonly at: number; readonly size: number }
  /** The id is empty, too long, or has a control character. */
  | {
      readonly _tag: 'InvalidId'
      readonly what: 'log' | 'scope' | 'operation' | 'block' | 'cursor'
      readonly reason: string
    }
  /** Another holder has the lease of the log. It expires in `remaining` milliseconds unless renewed. Nothing was done. */
  | {
      readonly _tag: 'LeaseHeld'
      readonly id: string
      readonly holder: string
      /** Milliseconds since 1970, by the store's clock. */
      readonly expires: number
      readonly remaining: number
    }
  /** The lease with this fencing number has expired, or was released or taken over. Nothing was appended. */
  | { readonly _tag: 'LeaseLost'; readonly id: string; readonly number: number }
  /** The holder or time to live is not valid for a lease. */
  | {
      readonly _tag: 'InvalidLease'
      /** The problem with the holder or the ttl. */
      readonly reason: string
    }
  /** The log is held: until the hold is released, neither it nor rows that it shares can be erased or removed. */
  | { readonly _tag: 'LogHeld'; readonly id: string; readonly reason?: string; readonly by?: string }
  /** The store's adapter can't erase rows. Nothing was done. */
  | { readonly _tag: 'CannotErase' }
  /** A log of the scope has the ledger's id but is not a ledger. */
  | { readonly _tag: 'NotALedger'; readonly id: string; readonly reason: string }
  /**
   * The log is encrypted, and its key is missing or wrong. `key` is the id of the key; `reason` a
   * sentence. If `key` is `none`, the log should be encrypted but is not.
   */
  | { readonly _tag: 'NoKey'; readonly id: string; readonly key: string; readonly reason: string }
  /** The row at `index` of the append can't be stored. */
  | { readonly _tag: 'InvalidRow'; readonly index: number; readonly reason: string }
  /** The metadata is not JSON data, at `path`. */
  | { readonly _tag: 'InvalidMeta'; readonly path: Path; readonly reason: string }
  /** Rows of the append reference blocks that this scope of the store does not have. */
  | { readonly _tag: 'MissingBlock'; readonly ids: readonly BlockId[] }
  /** The append has blocks that none of its rows references. */
  | { readonly _tag: 'UnusedBlock'; readonly ids: readonly BlockId[] }
  /** Stored blocks whose bytes don't match their ids. */
  | { readonly _tag: 'DamagedBlock'; readonly ids: readonly BlockId[] }
  /** The stored log was altered. `position` is the first altered row. */
  | {
      readonly _tag: 'DamagedLog'
      readonly id: string
      readonly position: number
      readonly reason: string
      /** How to repair it. Default: from a backup. */
      readonly advice?: string
    }
  /** The caller's `signal` ended the operation. `cause` is the signal's reason. */
  | { readonly _tag: 'Cancelled'; readonly cause: unknown }
  /** The store is closed. */
  | { readonly _tag: 'Closed' }
  /** Another writer held the database for longer than `waited` milliseconds. */
  | { readonly _tag: 'Busy'; readonly waited: number }
  /** The store was opened read-only; `full`: because no disk space was left. */
  | { readonly _tag: 'ReadOnly'; readonly path: string; readonly full?: true }
  /** The disk is full. Earlier appends are intact. */
  | { readonly _tag: 'Full'; readonly path: string }
  /** The opened file was deleted, or replaced by another one that lacks the earlier commits. */
  | { readonly _tag: 'FileReplaced'; readonly path: string }
  /** There is no store at `path`, and the options forbid creating one. */
  | { readonly _tag: 'NoStore'; readonly path: string }
  /** The file is another program's database, or not a database. */
  | { readonly _tag: 'NotAStore'; readonly path: string; readonly found: string }
  /** A newer version of the library wrote the store, in the format `found`. */
  | { readonly _tag: 'NewerStore'; readonly path: string; readonly found: number; readonly supported: number }
  /**
   * An earlier development version wrote the store, in the format `found` with this fingerprint
   * (undefined if it has none), and this version can't read it.
   */
  | { readonly _tag: 'OlderStore'; readonly path: string; readonly found: number; readonly fingerprint?: string }
  /** The search index can't be read. The record is intact. */
  | { readonly _tag: 'DamagedIndex'; readonly reason: string }
  /** The store can't have a search index. It can be searched without one. */
  | { readonly _tag: 'NoFullText'; readonly reason: string }
  /**
   * The disk, the database or the connection failed. With `outcome: 'unknown'` the whole change may
   * have been committed; otherwise nothing was. To find out, retry with the same operation id, or read.
   */
  | { readonly _tag: 'Io'; readonly operation: string; readonly cause: unknown; readonly outcome?: 'unknown' }

/** The store faults with these tags. */
export type StoreFaultOf<Tag extends StoreFault['_tag']> = Extract<StoreFault, { readonly _tag: Tag }>

/** The faults of any store call: the handle is closed, or the medium fails. All types below include them. */
export type MediumFault = StoreFaultOf<
  'Cancelled' | 'Closed' | 'Busy' | 'ReadOnly' | 'Full' | 'FileReplaced' | 'NotAStore' | 'Io'
>

/** The faults of opening a store. */
export type OpenStoreFault =
  | MediumFault
  | StoreFaultOf<'InvalidId' | 'NoStore' | 'NewerStore' | 'OlderStore' | 'DamagedLog'>

/** The faults of reading a log. */
export type LogFault = MediumFault | StoreFaultOf<'InvalidId' | 'NoSuchLog' | 'DamagedLog' | 'NoKey'>

/** The faults of removing a log. */
export type RemoveFault = LogFault | StoreFaultOf<'LogHeld' | 'NotALedger'>

/** The faults of erasing rows. */
export type EraseFault =
  | LogFault
  | StoreFaultOf<
      | 'LogHeld'
      | 'NotALedger'
      | 'CannotErase'
      | 'Conflict'
      | 'Diverged'
      | 'BeyondEnd'
      | 'InvalidRow'
      | 'DamagedBlock'
      | 'LeaseHeld'
      | 'LeaseLost'
    >

/** The faults of verifying a log, alone or against an older head. */
export type VerifyFault = LogFault | StoreFaultOf<'Diverged'>

/** The faults of creating a log. */
export type NewLogFault =
  | MediumFault
  | StoreFaultOf<
      | 'InvalidId'
      | 'InvalidMeta'
      | 'InvalidRow'
      | 'LogExists'
      | 'MissingBlock'
      | 'UnusedBlock'
      | 'DamagedBlock'
      | 'DamagedLog'
      | 'NoKey'
    >

/** The faults of listing logs: an invalid cursor or `where`. Damaged logs are listed as damaged. */
export type ListFault = MediumFault | StoreFaultOf<'InvalidId' | 'InvalidMeta'>

/** The faults of replacing metadata. */
export type UpdateFault = LogFault | StoreFaultOf<'InvalidMeta' | 'MetaConflict' | 'LeaseHeld' | 'LeaseLost'>

/** The faults of appending rows. */
export type AppendFault =
  | LogFault
  | StoreFaultOf<
      | 'Conflict'
      | 'Diverged'
      | 'OperationMismatch'
      | 'InvalidRow'
      | 'MissingBlock'
      | 'UnusedBlock'
      | 'DamagedBlock'
      | 'LeaseHeld'
      | 'LeaseLost'
    >

/** The faults of forking a log. */
export type ForkFault = LogFault | StoreFaultOf<'InvalidMeta' | 'BeyondEnd' | 'LogExists'>

/** The faults of taking a lease. */
export type LeaseFault = LogFault | StoreFaultOf<'InvalidLease' | 'LeaseHeld'>

/** The faults of renewing a lease. */
export type RenewFault = LogFault | StoreFaultOf<'InvalidLease' | 'LeaseLost'>

/** The faults of reading blocks. */
export type BlockFault = MediumFault | StoreFaultOf<'InvalidId' | 'DamagedBlock' | 'NoKey'>

export const storeSentences: Sentences<StoreFault | CallbackThrew> = {
  Conflict: (fault) =>
    `another writer appended to ${name(fault.id)} first: it has ${fault.actual.size} rows, and ${fault.expected.size} were expected; nothing was appended: continue from its new end, or fork it at ${fault.expected.size}`,
  Diverged: (fault) =>
    `${name(fault.id)} is not the record you read: its ${fault.actual.size} rows don't continue the expected head of ${fault.expected.size} rows; nothing was changed: verify it, and read it again`,
  OperationMismatch: (fault) =>
    `operation ${name(fault.operation)} has already appended other rows to ${name(fault.id)}, at position ${fault.from}; nothing was appended: an operation id stands for one content only, so use a new one`,
  MetaConflict: (fault) =>
    `the metadata of ${name(fault.id)} was changed by another writer first: it is at version ${fault.actual}, not ${fault.expected}; your change was not made: apply it to the new version`,
  NoSuchLog: (fault) =>
    `there is no session or log ${name(fault.id)} in this scope of the store: check the id and the scope (listSessions, "indelible list")`,
  LogExists: (fault) =>
    `the store already has a session or log ${name(fault.id)}; nothing was created: open it, or choose another id`,
  OtherLog: (fault) =>
    `${name(fault.id)} is not ${fault.wanted}: it was made for something else; nothing was changed: choose another id`,
  NoKey: (fault) =>
    `${name(fault.id)} ${fault.key === 'none' ? 'is not encrypted' : "is encrypted and can't be read"}: ${fault.reason}`,
  BeyondEnd: (fault) =>
    `${name(fault.id)} has no position ${fault.at}: it has ${fault.size} rows, and positions are whole numbers from 0`,
  InvalidId: (fault) =>
    `invalid ${fault.what === 'log' ? 'session or log' : fault.what} id: ${fault.reason}${fault.what === 'block' || fault.what === 'cursor' ? '' : '; an id is 1 to 255 bytes of UTF-8 without control characters'}`,
  LeaseHeld: (fault) =>
    `${name(fault.id)} is in use by ${name(fault.holder)}, whose lease expires in ${seconds(fault.remaining)} unless it is renewed; nothing was done: wait, or ask the holder to stop`,
  LeaseLost: (fault) =>
    `lease ${fault.number} of ${name(fault.id)} was released, or has expired and another holder has taken over; nothing was appended: take a new lease, and read the newer rows`,
  InvalidLease: (fault) => `no lease was taken: ${fault.reason}`,
  LogHeld: (fault) =>
    `${name(fault.id)} is under a hold${fault.by === undefined ? '' : ` by ${name(fault.by)}`}${fault.reason === undefined ? '' : ` (${fault.reason})`}; nothing was erased or removed: release the hold first`,
  CannotErase: () =>
    'nothing was erased: the driver of this store has no `erasing`; copy the session to a store that can (copySession), and erase it there',
  NotALedger: (fault) =>
    `log ${name(fault.id)} is not a ledger of this library: ${fault.reason}; nothing was changed: restore the log from a backup, or move the other program's log to another id`,
  InvalidRow: (fault) => `row ${fault.index} of the append ${fault.reason}; nothing was appended`,
  InvalidMeta: (fault) =>
    `the metadata can't be stored: ${formatPath(fault.path) || 'it'} ${fault.reason}; nothing was changed`,
  MissingBlock: (fault) =>
    `${fault.ids.length} block${plural(fault.ids)} not in this scope of the store, the first ${fault.ids[0]}; nothing was appended: store the missing blocks first`,
  UnusedBlock: (fault) =>
    `no row references ${fault.ids.length} of the blocks to append, the first ${fault.ids[0]}; nothing was appended: add it to the blocks of its row`,
  DamagedBlock: (fault) =>
    `${fault.ids.length} stored block${plural(fault.ids)} altered, the first ${fault.ids[0]}: restore the store from a backup`,
  DamagedLog: (fault) =>
    `${name(fault.id)} is damaged at row ${fault.position}: ${fault.reason}; ${fault.advice ?? 'the rows before it are intact: keep the store as it is, and restore the log from a backup'}`,
  Cancelled: () => 'the signal ended the operation before it was done: call it again',
  Closed: () => 'the store is closed; open it again',
  Busy: (fault) =>
    `the store was held by another writer for more than ${fault.waited} ms; nothing was changed: try again`,
  ReadOnly: (fault) =>
    fault.full === true
      ? `${fault.path} was opened read-only, because no disk space was left; nothing was changed: free space, and open the store again`
      : `${fault.path} is read-only: check the permissions of the file and of its folder, or those of the database role`,
  Full: (fault) =>
    `no disk space is left for ${fault.path}; nothing was changed: free space outside the store, and try again (removing a session needs some space first)`,
  FileReplaced: (fault) =>
    `${fault.path} was deleted, replaced by another file, or cut to nothing after the store opened it; this write was not made, and the store accepts no more writes: close it and open it again`,
  NoStore: (fault) =>
    `there is no store at ${fault.path}; nothing was created: check the path, or store something there first`,
  NotAStore: (fault) =>
    `${fault.path} is not a store of Indelible but ${fault.found}; nothing was changed: choose another path`,
  NewerStore: (fault) =>
    `${fault.path} was written by a newer version of this library (format ${fault.found}; this one knows ${fault.supported}); nothing was changed: update the library`,
  OlderStore: (fault) =>
    `${fault.path} was written by an earlier development version of this library (format ${fault.found}${fault.fingerprint === undefined ? '' : `, fingerprint ${JSON.stringify(fault.fingerprint.slice(0, 12))}`}), and this version can't read it; nothing was changed: with the commit that wrote it, run "indelible export" for each session, and import the exports into a new store with this version; an export has messages, notes and metadata, but no call logs, references, event logs, ledgers or keys`,
  DamagedIndex: (fault) =>
    `the search index is damaged: ${fault.reason}; the record is intact: rebuild the index ("indelible index --rebuild", or indexStore with rebuild: true)`,
  NoFullText: (fault) =>
    `the store can't have a search index: ${fault.reason}; searches without an index still work, and read every message`,
  Io: (fault) =>
    `the store failed to ${fault.operation}: ${reasonOf(fault.cause)}${fault.outcome === 'unknown' ? '; the change may have been made: try again (an append with the same operation id)' : ''}${isMalformed(fault.cause) ? malformedAdvice(fault.operation) : ''}`,
  CallbackThrew: (fault) => callbackFaultText(fault),
}

/**
 * A store fault as a sentence for people.
 *
 * @returns what happened, where, and what to do next
 */
export const storeFaultText: (fault: StoreFault | CallbackThrew) => string = sentencesOf(storeSentences)

/** Whether SQLite reports that the file is damaged or truncated. Source: https://sqlite.org/rescode.html#corrupt */
const isMalformed = (cause: unknown): boolean =>
  (Number((cause as { readonly errcode?: unknown } | null)?.errcode) & 0xff) === 11

const malformedAdvice = (operation: string): string =>
  operation.startsWith('open')
    ? '; the file is damaged or cut off, so no command can open or repair it: restore it from a backup, and keep this file'
    : '; the file is damaged: restore it from a backup, or see what "indelible repair" can rebuild'

const name = (id: string): string => JSON.stringify(id)

/** A duration in seconds, as text. */
export const seconds = (milliseconds: number): string => `${Math.max(0, milliseconds / 1000).toFixed(1)} s`

const plural = (ids: readonly BlockId[]): string => (ids.length === 1 ? ' is' : 's are')

/**
 * Makes a task of a store operation.
 *
 * @param run runs the operation; called at once. It copies its arguments before its first `await`, and does not reject
 * @param call the name of the call, for an unhandled failure
 */
export const storeTask: TaskOf<StoreFault | CallbackThrew> = taskOf(storeFaultText)
