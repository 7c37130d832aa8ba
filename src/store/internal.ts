/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export { cursorText } from './rules/check-query.ts'
export { defaultScope, sameBlocks, shareIdentity } from './rules/block-handle.ts'
export { type StoreFinding, type StoreRepair, findingText } from './port/check.ts'
export { latest, momentOf } from './port/clock.ts'
export { contentsOf, isProgramName } from './port/contents.ts'
export { copyArgument } from './port/copy-argument.ts'
export { Damaged, orDamage } from './port/damage-error.ts'
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
  type UnchangedLog,
} from './port/driver.ts'
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
  withoutKeys,
} from './port/encrypted.ts'
export { holdsWithRowCounts } from './rules/erase.ts'
export type {
  EraseResult,
  RemainingBlock,
  Residue,
  RowPlace,
  Sharing,
  TextPlaces,
  RowsToErase,
} from './port/erasing.ts'
export {
  type OpenStoreFault,
  type StoreFault,
  storeFaultText,
  storeSentences,
  storeTask,
  type BlockFault,
  type AppendFault,
  type NewLogFault,
  type MediumFault,
  type EraseFault,
  type ForkFault,
  type UpdateFault,
  type LeaseFault,
} from './fault.ts'
export { byteFinderInSlices, byteFinderOf, finderInSlices, finderOf, makeFinder } from './port/find-texts.ts'
export { atOnce, cancelled, inSlices, nextTurn, sliceBytes, sliceRows, Slices } from './port/slices.ts'
export { type Format, type FoundFormat, formatFault } from './port/format.ts'
export { storeOf } from './rules/handle.ts'
export { compareIds, invalidId, isLeaf } from './port/id.ts'
export { identityAt } from './port/identity.ts'
export { valuesOf } from './blocks/key-value.ts'
export {
  type LeaseAnswer,
  type LeaseChange,
  type LeaseClaim,
  type LeaseRow,
  claimFault,
  changeLease,
  claims,
} from './port/lease.ts'
export {
  type LedgerRow,
  actionReasonOf,
  ledgerId,
  ledgerRow,
  readLedgerRow,
  reasonNames,
  type ActionReason,
  type Erasure,
  type Hold,
  type KeyDestroyed,
  type LedgerEntry,
  type ErasedRow,
  type CopiedClaim,
} from './port/ledger-row.ts'
export { type LedgerContent, appendToLedger, erasureOf, ledgerContent, stubLeaf } from './rules/ledger.ts'
export { type Positions, matches, positionsOf } from './rules/lookup.ts'
export { checkMeta } from './port/meta.ts'
export { storeNoticeText, type OnNotice } from './port/notice.ts'
export {
  ownIdFault,
  changedOwnMember,
  isOwnCall,
  isOwnId,
  isSessionMeta,
  ownMember,
  partialMember,
  sessionMember,
  sumsMember,
} from './port/own-logs.ts'
export { ownStore } from './rules/own-store.ts'
export { withSignal } from './rules/with-signal.ts'
export {
  appendPlanned,
  definePlannedAppend,
  hashedBlock,
  isMoment,
  isSalt,
  planAppend,
  type Plan,
} from './port/plan.ts'
export { consistencyPath, inclusionPath, isInTree, isRecorded } from './rules/prove.ts'
export { type RowCursor, rowCursor, rowCursorIn } from './port/row-cursor.ts'
export type {
  FoundRow,
  PlaceQuery,
  PlacesFound,
  RowQuery,
  RowsFound,
  RowsIndexed,
  TermsOf,
  WantedTerm,
  RowIndex,
} from './port/row-terms.ts'
export type { Head, RowKind, StoredRow, TimedRow } from './port/row.ts'
export { countIn, tokensColumn, tokensIn } from './port/row-tokens.ts'
export {
  type GrownRow,
  type GrownLog,
  type KindIndex,
  changedFault,
  forkFault,
  conflict,
  divergedFault,
  entriesBefore,
  growLog,
  hasKey,
  isStaleHead,
  logInfo,
  maxMissed,
  missedRange,
  referencedBlocks,
  removalIncompleteFault,
  olderSize,
  placeOf,
  decodePlace,
  repeatedAppend,
  sameHead,
  sharedRows,
  storedRow,
  type LogBasis,
} from './rules/rules.ts'
export { Signals, type Wake, signalKey } from './port/signals.ts'
export type {
  AppendedRows,
  DamagedEntry,
  LogInfo,
  LogPage,
  LogPiece,
  RowRange,
  Store,
  OnceStore,
  Fork,
  StoreEncryption,
  Where,
} from './port/store.ts'
export { headOf, rangeOf, rowLeaf } from './port/tree.ts'
export { metaIn, rowIn, wholeIn } from './rules/read-columns.ts'
export { refuseUndone } from './rules/undone-erasure.ts'
export { rangeAt, readSameLog, verifyLog, type InspectRows } from './rules/verify.ts'
export { streamLogOf, streamLogs } from './rules/streams.ts'
export { followRows, type FollowOptions } from './rules/follow.ts'
