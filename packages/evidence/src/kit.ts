/** For the rooms and packages of this repository, which are released together. Other programs get no promise here. */
export { claimedHead } from './bundle.ts'
export { checkpointText, parseCheckpoint } from './checkpoint.ts'
export { lastCheckpoint, listCheckpoints, signSession } from './checkpoints.ts'
export { mismatchText } from './fault.ts'
export { type NoteVerifier, verifierOf } from './keys.ts'
export {
  type NoteSignature,
  type OpenedNote,
  type SignedNote,
  noteText,
  openNote,
  parseNote,
  parseSignatures,
  signNote,
  signatureLines,
} from './signed-note.ts'
export { type TlogProof, parseTlogProof, tlogProofText } from './tlog-proof.ts'
export { readTrust } from './trust.ts'
export { ledgerId } from 'indelible/store/kit'
