export type {
  CreateSessionFault,
  EraseSessionFault,
  ForkSessionFault,
  OpenForkFault,
  OpenOrCreateFault,
  ImportFault,
  NoSessionFault,
  OpenSessionFault,
  ReadSessionFault,
  SessionFault,
  SessionFaultOf,
  VerifySessionFault,
  WriteFault,
} from './fault.ts'
export { eraseMessages } from './erasing/erase.ts'
export { findMessages, type MessageQuery } from './opening/find-messages.ts'
export { follow } from './opening/follow.ts'
export { createFork, forkSession, type ForkOptions } from './opening/fork.ts'
export { pending, type Pending } from './record/pending.ts'
export { listSessions, type SessionPage } from './opening/list.ts'
export { checkErasure, type ErasureReceipt, type ProvenErasure } from './erasing/receipt.ts'
export type { SessionInfo } from './record/metadata.ts'
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
export { checkProof, proveEntry, type EntryProof, type Proven } from './proofs/prove.ts'
export { readRange, type MessageRange } from './record/range.ts'
export type {
  AppendOptions,
  PopResult,
  ReadonlySession,
  SealedSession,
  EraseTarget,
  Session,
  SessionReader,
  EraseOptions,
  NewNote,
  SessionLease,
} from './session.ts'
export { copySession } from './moving/copy.ts'
export { exportSession, type ExportedSession } from './moving/export.ts'
export { importRecord } from './moving/import.ts'
export type { ImportOptions } from './moving/store-rows.ts'
export { listUnfinished, removeUnfinished, type UnfinishedLog } from './moving/unfinished.ts'
export type { RecordExport } from './record/exported.ts'

export { verifySession, type VerifiedSession } from './proofs/verify.ts'
export type { AppendedMessages } from './record/step.ts'

export type { Note, SummaryNote, Usage } from '../notes/internal.ts'
