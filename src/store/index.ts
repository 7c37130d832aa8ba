export { checkMeta } from './meta.ts'
export { blockCache, cachedBlocks, type BlockCache, type BlockCacheOptions } from './cache.ts'
export { isMoment, isSalt, type CheckedRow } from './checked-row.ts'
export { findingText, type StoreFinding, type StoreRepair } from './check.ts'
export {
  cursorText,
  type Answer,
  type Block,
  type BlockDriver,
  type CheckedAppend,
  type CheckedQuery,
  type Cursor,
  type StoreDriver,
} from './driver.ts'
export { storeOf } from './handle.ts'
export { blockStoreOf, defaultScope, sameBlocks, standsFor } from './block-handle.ts'
export {
  storeTask,
  type AppendFault,
  type BlockFault,
  type ForkFault,
  type LeaseFault,
  type ListFault,
  type LogFault,
  type MediumFault,
  type NewLogFault,
  type OpenStoreFault,
  type RenewFault,
  type StoreFault,
  type StoreFaultOf,
  type UpdateFault,
  type VerifyFault,
} from './fault.ts'
export {
  againstClaim,
  changed as leaseChanged,
  type AppendClaim,
  type Lease,
  type LeaseChange,
  type LeaseOutcome,
  type LeaseRow,
  type NewLease,
  type Renewal,
} from './lease.ts'
export { hashedBlock } from './hashed-block.ts'
export { followLog, type FollowOptions } from './follow.ts'
export { invalidId, maxIdBytes } from './id.ts'
export {
  keyValueBlocks,
  removeBlocks,
  valuesOf,
  type KeyValue,
  type KeyValueOptions,
  type KeyValueStore,
} from './key-value.ts'
export { matches, positionsOf, type Positions } from './lookup.ts'
export { planned, type Plan } from './plan.ts'
export { consistencyPath, inclusionPath } from './prove.ts'
export { maxMissed, sameHead, type Placed } from './rules.ts'
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
  MetaUpdate,
  NewLog,
  OnceStore,
  RowRange,
  Store,
  Where,
} from './store.ts'
export type { Head, Row, RowKind, StoredRow } from './row.ts'
export { storeNoticeText, type OnNotice, type StoreNotice } from './notice.ts'
export { grow, headOf, rowLeaf, type Grown } from './tree.ts'
export { rangeAt, verifyLog, type InspectRows } from './verify.ts'
