/** For the rooms and packages of this repository, which are released together. Other programs get no promise here. */
export { blockStoreOf, defaultScope, sameBlocks, standsFor } from './block-handle.ts'
export { type StoreFinding, type StoreRepair, findingText } from './check.ts'
export { isLeaf, isMoment, isSalt } from './checked-row.ts'
export { latest, momentOf } from './clock.ts'
export { copyArgument } from './copy-argument.ts'
export { Damaged } from './damaged.ts'
export {
  type Answer,
  type Block,
  type BlockDriver,
  type CheckedAppend,
  type CheckedErasure,
  type CheckedQuery,
  type CheckedUpdate,
  type Cursor,
  type IndexDriver,
  type StoreDriver,
  type Unchanged,
  cursorText,
} from './driver.ts'
export {
  type EncryptedText,
  type EncryptionMeta,
  destroyedKeyLogOf,
  encryptedBody,
  encryptedRow,
  encryptionKey,
  encryptionMark,
  encryptionOf,
  isEncrypted,
  isEncryptedLog,
  isEncryptedMeta,
  keyLogOf,
  keyLogs,
  keyedLogOf,
  ownKeyOf,
  readEncrypted,
  streamLogOf,
  withoutKeys,
} from './encrypted.ts'
export { holdsOnRows } from './erase.ts'
export type { Erased, RemainingBlock, Residue, Sharing, TextPlaces } from './erasing.ts'
export {
  type OpenStoreFault,
  type StoreFault,
  type StoreFaultOf,
  storeFaultText,
  storeSentences,
  storeTask,
} from './fault.ts'
export { byteFinderOf, finderOf } from './find-texts.ts'
export { type Format, type FoundFormat, againstFormat } from './format.ts'
export { storeOf } from './handle.ts'
export { hashedBlock } from './hashed-block.ts'
export { invalidId, maxIdBytes } from './id.ts'
export { identityAt } from './identity.ts'
export { valuesOf } from './key-value.ts'
export { type Lease, type LeaseChange, type LeaseClaim, type LeaseRow, againstClaim, changed, claims } from './lease.ts'
export { type LedgerRow, ledgerId, ledgerRow, readLedgerRow } from './ledger-row.ts'
export {
  type LedgerAppended,
  type LedgerContent,
  appendToLedger,
  erasureOf,
  ledgerContent,
  stubLeaf,
} from './ledger.ts'
export { type Positions, matches, positionsOf } from './lookup.ts'
export { checkMeta } from './meta.ts'
export { storeNoticeText } from './notice.ts'
export {
  againstOwnId,
  changedOwnMember,
  isOwnCall,
  isOwnId,
  isSessionMeta,
  ownMember,
  partialMember,
  sessionMember,
} from './own-logs.ts'
export { ownStore } from './own-store.ts'
export { planned } from './plan.ts'
export { consistencyPath, inclusionPath } from './prove.ts'
export { type RowCursor, rowCursor, rowCursorIn } from './row-cursor.ts'
export type { FoundRow, RowQuery, RowsFound, RowsIndexed, TermsOf, WantedTerm } from './row-terms.ts'
export type { Head, RowKind, StoredRow, TimedRow } from './row.ts'
export {
  type GrownRow,
  type Growth,
  type Placed,
  againstChange,
  againstFork,
  conflict,
  diverged,
  entriesBefore,
  growth,
  hasKey,
  isLate,
  logInfo,
  maxMissed,
  missedRange,
  namedElsewhere,
  notThatRow,
  olderSize,
  placeOf,
  placed,
  repeated,
  sameHead,
  sharedRows,
  storedRow,
} from './rules.ts'
export { Signals, type Wake, signalKey } from './signals.ts'
export type { Appended, DamagedEntry, LogInfo, LogPage, RowRange, Store } from './store.ts'
export { headOf, rangeOf, rowLeaf } from './tree.ts'
export { type Undone, undoneErasures, undoneText } from './undone.ts'
export { rangeAt, verifyLog } from './verify.ts'
