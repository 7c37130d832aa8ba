export { blockCache, cachedBlocks, type BlockCache, type BlockCacheOptions } from './blocks/cache.ts'
export type { CheckedRow } from './port/checked-row.ts'
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

export { storeOf } from './rules/handle.ts'

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
  claimFault,
  changeLease as leaseChanged,
  type LeaseClaim,
  type Lease,
  type LeaseAnswer,
  type LeaseChange,
  type LeaseOutcome,
  type LeaseRow,
  type NewLease,
  type Renewal,
} from './port/lease.ts'
export type {
  EraseResult,
  EraseRequest,
  RemainingBlock,
  Residue,
  RowPlace,
  RowsToErase,
  Sharing,
  TextPlaces,
} from './port/erasing.ts'

export type {
  ActionReason,
  CopiedClaim,
  ErasedRow,
  Erasure,
  Hold,
  KeyDestroyed,
  LedgerEntry,
} from './port/ledger-row.ts'

export type { LogIdentity } from './port/identity.ts'
export type { SignalLike } from '../task/index.ts'
export { followLog, type FollowOptions } from './rules/follow.ts'

export {
  keyValueBlocks,
  removeBlocks,
  type KeyValue,
  type KeyValueOptions,
  type KeyValueStore,
} from './blocks/key-value.ts'
export { matches } from './rules/lookup.ts'
export type { OwnCall } from './port/own-logs.ts'

export type { Plan } from './port/plan.ts'

export { memoryDriver, memoryStore, type MemoryOptions } from './memory/memory.ts'
export type {
  Append,
  AppendedRows,
  BlockStore,
  DamagedEntry,
  Fork,
  ListQuery,
  LogInfo,
  LogPage,
  LogPiece,
  MetaUpdate,
  NewLog,
  OnceStore,
  RowRange,
  Store,
  StoreEncryption,
  Where,
} from './port/store.ts'
export type { Head, Row, RowKind, StoredRow } from './port/row.ts'
export type { FoundRow, RowIndex, RowQuery, RowsFound, RowsIndexed, TermsOf, WantedTerm } from './port/row-terms.ts'
export type { OnNotice, StoreNotice } from './port/notice.ts'
export { grow, type GrownTree } from './port/tree.ts'
export { verifyLog, type InspectRows } from './rules/verify.ts'
export type { BlockId, CompactRange, Hash, HashedRow } from '../proof/kit.ts'
