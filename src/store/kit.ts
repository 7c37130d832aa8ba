/** For the packages of this repository, which are released together. Other programs get no promise here. */
export { type StoreFinding, type StoreRepair } from './check.ts'
export { isMoment } from './checked-row.ts'
export { latest, momentOf } from './clock.ts'
export { Damaged } from './damaged.ts'
export {
  type Answer,
  type Block,
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
export { encryptionMark, isEncrypted, isEncryptedMeta } from './encrypted.ts'
export { type Erased, type RemainingBlock, type Residue, type Sharing, type TextPlaces } from './erasing.ts'
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
export { type Lease, type LeaseChange, type LeaseClaim, type LeaseRow, againstClaim, changed, claims } from './lease.ts'
export { type Positions, matches, positionsOf } from './lookup.ts'
export { type RowCursor, rowCursor, rowCursorIn } from './row-cursor.ts'
export {
  type FoundRow,
  type RowQuery,
  type RowsFound,
  type RowsIndexed,
  type TermsOf,
  type WantedTerm,
} from './row-terms.ts'
export { type Head, type RowKind, type StoredRow } from './row.ts'
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
export { type Appended, type DamagedEntry, type LogInfo, type LogPage, type RowRange, type Store } from './store.ts'
export { headOf, rangeOf, rowLeaf } from './tree.ts'
export { verifyLog } from './verify.ts'
