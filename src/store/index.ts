export { blockCache, cachedBlocks, type BlockCache, type BlockCacheOptions } from './cache.ts'
export { blockStoreOf, defaultScope, sameBlocks, storeOf, type Answer, type Block, type BlockDriver, type CheckedAppend, type CheckedQuery, type CheckedRow, type StoreDriver } from './driver.ts'
export { storeFaultText, type StoreFault } from './fault.ts'
export { blockIdOf, invalidId, maxIdBytes } from './id.ts'
export { keyValueBlocks, removeBlocks, valuesOf, type KeyValue, type KeyValueOptions, type KeyValueStore } from './key-value.ts'
export { matches, maxMissed, positionsOf, type Placed, type Positions } from './lookup.ts'
export { memoryStore, type MemoryOptions } from './memory.ts'
export type {
  Append,
  Appended,
  BlockStore,
  Fork,
  Head,
  ListQuery,
  LogInfo,
  LogPage,
  MetaUpdate,
  NewLog,
  Row,
  RowKind,
  RowRange,
  Store,
  StoredRow,
} from './store.ts'
export { grow, headOf, rowLeaf, type Grown } from './tree.ts'
export { rangeAt, verifyLog, type InspectRows } from './verify.ts'
