/**
 * Signed notes: a text with signatures below it, each by a named key.
 *
 * Source  https://c2sp.org/signed-note@v1.0.0
 */
import { bytesToHex, concatBytes, hexToBytes } from '@noble/hashes/utils.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { base64Of, bytesOfBase64, isLeft, left, right, utf8Of } from 'indelible/json/kit'
import type { EvidenceFault } from './fault.ts'
import type { NoteSigner, NoteVerifier } from './keys.ts'

/** A signature line of a note. */
export interface NoteSignature {
  /** The name of the key. */
  readonly name: string
  /** The id of the key: 8 lowercase hexadecimal digits. */
  readonly keyId: string
  /** What the algorithm of the key makes: 64 bytes for Ed25519, 72 for a cosignature. */
  readonly signature: Uint8Array
}

/** A note: its text, and who signed it. */
export interface SignedNote {
  /** It ends with a newline. Ignore it until a trusted key's signature was verified. */
  readonly text: string
  /** In the order of the note. At least one. */
  readonly signatures: readonly NoteSignature[]
}

/** A signature that was verified. */
export interface VerifiedSignature {
  /** The name of the key. */
  readonly name: string
  /** The id of the key: 8 lowercase hexadecimal digits. */
  readonly keyId: string
  /** When a witness signed, in milliseconds since 1970; absent for a signature that says no time. */
  readonly at?: number
}

/** A note with more signatures is refused. The specification wants at least 16 to be read. */
const maxSignatures = 100

/**
 * Read a note. Its signatures are not verified: see {@link openNote}.
 *
 * Errors  `BadNote`
 * @example
 * const note = orThrow(parseNote(text)) // { text, signatures }
 */
export const parseNote = (note: string): Either<EvidenceFault, SignedNote> => {
  if (!note.isWellFormed()) return bad('it is not valid UTF-8')
  // oxlint-disable-next-line no-control-regex -- that is what is looked for
  if (/[\u0000-\u0009\u000b-\u001f]/.test(note)) return bad('it contains a control character')
  const split = note.lastIndexOf('\n\n')
  if (split < 0) return bad('no empty line separates its text from its signatures')
  const signatures = parseSignatures(note.slice(split + 2))
  return isLeft(signatures)
    ? signatures
    : right(Object.freeze({ text: note.slice(0, split + 1), signatures: signatures.right }))
}

/**
 * Read signature lines alone, as a witness answers with them. Errors: `BadNote`.
 *
 * @returns the signatures; or `BadNote`
 */
export const parseSignatures = (lines: string): Either<EvidenceFault, readonly NoteSignature[]> => {
  if (!lines.endsWith('\n')) return bad('it does not end with a signature line')
  const each = lines.slice(0, -1).split('\n')
  if (each.length > maxSignatures) return bad(`it has ${each.length} signatures, and at most ${maxSignatures} are read`)
  const signatures: NoteSignature[] = []
  for (const line of each) {
    const [, name, base64] = /^\u2014 ([^\s+\p{Cc}]+) (\S+)$/u.exec(line) ?? []
    const bytes = base64 === undefined ? undefined : bytesOfBase64(base64)
    if (name === undefined || bytes === undefined || bytes.length < 5)
      return bad(`${JSON.stringify(line.slice(0, 80))} is not a signature line`)
    signatures.push(Object.freeze({ name, keyId: bytesToHex(bytes.subarray(0, 4)), signature: bytes.slice(4) }))
  }
  return right(Object.freeze(signatures))
}

/** A note as text. */
export const noteText = ({ text, signatures }: SignedNote): string => `${text}\n${signatureLines(signatures)}`

/** Signatures as the lines of a note. */
export const signatureLines = (signatures: readonly NoteSignature[]): string =>
  signatures
    .map(({ name, keyId, signature }) => `\u2014 ${name} ${base64Of(concatBytes(hexToBytes(keyId), signature))}\n`)
    .join('')

/**
 * Sign a text with each of the signers.
 *
 * @param text the text, which ends with a newline
 * @param signers at least one
 * @throws TypeError if the text can't be that of a note; what a signer throws is thrown
 */
export const signNote = async (text: string, signers: readonly NoteSigner[]): Promise<string> => {
  // oxlint-disable-next-line no-control-regex -- that is what is looked for
  if (!text.endsWith('\n') || !text.isWellFormed() || /[\u0000-\u0009\u000b-\u001f]/.test(text))
    throw new TypeError('the text of a note ends with a newline, is well-formed, and has no control character')
  if (signers.length === 0) throw new TypeError('a note is signed by at least one key')
  const bytes = utf8Of(text)
  const signatures: NoteSignature[] = []
  for (const { name, keyId, sign } of signers) signatures.push({ name, keyId, signature: await sign(bytes) })
  return noteText({ text, signatures })
}

/** A note whose signatures were verified. */
export interface OpenedNote extends SignedNote {
  /** The signatures by known keys: at least one. */
  readonly verified: readonly VerifiedSignature[]
}

/**
 * Read a note and verify the signatures by known keys. Signatures by other keys are ignored.
 *
 * Errors  `BadNote`; `BadSignature` if a known key's signature does not fit; `NotSigned` if no known key has signed
 */
export const openNote = (note: string, verifiers: readonly NoteVerifier[]): Either<EvidenceFault, OpenedNote> => {
  const parsed = parseNote(note)
  if (isLeft(parsed)) return parsed
  const { text, signatures } = parsed.right
  const verified = verifySignatures(text, signatures, verifiers)
  if (isLeft(verified)) return verified
  return verified.right.length === 0
    ? left({
        _tag: 'NotSigned',
        wanted: verifiers.map(({ name }) => name),
        found: signatures.map(({ name }) => name),
      })
    : right(Object.freeze({ text, signatures, verified: verified.right }))
}

/** The signatures by known keys, each key once. Errors: `BadSignature`. */
export const verifySignatures = (
  text: string,
  signatures: readonly NoteSignature[],
  verifiers: readonly NoteVerifier[],
): Either<EvidenceFault, readonly VerifiedSignature[]> => {
  const bytes = utf8Of(text)
  const verified = new Map<string, VerifiedSignature>()
  for (const { name, keyId, signature } of signatures) {
    const verifier = verifiers.find((one) => one.name === name && one.keyId === keyId)
    if (verifier === undefined) continue
    const found = verifier.verify(bytes, signature)
    if (found === undefined) return left({ _tag: 'BadSignature', name })
    const key = `${name}+${keyId}`
    if (!verified.has(key)) verified.set(key, Object.freeze({ name, keyId, ...found }))
  }
  return right(Object.freeze([...verified.values()]))
}

const bad = (reason: string): Either<EvidenceFault, never> => left({ _tag: 'BadNote', reason })
