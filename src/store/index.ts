export { blockCache, cachedBlocks, type BlockCache, type BlockCacheOptions } from './cache.ts'
export type { CheckedRow } from './checked-row.ts'
export type { StoreFinding, StoreRepair } from './check.ts'
export type {
  Answer,
  Block,
  CheckedAppend,
  CheckedErasure,
  CheckedQuery,
  CheckedUpdate,
  Cursor,
  ErasingDriver,
  StoreDriver,
  Unchanged,
} from './driver.ts'

export { storeOf } from './handle.ts'

export type {
  AppendFault,
  BlockFault,
  EraseFault,
  ForkFault,
  LeaseFault,
  ListFault,
  LogFault,
  MediumFault,
  NewLogFault,
  OpenStoreFault,
  RemoveFault,
  RenewFault,
  StoreFault,
  StoreFaultOf,
  UpdateFault,
  VerifyFault,
} from './fault.ts'
export {
  againstClaim,
  changed as leaseChanged,
  type LeaseClaim,
  type Lease,
  type LeaseChange,
  type LeaseOutcome,
  type LeaseRow,
  type NewLease,
  type Renewal,
} from './lease.ts'
export type {
  Erased,
  EraseRequest,
  RemainingBlock,
  Residue,
  RowPlace,
  RowsToErase,
  Sharing,
  TextPlaces,
} from './erasing.ts'

export type { Because, CopiedClaim, ErasedRow, Erasure, Hold, KeyDestroyed, LedgerEntry } from './ledger-row.ts'

export type { LogIdentity } from './identity.ts'
export { followLog, type FollowOptions } from './follow.ts'

export { keyValueBlocks, removeBlocks, type KeyValue, type KeyValueOptions, type KeyValueStore } from './key-value.ts'
export { matches } from './lookup.ts'
export type { OwnCall } from './own-logs.ts'

export type { Plan } from './plan.ts'

export { memoryDriver, memoryStore, type MemoryOptions } from './memory.ts'
export type {
  Append,
  Appended,
  BlockStore,
  DamagedEntry,
  Fork,
  ListQuery,
  LogInfo,
  LogPage,
  LogStates,
  MetaUpdate,
  NewLog,
  OnceStore,
  RowRange,
  Store,
  StoreEncryption,
  Where,
} from './store.ts'
export type { Head, Row, RowKind, StoredRow } from './row.ts'
export type { FoundRow, RowIndex, RowQuery, RowsFound, RowsIndexed, TermsOf, WantedTerm } from './row-terms.ts'
export type { OnNotice, StoreNotice } from './notice.ts'
export { grow, type Grown } from './tree.ts'
export { verifyLog, type InspectRows } from './verify.ts'
export type { BlockId, CompactRange, Hash, HashedRow } from '../proof/kit.ts'
