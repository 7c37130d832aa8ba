export type {
  CreateSessionFault,
  EraseSessionFault,
  ForkSessionFault,
  OpenForkFault,
  OpenOrCreateFault,
  ImportFault,
  LeaseSessionFault,
  NoSessionFault,
  OpenSessionFault,
  ReadSessionFault,
  RefreshFault,
  SessionFault,
  SessionFaultOf,
  UpdateSessionFault,
  VerifySessionFault,
  WriteFault,
} from './fault.ts'
export { eraseMessages } from './erasing/erase.ts'
export { findMessages, type MessageQuery } from './opening/find-messages.ts'
export { follow, type SessionPlace } from './opening/follow.ts'
export { createFork, forkSession, type ForkOptions } from './opening/fork.ts'
export type { Clock, Signal, Timer } from '../task/index.ts'
export type { OpenStep } from './record/journal.ts'
export { pending, type Pending, type PendingOptions } from './record/pending.ts'
export { listSessions, type SessionPage } from './opening/list.ts'
export {
  checkErasure,
  type ErasureProof,
  type ErasureReceipt,
  type ProvenErasure,
  type RemainingData,
  type RemainingRow,
} from './erasing/receipt.ts'
export type { ForkPoint, SessionInfo } from './record/metadata.ts'
export type { DamagedRow, MissedRows, Moment, SessionRow } from './record/mirror.ts'
export {
  createSession,
  describeSession,
  openSession,
  readSession,
  type OpenOptions,
  type SessionOptions,
} from './opening/open.ts'
export { openOrCreateSession } from './opening/open-or-create.ts'
export { checkGrowth, proveGrowth, type GrowthProof } from './proofs/prove-growth.ts'
export {
  checkErased,
  proveErased,
  type ErasedProof,
  type ProvenErased,
  type TrustedErasedHeads,
} from './proofs/prove-erased.ts'
export { checkProof, proveEntry, type EntryProof, type ProveOptions, type Proven } from './proofs/prove.ts'
export { readRange, type MessageRange } from './record/range.ts'
export type {
  AppendOptions,
  MetadataDraft,
  PopResult,
  RetractOptions,
  RewindOptions,
  Appendable,
  ReadonlySession,
  SealedSession,
  EraseTarget,
  Session,
  SessionReader,
  StartedCall,
  EraseOptions,
  NewNote,
  LeaseOptions,
  LeaseRespect,
  SessionLease,
  NewReceipt,
  NewSummary,
  NoteOptions,
  MessagesAndNotes,
  MessagesInput,
  PagedMessages,
} from './session.ts'
export { copySession } from './moving/copy.ts'
export { exportSession, type ExportedSession } from './moving/export.ts'
export { importRecord } from './moving/import.ts'
export type { ImportOptions } from './moving/store-rows.ts'
export { listUnfinished, removeUnfinished, type UnfinishedLog } from './moving/unfinished.ts'
export type { RecordExport, ExportedHead, ExportedRow, RowMoment } from './record/exported.ts'

export { verifySession, type VerifiedSession, type VerifyOptions } from './proofs/verify.ts'
export type { AppendedMessages } from './record/step.ts'

export type {
  ApplicationNote,
  ErasedNote,
  InputNote,
  JournalBlock,
  JournalNote,
  MetadataNote,
  Note,
  NoteFault,
  PageNote,
  PinNote,
  ReceiptNote,
  RetractionNote,
  SealNote,
  SummaryNote,
  ToolStartedNote,
  Usage,
} from '../notes/internal.ts'
