/** What can go wrong with a store, as data. */
import { reasonOf, taskOf, type CallbackThrew, type TaskOf } from '../task/index.ts'
import { callbackFaultText } from '../task/fault.ts'
import { absurd, formatPath, type JsonObject, type Path } from '../json/index.ts'
import type { BlockId } from '../proof/index.ts'
import type { Head, StoredRow } from './row.ts'

/** What can go wrong with a store. Released tags stay. */
export type StoreFault =
  /** The log has grown: `missed` is what came after the expected head (the first 1,000 rows of it). Nothing was appended. */
  | {
      readonly _tag: 'Conflict'
      readonly id: string
      readonly expected: Head
      readonly actual: Head
      readonly missed: readonly StoredRow[]
    }
  /** The log does not continue the expected head at all: it is another record. Nothing was appended. */
  | { readonly _tag: 'Diverged'; readonly id: string; readonly expected: Head; readonly actual: Head }
  /** The operation has happened with other rows, from position `from` on. */
  | { readonly _tag: 'OperationMismatch'; readonly id: string; readonly operation: string; readonly from: number }
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
  /** The position `at` is not in the log, which has `size` rows. */
  | { readonly _tag: 'BeyondEnd'; readonly id: string; readonly at: number; readonly size: number }
  /** The id is empty, too long, or has a control character. */
  | {
      readonly _tag: 'InvalidId'
      readonly what: 'log' | 'scope' | 'operation' | 'block' | 'cursor'
      readonly reason: string
    }
  /** Somebody works on the log: nothing was done. The lease expires in `remaining` milliseconds unless it is renewed. */
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
  | {
      readonly _tag: 'InvalidLease'
      /** What is wrong with the holder or the ttl. */
      readonly reason: string
    }
  /** What was to be stored can't be: the row at `index` of those given, or the metadata. */
  | { readonly _tag: 'InvalidRow'; readonly index: number; readonly reason: string }
  /** The metadata is no JSON data, at `path`. */
  | { readonly _tag: 'InvalidMeta'; readonly path: Path; readonly reason: string }
  /** Blocks that the rows to append speak of and that are not there. */
  | { readonly _tag: 'MissingBlock'; readonly ids: readonly BlockId[] }
  /** Blocks that were given with rows and that none of the rows speaks of: nothing would keep them. */
  | { readonly _tag: 'UnusedBlock'; readonly ids: readonly BlockId[] }
  /** Stored blocks whose bytes are not those of their ids. */
  | { readonly _tag: 'DamagedBlock'; readonly ids: readonly BlockId[] }
  /** What is stored is not what was: `position` is the first row that is not as it should be. */
  | { readonly _tag: 'DamagedLog'; readonly id: string; readonly position: number; readonly reason: string }
  | { readonly _tag: 'Closed' }
  /** Somebody else has held the database for longer than `waited` milliseconds. */
  | { readonly _tag: 'Busy'; readonly waited: number }
  /** The store is opened for reading only. */
  | { readonly _tag: 'ReadOnly'; readonly path: string }
  /** There is no space left. What was stored before stays. */
  | { readonly _tag: 'Full'; readonly path: string }
  /** The file that was opened was unlinked, or another stands in its place: what was committed is not in it. */
  | { readonly _tag: 'FileReplaced'; readonly path: string }
  /** There is none, and it was not to be made. */
  | { readonly _tag: 'NoStore'; readonly path: string }
  /** The file is a database of something else, or no database. */
  | { readonly _tag: 'NotAStore'; readonly path: string; readonly found: string }
  /** A newer version of the library wrote the store, in the format `found`. */
  | { readonly _tag: 'NewerStore'; readonly path: string; readonly found: number; readonly supported: number }
  /**
   * The medium failed. With `outcome: 'unknown'` the change may have been made, whole; without, it was not. A retry with
   * the same operation id, or a read, finds out.
   */
  | { readonly _tag: 'Io'; readonly operation: string; readonly cause: unknown; readonly outcome?: 'unknown' }

/** The store faults with these tags. */
export type StoreFaultOf<Tag extends StoreFault['_tag']> = Extract<StoreFault, { readonly _tag: Tag }>

/** What every call of a store can meet: the handle or the medium. Each of the faults below has these too. */
export type MediumFault = StoreFaultOf<'Closed' | 'Busy' | 'ReadOnly' | 'Full' | 'FileReplaced' | 'NotAStore' | 'Io'>

/** Opening a store: what stands at the place may be no store, or a newer one. */
export type OpenStoreFault = MediumFault | StoreFaultOf<'InvalidId' | 'NoStore' | 'NewerStore' | 'DamagedLog'>

/** Reading a log, or removing one. */
export type LogFault = MediumFault | StoreFaultOf<'InvalidId' | 'NoSuchLog' | 'DamagedLog'>

/** Verifying a log, also against an older head. */
export type VerifyFault = LogFault | StoreFaultOf<'Diverged'>

/** Starting a log. */
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
    >

/** Listing logs: a cursor or a `where` that is none. Damaged logs are listed as such. */
export type ListFault = MediumFault | StoreFaultOf<'InvalidId' | 'InvalidMeta'>

