export { blockCache, cachedBlocks, type BlockCache, type BlockCacheOptions } from './blocks/cache.ts'

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
export { type LeaseClaim, type Lease, type LeaseOutcome, type NewLease, type Renewal } from './port/lease.ts'
export type { EraseResult, EraseRequest, RowsToErase } from './port/erasing.ts'

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

export type { OwnCall } from './port/own-logs.ts'

export { memoryStore, type MemoryOptions } from './memory/memory.ts'
export type {
  Append,
  AppendedRows,
  BlockStore,
  DamagedEntry,
  Fork,
  ListQuery,
  LogInfo,
  LogPage,
  MetaUpdate,
  NewLog,
  OnceStore,
  RowRange,
  Store,
  StoreEncryption,
  Where,
} from './port/store.ts'
export type { Head, Row, RowKind, StoredRow } from './port/row.ts'
export type { RowIndex } from './port/row-terms.ts'
export type { OnNotice, StoreNotice } from './port/notice.ts'

export { verifyLog, type InspectRows } from './rules/verify.ts'
export type { BlockId, Hash } from '../proof/internal.ts'
