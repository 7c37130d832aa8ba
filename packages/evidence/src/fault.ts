/** The faults of signatures, ledgers and proof bundles, as data. */
import {
  taskOf,
  taskOfSteps,
  type CallbackThrew,
  type TaskOf,
  type TaskOfSteps,
  sentencesOf,
  type Sentences,
} from 'indelible/internal/task'
import type { SessionFault } from 'indelible/session'
import type { Head, StoreFault } from 'indelible/store'
import { sessionSentences } from 'indelible/internal/session'

/** Why evidence can't be read, created or trusted. */
export type EvidenceFault =
  /** The text is not a signed note. */
  | { readonly _tag: 'BadNote'; readonly reason: string }
  /** The text is not a key, or of an unknown kind. */
  | { readonly _tag: 'BadKey'; readonly reason: string }
  /** The value is not a trust file. */
  | { readonly _tag: 'BadTrust'; readonly reason: string }
  /** A known key's signature does not match the text. */
  | { readonly _tag: 'BadSignature'; readonly name: string }
  /** None of the signatures is by a trusted key. */
  | { readonly _tag: 'NotSigned'; readonly wanted: readonly string[]; readonly found: readonly string[] }
  /** The note is not a checkpoint, or is one of another log. */
  | { readonly _tag: 'BadCheckpoint'; readonly reason: string }
  /** The bundle does not prove its claim. */
  | { readonly _tag: 'BadBundle'; readonly reason: string }
  /** Fewer witnesses have signed than the quorum. */
  | { readonly _tag: 'TooFewWitnesses'; readonly wanted: number; readonly found: readonly string[] }
  /** A witness did not sign. `status` is absent if it could not be reached. */
  | { readonly _tag: 'WitnessRefused'; readonly url: string; readonly status?: number; readonly reason: string }
  /** The scope has no ledger; with `missing`, it has one that was never signed. */
  | { readonly _tag: 'NoLedger'; readonly scope: string; readonly missing?: 'checkpoint' }
  /** The ledger has no row of this session, or only one for fewer rows than the message needs. */
  | { readonly _tag: 'NotInLedger'; readonly id: string; readonly rows: number }
  /** Sessions do not match the ledger. */
  | { readonly _tag: 'LedgerMismatch'; readonly mismatches: readonly LedgerMismatch[] }

/** How a session differs from the ledger. */
export interface LedgerMismatch {
  /** The id of the session. */
  readonly id: string
  /**
   * `missing`: it does not exist, and no removal is recorded. `cut`: it has fewer rows. `replaced`:
   * it has enough rows, but different ones. `altered`: it is damaged, at `position`. `present`: its
   * removal is recorded, but it exists.
   */
  readonly what: 'missing' | 'cut' | 'replaced' | 'altered' | 'present'
  /** The last head in the ledger. */
  readonly expected: Head
  /** The session's head now; absent if it does not exist or is altered. */
  readonly found?: Head
  /** The first wrong position of the log, if altered. */
  readonly position?: number
  /** What is wrong there, as a clause, if altered. */
  readonly reason?: string
}

/** A fault of evidence, of a session, or of the store. */
export type AnyEvidenceFault = EvidenceFault | SessionFault | StoreFault | CallbackThrew

/** Describes a mismatch in a sentence for people. */
export const mismatchText = ({ id, what, expected, found, position, reason }: LedgerMismatch): string => {
  const name = JSON.stringify(id)
  const was = `the ledger records ${expected.size} rows with root ${expected.root.slice(0, 12)}…`
  switch (what) {
    case 'missing':
      return `session ${name} is not in the store, and its removal is not recorded: ${was}`
    case 'cut':
      return `session ${name} has only ${found?.size} rows: ${was}`
    case 'replaced':
      return `session ${name} has different rows than those recorded: ${was}`
    case 'altered':
      return `session ${name} is damaged at row ${position}: ${reason}`
    case 'present':
      return `session ${name} is in the store, but the ledger records its removal`
  }
}

const evidenceSentences: Sentences<AnyEvidenceFault> = {
  ...sessionSentences,
  BadNote: (fault) => `the text is not a signed note: ${fault.reason}`,
  BadKey: (fault) => `the text is not a key: ${fault.reason}`,
  BadTrust: (fault) => `the trust file ${fault.reason}`,
  BadSignature: (fault) =>
    `the signature by ${JSON.stringify(fault.name)} does not match the text: the text or the signature was changed`,
  NotSigned: (fault) =>
    `no signature by a trusted key: the trust file has keys of ${list(fault.wanted)}, and the signatures are by ${list(fault.found)}; if you trust that signer, add its key to the trust file`,
  BadCheckpoint: (fault) => `the note is not a valid checkpoint: ${fault.reason}`,
  BadBundle: (fault) => `the bundle is not valid: ${fault.reason}`,
  TooFewWitnesses: (fault) =>
    `${fault.wanted} ${fault.wanted === 1 ? 'witness' : 'witnesses'} must have signed, found ${list(fault.found)}: ask witnesses with "indelible ledger witness", or lower the quorum`,
  WitnessRefused: (fault) =>
    `the witness at ${fault.url} did not sign${fault.status === undefined ? '' : ` (HTTP ${fault.status})`}: ${fault.reason}`,
  NoLedger: (fault) =>
    fault.missing === 'checkpoint'
      ? `the ledger of scope ${JSON.stringify(fault.scope)} has no signed checkpoint: create one with "indelible ledger sign"`
      : `scope ${JSON.stringify(fault.scope)} has no ledger: create it with "indelible ledger update"`,
  NotInLedger: (fault) =>
    `the last signed checkpoint covers ${fault.rows === 0 ? 'no row' : `only the first ${fault.rows} rows`} of session ${JSON.stringify(fault.id)}: update the ledger, sign a checkpoint, and try again`,
  LedgerMismatch: (fault) =>
    `${fault.mismatches.length} ${fault.mismatches.length === 1 ? 'session does' : 'sessions do'} not match the ledger: ${fault.mismatches.slice(0, 3).map(mismatchText).join('; ')}${fault.mismatches.length > 3 ? '; …' : ''}`,
}

const list = (names: readonly string[]): string =>
  names.length === 0 ? 'none' : names.map((name) => JSON.stringify(name)).join(', ')

/**
 * Describe a fault of evidence, a session or a store in a sentence for people.
 *
 * @returns what failed, where, and what to do next
 */
export const evidenceFaultMessage: (fault: AnyEvidenceFault) => string = sentencesOf(evidenceSentences)

export const evidenceTask: TaskOf<AnyEvidenceFault> = taskOf(evidenceFaultMessage)

export const evidenceSteps: TaskOfSteps<AnyEvidenceFault> = taskOfSteps(evidenceTask)
