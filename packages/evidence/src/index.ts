export {
  checkBundle,
  checkHead,
  proveHead,
  proveInLedger,
  readBundle,
  type EvidenceBundle,
  type HeadInLedger,
  type LedgerProof,
  type ProvenInLedger,
} from './bundle.ts'
export type { Checkpoint } from './checkpoint.ts'
export {
  signLedger,
  witnessLedger,
  type CheckpointOptions,
  type KeptCheckpoint,
  type SignerMemory,
  type WitnessResult,
} from './checkpoints.ts'
export {
  evidenceFaultMessage,
  type AnyEvidenceFault,
  type EvidenceFault,
  type EvidenceTask,
  type LedgerMismatch,
} from './fault.ts'
export { holdSession, listHolds, releaseSession, type MessageHold } from './holds.ts'
export { newKey, remoteSigner, signerOf, type KeyPair, type NoteSigner } from './keys.ts'
export {
  readLedger,
  removeRecorded,
  updateLedger,
  verifyLedger,
  type Ledger,
  type LedgerReport,
  type LedgerUpdate,
  type VerifyLedgerOptions,
} from './ledger.ts'
export type { VerifiedSignature } from './signed-note.ts'
export type { ActionReason, Erasure, ErasedRow, Hold, LedgerEntry } from 'indelible/store'

export { checkCheckpoint, rotation, type Trust, type TrustedCheckpoint, type TrustedKey } from './trust.ts'
export { withLedger, type WithLedgerOptions } from './with-ledger.ts'
export type { Witness, WitnessOptions, WitnessRequest, WitnessResponse } from './witness.ts'
