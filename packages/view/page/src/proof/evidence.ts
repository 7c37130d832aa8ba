/** Who vouches for a session: its head in a signed checkpoint of the ledger, verified here by the keys that are given. */
import { checkHead, type HeadInLedger, type LedgerProof, type Trust, evidenceFaultMessage } from '@indelible/evidence'
import {
  claimedHead,
  parseNote,
  parseTlogProof,
  readTrust,
  verifierOf,
  type Checkpoint,
} from '@indelible/evidence/internal'
import { isLeft, parseJson, utf8Of } from 'indelible/internal/json'
import { rootAt, type Proof } from './proof.ts'

/** A signature below the checkpoint. */
export interface Signature {
  /** The name of the key, as the signature says it. */
  readonly name: string
  readonly keyId: string
  /** Whether it was verified here: by a key that was given, or not for want of one. */
  readonly verified: 'yes' | 'no' | 'unknown'
  readonly by: 'log' | 'witness' | undefined
  /** When a witness signed. */
  readonly at: number | undefined
}

/** What was found of the proof of a head. */
export interface HeadEvidence {
  readonly head: HeadInLedger<Checkpoint>
  readonly signatures: readonly Signature[]
  /** Whether the rows shown here have the head that the ledger says. */
  readonly same: boolean
  /** Whether the checkpoint counts by the keys that are given; undefined if none is. */
  readonly counts: boolean | undefined
  /** Why it does not count. */
  readonly why?: string
}

/** Keys as somebody gives them: a trust file, or public keys, which trust whatever origin the checkpoint names. */
export const parseTrust = (text: string, origin: string): Trust | string | undefined => {
  const input = text.trim()
  if (input === '') return undefined
  if (input.startsWith('{')) {
    const json = parseJson(input)
    if (isLeft(json)) return `The trust file is not JSON at line ${json.left.line}, column ${json.left.column}.`
    const trust = readTrust(json.right)
    return isLeft(trust) ? evidenceFaultMessage(trust.left) : trust.right
  }
  const keys: string[] = []
  const witnesses: string[] = []
  for (const vkey of input.split(/\s+/)) {
    const verifier = verifierOf(vkey)
    if (isLeft(verifier)) return `${vkey.slice(0, 60)}: ${evidenceFaultMessage(verifier.left)}`
    ;(verifier.right.kind === 'log' ? keys : witnesses).push(vkey)
  }
  return { origin, keys, witnesses }
}

/** What the proof of a head says of these rows; a sentence if it says nothing. */
export const evidenceOfHead = (
  ledgerProof: LedgerProof,
  id: string,
  proof: Proof,
  trust: Trust | undefined,
): HeadEvidence | string => {
  const claimed = claimedHead(ledgerProof)
  if (isLeft(claimed)) return evidenceFaultMessage(claimed.left)
  const { session, head } = claimed.right
  if (session !== id) return `it is of the session "${session}"`
  const checked = trust && checkHead(ledgerProof, trust)
  return {
    head: claimed.right,
    signatures: signaturesOf(
      ledgerProof,
      trust,
      checked !== undefined && !isLeft(checked) ? checked.right.checkpoint.signedBy : [],
    ),
    same: rootAt(proof, head.size) === head.root,
    counts: checked && !isLeft(checked),
    ...(checked !== undefined && isLeft(checked) && { why: evidenceFaultMessage(checked.left) }),
  }
}

/** `signedBy`: names of keys that count, those that rotations name among them. */
const signaturesOf = (
  { proof }: LedgerProof,
  trust: Trust | undefined,
  signedBy: readonly string[],
): readonly Signature[] => {
  const parsed = parseTlogProof(proof)
  const note = isLeft(parsed) ? parsed : parseNote(parsed.right.checkpoint)
  if (isLeft(note)) return []
  const { text, signatures } = note.right
  const vkeys = [
    ...(trust?.keys ?? []).map((key) => (typeof key === 'string' ? key : key.vkey)),
    ...(trust?.witnesses ?? []),
  ]
  const verifiers = vkeys.flatMap((vkey) => {
    const verifier = verifierOf(vkey)
    return isLeft(verifier) ? [] : [verifier.right]
  })
  return signatures.map(({ name, keyId, signature }) => {
    const verifier = verifiers.find((candidate) => candidate.name === name && candidate.keyId === keyId)
    const found = verifier?.verify(utf8Of(text), signature)
    const known = found !== undefined || (verifier === undefined && signedBy.includes(name))
    const by = verifier?.kind
    const at = found?.at
    return { name, keyId, verified: known ? 'yes' : verifier === undefined ? 'unknown' : 'no', by, at }
  })
}