/** Replacing metadata. */
export type UpdateFault = LogFault | StoreFaultOf<'InvalidMeta' | 'MetaConflict'>

/** Appending rows. */
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

/** Forking a log. */
export type ForkFault = LogFault | StoreFaultOf<'InvalidMeta' | 'BeyondEnd' | 'LogExists'>

/** Taking a lease. */
export type LeaseFault = LogFault | StoreFaultOf<'InvalidLease' | 'LeaseHeld'>

/** Renewing a lease. */
export type RenewFault = LogFault | StoreFaultOf<'InvalidLease' | 'LeaseLost'>

/** Reading blocks. */
export type BlockFault = MediumFault | StoreFaultOf<'InvalidId' | 'DamagedBlock'>

/** A store fault as a sentence for people: what happened, where, and what to do next. */
export const storeFaultText = (fault: StoreFault | CallbackThrew): string => {
  switch (fault._tag) {
    case 'Conflict':
      return `${name(fault.id)} has grown from ${fault.expected.size} to ${fault.actual.size} rows; nothing was appended: continue from its new end, or fork it at ${fault.expected.size}`
    case 'Diverged':
      return `${name(fault.id)} is not the record that was read: its ${fault.actual.size} rows don't continue the head of ${fault.expected.size} that was expected; nothing was changed: verify it, and read it again`
    case 'OperationMismatch':
      return `operation ${name(fault.operation)} has already appended other rows to ${name(fault.id)}, at position ${fault.from}; nothing was appended: an operation id names one content only`
    case 'MetaConflict':
      return `the metadata of ${name(fault.id)} was changed meanwhile: it is at version ${fault.actual}, not ${fault.expected}; nothing was changed: apply the change to the new version`
    case 'NoSuchLog':
      return `there is no session or log ${name(fault.id)} in this scope of the store`
    case 'LogExists':
      return `there is a session or log ${name(fault.id)} already; nothing was created: open it, or choose another id`
    case 'BeyondEnd':
      return `${name(fault.id)} ends at ${fault.size}, and ${fault.at} is beyond that`
    case 'InvalidId':
      return `this can't be the id of a ${fault.what}: ${fault.reason}`
    case 'LeaseHeld':
      return `${name(fault.id)} is held by ${name(fault.holder)}, whose lease expires in ${fault.remaining} ms if it is not renewed; nothing was done: wait, or ask the holder to stop`
    case 'LeaseLost':
      return `lease ${fault.number} of ${name(fault.id)} has expired, or was released or taken over; nothing was appended: take a new lease, and read what was appended since`
    case 'InvalidLease':
      return `the lease can't be given: ${fault.reason}`
    case 'InvalidRow':
      return `row ${fault.index} of the append ${fault.reason}; nothing was appended`
    case 'InvalidMeta':
      return `the metadata can't be stored: ${formatPath(fault.path) || 'it'} ${fault.reason}; nothing was changed`
    case 'MissingBlock':
      return `${fault.ids.length} block${plural(fault.ids)} not in this scope of the store, the first ${fault.ids[0]}; put what is missing first`
    case 'UnusedBlock':
      return `${fault.ids.length} of the blocks to append ${fault.ids.length === 1 ? 'is' : 'are'} named by no row, the first ${fault.ids[0]}; nothing was appended: name it in the row's blocks`
    case 'DamagedBlock':
      return `${fault.ids.length} stored block${plural(fault.ids)} not what was stored, the first ${fault.ids[0]}: restore the store from a copy`
    case 'DamagedLog':
      return `${name(fault.id)} is damaged at position ${fault.position}: ${fault.reason}; the rows before it are as they were appended`
    case 'Closed':
      return 'the store is closed; open it again'
    case 'Busy':
      return `the store was held by another writer for more than ${fault.waited} ms; nothing was changed: try again`
    case 'ReadOnly':
      return `${fault.path} can't be written to: check the permissions of the file and of its folder`
    case 'Full':
      return `there is no space left for ${fault.path}; nothing was changed: free some space outside the store, and try again (removing a session needs room too, before it gives any back)`
    case 'FileReplaced':
      return `${fault.path} is not the file that was opened any more: it was removed, or replaced by another; this write is not kept, and no more are made: close the store and open it again`
    case 'NoStore':
      return `there is no store yet: ${fault.path}; nothing was made`
    case 'NotAStore':
      return `${fault.path} is ${fault.found}; nothing was changed: choose another place`
    case 'NewerStore':
      return `${fault.path} was written by a newer version of this library (format ${fault.found}; this one knows ${fault.supported}); nothing was changed: update the library`
    case 'Io':
      return `the store failed to ${fault.operation}: ${reasonOf(fault.cause)}${fault.outcome === 'unknown' ? '; whether it was done is not known: try again, an append with the same operation id' : ''}`
    case 'CallbackThrew':
      return callbackFaultText(fault)
    default:
      return absurd(fault)
  }
}

const name = (id: string): string => JSON.stringify(id)

const plural = (ids: readonly BlockId[]): string => (ids.length === 1 ? ' is' : 's are')

/** Makes a task of what a store does. */
export const storeTask: TaskOf<StoreFault | CallbackThrew> = taskOf(storeFaultText)
