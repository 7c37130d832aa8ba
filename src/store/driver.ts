/** What an adapter of a database or a service is written with: `storeOf` makes a store of a `StoreDriver`. */
export { storeOf } from './rules/handle.ts'
export { matches } from './rules/lookup.ts'
export { memoryDriver } from './memory/memory.ts'
export type { StoreFinding, StoreRepair } from './port/check.ts'
export type {
  Answer,
  Block,
  CheckedAppend,
  CheckedErasure,
  CheckedQuery,
  CheckedUpdate,
  Cursor,
  ErasingDriver,
  IndexDriver,
  StoreDriver,
  UnchangedLog,
} from './port/driver.ts'
export type { Residue, RowPlace, Sharing, TextPlaces } from './port/erasing.ts'
export {
  claimFault,
  changeLease as leaseChanged,
  type LeaseAnswer,
  type LeaseChange,
  type LeaseRow,
} from './port/lease.ts'
export type { CheckedRow, Plan } from './port/plan.ts'
export type { FoundRow, RowQuery, RowsFound, RowsIndexed, TermsOf, WantedTerm } from './port/row-terms.ts'
export type { LogPiece } from './port/store.ts'
export { grow, type GrownTree } from './port/tree.ts'
export type { CompactRange, HashedRow } from '../proof/internal.ts'
