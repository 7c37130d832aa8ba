export { contextStates, type ContextStates } from './context-state.ts'
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
export { eraseMessages } from './erase.ts'
export { findMessages, type MessageQuery } from './find-messages.ts'
export { follow, type SessionPlace } from './follow.ts'
export { createFork, forkSession, type ForkOptions } from './fork.ts'
export type { OpenStep } from './journal.ts'
export type { LeaseOptions, SessionLease } from './lease.ts'
export { listSessions, type SessionPage } from './list.ts'
export { checkErasure, type ErasureProof, type ErasureReceipt, type ProvenErasure, type Remains } from './receipt.ts'
export type { ForkPoint, SessionInfo } from './metadata.ts'
export type { DamagedRow, Missed, Moment, SessionRow } from './mirror.ts'
export {
  createSession,
  describeSession,
  openSession,
  readSession,
  type OpenOptions,
  type SessionOptions,
} from './open.ts'
export { openOrCreateSession } from './open-or-create.ts'
export { checkGrowth, proveGrowth, type GrowthProof } from './prove-growth.ts'
export { checkErased, proveErased, type ErasedProof, type ProvenErased } from './prove-erased.ts'
export { checkProof, proveEntry, type EntryProof, type ProveOptions, type Proven } from './prove.ts'
export { readRange, type MessageRange } from './range.ts'
export type {
  AppendOptions,
  MetadataDraft,
  Popped,
  RetractOptions,
  Appendable,
  ReadonlySession,
  SealedSession,
  ToErase,
  Session,
  SessionReader,
  StartedCall,
  NewSummary,
  NoteOptions,
  Together,
} from './session.ts'
export { copySession } from './copy.ts'
export { exportSession, type ExportedSession } from './export.ts'
export { importRecord, type ImportOptions } from './import.ts'
export { listUnfinished, removeUnfinished, type Unfinished } from './unfinished.ts'
export type { Exported, ExportedHead, ExportedRow, RowMoment } from './exported.ts'

export { verifySession, type VerifiedSession, type VerifyOptions } from './verify.ts'
export type { Recorded } from './step.ts'

export type {
  ApplicationNote,
  ErasedNote,
  InputNote,
  JournalBlock,
  JournalNote,
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
} from '../notes/kit.ts'
