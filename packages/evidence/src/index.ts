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
export {
  signLedger,
  witnessLedger,
  type CheckpointOptions,
  type KeptCheckpoint,
  type SignerMemory,
  type WitnessResult,
} from './checkpoints.ts'
export { evidenceFaultMessage, type AnyEvidenceFault, type EvidenceFault, type LedgerMismatch } from './fault.ts'
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
} from './ledger.ts'

export { checkCheckpoint, rotation, type Trust, type TrustedCheckpoint } from './trust.ts'
export { withLedger, type WithLedgerOptions } from './with-ledger.ts'
export type { Witness } from './witness.ts'
export type { Hold } from 'indelible/internal/store'
