export { blockCache, cachedBlocks, type BlockCache } from './blocks/cache.ts'

export type {
  ListFault,
  LogFault,
  OpenStoreFault,
  RemoveFault,
  StoreFault,
  StoreFaultOf,
  VerifyFault,
} from './fault.ts'
export type { LeaseClaim, Lease, LeaseOutcome } from './port/lease.ts'
export type { EraseResult, EraseRequest } from './port/erasing.ts'

export { followLog } from './rules/follow.ts'

export { keyValueBlocks, removeBlocks, type KeyValue, type KeyValueStore } from './blocks/key-value.ts'

export { memoryStore } from './memory/memory.ts'
export type {
  Append,
  AppendedRows,
  BlockStore,
  ListQuery,
  LogInfo,
  LogPage,
  NewLog,
  RowRange,
  Store,
} from './port/store.ts'
export type { Head, Row, RowKind, StoredRow } from './port/row.ts'
export type { StoreNotice } from './port/notice.ts'

export { verifyLog } from './rules/verify.ts'
export { withSignal } from './rules/with-signal.ts'
export type { BlockId, Hash } from '../proof/internal.ts'
