export {
  checkBundle,
  checkHead,
  claimedHead,
  proveHead,
  proveInLedger,
  readBundle,
  type EvidenceBundle,
  type HeadInLedger,
  type LedgerProof,
  type ProvenInLedger,
} from './bundle.ts'
export { checkpointText, parseCheckpoint, type Checkpoint } from './checkpoint.ts'
export {
  lastCheckpoint,
  listCheckpoints,
  signLedger,
  signSession,
  witnessLedger,
  type CheckpointOptions,
  type KeptCheckpoint,
  type SignerMemory,
  type Witnessed,
} from './checkpoints.ts'
export {
  evidenceFaultMessage,
  type AnyEvidenceFault,
  type EvidenceFault,
  type EvidenceTask,
  type LedgerMismatch,
  mismatchText,
} from './fault.ts'
export { holdSession, holdsOn, releaseSession, type MessageHold } from './holds.ts'
export { newKey, remoteSigner, signerOf, verifierOf, type KeyPair, type NoteSigner, type NoteVerifier } from './keys.ts'
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
export {
  noteText,
  openNote,
  parseNote,
  parseSignatures,
  signatureLines,
  signNote,
  type NoteSignature,
  type OpenedNote,
  type SignedNote,
  type VerifiedSignature,
} from './signed-note.ts'
export { ledgerId, type Because, type Erasure, type ErasedRow, type Hold, type LedgerEntry } from 'indelible/store'
export { parseTlogProof, tlogProofText, type TlogProof } from './tlog-proof.ts'
export { checkCheckpoint, readTrust, rotation, type Trust, type TrustedCheckpoint, type TrustedKey } from './trust.ts'
export { withLedger, type WithLedgerOptions } from './with-ledger.ts'
export type { Witness, WitnessOptions, WitnessRequest, WitnessResponse } from './witness.ts'
