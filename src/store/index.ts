export { checkMeta } from './meta.ts'
export { blockCache, cachedBlocks, type BlockCache, type BlockCacheOptions } from './cache.ts'
export { isLeaf, isMoment, isSalt, type CheckedRow } from './checked-row.ts'
export { findingText, type StoreFinding, type StoreRepair } from './check.ts'
export {
  cursorText,
  type Answer,
  type Block,
  type BlockDriver,
  type CheckedAppend,
  type CheckedErasure,
  type CheckedQuery,
  type CheckedUpdate,
  type Cursor,
  type ErasingDriver,
  type StoreDriver,
  type Unchanged,
} from './driver.ts'
export {
  destroyedKeyLogOf,
  encryptedBody,
  encryptedRow,
  encryptionKey,
  encryptionOf,
  isEncrypted,
  isEncryptedLog,
  keyedLogOf,
  keyLogOf,
  keyLogs,
  ownKeyOf,
  readEncrypted,
  streamLogOf,
  withoutKeys,
  type EncryptedText,
  type EncryptionMeta,
} from './encrypted.ts'
export { holdsOnRows } from './erase.ts'
export { byteFinderOf, finderOf } from './find-texts.ts'
export { undoneErasures, undoneText, type Undone } from './undone.ts'
export { storeOf } from './handle.ts'
export { blockStoreOf, defaultScope, sameBlocks, standsFor } from './block-handle.ts'
export {
  storeTask,
  type AppendFault,
  type BlockFault,
  type EraseFault,
  type ForkFault,
  type LeaseFault,
  type ListFault,
  type LogFault,
  type MediumFault,
  type NewLogFault,
  type OpenStoreFault,
  type RemoveFault,
  type RenewFault,
  type StoreFault,
  type StoreFaultOf,
  type UpdateFault,
  type VerifyFault,
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
export {
  appendToLedger,
  erasureOf,
  ledgerContent,
  stubLeaf,
  type LedgerAppended,
  type LedgerContent,
} from './ledger.ts'
export {
  ledgerId,
  ledgerRow,
  readLedgerRow,
  type Because,
  type CopiedClaim,
  type ErasedRow,
  type Erasure,
  type Hold,
  type KeyDestroyed,
  type LedgerEntry,
  type LedgerRow,
} from './ledger-row.ts'
export { hashedBlock } from './hashed-block.ts'
export { identityAt, type LogIdentity } from './identity.ts'
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
export {
  againstOwnId,
  changedOwnMember,
  isOwnCall,
  isOwnId,
  isSessionMeta,
  ownMember,
  partialMember,
  sessionMember,
  type OwnCall,
} from './own-logs.ts'
export { ownStore } from './own-store.ts'
export { copyArgument } from './copy-argument.ts'
export { planned, type Plan } from './plan.ts'
export { consistencyPath, inclusionPath } from './prove.ts'
export { hasKey, maxMissed, sameHead, type Placed } from './rules.ts'
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
export type { Head, Row, RowKind, StoredRow, TimedRow } from './row.ts'
export type { FoundRow, RowIndex, RowQuery, RowsFound, RowsIndexed, TermsOf, WantedTerm } from './row-terms.ts'
export { storeNoticeText, type OnNotice, type StoreNotice } from './notice.ts'
export { grow, headOf, rowLeaf, type Grown } from './tree.ts'
export { rangeAt, verifyLog, type InspectRows } from './verify.ts'
